"""Help by question and topic, fields, what other tools call an option, and what a shell offers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.values import OneWord
from gpuadvise.cli import options
from gpuadvise.cli.app import COMMANDS, QUESTIONS, _loaded
from gpuadvise.cli.main import main
from gpuadvise.cli.schemas import fields_of, names

if TYPE_CHECKING:
    from pathlib import Path

NAMES = [row.name for row in COMMANDS]


@pytest.mark.parametrize("columns", ["60", "80", "200"])
def test_the_help_asks_questions(cli, monkeypatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    lines = cli("--help").out.splitlines()
    # Commands stay whole, for they are copied.
    assert all(len(line) <= int(columns) or line.startswith("    gpuadvise") for line in lines[:-1])
    assert [line for line in lines if line in QUESTIONS] == list(QUESTIONS)
    assert {name for name in NAMES if any(line.startswith(f"  {name} ") for line in lines)} == {
        *NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_help_of_a_command_fits_and_sorts_its_options(cli, monkeypatch, name: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = cli(name, "--help").out
    wide = [line for line in out.splitlines() if len(line) > 80]
    assert all(line.startswith("    gpuadvise") for line in wide)  # examples stay whole
    titles = [line[:-1] for line in out.splitlines() if line[:-1] in options.TOPICS]
    assert titles == [title for title in options.TOPICS if title in titles]
    assert titles[-1] == options.OUTPUT
    assert cli("help", name).out == out


def test_help_without_a_command_is_that_of_all(cli) -> None:
    assert cli("help").out == cli("--help").out


def test_help_of_what_is_no_command(cli) -> None:
    ran = cli("help", "occupency")
    assert (ran.code, ran.out) == (2, "")
    assert "Did you mean occupancy?" in ran.err


@pytest.mark.parametrize("words", ["wave", "help wave"])
def test_a_word_of_the_glossary_is_no_command_but_is_explained(cli, words: str) -> None:
    ran = cli(*words.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[1] == "hint: gpuadvise explain wave."


def test_a_missing_argument_is_one_sentence(cli) -> None:
    assert cli("compat").err.splitlines()[0] == "error: Missing argument 'FILE...'."


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("occupancy --registers 32", "The option is --regs here: Registers per thread."),
        ("occupancy --threads 64", "The option is --block here"),
        ("occupancy --maxrregcount=32", "The option is --regs here"),
        ("occupancy -arch=sm_90", "The option is --cc here"),
        ("kernels x -arch=sm_90", "The option is --arch here"),
        ("kernels x --kernel-name y", "The option is --filter here"),
        ("bandwidth --duration 3ms", "The option is --time here"),
        ("overlap --duration 3ms", "The option is --kernel here"),
        ("device --query-gpu name", "The option is --get here"),
        ("access --element-size 4", "The option is --word here"),
        ("gpus --nonsense", "gpuadvise gpus --help shows the options."),
        ("overlap --h2d", "gpuadvise overlap --help shows the options."),
        ("device h200", "gpuadvise device --help shows the options."),
    ],
)
def test_what_other_tools_call_an_option(cli, line: str, hint: str) -> None:
    ran = cli(*line.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[1].startswith(f"hint: {hint}")


def test_a_value_without_its_option_is_told_what_is_missing(cli) -> None:
    assert "each value stands behind an option" in cli("occupancy", "64", "256").err


@pytest.mark.parametrize("name", names())
def test_every_field_is_explained(name: str) -> None:
    assert not [path for path, meaning in fields_of(name) if not meaning], (
        f"say below these fields in api/answers/{name}.py what they are"
    )


def test_get_list_explains_the_fields_and_needs_nothing_else(cli) -> None:
    ran = cli("overlap", "--get", "list")
    assert ran.code == 0
    rows = {line.split()[0]: line.partition("  ")[2].strip() for line in ran.out.splitlines()}
    assert rows["sweep.streams"] == "Streams."
    assert "one row per" in rows["sweep"].lower()
    assert cli("overlap", "--get=list").out == ran.out


def test_get_reaches_into_lists(cli) -> None:
    every = cli("gpus", "h100", "--get", "devices.name").out.splitlines()
    assert len(every) > 1
    assert cli("gpus", "h100", "--get", "devices.0.name").out.splitlines() == every[:1]
    # What CSV lists needs no path.
    assert cli("gpus", "h100", "--get", "name").out.splitlines() == every
    swept = cli("occupancy", "--regs", "32", "--sweep", "block", "--get", "sweep.occupancy")
    assert len(swept.out.splitlines()) == 32


def test_a_field_that_no_entry_has(cli) -> None:
    ran = cli("gpus", "h100", "--get", "devices.nane")
    assert ran.code == 2
    assert "Did you mean name?" in ran.err
    assert cli("gpus", "h100", "--get", "devices.99").code == 2


# (line, some of what is offered, none of what is not)
OFFERED = [
    ("occupancy --format ", {"text", "json", "csv", "ndjson", "markdown", "html", "github"}),
    ("advise --format s", {"sarif"}),
    ("overlap --format c", {"csv", "code"}),
    ("occupancy --sweep ", {"block", "regs", "smem"}),
    ("access --sweep ", {"stride", "offset"}),
    ("overlap --skeleton ", {"cuda", "cuda-python"}),
    ("kernels --sort s", {"smem", "stack", "spills"}),
    ("roofline --dtype bf", {"bf16", "bf16_tensor"}),
    ("advise --fail-on ", {"high", "medium", "low"}),
    ("compat --fail-on ", {"jit", "fails"}),
    ("doctor --report ", {"markdown", "json"}),
    ("occupancy --cc 9", {"9.0"}),
    ("kernels --arch sm_90,sm_8", {"sm_90,sm_80", "sm_90,sm_86", "sm_90,sm_87", "sm_90,sm_89"}),
    ("measure ", {"copies", "access", "overlap", "kernel-rate"}),
    ("help occ", {"occupancy"}),
    ("occupancy --get occ", {"occupancy"}),
    ("overlap --get sweep.", {f"sweep.{it}" for it in ("streams", "predicted", "speedup")}),
    ("scaling --color ", {"auto", "always", "never"}),
    ("banks --bank-size ", {"4", "8"}),
    ("overlap --pcie 4x1", {"4x1", "4x16"}),
    ("occupancy --gpu rtx40", {"rtx4090", "rtx4080"}),
    ("gpus hop", {"hopper"}),
    ("occ", {"occupancy"}),
    ("occupancy --re", {"--regs"}),
]


def offers(shell: str, line: str, monkeypatch, capsys) -> set[str]:
    """Return what the program tells *shell* may stand at the end of *line*."""
    words = f"gpuadvise {line}"
    monkeypatch.setenv("_GPUADVISE_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - (not words.endswith(" "))))
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", words)
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    with pytest.raises(SystemExit):
        main([])
    rows = capsys.readouterr().out.splitlines()
    if shell == "zsh":
        return {row.split('"')[1] for row in rows if '"' in row}
    return {row.split("\t")[0] for row in rows}


@pytest.mark.parametrize(("line", "offered"), OFFERED, ids=[line for line, _ in OFFERED])
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_offers_closed_sets_and_fields(monkeypatch, capsys, shell, line, offered) -> None:
    found = offers(shell, line, monkeypatch, capsys)
    assert offered <= found
    assert all(word.startswith(line.split(" ")[-1]) for word in found)


CLOSED = [name for name, option in options.OPTIONS.items() if isinstance(option.read, OneWord)]
CLOSED += [
    "format",
    "get",
    "gpu",
    "cc",
    "arch",
    "dtype",
    "space",
    "sweep",
    "select",
    "ignore",
    "fail_on",
    "bank_size",
    "pcie",
    "registers",
]


@pytest.mark.parametrize("name", CLOSED)
def test_an_option_of_a_closed_set_is_completed(name: str) -> None:
    flags = {options.flag(name), *options.OPTIONS[name].spellings}
    takers = [p for row in COMMANDS for p in _loaded(row).params if flags & set(p.opts)]
    assert takers
    assert all(p._custom_shell_complete for p in takers)


def test_completion_imports_no_command() -> None:
    code = (
        "import os, sys; os.environ.update(_GPUADVISE_COMPLETE='complete_bash',"
        "COMP_WORDS='gpuadvise k', COMP_CWORD='1')\n"
        "from gpuadvise.cli.main import main\n"
        "try: main([])\n"
        "except SystemExit: pass\n"
        "print([m for m in sys.modules if m.endswith('.command')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "place", "offered"),
    [
        ("occupancy --sweep bl", 3, ["block"]),
        ("occupancy --gpu H200", 3, ["H200-nvl", "H200-sxm"]),
        ("occupancy --gpu = h200", 4, ["h200-nvl", "h200-sxm"]),  # bash's words of --gpu=h200
        (
            "occupancy --format =",
            3,
            ["text", "json", "csv", "ndjson", "markdown", "html", "github"],
        ),
        ("occupancy --gpu = h200 --format = nd", 7, ["ndjson"]),
    ],
)
def test_bash_completes_with_our_script(
    tmp_path: Path, words: str, place: int, offered: list[str]
) -> None:
    program = tmp_path / "gpuadvise"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gpuadvise "$@"\n')
    program.chmod(0o755)
    script = (
        f'PATH="{tmp_path}:$PATH"; source <(gpuadvise completion bash); '
        f"COMP_WORDS=(gpuadvise {words}); COMP_CWORD={place}; "
        '_gpuadvise_completion gpuadvise; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert done.stdout.split() == offered


def test_fields_of_json_are_those_listed(cli) -> None:
    line = ("latency", "--gpu", "h200", "--json")
    answer = json.loads(cli(*line).out)["result"]
    assert set(answer) == {path for path, _ in fields_of("latency")}


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["version"], "gpuadvise --version"),
        (["roofline", "--gpu", "h100"], "--flops 2e12 --bytes 3GB"),
        (["advise"], "report.ncu-rep, trace.json, app.cu"),
        (["bandwidth", "--gpu", "h100", "--bytes", "2GB"], "The option is --read here"),
        (["rules", "--topic", "memory"], "The option is --select here"),
        (["rules", "high"], "--select those of a topic or priority"),
    ],
)
def test_a_first_try_is_told_the_way(cli, args: list[str], hint: str) -> None:
    ran = cli(*args)
    assert (ran.code, ran.out) == (2, "")
    assert hint in ran.err
