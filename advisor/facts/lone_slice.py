"""One slice of L2 that works on when the SMs are done: what they sent it, atomics on few addresses, queues there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

_OF_THE_MEAN = number(
    2.0,
    "cycles of the busiest slice of L2",
    "per cycle of an average one",
    "measured: 2.6 where blocks add doubles to sixteen words at their end, 1.7 in a sort that is known as good",
    LaunchSet.NINTH,
)
_SMS_DONE = number(
    0.4,
    "time that SMs work",
    "of the busiest slice's",
    "measured: 0.36 in that kernel, 0.84 where blocks of unequal work end with such atomics",
    LaunchSet.NINTH,
)
_LEAST_SECONDS = number(
    10e-6, "launch of which slices are compared", "s", "our judgement", LaunchSet.NINTH
)


def lone_slice(profile: KernelProfile) -> float | None:
    """Return the share of the launch in which the busiest slice of L2 works, where it works on alone; else None."""
    slices, multiprocessors = profile.l2_cycles, profile.sm_cycles
    working = multiprocessors.most or multiprocessors.mean
    if not slices.most or not slices.mean or not working or not profile.elapsed_cycles:
        return None
    if (profile.seconds or 0.0) < _LEAST_SECONDS:
        return None
    alone = slices.most >= _OF_THE_MEAN * slices.mean and working <= _SMS_DONE * slices.most
    return min(1.0, slices.most / profile.elapsed_cycles) if alone else None
