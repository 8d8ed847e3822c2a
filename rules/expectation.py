"""What a repair is likely to win: the share of its bound that repairs of the same fault won.

A bound is what no repair can exceed; most win less of it the larger it is, and the shorter the launch: what it takes to start,
and to wait for the first loads, no repair takes away. Over labelled launches whose
repair was measured, the gain is a power of the bound, and the exponents of one rule lie near each other:
their quantiles are the expectation and its range. They are those of a launch of 100 us. `benchmarks/gains.py --fit` computes them and holds them,
with each program left out in turn, against what its repairs won.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import GainKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.rules.advice import Gain


@dataclass(frozen=True, slots=True, kw_only=True)
class GainExponents:
    """With gain = bound ** exponent: that of the median repair, and those between which 88 of 100 lie.

    Of a set that had no part in them that is about 8 in 10.

    Of *repairs* of one rule in *programs*, each with the weight of one, and of all other rules with the
    weight of ten together: a rule of which few were measured is taken to be like the others.
    """

    low: float
    median: float
    high: float
    repairs: int = 0
    programs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A likely gain as a factor: the median repair wins *expected*, 8 of 10 win *low* to *high*."""

    expected: float
    low: float
    high: float

    def of_run(self, share: float) -> Expectation:
        """Return the gain of a run of which the kernel takes *share* (0-1), by Amdahl's law."""
        return Expectation(
            expected=in_run(self.expected, share),
            low=in_run(self.low, share),
            high=in_run(self.high, share),
        )


def in_run(gain: float, share: float) -> float:
    """Return what *gain* on a part that takes *share* (0-1) of a run wins of the run: Amdahl's law."""
    return 1 / (1 - share * (1 - 1 / gain))


_LENGTH = number(
    100e-6, "length of a launch whose exponents stand in the table", "s", "our choice: the middle"
)
LONGER = number(
    0.0675,
    "more of the exponent",
    "per factor e in the length of a launch",
    "522 repairs of nine labelled sets; each set left out gives 0.06 to 0.08",
    LaunchSet.NINTH,
)
_SHORTEST = number(
    5e-6, "shortest launch", "s", "our judgement: shorter ones count as that", LaunchSet.NINTH
)
_LONGEST = number(
    10e-3, "longest launch", "s", "our judgement: longer ones count as that", LaunchSet.NINTH
)


# Of repairs that won 1.15x or more, on an H100 and H200s: tests/truth, all sets.
EXPONENTS: dict[str, GainExponents] = {
    "atomic-contention": GainExponents(low=0.41, median=0.66, high=0.8, repairs=46, programs=46),
    "bank-conflicts": GainExponents(low=0.4, median=0.73, high=1, repairs=24, programs=24),
    "costly-functions": GainExponents(low=0.24, median=0.67, high=0.94, repairs=9, programs=9),
    "divergent-branches": GainExponents(low=0.37, median=0.78, high=1, repairs=24, programs=24),
    "divergent-constant-reads": GainExponents(
        low=0.4, median=0.66, high=1, repairs=11, programs=11
    ),
    "host-memory-reads": GainExponents(low=0.33, median=0.66, high=1, repairs=1, programs=1),
    "implicit-double": GainExponents(low=0.33, median=0.61, high=1, repairs=17, programs=17),
    "integer-division": GainExponents(low=0.32, median=0.68, high=0.95, repairs=20, programs=20),
    "latency-bound": GainExponents(low=0.17, median=0.61, high=0.81, repairs=33, programs=33),
    "launch-bound": GainExponents(low=0.3, median=0.67, high=1, repairs=47, programs=22),
    "library-available": GainExponents(low=0.25, median=0.58, high=0.84, repairs=17, programs=16),
    "load-imbalance": GainExponents(low=0.37, median=0.72, high=0.93, repairs=10, programs=10),
    "low-occupancy": GainExponents(low=0.36, median=0.73, high=1, repairs=6, programs=6),
    "narrow-loads": GainExponents(low=0.37, median=0.79, high=1, repairs=43, programs=41),
    "partial-warp": GainExponents(low=0.34, median=0.7, high=0.99, repairs=3, programs=3),
    "redundant-global-loads": GainExponents(
        low=0.14, median=0.61, high=0.86, repairs=31, programs=30
    ),
    "register-spills": GainExponents(low=0.35, median=0.68, high=1, repairs=30, programs=30),
    "tail-effect": GainExponents(low=0.37, median=0.72, high=0.99, repairs=8, programs=8),
    "tiny-blocks": GainExponents(low=0.4, median=0.74, high=0.88, repairs=11, programs=11),
    "uncoalesced-access": GainExponents(
        low=0.26, median=0.65, high=0.86, repairs=143, programs=141
    ),
    "underfilled-device": GainExponents(low=0.33, median=0.71, high=0.97, repairs=56, programs=55),
    "unfused-pass": GainExponents(low=0.34, median=0.69, high=1, repairs=41, programs=10),
    "unpadded-rows": GainExponents(low=0.33, median=0.7, high=1, repairs=1, programs=1),
    "unused-tensor-cores": GainExponents(low=0.23, median=0.68, high=0.98, repairs=19, programs=19),
}
# Of a rule none of whose repairs was measured.
OTHER_RULES = GainExponents(low=0.32, median=0.68, high=1)
# Gains of these are times of the kernel itself.
OF_A_KERNEL = frozenset({GainKind.KERNEL_TIME, GainKind.KERNEL_THROUGHPUT, GainKind.GLOBAL_TRAFFIC})


def exponents_of(*names: str) -> GainExponents:
    """Return the exponents of the rule of these *names*, or those of all where none of its repairs was measured."""
    return next((EXPONENTS[name] for name in names if name in EXPONENTS), OTHER_RULES)


def by_length(seconds: float | None) -> float:
    """Return what a launch of *seconds* wins of the exponents of one of 100 us; 1 where its time is not known."""
    if not seconds:
        return 1.0
    return 1 + LONGER * math.log(min(max(seconds, _SHORTEST), _LONGEST) / _LENGTH)


def at_length(exponents: GainExponents, seconds: float | None) -> GainExponents:
    """Return *exponents* as a launch of *seconds* has them; no repair wins more than the bound."""
    factor = by_length(seconds)
    return replace(
        exponents,
        low=min(1.0, exponents.low * factor),
        median=min(1.0, exponents.median * factor),
        high=min(1.0, exponents.high * factor),
    )


def expectation(exponents: GainExponents, bound: float) -> Expectation:
    """Return what a repair wins of at most *bound*, a factor of 1 or more."""
    return Expectation(
        expected=bound**exponents.median, low=bound**exponents.low, high=bound**exponents.high
    )


def expected_gain(
    names: Sequence[str], gain: Gain | None, *, counted: bool, seconds: float | None = None
) -> Expectation | None:
    """Return what is likely of *gain* of a launch of *seconds*, None where it is no time of a kernel, or nobody *counted* its work."""
    if not counted or gain is None or gain.upper_bound < 1:
        return None
    if gain.of_kernel is not None and gain.share is not None:
        return expectation(exponents_of(*names), gain.of_kernel).of_run(gain.share)
    if gain.kind not in OF_A_KERNEL:
        return None
    return expectation(at_length(exponents_of(*names), seconds), gain.usual_bound)
