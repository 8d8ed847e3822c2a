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
# A file without launches whose host functions name none of these holds nothing to say of them:
# no code of the device, no call of the runtime. Macros for the device are those of `scopes`.
_LAUNCH = b"<<<"
_MARKS = re.compile(rb"cuda|__global__|__device__|DEVICE|HOSTDEV|GPU_FUNC")
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

    Of functions that neither run on the GPU nor call the runtime the bodies are left out, when
    nothing in the file launches a kernel; so are the insides of types. A damaged file is read
    in full, to find its unknown syntax.
    """
    parser, kinds = _parser()
    parsed = parser.parse(text)
    damaged = parsed.root_node.has_error
    whole = damaged or _LAUNCH in text
    leaves = _LEAVES if damaged else _LEAVES | _TYPES
    return _light(parsed.walk(), kinds, leaves, None if whole else text, damaged=damaged)


def _light(
    cursor: Any, names: dict[int, str], leaves: frozenset[str], text: bytes | None, *, damaged: bool
) -> Tree:
    """Copy what *cursor* walks over, without brackets, keywords and comments.

    Nodes of *leaves* are copied without what they hold; so are bodies of functions without
    marks in *text*, unless it is None.
    """
    nodes: list[Node] = []
    unparsed: list[tuple[int, int]] = []
    by_kind: dict[str, list[Node]] = {kind: [] for kind in names.values()}
    kinds = {number: (kind, kind in leaves, by_kind[kind].append) for number, kind in names.items()}
    down, right, up = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
    append, known = nodes.append, kinds.get
    none: list[Node] = []  # the children of every leaf; nothing is added to it
    parent: Node | None = None
    parent_has_fields = False
    siblings: list[Node] = []
    while True:
        raw = cursor.node
        known_kind = known(raw.kind_id)
        if known_kind is not None:
            kind, leaf, file_by_kind = known_kind
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
            if (
                not leaf
                and not (text and kind == "compound_statement" and _is_foreign(node, text))
                and down()
            ):
                parent, parent_has_fields, siblings = node, kind in _WITH_FIELDS, node.children
                continue
        while not right():
            if not up() or parent is None:
                return Tree(nodes, by_kind, tuple(unparsed))
            parent.last = len(nodes) - 1
            parent = parent.parent
            parent_has_fields = parent is not None and parent.kind in _WITH_FIELDS
            siblings = parent.children if parent is not None else []


def _is_foreign(body: Node, text: bytes) -> bool:
    """Whether *body* is that of a function that has nothing to do with a GPU."""
    function = body.parent
    return (
        function is not None
        and function.kind == "function_definition"
        and not _MARKS.search(text, function.start, body.end)
    )
