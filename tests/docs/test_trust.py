"""The sums on "how far to trust this" are those of the records behind it."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
RECORD = (DOCS / "validation.md").read_text(encoding="utf-8")
TRUST = (DOCS / "trust.md").read_text(encoding="utf-8")
SPEED = (DOCS / "speed.md").read_text(encoding="utf-8")


def added(pattern: str, text: str) -> str:
    """Return "part of whole" over all lines of *text* that match."""
    pairs = [tuple(map(int, pair)) for pair in re.findall(pattern, text, re.MULTILINE)]
    assert pairs
    return f"{sum(part for part, _ in pairs)} of {sum(whole for _, whole in pairs)}"


def test_profiles_judged_at_first_add_up() -> None:
    first = r"^\| first \| raw page \| "
    assert added(first + r"(\d+) of (\d+)", RECORD) in TRUST
    assert added(first + r"[^|]*\| (\d+) of (\d+)", RECORD) in TRUST


def test_descriptions_judged_at_first_add_up() -> None:
    part = RECORD[RECORD.index("## Judgement on described kernels") :]
    part = part[: part.index("\n## ", 1)]
    row = r"^\| \w+(?:, [\d-]+)? \| [\d, ]+ \| first \| "
    assert added(row + r"(\d+) of (\d+)", part) in TRUST
    assert added(row + r"[^|]*\| (\d+) of (\d+)", part) in TRUST


def test_single_figures_stand_in_the_records() -> None:
    for figure in ("54,264", "24,136", "683", "59 of 60", "32 of 43", "47 of 51"):
        assert figure in RECORD
    for figure in ("54,264", "24,136", "683 measured repairs", "59 of 60", "32 of 43", "47 of 51"):
        assert figure in TRUST


def test_what_unseen_readers_found_stands_in_the_records() -> None:
    for figure in ("79 of 724", "68 of 450", "75 of 216", "67 of 397", "133 of 221", "79 of 102"):
        assert figure in RECORD
        assert figure in TRUST


def test_no_date_stands_on_a_page_for_users() -> None:
    for page in (TRUST, SPEED):
        assert not re.search(r"20\d\d-\d\d-\d\d", page)
