"""What every page of HTML must be: well formed, without anything that runs or is fetched."""

from __future__ import annotations

import re
from html.parser import HTMLParser

LARGEST = 300_000
_EMPTY = {"meta", "rect", "circle", "path"}
# All elements and attributes that a page has: what a name slips in is none of them.
_ELEMENTS = _EMPTY | {
    "html",
    "head",
    "title",
    "style",
    "body",
    "main",
    "h1",
    "h2",
    "p",
    "div",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "pre",
    "code",
    "strong",
    "figure",
    "figcaption",
    "details",
    "summary",
    "a",
    "footer",
    "svg",
    "desc",
    "g",
    "text",
}
_ATTRIBUTES = {
    "lang",
    "charset",
    "http-equiv",
    "content",
    "name",
    "class",
    "scope",
    "href",
    "rel",
    "id",
    "role",
    "aria-labelledby",
    "viewbox",
    "x",
    "y",
    "width",
    "height",
    "d",
    "cx",
    "cy",
    "r",
    "text-anchor",
}


class Page(HTMLParser):
    """The elements of a page, each closed where it must be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.declared = ""
        self.feed(text)
        self.close()
        assert not self._open, self._open

    def handle_decl(self, decl: str) -> None:
        self.declared = decl

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _EMPTY:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of each element *tag*."""
        return [attributes for name, attributes in self.elements if name == tag]


def assert_inert(text: str) -> Page:
    """Assert that *text* is a page in which nothing runs and nothing is fetched; return it."""
    assert text.isascii()
    assert len(text) <= LARGEST
    page = Page(text)
    assert page.declared == "doctype html"
    assert {tag for tag, _ in page.elements} <= _ELEMENTS
    names = {name for _, attributes in page.elements for name in attributes}
    assert names <= _ATTRIBUTES, names
    for link in page.of("a"):
        assert (link["href"] or "").startswith(
            ("https://docs.nvidia.com/", "https://developer.nvidia.com/")
        )
    assert not re.search(r"url\(|@import", text[: text.index("</style>")])
    policy = next(meta for meta in page.of("meta") if "http-equiv" in meta)
    assert "default-src 'none'" in (policy["content"] or "")
    assert page.of("html") == [{"lang": "en"}]
    assert len(page.of("title")) == 1 + len(page.of("svg"))
    assert len(page.of("desc")) == len(page.of("svg"))
    assert len(page.of("h1")) == 1
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert all(head.get("scope") in ("col", "row") for head in page.of("th"))
    return page
