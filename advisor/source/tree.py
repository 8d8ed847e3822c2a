"""The syntax tree of a CUDA file, light enough to walk millions of nodes a second.

The parser is tree-sitter with its CUDA grammar. It goes on after syntax that it does not know;
such stretches are reported. Nothing here recurses: a file may nest brackets as deep as it likes.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

# Children whose role in their parent cannot be told from their order.
_WITH_FIELDS = frozenset(
    ("for_statement", "if_statement", "while_statement", "do_statement", "declaration")
)
_LEAVES = frozenset(
    ("string_literal", "char_literal", "raw_string_literal", "concatenated_string", "comment")
)


class Node:
    """A named node: its *kind*, the bytes it covers, its place among all nodes of the file.

    The nodes of a file stand in one list, parents before children: those below this one are
    ``nodes[index + 1 : last + 1]``.
    """

    __slots__ = ("children", "end", "field", "index", "kind", "last", "parent", "start")

    def __init__(self, kind: str, start: int, end: int, parent: Node | None, index: int) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.parent = parent
        self.index = index
        self.last = index
        self.children: list[Node] = []
        self.field: str | None = None

    def ancestors(self) -> Iterator[Node]:
        """Yield the nodes around this one, from the inside out."""
        node = self.parent
        while node is not None:
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


@dataclass(frozen=True, slots=True)
class Tree:
    """All nodes of a file, parents first; *unparsed* are the bytes of unknown syntax."""

    nodes: list[Node]
    unparsed: tuple[tuple[int, int], ...]

    def below(self, node: Node) -> list[Node]:
        """Return *node* and every node below it."""
        return self.nodes[node.index : node.last + 1]


@functools.cache
def _parser() -> Any:
    import tree_sitter_cuda
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_cuda.language()))


def parse(text: bytes) -> Tree:
    """Return the tree of *text*, which is UTF-8."""
    parsed = _parser().parse(text)
    return _light(parsed.walk(), damaged=parsed.root_node.has_error)


def _light(cursor: Any, *, damaged: bool) -> Tree:
    """Copy what *cursor* walks over, without brackets, keywords and comments."""
    nodes: list[Node] = []
    unparsed: list[tuple[int, int]] = []
    down, right, up = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
    append = nodes.append
    parent: Node | None = None
    parent_has_fields = False
    while True:
        raw = cursor.node
        if raw.is_named:
            kind = raw.type
            if kind != "comment":
                node = Node(kind, raw.start_byte, raw.end_byte, parent, len(nodes))
                append(node)
                if parent is not None:
                    parent.children.append(node)
                    if parent_has_fields:
                        node.field = cursor.field_name
                if damaged and (kind == "ERROR" or raw.is_missing):
                    unparsed.append((node.start, node.end))
                if kind not in _LEAVES and down():
                    parent, parent_has_fields = node, kind in _WITH_FIELDS
                    continue
        while not right():
            if not up() or parent is None:
                return Tree(nodes, tuple(unparsed))
            parent.last = len(nodes) - 1
            parent = parent.parent
            parent_has_fields = parent is not None and parent.kind in _WITH_FIELDS
