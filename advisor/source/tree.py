"""The syntax tree of a CUDA file, light enough to walk millions of nodes a second.

The parser is tree-sitter with its CUDA grammar. It goes on after syntax that it does not know;
such stretches are reported. Nothing here recurses: a file may nest brackets as deep as it likes.
"""

from __future__ import annotations

import functools
import re
import sys
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
# Children whose role in their parent cannot be told from their order.
_WITH_FIELDS = frozenset(("for_statement", "if_statement", "while_statement", "do_statement"))
_LEAVES = frozenset(
    (
        "string_literal",
        "char_literal",
        "raw_string_literal",
        "concatenated_string",
        "identifier",
        "number_literal",
        "type_identifier",
        "field_identifier",
        "primitive_type",
        "true",
        "false",
        "namespace_identifier",
        "type_qualifier",
        "storage_class_specifier",
        "placeholder_type_specifier",
    )
)
# Types are read as text: what stands in them is looked at only where syntax is unknown.
_TYPES = frozenset(("template_type", "type_descriptor", "sized_type_specifier"))
# Host functions that name none of these have nothing to do with a GPU: no code of the device, no
# call of the runtime. Macros for the device are those of `scopes`.
_LAUNCH = b"<<<"
_DEVICE_MARKS = rb"__global__|__device__|DEVICE|HOSTDEV|[GC][PU][UD]A?_FUNC"
_MARKS = re.compile(rb"cuda|<<<|dim3|" + _DEVICE_MARKS)
_ON_DEVICE = re.compile(_DEVICE_MARKS)
# Expressions of host code, which nothing asks about unless they call, or hand out an address.
_EXPRESSIONS = frozenset(
    (
        "binary_expression",
        "subscript_expression",
        "field_expression",
        "pointer_expression",
        "unary_expression",
        "cast_expression",
        "conditional_expression",
        "comma_expression",
        "initializer_list",
        "parenthesized_expression",
        "argument_list",
    )
)
_CUT = _EXPRESSIONS.union(("compound_statement", "call_expression", "declaration"))
_TELLING = re.compile(rb"[(&]")
# Words of calls that are read whole: of the runtime, of checks, timers and allocations.
_TOLD = re.compile(
    _MARKS.pattern + rb"|[cC]lock|[tT]ime|now\(|[sS]ync|alloc|[cC]heck|CHECK|[eE]rr|ERR"
)
_CHANGING = ("assignment_expression", "update_expression")
# As far as an expression is searched for what keeps it: work stays linear whatever the nesting.
_SEARCHED = 4096
# Code that nests deeper is generated; what stands so deep is not asked about its surroundings.
_DEEPEST = 200
# Most nodes of an expression or a body that a question looks at.
_MOST = 20_000
_ERROR = 0xFFFF  # the number that the parser gives to a stretch of unknown syntax


class Node:
    """A named node: its *kind*, the bytes it covers, its place among all nodes of the file.

    The nodes of a file stand in one list, parents before children: those below this one are
    ``nodes[index + 1 : last + 1]``.
    """

    __slots__ = ("children", "end", "field", "index", "kind", "last", "parent", "start")

    def __init__(
        self,
        kind: str,
        start: int,
        end: int,
        parent: Node | None,
        index: int,
        children: list[Node],
    ) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.parent = parent
        self.index = self.last = index
        self.children = children
        self.field: str | None = None

    def ancestors(self) -> Iterator[Node]:
        """Yield the nodes around this one, from the inside out, as far as people nest code."""
        node = self.parent
        for _ in range(_DEEPEST):
            if node is None:
                return
            yield node
            node = node.parent

    def child(self, *kinds: str) -> Node | None:
        """Return the first child of one of *kinds*."""
        return next((child for child in self.children if child.kind in kinds), None)

    def part(self, field: str) -> Node | None:
        """Return the child in the role *field*."""
        return next((child for child in self.children if child.field == field), None)

    def holds(self, other: Node) -> bool:
        """Whether *other* is this node or below it."""
        return self.index <= other.index <= self.last


def bare(node: Node) -> Node:
    """Return *node* without brackets around it."""
    while node.kind == "parenthesized_expression" and len(node.children) == 1:
        node = node.children[0]
    return node


@dataclass(frozen=True, slots=True)
class Tree:
    """All nodes of a file, parents first; *unparsed* are the bytes of unknown syntax."""

    nodes: list[Node]
    by_kind: dict[str, list[Node]]
    unparsed: tuple[tuple[int, int], ...]
    _places: dict[str, list[int]] = field(default_factory=dict, repr=False)

    def release(self) -> None:
        """Cut the links upwards, so that the nodes go as soon as nobody holds them."""
        for node in self.nodes:
            node.parent = None

    def inside(self, node: Node, kind: str) -> list[Node]:
        """Return the nodes of *kind* that are *node* or below it, in order."""
        nodes = self.by_kind.get(kind)
        if not nodes:
            return []
        places = self._places.get(kind)
        if places is None:
            places = self._places[kind] = [each.index for each in nodes]
        first = bisect_left(places, node.index)
        return nodes[first : bisect_right(places, node.last, first)]

    def below(self, node: Node) -> list[Node]:
        """Return *node* and the nodes below it; of a huge one the first."""
        return self.nodes[node.index : min(node.last + 1, node.index + _MOST)]

    def whole(self, node: Node) -> list[Node]:
        """Return *node* and every node below it."""
        return self.nodes[node.index : node.last + 1]


@functools.cache
def _parser() -> tuple[Any, dict[int, str]]:
    """Return the parser, and the names of the kinds of nodes that are copied, by their number."""
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    language = Language(tree_sitter_cuda.language())
    kinds = {_ERROR: "ERROR"}
    for number in range(language.node_kind_count):
        name = language.node_kind_for_id(number)
        if name and name != "comment" and language.node_kind_is_named(number):
            kinds[number] = sys.intern(name)
    return Parser(language), kinds


def parse(text: bytes) -> Tree:
    """Return the tree of *text*, which is UTF-8.

    Of code of the host only that is copied which says what the GPU is to do: calls, launches,
    declarations, what is assigned. Functions that have nothing to do with a GPU are left out when
    nothing in the file launches a kernel; so are the insides of types. A damaged file is read in
    full, to find its unknown syntax.
    """
    parser, kinds = _parser()
    parsed = parser.parse(text)
    damaged = parsed.root_node.has_error
    copy = _Copy(kinds=kinds, text=text, damaged=damaged, launches=_LAUNCH in text)
    return copy.tree(parsed.walk())


class _Copy:
    """Copies what a parser made, without brackets, keywords and comments."""

    def __init__(
        self, *, kinds: dict[int, str], text: bytes, damaged: bool, launches: bool
    ) -> None:
        self._kinds, self._text, self._damaged = kinds, text, damaged
        self._launches = launches
        self._leaves = _LEAVES if damaged else _LEAVES | _TYPES
        # The ends of the host function that is being copied, of what is copied whole in it, and of
        # a call that has nothing to do with the GPU.
        self._host_until = self._whole_until = self._closed_until = -1
        self._marked = False

    def tree(self, cursor: Any) -> Tree:
        """Return what *cursor* walks over; parents first."""
        nodes: list[Node] = []
        unparsed: list[tuple[int, int]] = []
        down, right, up = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
        by_kind: dict[str, list[Node]] = {kind: [] for kind in self._kinds.values()}
        kinds = {
            number: (kind, kind in self._leaves, kind in _CUT, by_kind[kind].append)
            for number, kind in self._kinds.items()
        }
        append, known = nodes.append, kinds.get
        damaged, cuts = self._damaged, self._cuts
        none: list[Node] = []  # the children of every leaf; nothing is added to it
        parent: Node | None = None
        parent_has_fields = False
        siblings: list[Node] = []
        while True:
            raw = cursor.node
            known_kind = known(raw.kind_id)
            if known_kind is not None:
                kind, leaf, may_cut, file_by_kind = known_kind
                node = Node(
                    kind, raw.start_byte, raw.end_byte, parent, len(nodes), none if leaf else []
                )
                append(node)
                file_by_kind(node)
                siblings.append(node)
                if parent_has_fields:
                    node.field = cursor.field_name
                if damaged and (kind == "ERROR" or raw.is_missing):
                    unparsed.append((node.start, node.end))
                if not leaf and not (may_cut and cuts(node)) and down():
                    parent, parent_has_fields, siblings = node, kind in _WITH_FIELDS, node.children
                    continue
            while not right():
                if not up() or parent is None:
                    return Tree(nodes, by_kind, tuple(unparsed))
                parent.last = len(nodes) - 1
                parent = parent.parent
                parent_has_fields = parent is not None and parent.kind in _WITH_FIELDS
                siblings = parent.children if parent is not None else []

    def _cuts(self, node: Node) -> bool:
        """Whether what is below *node* is left out."""
        if self._damaged:
            return False
        kind, start = node.kind, node.start
        if kind == "compound_statement":
            return self._enters(node)
        if start >= self._host_until or start < self._whole_until:
            return False
        if kind == "declaration":
            if self._marked:
                self._whole_until = node.end
            return False
        last = min(node.end, start + _SEARCHED)
        if kind == "call_expression":
            if last < node.end or _TOLD.search(self._text, start, last):
                self._whole_until = node.end
            else:
                self._closed_until = node.end
            return False
        if last < node.end or _is_changed(node):
            return False
        if start < self._closed_until:
            return kind == "argument_list" and self._text.find(b"&", start, last) < 0
        return not _TELLING.search(self._text, start + 1, last)

    def _enters(self, body: Node) -> bool:
        """Note where *body* runs, if it is that of a function; whether it is left out."""
        function = body.parent
        if function is None or function.kind != "function_definition":
            return False
        if _ON_DEVICE.search(self._text, function.start, body.start):
            self._whole_until = max(self._whole_until, body.end)
        elif body.start >= self._host_until:
            self._marked = _MARKS.search(self._text, function.start, body.end) is not None
            self._host_until = body.end
            return not self._marked and not self._launches
        return False


def _is_changed(node: Node) -> bool:
    """Whether *node* is what an assignment changes."""
    above = node.parent
    return above is not None and above.kind in _CHANGING and above.children[0] is node
