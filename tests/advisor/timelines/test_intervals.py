"""Interval arithmetic against counting every nanosecond."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.timelines.intervals import (
    Intervals,
    between,
    common,
    cover,
    length,
    longer,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.timelines.intervals import Interval

TIMES = st.lists(
    st.tuples(st.integers(-40, 40), st.integers(0, 20)).map(lambda pair: (pair[0], sum(pair))),
    max_size=12,
)


def intervals(pairs: Iterable[Interval]) -> Intervals:
    made = Intervals()
    for start, end in pairs:
        made.add(start, end)
    assert list(made) == list(pairs)
    return made


def moments(pairs: Iterable[Interval]) -> set[int]:
    """Return every nanosecond that the intervals hold."""
    return {moment for start, end in pairs for moment in range(start, end)}


@given(TIMES, TIMES)
def test_a_cover_holds_each_moment_once(first: list[Interval], second: list[Interval]) -> None:
    joined = cover([intervals(first), intervals(second)])
    assert moments(joined) == moments(first) | moments(second)
    assert length(joined) == len(moments(joined))
    assert all(end < start for end, start in between(joined))


@given(TIMES, TIMES)
def test_common_time(first: list[Interval], second: list[Interval]) -> None:
    left, right = cover([intervals(first)]), cover([intervals(second)])
    assert moments(common(left, right)) == moments(first) & moments(second)
    assert common(left, right) == common(right, left)


@given(TIMES)
def test_gaps_fill_the_span(pairs: list[Interval]) -> None:
    busy = cover([intervals(pairs)])
    if len(busy):
        assert length(busy) + length(between(busy)) == busy.ends[-1] - busy.starts[0]


@given(TIMES)
def test_durations_are_sorted(pairs: list[Interval]) -> None:
    assert intervals(pairs).durations() == sorted(end - start for start, end in pairs)


def test_longer_keeps_what_is_longer() -> None:
    some = Intervals([0, 10, 30], [5, 16, 36])
    assert list(longer(some, 5)) == [(10, 16), (30, 36)]
    assert list(longer(some, 6)) == []
    assert list(longer(Intervals(), 0)) == []
