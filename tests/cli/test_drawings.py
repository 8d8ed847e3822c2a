"""What is drawn is drawn to the width of the terminal: at 60, 80 and 200 columns, and in ASCII."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

RECORDED = Path(__file__).parent / "recorded"
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
DRAWN = {
    "occupancy-block": "occupancy --regs 96 --block 256 --gpu a100 --show",
    "occupancy-regs": "occupancy --regs 96 --block 256 --gpu a100 --sweep regs --show",
    "access": "access --stride 2 --gpu h100 --show",
    "banks": "banks --tile 32x32 --gpu h100 --show",
    "overlap": "overlap --h2d 3ms --kernel 5ms --gpu h200 --show",
    "roofline": "roofline --flops 1e9 --bytes 12GB --gpu h100 --show",
    "timeline": "timeline pageable.trace.json --show",
}


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("name", DRAWN)
def test_nothing_is_wider_than_the_terminal(cli, golden, monkeypatch, name, columns: int) -> None:
    monkeypatch.chdir(RECORDED)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(columns))
    ran = cli(*shlex.split(DRAWN[name]))
    assert (ran.code, ran.err) == (0, "")
    text = COLOURS.sub("", ran.out)
    assert max(map(len, text.splitlines())) <= columns
    golden(f"drawn-{name}-{columns}.text", drawing(text, HEADINGS.get(name, "")))


# Above the drawing; none: it is the answer.
HEADINGS = {
    "access": "Bytes of",
    "banks": "Lanes and banks",
    "overlap": "Time line",
    "roofline": "Roofline",
    "timeline": "Lanes",
}


def drawing(text: str, heading: str) -> str:
    """Return the paragraph of *text* that is drawn under *heading*."""
    if not heading:
        return text
    lines = [line.rstrip() for line in text.splitlines()]
    first = next(at for at, line in enumerate(lines) if line.startswith(heading))
    end = next((at for at, line in enumerate(lines) if at > first and not line), len(lines))
    return "".join(f"{line}\n" for line in lines[first:end])


@pytest.mark.parametrize("name", DRAWN)
def test_a_locale_without_lines_and_blocks_gets_others(name: str) -> None:
    run = "import sys; from gpuadvise.cli.main import run; sys.exit(run())"
    done = subprocess.run(
        [sys.executable, "-c", run, *shlex.split(DRAWN[name])],
        env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(RECORDED.parents[2] / ".typing")},
        capture_output=True,
        encoding="ascii",
        cwd=RECORDED,
    )
    assert done.returncode == 0
    assert "\\u" not in done.stdout


CODE = "overlap --h2d 3ms --kernel 5ms --gpu h200 --skeleton cuda"
FLAGS = "compat small-1.0-py3-none-any.whl --gpu rtx5090"


@pytest.mark.parametrize("line", [CODE, FLAGS])
def test_what_is_copied_is_never_cut(cli, monkeypatch, line: str) -> None:
    monkeypatch.chdir(RECORDED)
    plain = cli(*shlex.split(line)).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    narrow = COLOURS.sub("", cli(*shlex.split(line)).out)
    copied = [
        row for row in plain.splitlines() if row.strip().startswith(("-gencode", "kernel<<<"))
    ]
    assert copied
    assert all(row.rstrip() in narrow for row in copied)


@pytest.mark.parametrize(
    ("line", "source"),
    [
        ("device --gpu rtx4090", "TechPowerUp"),
        ("occupancy --regs 32 --block 256 --gpu h100", "Sources:"),
    ],
)
def test_sources_are_shown_on_a_terminal_when_they_are_asked_for(
    cli, monkeypatch, line: str, source: str
) -> None:
    assert source in cli(*line.split()).out
    assert source in cli(*line.split(), "--format", "markdown").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    hidden = COLOURS.sub("", cli(*line.split()).out)
    assert source not in hidden
    assert hidden.endswith("--sources says where the numbers come from.\n")
    assert source in cli(*line.split(), "--sources").out
    assert source not in cli(*line.split()).out


@pytest.mark.parametrize("moved", ["1B", "1kB", "1MB", "100GB"])
def test_a_roofline_is_drawn_the_same_by_every_process(process, moved: str) -> None:
    line = ["roofline", "--gpu", "h200", "--flops", "1G", "--bytes", moved, "--show"]
    drawn = {process(*line, PYTHONHASHSEED=seed).out for seed in ("1", "2", "3")}
    assert len(drawn) == 1
