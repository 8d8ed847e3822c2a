"""Numbers that several rules decide by: what is long, busy, short or idle, once for all of them.

A number of one rule stands in that rule. `number` gives each its name, its unit, its source and the
launches that were labelled when it was set; docs/thresholds.md lists all of them.
"""

from __future__ import annotations

from gpuadvise.advisor.thresholds import LaunchSet, number

NO_TENSOR = number(0.03, "unused", "share", "plain kernels on A100 and GH200 show 0.2 % to 2 %")
# A part whose TF32 is no faster than that (GeForce) leaves a finding low.
CLEARLY_FASTER = number(
    1.5, "clearly faster", "factor", "our judgement: less is not worth another precision"
)
KEPT_IN_L1 = number(
    16 * 1024, "array that L1 keeps", "bytes", "our judgement: L1 has 24 KiB and more"
)
STARTING = number(
    5e-6,
    "start and end of a launch",
    "s",
    "measured on an H100: launches that hardly touch memory take 3.5 to 4 us",
    LaunchSet.RECORDED,
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
