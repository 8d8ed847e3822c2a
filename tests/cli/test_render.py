"""Every renderer over one answer that holds every kind of block, and hostile text."""

from __future__ import annotations

import io
import json

import pytest
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
)
from gpuadvise.cli.formats import Output
from gpuadvise.cli.render import markdown, plain, terminal

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
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard")
    console.print(terminal.render([Line("[red]x[/red] \x1b[31m", Tone.GOOD)]))
    assert console.file.getvalue() == "\x1b[32m[red]x[/red] \\x1b[31m\x1b[0m\n"


def test_an_empty_list_of_rows_is_an_empty_file(capsys) -> None:
    empty = Answer(command="x", device=None, input={}, result={}, rows=(), blocks=lambda: ())
    emit.emit(empty, Output(format="csv"))
    assert capsys.readouterr().out == ""


def test_an_empty_list_of_rows_has_the_header_of_known_columns(capsys) -> None:
    empty = Answer("x", None, {}, {}, lambda: (), rows=(), columns=("a", "b"))
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
    assert caught.value.hint == "Use text, json, csv, ndjson, markdown, sarif or github."


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
        (15, 17),  # not even the others fit: each row is a few lines
        (40, 2 * 3 + 3),  # a line for each name, and the longest takes four
        (56, 2 * 3 + 2),
        (60, 1 + 1 + 4),  # forty characters beside the others
        (200, 1 + 1 + 1),
    ],
)
def test_names_stand_below_where_little_room_is_left(width: int, lines: int) -> None:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(terminal.render([NAMED]))
    shown = console.file.getvalue()
    assert len(shown.splitlines()) == lines
    assert shown.count("k") == (width != 15) + 32 + 128  # one in the title
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
