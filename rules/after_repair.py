"""A kernel after its repairs: what limits it next, and what several repairs win together.

A repair leaves each unit a part of its work, in a shorter time: the unit that is then nearest to its roof
is what limits next. Of several repairs, those that shorten the same thing (work side by side, requests to
memory, operations) win no more than the best of them; those of different things multiply, as far as
the units leave room. `benchmarks/gains.py` holds both against launches whose repairs were recorded as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from gpuadvise.advisor.facts.limiter import roof_of
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.expectation import Expectation, GainExponents, expectation
from gpuadvise.rules.model import Family
from gpuadvise.rules.thresholds import LARGEST_GAIN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Launches with two findings or more, none of which the fastest recorded version of the program shows.
ALL_REPAIRS = GainExponents(low=0.33, median=0.77, high=0.95, repairs=80, programs=75)
_NEARLY_AT_ROOF = number(
    0.9,
    "unit that will limit after a repair",
    "share of its roof, for the expected gain",
    "205 of 282 recorded repairs then have a limit that a reader named, 201 with the number of the other sets; the "
    "limit of before is one for 105",
    LaunchSet.SEVENTH,
)


class Bottleneck(StrEnum):
    """What repairs make less of: two of one bottleneck shorten the same part of a launch's time."""

    IDLE = "too little work side by side"
    REQUESTS = "requests to memory"
    OPERATIONS = "operations"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What is known of one repair before it is made: its rule and family, its gain, and what it leaves units to do.

    *bound* is of the same precision, *most* with fewer bits where these win more. *relief* is how busy units
    would be for the time of today; without an entry, as today.
    """

    rule: str
    family: Family | None
    likely: Expectation
    bound: float
    relief: Mapping[str, float]
    most: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NextLimit:
    """What limits a kernel when the finding of *rule* is repaired: *unit*, then *busy* (0-1), or waits beside it."""

    rule: str
    unit: str
    busy: float
    at_roof: bool

    @property
    def name(self) -> str:
        """The limit in the words of `limit.name`, without what warps wait for."""
        if not self.at_roof:
            return "latency"
        return "issue" if self.unit == Unit.ISSUE else f"roof:{self.unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class JointGain:
    """What several *findings* of one kernel win together, of *upper_bound* at most."""

    findings: int
    expected: Expectation
    upper_bound: float


def bottleneck_of(family: Family | None) -> Bottleneck | None:
    """Return what a repair of *family* makes less of; None for another algorithm, which is all of them."""
    match family:
        case Family.RESIDENCY | Family.LATENCY | Family.GRID | Family.DIVERGENCE:
            return Bottleneck.IDLE
        case (
            Family.COALESCING
            | Family.WIDTH
            | Family.BANKS
            | Family.REUSE
            | Family.SPILLS
            | Family.ATOMICS
            | Family.PRODUCTS  # tiles of operands
        ):
            return Bottleneck.REQUESTS
        case Family.ARITHMETIC:
            return Bottleneck.OPERATIONS
        case None | Family.ROOFLINE | Family.COPIES:
            return None
        case other:
            assert_never(other)


def next_limit(first: Repair, units: Mapping[str, float]) -> NextLimit | None:
    """Return what limits after the repair *first*, by how busy *units* are now; None where that is not known."""
    after = _left_after([first], units)
    if not after:
        return None
    unit = max(after, key=lambda unit: after[unit] / roof_of(unit))
    busy = after[unit] * first.likely.expected
    return NextLimit(
        rule=first.rule,
        unit=unit,
        busy=min(1.0, busy),
        at_roof=busy >= _NEARLY_AT_ROOF * roof_of(unit),
    )


def together(repairs: Sequence[Repair], units: Mapping[str, float]) -> JointGain | None:
    """Return what *repairs* of one kernel win together; None below two.

    At most, bounds multiply as far as *units* leave them room. Likely is a power of what is left of that
    when of repairs with one bottleneck only the largest bound counts.
    """
    if len(repairs) < 2:
        return None
    best = max((repair.likely for repair in repairs), key=lambda likely: likely.expected)
    joint = expectation(ALL_REPAIRS, bound_by_bottleneck(repairs, units))
    expected = max(best.expected, joint.expected)
    return JointGain(
        findings=len(repairs),
        expected=Expectation(
            expected=expected,
            low=min(expected, max(best.low, joint.low)),
            high=max(expected, joint.high),
        ),
        upper_bound=max(
            min(_room(repairs, units), math.prod(repair.bound for repair in repairs)),
            *(repair.most for repair in repairs),
        ),
    )


def bound_by_bottleneck(repairs: Sequence[Repair], units: Mapping[str, float]) -> float:
    """Return the product of the largest bounds, one per bottleneck, or that of another algorithm if it is larger.

    As far as *units* leave all *repairs* room: of these the expectation is a power.
    """
    largest: dict[Bottleneck | None, float] = {}
    for repair in repairs:
        bottleneck = bottleneck_of(repair.family)
        largest[bottleneck] = max(repair.bound, largest.get(bottleneck, 1.0))
    whole = largest.pop(None, 1.0)
    return min(_room(repairs, units), max(whole, math.prod(largest.values())))


def _room(repairs: Sequence[Repair], units: Mapping[str, float]) -> float:
    """Return by which factor the busiest unit has less to do after all *repairs*, at least the largest bound."""
    busiest = max(_left_after(repairs, units).values(), default=1.0)
    largest = max(repair.bound for repair in repairs)
    return max(largest, min(LARGEST_GAIN, 1 / busiest) if busiest else LARGEST_GAIN)


def _left_after(repairs: Sequence[Repair], units: Mapping[str, float]) -> dict[str, float]:
    """Return how busy *units* would be, for the time of today, with what all *repairs* take off them."""
    after = dict(units)
    for repair in repairs:
        for unit, share in repair.relief.items():
            if before := units.get(unit):
                after[unit] *= min(1.0, share / before)
    return after
