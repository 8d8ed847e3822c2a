"""One list of hostile names through every renderer: data everywhere, never a command."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING

import pytest
from html_pages import assert_inert

from gpuadvise.advisor.prose import inert
from gpuadvise.cli.render.markdown import escaped
from gpuadvise.cli.render.rows import cell

if TYPE_CHECKING:
    from pathlib import Path

NAMES = (
    "=1+1",
    "=HYPERLINK(\"https://example.org\",\"x\")",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1+1)",
    "\t=1+1",
    "\r=1+1",
    "\uff1d1+1",
    "a;=1+1",
    'a","=1+1',
    "@octocat fix this",
    "see #12, GH-13 and owner/name#14",
    "https://example.org/evil",
    "www.example.org",
    "[click](https://example.org)",
    "![x](https://example.org/p.png)",
    "<img src=x onerror=alert(1)>",
    "<!-- -->",
    "a | b | c",
    "```\n# heading",
    "**bold** _i_ ~~s~~",
    "[red]markup[/red]",
    "\x1b[31mred\x1b]8;;https://example.org\x07link\x1b]8;;\x07",
    "\x9b31m",
    "\u202eright to left",
    "\ud800lone",
    "a\n::error::broken",
    "::error file=x::broken",
    "%0A::error::broken",
    "a\x00b",
    "$x^2$",
    "${{ secrets.TOKEN }}",
    "{0} {1}",
    "../../etc/passwd",
    "\u2028line",
    "x" * 5000,
)  # fmt: skip
FORMATS = ("text", "json", "ndjson", "csv", "markdown", "html", "sarif", "github", "gitlab")
OF_FINDINGS = ("sarif", "gitlab")  # formats of the commands that have findings
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


def described(folder: Path, name: str) -> str:
    path = folder / "kernel.json"
    path.write_text(json.dumps({"name": name, "gpu": "h100", "regs": 72, "block": 100, "grid": 96}))
    return str(path)


def traced(folder: Path, name: str) -> str:
    events = [
        {
            "ph": "X", "cat": "kernel", "name": name, "ts": 100 * at, "dur": 50, "pid": 0, "tid": 7,
            "args": {"device": 0, "stream": 7, "grid": [96, 1, 1], "block": [128, 1, 1],
                     "registers per thread": 40},
        }
        for at in range(4)
    ]  # fmt: skip
    path = folder / "run.json"
    path.write_text(
        json.dumps({"deviceProperties": [{"id": 0, "name": name}], "traceEvents": events})
    )
    return str(path)


def answers(cli, folder: Path, name: str, form: str) -> list[str]:
    """Return what each command that takes foreign names prints in *form*."""
    trace = traced(folder, name)
    calls = [
        ("advise", described(folder, name)),
        ("advise", trace),
        ("diff", trace, trace, "--all"),
    ]
    if form not in OF_FINDINGS:
        calls.append(("timeline", trace, "--gpu", "h100"))
    ran = [
        cli(*call, "--format", form)
        for call in calls
        if not (call[0] == "diff" and form in OF_FINDINGS)
    ]
    for one in ran:
        assert one.code in (0, 2), one.err
        assert not STEERS.search(one.err)
    return [one.out for one in ran]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_hostile_name_is_data(cli, tmp_path: Path, name: str, form: str) -> None:
    for page in answers(cli, tmp_path, name, form):
        assert not STEERS.search(page.replace("\n", "").replace("\t", ""))
        for line in page.splitlines():
            assert form == "github" or not line.lstrip().startswith("::")
        if form == "github":
            assert all(re.match(r"::(error|warning|notice) ", line) for line in page.splitlines())
            assert "::error::broken" not in page.replace("title", "")
        elif form in ("json", *OF_FINDINGS):
            json.loads(page or "{}", parse_constant=pytest.fail)
        elif form == "ndjson":
            for line in page.splitlines():
                json.loads(line, parse_constant=pytest.fail)
        elif form == "csv":
            rows = list(csv.reader(io.StringIO(page)))
            assert len({len(row) for row in rows}) <= 1
            for text in (text for row in rows for text in row):
                number = re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", text)
                assert number or not re.match("[=+@\uff1d-]", text), text
                assert not re.search(r";\s*[=+@-]", text), text
        elif form == "markdown":
            assert not re.search(r"@\w|(?<!\\)#\d|\bGH-\d|https?://|\bwww\.\w", page), page
            assert not re.search(r"(?<!\\)<\w", page)
        elif form == "html":
            assert_inert(page)


def test_the_data_of_json_is_exact(cli, tmp_path: Path) -> None:
    for name in ("=1+1", "@octocat #12", "a;=b", "[click](https://example.org)"):
        document = json.loads(cli("advise", described(tmp_path, name), "--format", "json").out)
        assert document["result"]["kernels"][0]["name"] == name


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_cell_is_the_text_again_without_its_apostrophe(name: str) -> None:
    shown = cell(name)
    assert shown.removeprefix("'").replace(";'", ";") == inert(name)
    assert cell(["a", name]) == "a " + cell(f"x {name}")[2:]


def test_numbers_stay_numbers() -> None:
    assert [cell(value) for value in (-1, -2.5, None, True, "", "-")] == [
        -1,
        -2.5,
        None,
        "true",
        "",
        "'-",
    ]


def test_markdown_shows_the_name_again() -> None:
    shown = re.sub(r"\\(.)", r"\1", escaped("@octocat #12 [a](https://b.c) www.d.e"))
    assert shown.replace("\u200b", "") == "@octocat #12 [a](https://b.c) www.d.e"
