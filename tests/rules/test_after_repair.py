"""What limits a kernel after its first repair, and what several repairs win together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.facts.units import Unit
from gpuadvise.rules.after_repair import (
    Bottleneck,
    Repair,
    bottleneck_of,
    bound_by_bottleneck,
    next_limit,
    together,
)
from gpuadvise.rules.expectation import Expectation, expectation, exponents_of
from gpuadvise.rules.model import Family

BOUNDS = st.floats(1, 1e3)
FAMILIES = st.sampled_from([None, *Family])
UNITS = st.dictionaries(
    st.sampled_from([Unit.DRAM, Unit.L2, Unit.L1_SHARED, Unit.ISSUE, Unit.FMA]), st.floats(0, 1)
)


def repair(
    family: Family | None, bound: float, relief: dict[str, float] | None = None, expected: float = 0
) -> Repair:
    likely = expectation(exponents_of("a-rule"), bound)
    if expected:
        likely = Expectation(expected=expected, low=1, high=bound)
    return Repair(rule="a-rule", family=family, likely=likely, bound=bound, relief=relief or {})


REPAIRS = st.lists(st.builds(repair, FAMILIES, BOUNDS, UNITS), max_size=5)


@given(REPAIRS, UNITS)
def test_several_repairs_win_at_least_the_best_and_at_most_their_product(
    repairs: list[Repair], units: dict[str, float]
) -> None:
    both = together(repairs, units)
    if len(repairs) < 2:
        assert both is None
        return
    assert both is not None
    assert both.findings == len(repairs)
    slack, likely = 1 + 1e-9, both.expected
    assert 1 <= likely.low * slack <= likely.expected * slack**2 <= likely.high * slack**3
    assert likely.high <= both.upper_bound * slack
    assert likely.expected >= max(each.likely.expected for each in repairs) / slack
    assert both.upper_bound >= max(each.bound for each in repairs) / slack


@given(REPAIRS.filter(bool), UNITS)
def test_one_more_repair_never_wins_less(repairs: list[Repair], units: dict[str, float]) -> None:
    fewer = bound_by_bottleneck(repairs, units)
    assert bound_by_bottleneck([*repairs, repair(Family.LATENCY, 2)], units) >= fewer / (1 + 1e-9)


def test_repairs_of_one_cause_do_not_multiply_and_others_do() -> None:
    loads, reuse = repair(Family.COALESCING, 8), repair(Family.REUSE, 4)
    division = repair(Family.ARITHMETIC, 3)
    idle = {Unit.DRAM: 0.01}
    assert bound_by_bottleneck([loads, reuse], idle) == 8
    assert bound_by_bottleneck([loads, division], idle) == 24
    assert bound_by_bottleneck([loads, repair(None, 30)], idle) == 30


def test_a_busy_unit_bounds_what_all_repairs_win() -> None:
    loads = repair(Family.COALESCING, 4, {Unit.L2: 0.2})
    division = repair(Family.ARITHMETIC, 4, {Unit.ISSUE: 0.2})
    units = {Unit.DRAM: 0.2, Unit.L2: 0.9, Unit.ISSUE: 0.5}
    both = together([loads, division], units)
    assert both is not None
    assert both.upper_bound == pytest.approx(5)


def test_the_unit_that_a_repair_leaves_nearest_to_its_roof_limits_next() -> None:
    loads = repair(Family.COALESCING, 4, {Unit.L2: 0.2, Unit.DRAM: 0.1}, expected=3)
    units = {Unit.DRAM: 0.3, Unit.L2: 0.9, Unit.ISSUE: 0.25}
    then = next_limit(loads, units)
    assert then is not None
    assert (then.name, then.unit, then.at_roof) == ("issue", Unit.ISSUE, True)
    assert then.busy == pytest.approx(0.75)
    assert next_limit(loads, {}) is None


def test_waits_limit_next_where_no_unit_comes_near_its_roof() -> None:
    then = next_limit(repair(Family.REUSE, 10, expected=4), {Unit.L2: 0.1, Unit.DRAM: 0.05})
    assert then is not None
    assert (then.name, then.unit, then.busy) == ("latency", Unit.L2, pytest.approx(0.4))
    roof = next_limit(repair(Family.REUSE, 10, expected=8), {Unit.L2: 0.1, Unit.DRAM: 0.09})
    assert roof is not None
    assert roof.name == "roof:dram"


def test_every_family_but_another_algorithm_has_a_cause() -> None:
    without = {family for family in Family if bottleneck_of(family) is None}
    assert without == {Family.ROOFLINE, Family.COPIES}
    assert bottleneck_of(None) is None
    assert {bottleneck_of(family) for family in Family} - {None} == set(Bottleneck)
