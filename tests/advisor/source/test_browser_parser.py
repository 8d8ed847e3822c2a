"""The parser of a web page: from its integers the same trees as from the package.

tests/browser reads the same files with the page's own parser.
"""

from __future__ import annotations

import sys
from array import array
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
import tree_sitter_cuda
from tree_sitter import Language, Parser

from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.source import tree
from gpuadvise.advisor.source.tree import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[3]
SOURCES = sorted(
    [*ROOT.glob("tests/advisor/source/**/*.cu"), *ROOT.glob("cli/demo/*.cu")],
    key=lambda path: path.name,
)
ODD = {
    "other alphabets": "// größe 中 😀\n__global__ void größe(float *p) { p[0] = 1; } // 😀\nint é = 2;\n".encode(),
    "no UTF-8": b"// caf\xe9 \xff\xfe\n__global__ void k(float *p) { p[0] = 1.0; }\n",
    "damaged": b"__global__ void k( { if (x { ((( } void g() { for (int i = 0 i < 3; } int a[\n",
    "empty": b"",
}


class Page(ModuleType):
    """web_tree_sitter_cuda, its integers made by the package: what cuda_parser.js does."""

    def __init__(self) -> None:
        super().__init__("web_tree_sitter_cuda")
        self.language = Language(tree_sitter_cuda.language())
        self.there = True

    def load(self) -> bool:
        return self.there

    def kinds(self) -> list[tuple[str, bool]]:
        count = self.language.node_kind_count
        name, named = self.language.node_kind_for_id, self.language.node_kind_is_named
        return [(name(number) or "", named(number)) for number in range(count)]

    def fields(self) -> list[str | None]:
        return [self.language.field_name_for_id(n) for n in range(self.language.field_count + 1)]

    def parse(self, text: str, over: Callable[[int, bool], bool]) -> Numbers | None:
        units = text.encode("utf-16-le")
        try:
            parsed = Parser(self.language).parse(
                lambda at, _: units[at:], encoding="utf16le", progress_callback=over
            )
        except ValueError:
            return None
        cursor, parents, nodes = parsed.walk(), [], []
        while True:
            node: Any = cursor.node
            flags = node.has_error + 2 * node.is_missing + 4 * node.is_named
            nodes.append(
                [
                    node.kind_id,
                    node.start_byte // 2,
                    node.end_byte // 2,
                    flags,
                    node.descendant_count,
                    cursor.field_id or 0,
                    parents[-1] if parents else 0,
                ]
            )
            if cursor.goto_first_child():
                parents.append(len(nodes) - 1)
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return Numbers(array("i", [number for row in nodes for number in row]))
                parents.pop()


class Numbers:
    """An Int32Array."""

    def __init__(self, numbers: array[int]) -> None:
        self._numbers = numbers

    def to_bytes(self) -> bytes:
        return self._numbers.tobytes()


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    page = Page()
    monkeypatch.setitem(sys.modules, "tree_sitter_cuda", None)
    monkeypatch.setitem(sys.modules, "web_tree_sitter_cuda", page)
    tree._parser.cache_clear()
    yield page
    tree._parser.cache_clear()


def nodes(text: bytes) -> tuple[list[tuple[object, ...]], object]:
    """Return every node of *text*, bodies opened, and the unknown syntax."""
    parsed = parse(text, "k.cu")
    rows: list[tuple[object, ...]] = []
    stack = [parsed.root]
    while stack:
        node = stack.pop()
        parsed.open(node)
        rows.append((node.kind, node.start, node.end, node.index, node.last, node.field))
        stack.extend(reversed(node.children))
    return rows, parsed.unparsed


def natively(text: bytes) -> tuple[list[tuple[object, ...]], object]:
    with pytest.MonkeyPatch.context() as undo:
        undo.setitem(sys.modules, "tree_sitter_cuda", tree_sitter_cuda)
        tree._parser.cache_clear()
        found = nodes(text)
    tree._parser.cache_clear()
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_a_page_gives_the_trees_of_the_package(path: Path, page: Page) -> None:
    text = path.read_bytes()
    assert nodes(text) == natively(text)


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_places_are_bytes_in_every_alphabet(text: bytes, page: Page) -> None:
    assert nodes(text) == natively(text)


def test_a_text_that_costs_too_much_is_refused(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MOST_REPORTS", 0)
    monkeypatch.setattr(tree, "MOST_REPORTS_PER_KILOBYTE", 0)
    monkeypatch.setattr(tree, "_SELDOM", 1)
    with pytest.raises(BadInput, match=r"k\.cu"):
        parse(b"int a = 1;\n" * 1000, "k.cu")
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "tree_sitter_cuda", None)
    monkeypatch.setitem(sys.modules, "web_tree_sitter_cuda", page)
    assert nodes(b"int a;") == natively(b"int a;")


def test_a_page_without_its_grammar_says_so_and_is_asked_again(page: Page) -> None:
    page.there = False
    with pytest.raises(Unavailable, match="the page did not load their parser"):
        parse(b"", "k.cu")
    page.there = True
    assert parse(b"int a;", "k.cu").root.children
