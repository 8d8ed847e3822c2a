"""Pictures as SVG: a few marks, drawn as they look well inside a page, on paper and on a telephone.

Each has a title and a description for who hears the page read. Colours follow the page, light or dark.
"""

from __future__ import annotations

import math
import re
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.prose import inert

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH = 480
LINE = 20  # between two lines of text
COLOURS = 6  # series that can be told apart, by the colour-blind as well (Okabe and Ito's set)
IDLE = "idle"  # the class of what is no work

STYLE = """
svg{display:block;width:100%;height:auto;font:13px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}"""
_MARKS = """
svg text{fill:var(--ink)}svg .small{font-size:11.5px;fill:var(--soft)}
svg .axis{stroke:var(--soft);fill:none}svg .grid{stroke:var(--rule);fill:none}
svg .roof{stroke:var(--ink);stroke-width:2;fill:none}svg .mark{stroke:var(--bad);stroke-width:2;stroke-dasharray:5 3}
svg .c0{fill:#0072b2}svg .c1{fill:#e69f00}svg .c2{fill:#009e73}svg .c3{fill:#cc79a7}svg .c4{fill:#d55e00}
svg .c5{fill:#56b4e9}svg .idle{fill:var(--rule)}svg .track{fill:var(--panel)}
"""
STYLE += _MARKS
# On white, whatever shows the file: it is printed and put into documents.
_INK = {
    "var(--ink)": "#1b1f24", "var(--soft)": "#59636e", "var(--rule)": "#d1d9e0",
    "var(--panel)": "#f6f8fa", "var(--bad)": "#cf222e",
}  # fmt: skip
_MARGIN, _TITLE = 16, 28  # pixels around a picture in a file of its own, and of its title


class Picture(NamedTuple):
    """A drawing WIDTH wide and *height* high; *marks* is SVG, its *title* and *description* plain text."""

    title: str
    description: str
    height: float
    marks: str


class Scale(NamedTuple):
    """Where values from *low* to *high* stand between the pixels *start* and *end*."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Return the pixel of *value*, no farther out than the scale reaches."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + (self.end - self.start) * min(1.0, max(0.0, share))


class Part(NamedTuple):
    """One part of a whole: what it is called, its size, what is said of it."""

    name: str
    size: float
    said: str
    idle: bool = False


def inline(picture: Picture, number: int) -> str:
    """Return *picture* as an element of a page, on which it has this *number*."""
    name = f"picture{number}"
    return (
        f'<svg viewBox="0 0 {WIDTH} {picture.height:.5g}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{_text(picture.title)}</title>'
        f'<desc id="{name}-desc">{_text(picture.description)}</desc>{picture.marks}</svg>'
    )


def document(picture: Picture) -> str:
    """Return *picture* as a file of its own, its title above it, in ASCII."""
    width, height = WIDTH + 2 * _MARGIN, picture.height + 2 * _MARGIN + _TITLE
    style = re.sub(r"var\(--\w+\)", lambda colour: _INK[colour[0]], _MARKS).replace("\n", "")
    size = min(15.0, 1.6 * WIDTH / max(1, len(picture.title)))  # as wide as the picture at most
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * width}" height="{2 * height:.5g}" '
        f'viewBox="{-_MARGIN} {-_MARGIN - _TITLE} {width} {height:.5g}" role="img" '
        'aria-labelledby="title desc" font-family="system-ui, Segoe UI, Roboto, sans-serif" font-size="13">\n'
        f'<title id="title">{_text(picture.title)}</title>\n<desc id="desc">{_text(picture.description)}</desc>\n'
        f"<style>{style}</style>\n"
        f'<rect x="{-_MARGIN}" y="{-_MARGIN - _TITLE}" width="{width}" height="{height:.5g}" fill="#fff"/>\n'
        f'<text y="{-_TITLE + 13}" font-size="{size:.3g}" font-weight="600">{_text(picture.title)}</text>\n'
        f"{picture.marks}\n</svg>\n"
    )
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


def words(x: float, y: float, text: str, *, anchor: str = "start", small: bool = False) -> str:
    """Return *text*, which may be foreign, at a place."""
    classes = ' class="small"' if small else ""
    return f'<text x="{x:.4g}" y="{y:.4g}" text-anchor="{anchor}"{classes}>{_text(text)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    """Return a filled box of the colour class *kind*; one too thin to see is drawn half a pixel wide."""
    return (
        f'<rect x="{x:.5g}" y="{y:.5g}" width="{max(width, 0.5):.4g}" '
        f'height="{max(height, 0):.4g}" class="{kind}"/>'
    )


def path(points: Iterable[tuple[float, float]], kind: str) -> str:
    """Return a line through *points* of the class *kind*."""
    return f'<path d="M{" L".join(f"{x:.5g} {y:.5g}" for x, y in points)}" class="{kind}"/>'


def dot(x: float, y: float, kind: str) -> str:
    """Return a filled circle of the colour class *kind*."""
    return f'<circle cx="{x:.5g}" cy="{y:.5g}" r="5" class="{kind}"/>'


def axes(
    across: Scale,
    up: Scale,
    marks_across: Iterable[tuple[float, str]],
    marks_up: Iterable[tuple[float, str]],
    title: str,
) -> str:
    """Return both axes with their marks, and what is measured across below them."""
    parts = [
        path([(across.start, up.end), (across.start, up.start), (across.end, up.start)], "axis")
    ]
    for value, label in marks_up:
        y = up.at(value)
        parts.append(path([(across.start, y), (across.end, y)], "grid"))
        parts.append(words(across.start - 6, y + 4, label, anchor="end", small=True))
    for value, label in marks_across:
        x = across.at(value)
        parts.append(path([(x, up.start), (x, up.start + 4)], "axis"))
        parts.append(words(x, up.start + 17, label, anchor="middle", small=True))
    middle = (across.start + across.end) / 2
    parts.append(words(middle, up.start + 35, title, anchor="middle", small=True))
    return "".join(parts)


def account(title: str, parts: Sequence[Part]) -> Picture:
    """Return one bar of *parts* of a whole, each named below it; parts of nothing are left out."""
    parts = [part for part in parts if part.size > 0]
    whole = sum(part.size for part in parts) or 1.0
    marks, x, colour = [], 0.0, 0
    for at, part in enumerate(parts):
        kind = IDLE if part.idle else f"c{colour % COLOURS}"
        colour += not part.idle
        width = WIDTH * part.size / whole
        y = 52 + LINE * at
        marks += [box(x, 0, width, 32, kind), box(0, y - 11, 12, 12, kind)]
        marks.append(words(20, y, f"{part.name}: {part.said}"))
        x += width
    described = "; ".join(f"{part.name} {part.said}" for part in parts)
    return Picture(title, described, 46 + LINE * len(parts), "".join(marks))


_METER = 40  # pixels of one
_LONGEST_LABEL = 50  # characters that have room above its bar


def meters(title: str, parts: Sequence[Part], whole: float | None = None) -> Picture:
    """Return a bar for each of *parts* on a track as long as *whole*, or as the largest of them."""
    longest = whole or max((part.size for part in parts), default=0) or 1.0
    marks = []
    for at, part in enumerate(parts):
        top = _METER * at
        name = part.name if len(part.name) <= _LONGEST_LABEL else f"{part.name[:_LONGEST_LABEL]}…"
        marks.append(words(0, top + 13, name))
        marks.append(words(WIDTH, top + 13, part.said, anchor="end", small=True))
        marks.append(box(0, top + 19, WIDTH, 10, "track"))
        if part.size > 0:
            kind = IDLE if part.idle else "c0"
            marks.append(box(0, top + 19, WIDTH * min(1.0, part.size / longest), 10, kind))
    described = "; ".join(f"{part.name} {part.said}" for part in parts)
    return Picture(title, described, max(1, _METER * len(parts)), "".join(marks))


class Pair(NamedTuple):
    """One figure before and after, each with how it is said."""

    name: str
    old: float
    new: float
    said_old: str
    said_new: str


_PAIR = 58  # pixels of a pair
_BARS = 340  # of the longest bar


def before_and_after(title: str, pairs: Sequence[Pair]) -> Picture:
    """Return two bars for each of *pairs*, all on one scale."""
    longest = max((max(pair.old, pair.new) for pair in pairs), default=0) or 1.0
    marks = []
    for at, pair in enumerate(pairs):
        top = _PAIR * at
        marks.append(words(0, top + 12, pair.name))
        sides = (
            ("before", pair.old, pair.said_old, IDLE),
            ("after", pair.new, pair.said_new, "c0"),
        )
        for row, (side, size, said, kind) in enumerate(sides):
            y, width = top + 18 + 15 * row, _BARS * size / longest
            marks.append(words(0, y + 10, side, small=True))
            marks.append(box(44, y, width, 12, kind))
            marks.append(words(50 + width, y + 10, said, small=True))
    described = "; ".join(f"{p.name}: before {p.said_old}, after {p.said_new}" for p in pairs)
    return Picture(title, described, _PAIR * len(pairs), "".join(marks))


def _text(text: str) -> str:
    return escape(inert(text))
