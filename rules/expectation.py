"""What a repair is likely to win: the share of its bound that repairs of the same fault won.

A bound is what no repair can exceed; most win less of it the larger it is. Over labelled launches whose
repair was measured, the gain is a power of the bound, and the exponents of one rule lie near each other:
their quantiles are the expectation and its range. `benchmarks/gains.py --fit` computes them and holds them,
with each program left out in turn, against what its repairs won.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.rules.advice import GainKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.rules.advice import Gain


@dataclass(frozen=True, slots=True, kw_only=True)
class GainExponents:
    """With gain = bound ** exponent: that of the median repair, and those between which 8 of 10 lie.

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


# Of repairs that won 1.15x or more, on an H100 and H200s: tests/truth, all sets.
EXPONENTS: dict[str, GainExponents] = {
    "atomic-contention": GainExponents(low=0.52, median=0.79, high=0.92, repairs=33, programs=33),
    "bank-conflicts": GainExponents(low=0.46, median=0.76, high=1, repairs=20, programs=20),
    "divergent-branches": GainExponents(low=0.55, median=0.79, high=0.92, repairs=16, programs=16),
    "divergent-constant-reads": GainExponents(
        low=0.48, median=0.79, high=0.97, repairs=7, programs=7
    ),
    "implicit-double": GainExponents(low=0.41, median=0.67, high=0.92, repairs=12, programs=12),
    "integer-division": GainExponents(low=0.33, median=0.77, high=0.99, repairs=14, programs=14),
    "latency-bound": GainExponents(low=0.23, median=0.63, high=0.9, repairs=24, programs=24),
    "launch-bound": GainExponents(low=0.24, median=0.63, high=0.9, repairs=29, programs=14),
    "library-available": GainExponents(low=0.36, median=0.66, high=0.84, repairs=21, programs=18),
    "load-imbalance": GainExponents(low=0.48, median=0.79, high=0.95, repairs=7, programs=7),
    "low-occupancy": GainExponents(low=0.43, median=0.79, high=0.92, repairs=4, programs=4),
    "narrow-loads": GainExponents(low=0.39, median=0.84, high=1, repairs=33, programs=31),
    "partial-warp": GainExponents(low=0.42, median=0.78, high=1, repairs=3, programs=3),
    "redundant-global-loads": GainExponents(
        low=0.21, median=0.65, high=0.89, repairs=23, programs=22
    ),
    "register-spills": GainExponents(low=0.41, median=0.76, high=0.96, repairs=23, programs=23),
    "tail-effect": GainExponents(low=0.46, median=0.79, high=0.98, repairs=6, programs=6),
    "tiny-blocks": GainExponents(low=0.48, median=0.81, high=0.9, repairs=7, programs=7),
    "uncoalesced-access": GainExponents(low=0.41, median=0.71, high=0.9, repairs=107, programs=105),
    "underfilled-device": GainExponents(low=0.37, median=0.79, high=0.97, repairs=40, programs=40),
    "unpadded-rows": GainExponents(low=0.39, median=0.78, high=1, repairs=1, programs=1),
    "unused-tensor-cores": GainExponents(low=0.25, median=0.71, high=0.95, repairs=15, programs=15),
}
# Of a rule none of whose repairs was measured.
OTHER_RULES = GainExponents(low=0.38, median=0.75, high=0.94)
# Gains of these are times of the kernel itself.
OF_A_KERNEL = frozenset({GainKind.KERNEL_TIME, GainKind.KERNEL_THROUGHPUT, GainKind.GLOBAL_TRAFFIC})


def exponents_of(*names: str) -> GainExponents:
    """Return the exponents of the rule of these *names*, or those of all where none of its repairs was measured."""
    return next((EXPONENTS[name] for name in names if name in EXPONENTS), OTHER_RULES)


def expectation(exponents: GainExponents, bound: float) -> Expectation:
    """Return what a repair wins of at most *bound*, a factor of 1 or more."""
    return Expectation(
        expected=bound**exponents.median, low=bound**exponents.low, high=bound**exponents.high
    )


def expected_gain(names: Sequence[str], gain: Gain | None, *, counted: bool) -> Expectation | None:
    """Return what is likely of *gain*, None where it is no time of a kernel, or nobody *counted* its work."""
    if not counted or gain is None or gain.upper_bound < 1:
        return None
    if gain.of_kernel is not None and gain.share is not None:
        return expectation(exponents_of(*names), gain.of_kernel).of_run(gain.share)
    if gain.kind not in OF_A_KERNEL:
        return None
    return expectation(exponents_of(*names), gain.usual_bound)
