"""The CUDA parser of a web page, in the shape that the package tree_sitter has.

A browser runs Python as WebAssembly and has no wheel of the grammar. The page around it loads
web-tree-sitter with the same grammar and offers it as the module ``web_tree_sitter_cuda``
(docs/browser/cuda_parser.js): ``load()`` says whether the grammar is there, and asks for it where it
is not; ``parse(text, over)`` returns a tree as an Int32Array, or nothing where ``over`` ended it.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

# What the page tells of each node, parents before children: the number of its kind, where it starts
# and ends, flags, how many nodes it is with those below it, the number of its field, its parent.
_WIDTH = 7
_KIND, _START, _END, _FLAGS, _NODES, _FIELD, _PARENT = range(_WIDTH)
_HAS_ERROR, _IS_MISSING, _IS_NAMED = 1, 2, 4
_ESCAPED = range(0xDC80, 0xDD00)  # a byte that is no UTF-8, as Python decodes it
_REPLACED = "\ufffd"


def page_parser() -> PageParser:
    """Return the parser that the page offers.

    Raises ImportError where this is no such page, Unavailable while it has no grammar.
    """
    import web_tree_sitter_cuda as page  # type: ignore[import-not-found]  # of JavaScript

    if not page.load():
        raise Unavailable(
            "CUDA sources cannot be read here: the page did not load their parser.",
            hint="Load the page again.",
        )
    return PageParser(page)


class PageParser:
    """Parser and language in one."""

    def __init__(self, page: ModuleType) -> None:
        self._page = page
        self._kinds: list[tuple[str, bool]] = [(name, named) for name, named in page.kinds()]
        self._fields: list[str | None] = list(page.fields())
        self.node_kind_count = len(self._kinds)

    def node_kind_for_id(self, number: int) -> str:
        """Return the name of a kind of node."""
        return self._kinds[number][0]

    def node_kind_is_named(self, number: int) -> bool:
        """Return whether nodes of a kind are more than brackets and keywords."""
        return self._kinds[number][1]

    def parse(
        self,
        read: Callable[[int, None], bytes],
        *,
        progress_callback: Callable[[int, bool], bool],
    ) -> PageTree:
        """Return the tree of what *read* gives; raises ValueError where *progress_callback* ends it."""
        parts = [read(0, None)]
        at = len(parts[0])
        while part := read(at, None):
            parts.append(part)
            at += len(part)
        text = b"".join(parts)
        # The page counts in UTF-16, which are the bytes of pure ASCII.
        plain = text.decode("utf-8", "surrogateescape")
        sent = plain if text.isascii() else _without_escapes(plain)
        numbers = self._page.parse(sent, progress_callback)
        if numbers is None:
            raise ValueError("the parser was stopped")
        nodes = array("i")
        nodes.frombytes(numbers.to_bytes())
        if not text.isascii():
            _count_bytes(nodes, plain)
        return PageTree(nodes, self._fields)

    def reset(self) -> None:
        """Forget a text whose parse was ended; the page does so itself."""


def _without_escapes(text: str) -> str:
    return "".join(_REPLACED if ord(letter) in _ESCAPED else letter for letter in text)


def _count_bytes(nodes: array[int], text: str) -> None:
    """Turn places in units of UTF-16 into bytes of *text* in UTF-8."""
    places = [0]
    at = 0
    for letter in text:
        number = ord(letter)
        at += 1 if number in _ESCAPED else len(letter.encode())
        places += [at] * (2 if number > 0xFFFF else 1)
    for column in (_START, _END):
        nodes[column::_WIDTH] = array("i", [places[unit] for unit in nodes[column::_WIDTH]])


class PageTree:
    """A tree, by its root."""

    def __init__(self, nodes: array[int], fields: Sequence[str | None]) -> None:
        self.root_node = PageNode(nodes, 0, fields)


class PageNode:
    """A node: its place in the array of all."""

    __slots__ = ("_at", "_fields", "_nodes")

    def __init__(self, nodes: array[int], at: int, fields: Sequence[str | None]) -> None:
        self._nodes = nodes
        self._at = at
        self._fields = fields

    def _number(self, column: int) -> int:
        return self._nodes[self._at * _WIDTH + column]

    @property
    def kind_id(self) -> int:
        """The number of its kind."""
        return self._number(_KIND)

    @property
    def start_byte(self) -> int:
        """Where it begins."""
        return self._number(_START)

    @property
    def end_byte(self) -> int:
        """Where it ends."""
        return self._number(_END)

    @property
    def has_error(self) -> bool:
        """Whether it holds unknown syntax."""
        return bool(self._number(_FLAGS) & _HAS_ERROR)

    @property
    def is_missing(self) -> bool:
        """Whether the parser put it in for want of something."""
        return bool(self._number(_FLAGS) & _IS_MISSING)

    @property
    def descendant_count(self) -> int:
        """How many nodes it is, with those below it."""
        return self._number(_NODES)

    @property
    def children(self) -> list[PageNode]:
        """The nodes right below it, in order."""
        children, at, end = [], self._at + 1, self._at + self.descendant_count
        while at < end:
            child = PageNode(self._nodes, at, self._fields)
            children.append(child)
            at += child.descendant_count
        return children

    def named_descendant_for_byte_range(self, start: int, end: int) -> PageNode:
        """Return the smallest named node around the bytes from *start* to *end*."""
        best = around = self
        while True:
            inner = next((child for child in around.children if child._spans(start, end)), None)
            if inner is None:
                return best
            around = inner
            if inner._number(_FLAGS) & _IS_NAMED:
                best = inner

    def _spans(self, start: int, end: int) -> bool:
        return self.start_byte <= start < self.end_byte and end <= self.end_byte

    def walk(self) -> PageCursor:
        """Return a cursor on it, which stays at or below it."""
        return PageCursor(self._nodes, self._at, self._fields)


class PageCursor:
    """A place in a tree that moves."""

    __slots__ = ("_at", "_fields", "_nodes", "_top")

    def __init__(self, nodes: array[int], at: int, fields: Sequence[str | None]) -> None:
        self._nodes = nodes
        self._at = self._top = at
        self._fields = fields

    @property
    def node(self) -> PageNode:
        """The node at this place."""
        return PageNode(self._nodes, self._at, self._fields)

    @property
    def field_name(self) -> str | None:
        """The role of the node in its parent."""
        return self._fields[self._nodes[self._at * _WIDTH + _FIELD]]

    def goto_first_child(self) -> bool:
        """Move down; False, and stay, where nothing is below."""
        if self._nodes[self._at * _WIDTH + _NODES] == 1:
            return False
        self._at += 1
        return True

    def goto_next_sibling(self) -> bool:
        """Move to the right; False, and stay, where nothing follows."""
        if self._at == self._top:
            return False
        following = self._at + self._nodes[self._at * _WIDTH + _NODES]
        parent = self._nodes[self._at * _WIDTH + _PARENT]
        if following == parent + self._nodes[parent * _WIDTH + _NODES]:
            return False
        self._at = following
        return True

    def goto_parent(self) -> bool:
        """Move up; False, and stay, at the node where the cursor began."""
        if self._at == self._top:
            return False
        self._at = self._nodes[self._at * _WIDTH + _PARENT]
        return True
