"""Pages of Nsight Compute that were cut: what is lost is said, and the code is that of damage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RECORDED = Path(__file__).parents[1] / "advisor/profiles/recorded"
COMMANDS = (
    ("advise", "{cut}"),
    ("kernels", "{cut}"),
    ("diff", "{cut}", "{whole}"),
    ("diff", "{whole}", "{cut}"),
    ("roofline", "--ncu", "{cut}"),
)


def cut(page: str, missing: int, folder: Path) -> tuple[str, str]:
    """Return a recorded page and a copy of it without its last *missing* bytes."""
    whole = RECORDED / f"{page}.csv"
    content = whole.read_bytes()
    path = folder / "cut.csv"
    path.write_bytes(content[: len(content) - missing])
    return str(whole), str(path)


LOST = {
    "torch_raw": "line 8: launch 5 is left out.",
    "torch_details": "line 577: launch 5 is not whole.",
}


@pytest.mark.parametrize("missing", [3, 400])
@pytest.mark.parametrize(
    ("page", "command"),
    [
        *[("torch_raw", command) for command in COMMANDS],
        *[("torch_details", command) for command in COMMANDS[:-1]],  # it has no operations
    ],
)
def test_a_cut_page_says_what_is_lost(
    page: str, missing: int, command: tuple[str, ...], cli, tmp_path: Path
) -> None:
    whole, path = cut(page, missing, tmp_path)
    ran = cli(*(word.format(cut=path, whole=whole) for word in command))
    assert ran.code == 3, ran.err
    assert ran.out
    assert f"The file ends in {LOST[page]}" in ran.err


@pytest.mark.parametrize("page", ["torch_raw", "torch_details", "hand_raw", "hand_details"])
@pytest.mark.parametrize("missing", [0, 1])  # the last line break is no loss
def test_a_whole_page_loses_nothing(page: str, missing: int, cli, tmp_path: Path) -> None:
    whole, path = cut(page, missing, tmp_path)
    assert cli("diff", whole, path).code == 0
    ran = cli("advise", path)
    assert ran.code == 0
    assert "line" not in ran.err


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_page_without_a_whole_launch_is_unreadable(
    command: tuple[str, ...], cli, tmp_path: Path
) -> None:
    whole = RECORDED / "torch_raw.csv"
    lines = whole.read_text().splitlines(keepends=True)
    path = tmp_path / "cut.csv"
    path.write_text("".join(lines[:2]) + lines[2][:500])
    ran = cli(*(word.format(cut=str(path), whole=str(whole)) for word in command))
    assert (ran.code, ran.out) == (2, "")
    assert "launch 0 is left out" in ran.err


def test_a_record_that_ends_early_in_the_middle_is_said(cli, tmp_path: Path) -> None:
    lines = (RECORDED / "torch_raw.csv").read_text().splitlines(keepends=True)
    lines[3] = lines[3][:500].rpartition(",")[0] + "\n"
    path = tmp_path / "page.csv"
    path.write_text("".join(lines))
    ran = cli("advise", str(path), "--format", "json")
    assert ran.code == 3
    assert "A record ends early in line 4: launch 1 is left out." in ran.err
    assert json.loads(ran.out)["findings"]


def test_what_a_program_prints_among_records_is_no_damage(cli, tmp_path: Path) -> None:
    lines = (RECORDED / "torch_raw.csv").read_text().splitlines(keepends=True)
    path = tmp_path / "page.csv"
    path.write_text("".join([*lines[:4], "12,34\n", "step 7\n", *lines[4:]]))
    ran = cli("advise", str(path))
    assert (ran.code, "line" in ran.err) == (0, False)
