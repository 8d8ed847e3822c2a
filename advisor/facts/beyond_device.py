"""Loads that miss L2 and that device memory does not serve: the host's memory, or another GPU's, over a link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

_HITS = number(
    0.9,
    "hits in L2 beside reads over a link, at most",
    "share",
    "our judgement: 0.53 where stores hit and all loads come from the host",
    LaunchSet.NINTH,
)
_DRAM_OF_L2 = number(
    0.01,
    "device memory beside such reads",
    "of what L2 is busy, at most",
    "measured: 0 beside reads of the host; 0.05 and more in 30 launches whose atomics queue",
    LaunchSet.NINTH,
)
# Of two arrays one lies beyond: a queue of atomics that makes warps wait as long leaves L2 still.
_DRAM_BESIDE = number(
    0.15,
    "device memory that serves other loads beside such reads",
    "of what L2 is busy, at most",
    "measured: 0.12 where one of two arrays is the host's",
    LaunchSet.TENTH,
)
_L2_AT_WORK = number(
    0.05,
    "L2 that loads over a link keep at work",
    "share of its peak",
    "measured: 0.06 and 0.09; at most 0.04 in 22 queues of atomics with waits as long and for loads alone",
    LaunchSet.TENTH,
)
_LONG_WAIT = number(
    4000.0,
    "wait for such reads",
    "cycles per instruction",
    "measured: 4,325 and 4,928",
    LaunchSet.TENTH,
)
_WAIT = number(
    1000.0,
    "wait for a link",
    "cycles per instruction",
    "a load from idle device memory takes 600 to 1,000",
    LaunchSet.NINTH,
)
_OF_THE_TIME = number(0.9, "waits for loads over a link", "share", "our judgement", LaunchSet.NINTH)
_LEAST_SECONDS = number(
    20e-6,
    "launch that waits for a link",
    "s",
    "our judgement: device memory hardly moves in shorter ones",
    LaunchSet.NINTH,
)


def reads_beyond_device_memory(profile: KernelProfile) -> bool:
    """Return whether a page that does not count reads of the host shows loads that only a link explains."""
    hits, moved, l2 = profile.l2_hit_rate, profile.dram_busy, profile.l2_busy
    if profile.host_sectors_read is not None or hits is None or moved is None or l2 is None:
        return False
    waits = profile.warp_latency or 0.0
    beside = l2 >= _L2_AT_WORK and waits >= _LONG_WAIT
    return (
        hits <= _HITS
        and moved <= (_DRAM_BESIDE if beside else _DRAM_OF_L2) * l2
        and (profile.seconds or 0.0) >= _LEAST_SECONDS
        and waits >= _WAIT
        and profile.stalls.get(Stall.LONG_SCOREBOARD, 0.0) >= _OF_THE_TIME
    )
