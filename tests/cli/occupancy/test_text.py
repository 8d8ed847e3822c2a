"""What a person sees, through every kind of outlet."""

from __future__ import annotations

import subprocess
import sys

import pytest

QUESTIONS = {
    "plain": ("--regs", "32", "--block", "256", "--cc", "9.0"),
    "steps": ("--regs", "72", "--block", "256", "--smem", "16K", "--gpu", "h100-sxm", "--grid", "4096"),
    "tied": ("--regs", "168", "--block", "384", "--dynamic-smem", "227K", "--cc", "9.0"),
    "impossible": ("--regs", "72", "--block", "33x99", "--cc", "9.0"),
    "bounds": ("--regs", "72", "--block", "256", "--cc", "9.0", "--launch-bounds", "256,4"),
    "void-bounds": ("--regs", "32", "--block", "256", "--cc", "9.0", "--launch-bounds", "256,16"),
    "cluster": ("--regs", "32", "--block", "256", "--gpu", "h100-sxm", "--cluster", "4", "--grid", "64"),
    "barriers": ("--regs", "32", "--block", "128", "--cc", "9.0", "--barriers", "8"),
    "carveout": ("--regs", "32", "--block", "256", "--cc", "8.0", "--smem", "4K", "--carveout", "0"),
    "sweep-block": ("--regs", "40", "--block", "256", "--cc", "9.0", "--sweep", "block"),
    "sweep-regs": ("--regs", "40", "--block", "256", "--cc", "9.0", "--sweep", "regs"),
    "sweep-smem": ("--regs", "40", "--block", "256", "--cc", "9.0", "--sweep", "smem"),
    "sweep-given-smem": ("--regs", "40", "--block", "256", "--cc", "9.0", "--sweep", "smem", "--dynamic-smem", "40K"),
    "all-cc": ("--regs", "72", "--block", "256", "--all-cc"),
    "plot": ("--regs", "40", "--block", "256", "--cc", "9.0", "--sweep", "regs", "--show"),
}  # fmt: skip
STEPS = QUESTIONS["steps"]
SHELL = f"{sys.executable} -m gpuadvise occupancy {' '.join(STEPS)}"


@pytest.mark.parametrize("name", QUESTIONS)
def test_plain_text(cli, golden, monkeypatch, name: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = cli("occupancy", *QUESTIONS[name])
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out.splitlines()) <= 40
    golden(f"{name}.text", ran.out)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("steps", "json"), ("steps", "csv"), ("steps", "markdown"), ("sweep-block", "csv"),
        ("all-cc", "csv"), ("sweep-block", "ndjson"),
    ],
)  # fmt: skip
def test_other_formats(cli, golden, name: str, form: str) -> None:
    golden(f"{name}.{form}", cli("occupancy", *QUESTIONS[name], "--format", form).out)


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("name", ["steps", "impossible"])
def test_terminals(terminal, golden, name: str, width: int) -> None:
    golden(f"{name}-{width}.terminal", terminal("occupancy", *QUESTIONS[name], width=width))


def test_a_sweep_on_a_terminal(terminal, golden) -> None:
    shown = terminal("occupancy", *QUESTIONS["sweep-regs"], width=80)
    golden("sweep-regs-80.terminal", shown)


def test_no_color(terminal, golden) -> None:
    shown = terminal("occupancy", *STEPS, width=80, NO_COLOR="1")
    assert not any(f"\x1b[{colour}m" in shown for colour in range(30, 50))
    golden("steps-80-no-color.terminal", shown)


def test_a_dumb_terminal(terminal, golden) -> None:
    shown = terminal("occupancy", *STEPS, width=80, TERM="dumb")
    assert "\x1b" not in shown
    golden("steps-80-dumb.terminal", shown)


@pytest.mark.parametrize("shell", [f"{SHELL} | cat", f"{SHELL} > answer; cat answer"])
def test_pipes_and_files_get_plain_text(golden, tmp_path, shell: str) -> None:
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, cwd=tmp_path)
    assert done.stderr == ""
    golden("steps.text", done.stdout)


@pytest.mark.parametrize("more", ["", "--format csv --sweep regs"])
def test_a_reader_that_leaves_early(more: str) -> None:
    shell = f"{SHELL} {more} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
    first, code = done.stdout.splitlines()
    assert done.stderr == ""
    assert first
    assert code in {"0", "141"}


def test_a_chart_needs_no_sweep_to_be_named(cli) -> None:
    args = ("occupancy", "--regs", "40", "--cc", "9.0")
    assert cli(*args, "--show").out == cli(*args, "--show", "--sweep", "block").out


def test_a_chart_has_a_bar_for_each_size_and_marks_the_launch(cli) -> None:
    line = ("occupancy", "--regs", "96", "--gpu", "a100", "--show")
    rows = cli(*line, "--block", "256").out.splitlines()
    marked = [row for row in rows if row.startswith(">")]
    assert len(marked) == 2
    assert marked[0].split()[:4] == [">", "256", "25", "%"]
    assert marked[1] == "> this launch: 256"
    shares = [float(row.split(" %")[0].split()[-1]) for row in rows[1:-1]]
    lengths = [row.count("█") for row in rows[1:-1]]
    # A longer bar is a larger share, and nothing is drawn where no block fits.
    assert sorted(zip(shares, lengths, strict=True)) == sorted(
        zip(sorted(shares), sorted(lengths), strict=True)
    )
    assert rows[-2].endswith("impossible")
    assert not any(row.startswith(">") for row in cli(*line).out.splitlines())


TIE = ("--regs", "64", "--dynamic-smem", "100K", "--gpu", "h100")


def test_block_sizes_that_fill_as_much_are_all_named(cli) -> None:
    advised = cli("occupancy", *TIE, "--block", "256").out
    assert "512 or 1,024 threads per block instead of 256: 50 %, the most of any size." in advised
    chosen = cli("occupancy", *TIE).out
    assert "512 threads; 1,024 keeps as many warps." in chosen


def test_a_workflow_notice_is_the_verdict(cli) -> None:
    ran = cli("occupancy", *TIE, "--block", "256", "--format", "github")
    assert ran.out.startswith("::notice title=gpuadvise occupancy::25 %25 occupancy: 2 blocks")


@pytest.mark.parametrize("sweep", [(), ("--sweep", "block"), ("--show",)])
def test_an_impossible_launch_is_one_sentence(cli, sweep: tuple[str, ...]) -> None:
    ran = cli("occupancy", "--regs", "256", "--block", "256", "--gpu", "a100", *sweep)
    sentence = (
        "This launch is impossible: 256 registers per thread; a thread can have 255, 1 too many."
    )
    assert ran.out.splitlines()[1] == sentence
    assert "Per SM" not in ran.out
    assert "Occupancy  Limited by" not in ran.out


@pytest.mark.parametrize(
    ("regs", "verdict"), [("96", "Below about 50 % few warps"), ("64", "From about 50 % on more")]
)
def test_whether_an_occupancy_is_low_is_said_without_colour(cli, regs: str, verdict: str) -> None:
    ran = cli("occupancy", "--regs", regs, "--block", "256", "--gpu", "a100")
    assert [line for line in ran.out.splitlines() if verdict in line]


@pytest.mark.parametrize(
    ("block", "note"),
    [
        ("33", "A block of 33 threads is 2 warps of 32: 31 of 64 lanes do nothing (48.4 %)."),
        ("31", "A block of 31 threads is 1 warp of 32: 1 of 32 lanes does nothing (3.12 %)."),
        ("64", ""),
    ],
)
def test_lanes_that_do_nothing_are_said(cli, block: str, note: str) -> None:
    shown = cli("occupancy", "--regs", "32", "--block", block, "--gpu", "h100").out
    assert ("lanes do" in shown) == bool(note)
    assert note in shown
