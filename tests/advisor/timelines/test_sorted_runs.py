"""Numbers that are sorted in runs, and tallies of them, against the standard library's sort."""

from __future__ import annotations

import errno
import os
from statistics import median_low
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.timelines import sorted_runs, tally
from gpuadvise.advisor.timelines.sorted_runs import SortedRuns, merged
from gpuadvise.advisor.timelines.tally import Tally

if TYPE_CHECKING:
    from typing import NoReturn

NUMBERS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 9), max_size=80)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_runs, "RUN", 8)
    monkeypatch.setattr(sorted_runs, "_BLOCK", 3)
    monkeypatch.setattr(tally, "_FRESH", 5)
    monkeypatch.setattr(tally, "_MOST_DIFFERENT", 6)


def runs_of(numbers: list[int]) -> SortedRuns:
    runs = SortedRuns()
    for number in numbers:
        runs.add(number)
    assert len(runs) == len(numbers)
    return runs


@given(NUMBERS, NUMBERS)
def test_numbers_come_back_in_order(first: list[int], second: list[int]) -> None:
    both = [runs_of(first), runs_of(second)]
    for _ in range(2):  # they can be read again
        assert [number for block in merged(both) for number in block] == sorted(first + second)


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(), st.integers()), max_size=40))
def test_rows_come_back_in_order(rows: list[tuple[int, int, int]]) -> None:
    runs, inside = SortedRuns(width=3), [tuple(max(-9, min(n, 9)) for n in row) for row in rows]
    for row in inside:
        runs.add(*row)
    assert list(runs) == sorted(inside)


def test_a_long_list_is_a_run_of_its_own() -> None:
    runs = SortedRuns()
    runs.extend([9, 3] * 20)
    runs.extend([5])
    assert list(runs) == [3] * 20 + [5] + [9] * 20


@pytest.mark.parametrize("number", [2**63, 0.5, "1", None])
def test_what_is_no_number_of_64_bits_is_refused(number: object) -> None:
    for kept in (SortedRuns(), Tally()):
        with pytest.raises((TypeError, OverflowError)):
            kept.add(number)  # type: ignore[arg-type]


def test_without_room_for_the_file_numbers_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    assert list(runs_of(list(range(50, 0, -1)))) == list(range(1, 51))


def test_a_write_that_stops_halfway_leaves_them_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, bytes(data)[:8]))
    assert list(runs_of(list(range(50, 0, -1)))) == list(range(1, 51))


@given(NUMBERS.filter(bool), NUMBERS)
def test_a_tally_knows_what_its_numbers_are_like(first: list[int], second: list[int]) -> None:
    numbers, counted = first + second, Tally()
    assert not counted
    for number in first:
        counted.add(number)
    counted.extend(second)
    assert counted
    for _ in range(2):
        summary = counted.summary()
        assert (summary.count, summary.total) == (len(numbers), sum(numbers))
        assert (summary.smallest, summary.largest) == (min(numbers), max(numbers))
        assert summary.median == median_low(numbers)


def test_a_tally_of_nothing_has_no_summary() -> None:
    with pytest.raises(ValueError, match="nothing"):
        Tally().summary()
