"""Every renderer over one answer that holds every kind of block, and hostile text."""

from __future__ import annotations

import io
import json
import re
from operator import mul

import pytest
from rich._palettes import EIGHT_BIT_PALETTE
from rich.console import Console

from gpuadvise.advisor.errors import BadInput
from gpuadvise.cli import emit
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import (
    Cell,
    Column,
    Drawing,
    Fact,
    Heading,
    LabelledFacts,
    Line,
    Table,
    Tone,
    cells,
    known,
    table,
)
from gpuadvise.cli.formats import Output
from gpuadvise.cli.render import markdown, plain, terminal
from gpuadvise.cli.render.line_breaks import filled

HOSTILE = "k[red]\x1b[31m|`*\n"

BLOCKS = (
    Line("62.5 % occupancy.", Tone.STRONG),
    Heading("Limits"),
    LabelledFacts(
        (
            Fact(label="registers", value=Cell("8 blocks", Tone.POOR), remark="limits"),
            Fact(label="kernel", value=Cell(HOSTILE)),
        )
    ),
    Table(
        columns=(Column("block"), Column("occupancy", right=True)),
        rows=((Cell("128"), Cell("50 %")), (Cell(HOSTILE, Tone.BAD), Cell("100 %"))),
    ),
    Drawing("##\n #  "),
    Line(""),
)


@pytest.fixture
def answer() -> Answer:
    return Answer(
        command="sample",
        device=None,
        input={"regs": 32},
        result={"name": HOSTILE, "occupancy": 0.625, "limiters": ["warps", "registers"],
                "limits": {"barriers": None}, "launchable": True},
        rows=[{"name": HOSTILE, "occupancy": 0.625, "limiters": ["a", "b"], "none": None,
               "ok": True, "more": {"x": 1}}],
        blocks=lambda: BLOCKS,
        notes=("a note",),
        documents={"sarif": lambda: "{}\n"},
    )  # fmt: skip


@pytest.mark.parametrize("name", ["json", "csv", "ndjson", "markdown", "text", "sarif"])
def test_every_format(answer: Answer, name: str, capsys, golden) -> None:
    assert emit.emit(answer, Output(format=name)) == 0
    out, err = capsys.readouterr()
    assert "\x1b" not in out
    assert err == "note: a note\n"
    golden(f"sample.{name}", out)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_terminal(width: int, golden) -> None:
    console = Console(file=io.StringIO(), width=width, color_system=None, highlight=False)
    console.print(terminal.render(BLOCKS))
    golden(f"sample-{width}.terminal", console.file.getvalue())


def test_colour_comes_from_tones_alone() -> None:
    shown = terminal.in_colour([Line("[red]x[/red] \x1b[31m", Tone.GOOD)])
    assert shown == "\x1b[32m[red]x[/red] \\x1b[31m\x1b[0m\n"


def luminance(colour: int) -> float:
    """Return the relative luminance of one of the 256 fixed colours (WCAG 2.2)."""
    shares = [part / 255 for part in EIGHT_BIT_PALETTE[colour]]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in shares
    ]
    return sum(map(mul, (0.2126, 0.7152, 0.0722), linear))


@pytest.mark.parametrize("tone", [Tone.GOOD, Tone.POOR, Tone.BAD])
@pytest.mark.parametrize("background", [231, 234])  # 231: #ffffff, 234: #1c1c1c
def test_a_colour_is_read_on_white_and_on_black(
    tone: Tone, background: int, capsys, monkeypatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal.show([Line("x", tone)])
    (number,) = re.findall(r"38;5;([0-9]+)m", capsys.readouterr().out)
    low, high = sorted((luminance(int(number)), luminance(background)))
    assert (high + 0.05) / (low + 0.05) >= 3.5


@pytest.mark.parametrize("tone", [Tone.GOOD, Tone.POOR, Tone.BAD])
def test_sixteen_colours_are_those_of_the_terminal(tone: Tone, capsys, monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLORTERM", raising=False)
    terminal.show([Line("x", tone)])
    assert re.match(r"\x1b\[(1;)?3[123]mx", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("tail efficiency 78.1 %.", ["tail efficiency", "78.1 %."]),
        ("a rate of 4.81 TB/s here", ["a rate of", "4.81 TB/s here"]),
        ("no space is 5 bytesized x", ["no space is 5", "bytesized x"]),
        ("abcdefghijklmnopqrstuvwxyz", ["abcdefghijklmno", "pqrstuvwxyz"]),
        ("  indented text is", ["  indented text", "is"]),
        ("", [""]),
    ],
)
def test_a_number_keeps_its_unit(text: str, lines: list[str]) -> None:
    assert filled(text, 15) == lines


def test_an_empty_list_of_rows_is_an_empty_file(capsys) -> None:
    empty = Answer(command="x", device=None, input={}, result={}, rows=(), blocks=lambda: ())
    emit.emit(empty, Output(format="csv"))
    assert capsys.readouterr().out == ""


def test_an_empty_list_of_rows_has_the_header_of_known_columns(capsys) -> None:
    empty = Answer("x", None, {}, {}, lambda: (), rows=(), columns=lambda: ("a", "b"))
    emit.emit(empty, Output(format="csv"))
    emit.emit(empty, Output(format="ndjson"))
    emit.emit(empty._replace(rows=[{"c": 1}]), Output(format="csv"))
    assert capsys.readouterr().out == "a,b\nc\n1\n"


def test_the_result_is_the_row_where_none_are_listed(capsys) -> None:
    lone = Answer(command="x", device=None, input={}, result={"a": 1}, blocks=lambda: ())
    emit.emit(lone, Output(format="csv"))
    assert capsys.readouterr().out == "a\n1\n"


def test_an_unknown_format_names_those_that_exist(answer: Answer) -> None:
    with pytest.raises(BadInput) as caught:
        emit.emit(answer, Output(format="xml"))
    assert caught.value.hint == "Use text, json, csv, ndjson, markdown, html, sarif or github."


@pytest.mark.parametrize("columns", ["0", "1", "-7", "wide"])
def test_no_width_makes_the_answer_vanish(columns: str, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    terminal.show([Line("62.5 % occupancy.")])
    assert capsys.readouterr().out == "62.5 % occupancy.\n"


@pytest.mark.parametrize("width", [12, 20, 40])
def test_a_narrow_terminal_costs_no_letters(width: int) -> None:
    words = ("jetson-agx-orin-64", "204.8 GB/s", "sub-partition")
    table = Table(columns=(Column(""),) * 3, rows=(tuple(map(Cell, words)),))
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(terminal.render([table]))
    shown = "".join(console.file.getvalue().split()).replace(",", "")  # between cells of a row
    assert sorted(shown) == sorted("".join(words).replace(" ", ""))


NAMED = Table(
    columns=(Column("regs", right=True), Column("kernel", below=True), Column("file")),
    rows=tuple((Cell(f"{count}"), Cell("k" * count), Cell("libfoo.so")) for count in (32, 128)),
)


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (12, 20),  # not even the others fit: each row is a few lines
        (40, 2 * 3 + 3),  # a line for each name, and the longest takes four
        (56, 2 * 3 + 2),
        (60, 1 + 1 + 3),  # forty characters beside the others
        (200, 1 + 1 + 1),
    ],
)
def test_names_stand_below_where_little_room_is_left(width: int, lines: int) -> None:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(terminal.render([NAMED]))
    shown = console.file.getvalue()
    assert len(shown.splitlines()) == lines
    assert shown.count("k") == (width != 12) + 32 + 128  # one in the title
    if width == 40:
        head, title, row, name = (line.rstrip() for line in shown.splitlines()[:4])
        assert (head, title) == ("regs  file", "  kernel")
        assert (row, name) == ("  32  libfoo.so", "  " + "k" * 32)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("occupancy", "0.625"),
        ("limiters", "warps registers"),
        ("limiters.1", "registers"),
        ("limits.barriers", "null"),
        ("limits", '{"barriers":null}'),
        ("launchable", "true"),
        ("input.regs", "32"),
        ("schema", "gpuadvise.sample/1"),
        ("name", "k[red]\\x1b[31m|`*\\x0a"),
    ],
)
def test_one_field(answer: Answer, path: str, value: str) -> None:
    assert emit.bare_values(answer, path) == [value]


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        (
            "zzz",
            "Fields there: launchable, limiters, limits, name and occupancy. --get list explains them.",
        ),
        ("occupency", "Did you mean occupancy?"),
        ("limiters.9", "That list has 2 entries, numbered from 0."),
        ("limits.barrier", "Did you mean barriers?"),
        ("occupancy.x", "Nothing lies inside a single value."),
        ("input.zzz", "Fields there: regs. --get list explains them."),
    ],
)
def test_a_wrong_field_is_told_what_is_there(answer: Answer, path: str, hint: str) -> None:
    with pytest.raises(BadInput) as caught:
        emit.bare_values(answer, path)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    "path",
    [
        "nope",
        "limits.nope",
        "limiters.9",
        "limiters.-1",
        "limiters.²",
        "limiters." + "9" * 10_000,
        "",
        "occupancy.x",
    ],
)
def test_a_field_that_is_not_there(answer: Answer, path: str) -> None:
    with pytest.raises(BadInput, match="there is no such field"):
        emit.bare_values(answer, path)


def test_several_fields_are_several_lines(answer: Answer, capsys) -> None:
    emit.emit(answer, Output(fields=("occupancy", "launchable")))
    assert capsys.readouterr().out == "0.625\ntrue\n"


def test_the_envelope(answer: Answer, capsys) -> None:
    emit.emit(answer, Output(format="json"))
    document = json.loads(capsys.readouterr().out)
    assert list(document) == [
        "schema", "version", "device", "input", "result", "findings", "not_evaluated",
    ]  # fmt: skip


def test_no_line_is_a_command_to_a_log() -> None:
    assert plain.render([Line("  ::error::x")]) == "  \\x3a:error::x\n"
    assert plain.render([Line("ns::kernel")]) == "ns::kernel\n"


def test_plain_never_wraps_and_markdown_never_marks() -> None:
    assert plain.render([Line("x" * 500)]) == "x" * 500 + "\n"
    assert markdown.escaped("<b>|`") == "\\<b\\>\\|\\`"


def test_an_indented_line_keeps_its_indent_when_it_wraps() -> None:
    block, file = Line("one two three four", indent=3), io.StringIO()
    Console(file=file, width=12, color_system=None).print(terminal.render([block]))
    lines = [line.rstrip() for line in file.getvalue().splitlines()]
    assert lines == ["   one two", "   three", "   four"]
    assert plain.render([block]) == "   one two three four\n"
    assert markdown.render([block]) == "   one two three four\n"


CODE = "  -gencode arch=compute_120,code=sm_120 -gencode arch=compute_120,code=compute_120 " * 2


@pytest.mark.parametrize("width", [20, 60, 80, 200])
def test_code_is_never_cropped(width: int, monkeypatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    terminal.show([Drawing(CODE)], coloured=False)
    assert capsys.readouterr().out == CODE.rstrip() + "\n"


def test_a_table_has_the_title_of_a_column_beside_what_it_shows() -> None:
    shown = table(
        [(1, None), (2000, 3)],
        (">first", lambda row: f"{row[0]:,}"),
        (Column("second", below=True), lambda row: Cell(known(row[1], str), Tone.FAINT)),
    )
    columns = (Column("first", right=True), Column("second", below=True))
    rows = (cells("1", Cell("-", Tone.FAINT)), cells("2,000", Cell("3", Tone.FAINT)))
    assert shown == Table(columns, rows)
    assert table([], ("none", str)) == Table((Column("none"),), ())
