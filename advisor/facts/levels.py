"""What counts as a long wait, busy memory or a coalesced access, once for all that read a profile."""

from __future__ import annotations

from gpuadvise.advisor.thresholds import LaunchSet, number

# What takes less is one of several waits, and none is the one to shorten.
LONG_WAIT = number(
    0.4,
    "long wait",
    "share of a warp's time",
    "our judgement of profiles on an H200",
    LaunchSet.RECORDED,
)
MOST_OF_THE_TIME = number(
    0.7,
    "one wait that takes most of the time",
    "share of a warp's time",
    "our judgement",
    LaunchSet.RECORDED,
)
MEMORY_BY_WORDS = number(
    0.71,
    "memory busy",
    "share",
    "measured: 4-byte words reach 55 % to 75 % on an H200",
    LaunchSet.RECORDED,
)
MOST_SECTORS = number(
    0.5, "most of the sectors", "share of those that global accesses move", "our judgement"
)
COALESCED = number(
    24.0, "bytes used of a sector", "bytes", "a misaligned warp uses 25.6", LaunchSet.RECORDED
)
