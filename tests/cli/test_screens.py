"""Whole answers on terminals of 60, 80 and 200 columns: nothing is cut, and no word is broken."""

from __future__ import annotations

import os
import pty
import re
import shlex
import struct
import sys
import termios
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gpuadvise.cli import emit
from gpuadvise.cli.app import _show_fields
from gpuadvise.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RECORDED = Path(__file__).parent / "recorded"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
SCREENS = {
    "compat-driver": "compat small-1.0-py3-none-any.whl --gpu h100 --driver 12.4",
    "compat-gpus": "compat small-1.0-py3-none-any.whl --matrix",
    "device": "device --from ../boxes/h200.json",
    "diff-runs": "diff pageable.trace.json pinned.trace.json",
    "roofline-ncu": "roofline --ncu ../../advisor/profiles/recorded/hand_raw.csv",
    "timeline": "timeline pageable.trace.json",
    "access": "access --stride 2 --gpu h100",
}
UNIT = re.compile(r"\b\d[\d.,]* (?:%|[KMG]iB|[GMT]B/s|[mun]s)(?![\w/])")
CUT_NAME = 20  # longer words are names and identifiers, which may be folded


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_fits_and_breaks_no_word(cli, golden, monkeypatch, name, columns: int) -> None:
    monkeypatch.chdir(RECORDED)
    plain = cli(*shlex.split(SCREENS[name])).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    ran = cli(*shlex.split(SCREENS[name]), "--sources")
    assert ran.code == 0
    shown = COLOURS.sub("", ran.out)
    lines = [line.rstrip() for line in shown.splitlines()]
    assert max(map(len, lines)) <= columns
    words = {word for word in plain.split() if len(word) <= CUT_NAME}
    assert {word for word in words if word not in shown} == set()
    assert {number for number in UNIT.findall(plain) if number not in shown} == set()
    golden(f"screen-{name}-{columns}.text", "".join(f"{line}\n" for line in lines))


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[str]]]:
    """Put a terminal of 40 columns in the place of stdout and stderr; yield what reads it."""
    monkeypatch.delenv("COLUMNS", raising=False)
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    with os.fdopen(theirs, "w", encoding="utf-8") as stream, monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", stream)
        patched.setattr(sys, "stdout", stream)

        def shown() -> list[str]:
            print("END", file=stream, flush=True)
            text = b""
            while not text.endswith(b"END\r\n"):  # a terminal hands out what it has so far
                text += os.read(ours, 1 << 16)
            return text.decode().replace("\r\n", "\n").splitlines()[:-1]

        yield shown
    os.close(ours)


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_each_kernel_has_a_line(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 80 columns too: names are cut, and columns that say nothing go."""
    log = Path(__file__).parents[1] / "advisor" / "profiles" / "recorded" / "ptxas.log"
    with terminal(monkeypatch) as shown:
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main(["kernels", str(log), "--gpu", "h200", "--color", "never"]) == 0
        lines = [COLOURS.sub("", line).rstrip() for line in shown()]
    rows = [line for line in lines if " %  " in line]
    assert len(rows) == 8
    assert all(len(line) <= columns for line in lines)
    for name in ("spilling", "sgemm_tiled", "transpose", "elementwise", "softmax_row"):
        assert sum(name in row for row in rows) == 1


PROFILES = Path(__file__).parents[1] / "advisor" / "profiles" / "recorded"


@pytest.fixture(scope="module")
def eager(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of PyTorch with eleven kernels, most of whose names have more than 100 characters."""
    import tarfile

    folder = tmp_path_factory.mktemp("torch")
    with tarfile.open(Path(__file__).parents[1] / "recordings" / "torch.tar.xz") as archive:
        archive.extract("./transformer_eager.json.gz", folder, filter="data")
    return folder / "transformer_eager.json.gz"


@pytest.mark.parametrize("columns", [80, 100, 120])
@pytest.mark.parametrize("command", ["timeline", "diff", "roofline"])
def test_kernels_of_long_names_have_a_line_each(
    command: str, columns: int, eager: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = {
        "timeline": ["timeline", str(eager)],
        "diff": ["diff", str(eager), str(eager), "--all"],
        "roofline": ["roofline", "--ncu", str(PROFILES / "torch_raw.csv")],
    }[command]
    with terminal(monkeypatch) as shown:
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main([*arguments, "--color", "never"]) == 0
        lines = [COLOURS.sub("", line).rstrip() for line in shown()]
    title = next(
        line
        for line in lines
        if re.search(r"\bkernel\b.*\b(calls|bound)\b|\bcalls\b.*kernel$", line)
    )
    first = lines.index(title) + 1
    rows = lines[first : lines.index("", first)] if "" in lines[first:] else lines[first:]
    rows = [row for row in rows if not re.match("note:|[0-9]+ more kernel", row)]
    assert len(rows) == {"timeline": 10, "diff": 9, "roofline": 5}[command]
    assert all(len(line) <= columns for line in lines)
    assert any("elementwis" in row or "vectorized_el" in row for row in rows)


def test_a_note_is_broken_between_words(monkeypatch) -> None:
    with terminal(monkeypatch) as shown:
        emit.note("No live GPU: answered for NVIDIA H100 SXM5 80 GB; --gpu names another.")
        assert shown() == [
            "note: No live GPU: answered for NVIDIA",
            "H100 SXM5 80 GB; --gpu names another.",
        ]


def test_the_list_of_fields_is_as_wide_as_the_terminal(cli, monkeypatch) -> None:
    plain = cli("scaling", "--get", "list").out
    with terminal(monkeypatch) as shown:
        _show_fields("scaling")
        lines = shown()
    assert max(map(len, lines)) <= 40
    assert " ".join(lines).split() == plain.split()


@pytest.mark.parametrize(("columns", "width"), [("30", 30), ("3", 20), ("", 40), ("wide", 40)])
def test_a_width_that_is_set_goes_before_that_of_the_terminal(
    monkeypatch, columns: str, width: int
) -> None:
    with terminal(monkeypatch):
        monkeypatch.setenv("COLUMNS", columns)
        assert emit.terminal_columns(sys.stderr) == width


def test_what_is_no_terminal_has_no_width(capsys) -> None:
    assert emit.terminal_columns(sys.stderr) is None
    emit.note("x" * 500)
    assert capsys.readouterr().err == f"note: {'x' * 500}\n"
