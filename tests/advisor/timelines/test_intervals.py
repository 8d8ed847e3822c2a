"""Interval arithmetic against counting every nanosecond."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.timelines import intervals, sorted_runs
from gpuadvise.advisor.timelines.intervals import (
    Cover,
    CoverReader,
    IntervalLog,
    Intervals,
    common,
    length,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.timelines.intervals import Interval

TIMES = st.lists(
    st.tuples(st.integers(-40, 40), st.integers(0, 20)).map(lambda pair: (pair[0], sum(pair))),
    max_size=40,
)


@pytest.fixture(autouse=True, params=["one block", "many blocks"])
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read everything in blocks of a few, too, and through the file."""
    if request.param == "many blocks":
        monkeypatch.setattr(intervals, "_BLOCK", 3)
        monkeypatch.setattr(sorted_runs, "RUN", 4)
        monkeypatch.setattr(sorted_runs, "_BLOCK", 2)


def moments(pairs: Iterable[Interval]) -> set[int]:
    """Return every nanosecond that the intervals hold."""
    return {moment for start, end in pairs for moment in range(start, end)}


@given(TIMES, TIMES)
def test_a_cover_holds_each_moment_once(first: list[Interval], second: list[Interval]) -> None:
    joined = Cover([IntervalLog(first), IntervalLog(second)])
    assert moments(joined) == moments(first) | moments(second)
    assert length(joined) == len(moments(joined))
    assert list(joined) == sorted(joined)
    pairs = list(joined)
    assert all(end < start for (_, end), (start, _) in pairwise(pairs))
    assert bool(joined) == bool(first or second)
    assert joined == Cover([IntervalLog(first + second)])


@given(TIMES, TIMES)
def test_common_time(first: list[Interval], second: list[Interval]) -> None:
    left, right = (
        Intervals(*zip(*Cover([IntervalLog(each)]), strict=True)) if each else Intervals()
        for each in (first, second)
    )
    assert moments(common(left, right)) == moments(first) & moments(second)
    assert list(common(left, right)) == list(common(right, left))


@given(TIMES, TIMES)
def test_covers_are_read_side_by_side(first: list[Interval], second: list[Interval]) -> None:
    reader = CoverReader(Cover([IntervalLog(second)]))
    shared = {
        moment
        for block in Cover([IntervalLog(first)]).blocks()
        for part in reader.until(block.ends[-1])
        for moment in moments(common(block, part))
    }
    assert shared == moments(first) & moments(second)


@given(TIMES, st.integers(-40, 40), st.integers(0, 40))
def test_a_cover_is_clipped(pairs: list[Interval], start: int, size: int) -> None:
    clipped = Cover([IntervalLog(pairs)], clip=(start, start + size))
    assert moments(clipped) == moments(pairs) & set(range(start, start + size))
