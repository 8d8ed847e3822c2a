"""Who waits at a terminal sees how far reading is, whichever command reads."""

from __future__ import annotations

import gzip
import sys
import zipfile
from pathlib import Path

import pytest
import traces

from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.cli import progress
from gpuadvise.cli.timeline.request import timelines_in

PTX = """\
.version 8.7
.target sm_80
.address_size 64
.visible .entry fill(.param .u64 a) { ret; }
"""
UNPACKED = r"unpacking \x1bnew.ptx: 89 B of 89 B, 100 %"
LISTED = [UNPACKED, "reading: 1 part", ""]
READ = [UNPACKED, "reading: 1 part", "reading: 2 parts", ""]


@pytest.fixture
def wheel(tmp_path: Path) -> str:
    path = tmp_path / "slow.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("package/\x1bnew.ptx", PTX)
    return str(path)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second pass at once."""
    monkeypatch.setattr(progress, "_PATIENCE", -1.0)
    monkeypatch.setattr(progress, "_PERIOD", -1.0)


@pytest.fixture
def watched(cli, monkeypatch: pytest.MonkeyPatch):
    """Run the command line with a terminal as the standard error."""
    monkeypatch.delenv("TERM", raising=False)

    def run(*args: str):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)  # pytest's own: put there late
        return cli(*args)

    return run


@pytest.mark.parametrize(
    ("command", "options", "lines"),
    [
        ("compat", ("--cc", "9.0"), LISTED),
        ("kernels", ("--list",), LISTED),
        ("kernels", (), READ),
        ("kernels", ("--format", "json"), READ),
        ("kernels", ("--format", "csv"), READ),
        ("diff", ("{wheel}",), READ * 2),
    ],
)
def test_a_line_that_is_written_over(watched, wheel, hurried, command, options, lines) -> None:
    ran = watched(command, wheel, *(option.format(wheel=wheel) for option in options))
    assert (ran.code, "\x1b" in ran.out) == (0, False)
    assert ran.err == "".join(f"\r\x1b[K{text}" for text in lines)


@pytest.mark.parametrize("options", [("--format", "ndjson"), ("--format", "json"), ("--list",)])
def test_a_library_tells_its_bytes_of_all(watched, hurried, options: tuple[str, ...]) -> None:
    path = Path(__file__).parent / "recorded" / "two.fatbin"
    ran = watched("kernels", str(path), *options)
    said = [line for line in ran.err.split("\r\x1b[K") if line]
    whole = show_bytes(path.stat().st_size)
    assert said
    assert all(line.startswith("reading two.fatbin: ") for line in said)
    assert all(f" of {whole}, " in line and line.endswith(" %") for line in said)


def test_nothing_on_a_terminal_that_cannot(
    watched, wheel, hurried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert watched("kernels", wheel).err == ""


def test_the_line_is_one_whatever_the_name(watched, tmp_path: Path, hurried) -> None:
    path = tmp_path / "escapes.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("\x1b" * 200, PTX)
    lines = watched("kernels", str(path)).err.split("\r\x1b[K")
    assert lines[1].startswith(r"unpacking \x1b\x1b")
    assert max(map(len, lines)) <= 80


def test_nothing_in_a_pipe(cli, wheel, hurried) -> None:
    assert cli("kernels", wheel).err == ""


def test_nothing_in_the_first_second(watched, wheel) -> None:
    assert watched("kernels", wheel).err == ""


def test_nothing_between_rows_on_the_same_terminal(
    watched, wheel, hurried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert watched("kernels", wheel, "--format", "csv").err == ""


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(("name", "whole"), [("trace.json", True), ("trace.json.gz", False)])
def test_a_trace_tells_its_bytes_of_all_where_it_is_not_packed(
    name: str, whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    content = traces.kineto([traces.kernel(0, 10)]).encode()
    path = tmp_path / name
    path.write_bytes(content if whole else gzip.compress(content))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert list(timelines_in((str(path),), None))
    assert (f"of {len(content)} B, 100 %" in capsys.readouterr().err) is whole
