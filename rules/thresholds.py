"""Numbers that several rules decide by: what is long, busy, short or idle, once for all of them.

A number of one rule stands in that rule. `number` gives each its name, its unit, its source and the
launches that were labelled when it was set; docs/thresholds.md lists all of them.
"""

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
NO_TENSOR = number(0.03, "unused", "share", "plain kernels on A100 and GH200 show 0.2 % to 2 %")
# A part whose TF32 is no faster than that (GeForce) leaves a finding low.
CLEARLY_FASTER = number(
    1.5, "clearly faster", "factor", "our judgement: less is not worth another precision"
)
MOST_SECTORS = number(
    0.5, "most of the sectors", "share of those that global accesses move", "our judgement"
)
KEPT_IN_L1 = number(
    16 * 1024, "array that L1 keeps", "bytes", "our judgement: L1 has 24 KiB and more"
)
NOTICEABLE = number(0.05, "noticeable", "share of the run", "our judgement")
OF_PRODUCTS = number(0.1, "FP32 or FP64 products", "share", "our judgement", LaunchSet.RECORDED)
CUBLAS_REACHES = number(
    0.75,
    "FP32 peak that cuBLAS reaches",
    "share",
    "measured on an H200 with 4096 x 4096 matrices: 0.77",
    LaunchSet.RECORDED,
)
STARTING = number(
    5e-6,
    "start and end of a launch",
    "s",
    "measured on an H100: launches that hardly touch memory take 3.5 to 4 us",
    LaunchSet.RECORDED,
)
COALESCED = number(
    24.0, "bytes used of a sector", "bytes", "a misaligned warp uses 25.6", LaunchSet.RECORDED
)
BLOCK_THREADS = number(
    1024,
    "threads of a block that any GPU takes, at most",
    "threads",
    "CUDA C++ Programming Guide, compute capabilities",
)
SM_THREADS = number(
    2048,
    "threads that an SM of any GPU holds, at most",
    "threads",
    "CUDA C++ Programming Guide, compute capabilities",
)
FEWEST_LANES = number(
    8,
    "lanes that wait for each other, at least",
    "lanes",
    "our judgement: fewer seldom show in the run time",
)
SPARSE = number(
    4.0, "bytes moved for each that is used", "", "our judgement: of smaller ones L1 keeps the rest"
)


LARGEST_GAIN = number(1000.0, "largest gain that is said", "factor", "a bound beyond says no more")
