"""HTML: one file that is opened, printed or attached, and the element that a notebook shows.

Nothing in it runs or is fetched: a policy forbids both, all text is escaped, and evidence is folded with
``details``. It is written in ASCII, so that no encoding on the way can break it.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, assert_never

from gpuadvise.advisor.prose import inert, plural
from gpuadvise.cli.blocks import Block, Cell, Drawing, Heading, LabelledFacts, Line, Table, Tone
from gpuadvise.cli.render import svg
from gpuadvise.cli.render.plain import drawing_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gpuadvise.cli.answer import Answer

LARGEST = 300_000  # bytes of a page: what a ticket or a mail takes without a thought
_OPEN_ROWS = 40  # of a table; more are folded
_LONGEST_TEXT = (
    1_000  # characters of one cell or sentence; a page is not where a name of 5,000 is read
)
# The citations of our rules; what rules of a user cite is text, as every other address is.
_LINKED = ("https://docs.nvidia.com/", "https://developer.nvidia.com/")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#59636e;--rule:#d1d9e0;--panel:#f6f8fa;
--good:#1a7f37;--poor:#9a6700;--bad:#cf222e}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;--soft:#9198a1;--rule:#3d444d;
--panel:#151b23;--good:#3fb950;--poor:#d29922;--bad:#f85149}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:66rem;margin:0 auto;padding:1rem}
h1{font-size:1.5rem;margin:.5rem 0}
h2{font-size:1.15rem;margin:2rem 0 .5rem;padding-bottom:.25rem;border-bottom:1px solid var(--rule)}
p{margin:.4rem 0;overflow-wrap:anywhere}
.entry{margin:1rem 0;padding:.5rem 1rem;background:var(--panel);border-left:4px solid var(--rule)}
.entry.bad{border-color:var(--bad)}.entry.poor{border-color:var(--poor)}.entry.good{border-color:var(--good)}
.strong,.bad,.entry>p:first-child{font-weight:600}
.good{color:var(--good)}.poor{color:var(--poor)}.bad{color:var(--bad)}.faint,footer{color:var(--soft)}
.entry.bad,.entry.poor,.entry.good{color:inherit;font-weight:inherit}
.scroll{overflow-x:auto;margin:.5rem 0}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .75rem .3rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--rule)}
tbody th{font-weight:normal}
thead th{color:var(--soft);font-weight:600;white-space:nowrap}
.right{text-align:right}
td.long{min-width:14em;overflow-wrap:anywhere}
pre{overflow-x:auto;padding:.75rem;background:var(--panel);font:.85rem/1.35 ui-monospace,Consolas,monospace}
.entry pre{padding:.25rem 0;margin:.25rem 0}
.pictures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(24rem,100%),1fr));gap:1.5rem;margin:1rem 0}
figure{margin:0;min-width:0}
figcaption{font-weight:600;margin-bottom:.25rem}
details{margin:.5rem 0}summary{cursor:pointer;overflow-wrap:anywhere}
summary:focus-visible{outline:2px solid currentColor}
a{color:inherit}
footer{margin:2rem 0 1rem;font-size:.85rem}
@media (max-width:40rem){main{padding:.75rem}h1{font-size:1.25rem}.entry{padding:.5rem .75rem}}
@media print{:root{color-scheme:light;--ink:#000;--paper:#fff;--soft:#444;--rule:#bbb;--panel:#fff;
--good:#000;--poor:#000;--bad:#000}main{max-width:none;padding:0}body{font-size:10pt}
.scroll,pre{overflow:visible}pre{white-space:pre-wrap}.entry,figure,tr{break-inside:avoid}h2{break-after:avoid}}
"""


def page(answer: Answer) -> str:
    """Return *answer* as one file of HTML, at most LARGEST bytes; what is left out is said."""
    room = _Room(LARGEST - _KEPT_FREE)
    name = f"gpuadvise {answer.command}"
    device = (answer.device or {}).get("name")
    title = f"{name}: {_shown(str(device))}" if device else _text(name)
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}{svg.STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
    ]
    room.take(parts[0])
    blocks = [block for block in answer.blocks() if block != Line("")]
    lead = _lead(blocks)
    parts += _sections(blocks[:lead], room)
    parts += _figures(answer.pictures(), room)
    parts += _sections(blocks[lead:], room)
    parts += _evidence(answer.findings, room)
    if room.full:
        parts.append(
            f"<p><strong>This page ends at {LARGEST // 1000} kB: some of the answer is left out. "
            "The format json has all of it.</strong></p>\n"
        )
    envelope = answer.envelope()
    parts.append(
        f"<footer>Written by {_text(name)} {_text(envelope['version'])}. This page runs no script and fetches "
        "nothing.</footer>\n</main>\n</body>\n</html>\n"
    )
    return _ascii("".join(parts))


def element(blocks: Iterable[Block]) -> str:
    """Return *blocks* as one element of HTML for a notebook: no style but alignment."""
    return f"<div>{''.join(map(_notebook_block, blocks))}</div>"


class _Room:
    """The bytes that a page has left; once something did not fit, nothing more does."""

    def __init__(self, size: int) -> None:
        self._left = size
        self.full = False

    def take(self, text: str) -> bool:
        """Return whether *text* fits, and count it if it does."""
        size = len(_ascii(text))
        self.full = self.full or size > self._left
        if not self.full:
            self._left -= size
        return not self.full


_KEPT_FREE = 3_000  # for the words at the end and elements that are still open
_LEAD = 8  # lines above the pictures at most: the verdict, the device, what limits


def _lead(blocks: Sequence[Block]) -> int:
    """Return how many of *blocks* stand above the pictures: the first lines, but no panel."""
    lines = 0
    while (
        lines < min(_LEAD, len(blocks))
        and isinstance(blocks[lines], Line)
        and _end_of_panel(blocks, lines) == lines + 1
    ):
        lines += 1
    return lines


def _sections(blocks: Sequence[Block], room: _Room) -> Iterator[str]:
    """Yield *blocks*; a line with indented lines or code below it, and those, as one panel."""
    at = 0
    while at < len(blocks):
        end = _end_of_panel(blocks, at)
        block, inside = blocks[at], blocks[at:end]
        if isinstance(block, Table):
            yield from _whole_table(block, room)
            inside = inside[1:]
        text = "".join(map(_page_block, inside))
        if isinstance(block, Line) and len(inside) > 1:
            text = f'<div class="entry {block.tone.value}">{text}</div>\n'
        if text and room.take(text):
            yield text
        at = end


def _end_of_panel(blocks: Sequence[Block], start: int) -> int:
    """Return where what belongs to the block at *start* ends; code belongs to the lines around it."""
    end = start + 1
    if isinstance(blocks[start], Line):
        while end < len(blocks) and (
            _belongs(blocks[end])
            or (
                isinstance(blocks[end], Drawing) and _belongs(blocks[min(end + 1, len(blocks) - 1)])
            )
        ):
            end += 1
    return end


def _belongs(block: Block) -> bool:
    """Return whether *block* belongs to the line above it."""
    return isinstance(block, Line) and block.indent > 0


def _page_block(block: Block) -> str:
    match block:
        case Line():
            tone = Tone.FAINT if block.source else block.tone
            shade = "" if tone is Tone.PLAIN else f' class="{tone.value}"'
            return f"<p{shade}>{_shown(block.text)}</p>\n"
        case Heading():
            return f"<h2>{_shown(block.text)}</h2>\n"
        case LabelledFacts():
            rows = "".join(
                f'<tr><th scope="row">{_shown(row.label)}</th>{_td(row.value)}'
                f'<td class="faint long">{_shown(row.said)}</td></tr>\n'
                for row in block.rows
            )
            return f'<div class="scroll"><table><tbody>\n{rows}</tbody></table></div>\n'
        case Table():
            return "".join(_rows(block, block.rows, _Room(LARGEST)))
        case Drawing():
            return f"<pre>{_text_lines(drawing_lines(block))}</pre>\n"
        case other:
            assert_never(other)


def _whole_table(table: Table, room: _Room) -> Iterator[str]:
    """Yield *table*, of a long one the first rows open and the others folded."""
    open_rows, folded = table.rows[:_OPEN_ROWS], table.rows[_OPEN_ROWS:]
    yield from _rows(table, open_rows, room)
    if folded and not room.full:
        yield f"<details><summary>{plural(len(folded), 'more row')}</summary>\n"
        yield from _rows(table, folded, room)
        yield "</details>\n"


def _rows(table: Table, rows: Iterable[Sequence[Cell]], room: _Room) -> Iterator[str]:
    head = "".join(
        f'<th scope="col"{side}>{_shown(column.title)}</th>'
        for column in table.columns
        for side in [' class="right"' if column.right else ""]
    )
    start = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n'
    if not room.take(start):
        return
    yield start
    for row in rows:
        cells = zip(row, table.columns, strict=True)
        text = "".join(
            _td(cell, right=col.right, long=col.below or col.prose) for cell, col in cells
        )
        if not room.take(f"<tr>{text}</tr>\n"):
            break
        yield f"<tr>{text}</tr>\n"
    yield "</tbody></table></div>\n"


def _td(cell: Cell, *, right: bool = False, long: bool = False) -> str:
    names = [cell.tone.value] if cell.tone is not Tone.PLAIN else []
    names += ["right"] if right else ["long"] if long else []
    classes = f' class="{" ".join(names)}"' if names else ""
    return f"<td{classes}>{_shown(cell.text)}</td>"


def _figures(pictures: Sequence[svg.Picture], room: _Room) -> Iterator[str]:
    figures = [
        f"<figure><figcaption>{_shown(picture.title)}</figcaption>{svg.inline(picture, number)}</figure>\n"
        for number, picture in enumerate(pictures)
    ]
    if figures and room.take("".join(figures)):
        yield from ('<div class="pictures">\n', *figures, "</div>\n")


def _evidence(findings: Sequence[Mapping[str, Any]], room: _Room) -> Iterator[str]:
    """Yield what each finding rests on and the section it comes from, folded."""
    items = [text for finding in findings if (text := _rests_on(finding))]
    if not items or not room.take("<h2>Evidence</h2>\n"):
        return
    yield "<h2>Evidence</h2>\n"
    yield from (item for item in items if room.take(item))


def _rests_on(finding: Mapping[str, Any]) -> str:
    """Return the evidence of *finding*, folded; nothing where it has none."""
    cited = _citation(finding.get("citation"))
    facts = "".join(
        f'<tr><th scope="row">{_shown(str(fact.get("label", "")))}</th>'
        f"<td>{_shown(_value(fact.get('value')))} {_shown(str(fact.get('unit') or ''))}</td>"
        f'<td class="faint">{_shown(str(fact.get("source") or ""))}</td></tr>\n'
        for fact in finding.get("evidence") or ()
    )
    if not (cited or facts):
        return ""
    place = finding.get("location") or {}
    where = [place.get("kernel"), place.get("file"), place.get("line")]
    said = ": ".join(str(part) for part in where if part)
    table = f'<div class="scroll"><table><tbody>\n{facts}</tbody></table></div>' if facts else ""
    summary = f"{_shown(str(finding['title']))} [{_shown(str(finding['rule']))}]"
    return (
        f"<details><summary>{summary}{f' {_shown(said)}' if said else ''}</summary>\n"
        f"<p>{_shown(str(finding['message']))}</p>\n{table}{cited}</details>\n"
    )


def _value(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)


def _citation(cited: Mapping[str, Any] | None) -> str:
    if not cited:
        return ""
    words = _shown(", ".join(str(cited[key]) for key in ("document", "section") if cited.get(key)))
    address = str(cited.get("url") or "")
    if address.startswith(_LINKED):
        words = f'<a rel="noreferrer noopener" href="{_text(address)}">{words}</a>'
    return f'<p class="faint">Source: {words}</p>\n'


def _shown(text: str) -> str:
    """Return foreign *text* escaped; of a very long one the beginning and how much is left out."""
    if len(text) > _LONGEST_TEXT:
        text = f"{text[:_LONGEST_TEXT]}… ({len(text) - _LONGEST_TEXT:,} more characters)"
    return _text(text)


def _ascii(text: str) -> str:
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")


_LEFT, _RIGHT = 'style="text-align:left"', 'style="text-align:right"'


def _notebook_block(block: Block) -> str:
    match block:
        case Line():
            indent = f' style="margin-left:{block.indent}ch"' if block.indent else ""
            return f"<p{indent}>{_toned(Cell(block.text, block.tone))}</p>"
        case Heading():
            return f"<h4>{_text(block.text)}</h4>"
        case LabelledFacts():
            rows = (
                f"<tr><th {_LEFT}>{_text(row.label)}</th><td {_LEFT}>{_toned(row.value)}</td>"
                f"<td {_LEFT}>{_text(row.said)}</td></tr>"
                for row in block.rows
            )
            return f"<table><tbody>{''.join(rows)}</tbody></table>"
        case Table():
            return _notebook_table(block)
        case Drawing():
            return f"<pre>{_text_lines(drawing_lines(block))}</pre>"
        case other:
            assert_never(other)


def _notebook_table(table: Table) -> str:
    sides = [_RIGHT if column.right else _LEFT for column in table.columns]
    titles = zip(table.columns, sides, strict=True)
    head = "".join(f"<th {side}>{_text(column.title)}</th>" for column, side in titles)
    rows = (
        "".join(f"<td {side}>{_toned(cell)}</td>" for cell, side in zip(row, sides, strict=True))
        for row in table.rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _toned(cell: Cell) -> str:
    text = _text(cell.text)
    return f"<strong>{text}</strong>" if text and cell.tone in (Tone.STRONG, Tone.BAD) else text


def _text(text: str) -> str:
    return escape(inert(text))


def _text_lines(lines: Iterable[str]) -> str:
    return "\n".join(map(_text, lines))
