"""A launch that is over as soon as it has started."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import library_of
from gpuadvise.advisor.facts.timeline import NOTICEABLE
from gpuadvise.advisor.facts.units import ISSUED, Unit
from gpuadvise.advisor.facts.workload import relieved
from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Confidence, Verdict, undecided
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.gain_bounds import EMPTY
from gpuadvise.rules.guide.execution.launch_bound import MANY
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide, programming_guide
from gpuadvise.rules.thresholds import STARTING

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

MOSTLY_STARTING = number(
    6e-6,
    "launch that mostly starts and ends",
    "s",
    "measured on an H100 and an H200: passes of 2.7 to 5.3 us, which became 2 to 35 times as fast in one launch",
    LaunchSet.EIGHTH,
)
_LEAST_LEFT = number(
    0.5, "instructions of a step that no longer starts, at least", "share", "our judgement"
)


def check(
    profile: KernelProfile,
    kernel: str | None = None,
    launches: int | None = None,
    run_seconds: float | None = None,
    concurrent: bool | None = None,
) -> Verdict:
    """Advise on a launch of one's own that mostly starts and ends, of which nobody says how often it repeats."""
    seconds, known = profile.seconds, launches or 1
    if seconds is None:
        return undecided("profile.time")
    if not 0 < seconds < MOSTLY_STARTING or known >= MANY or concurrent:
        return PASSED
    if kernel and library_of(kernel) is not None:
        return PASSED
    if run_seconds is not None and known * STARTING < NOTICEABLE * run_seconds:
        return PASSED
    return Advice(
        message=(
            f"The launch takes {show_seconds(seconds)}, of which an empty kernel takes about {show_seconds(EMPTY)}, and "
            "the host 2 to 3 us to launch it: a program that launches it again and again mostly starts and ends kernels."
        ),
        action=(
            "Where it is launched in a loop, do several steps in 1 launch (a block that keeps its part in shared memory, "
            "a grid dimension for what the loop counts), join it with the kernel before or after it, or record the loop as "
            "a CUDA graph (cudaStreamBeginCapture, cudaGraphLaunch). Where it runs once, leave it."
        ),
        evidence=(profiled("time of a launch", seconds, "s"),),
        relief=_of_one_launch(profile),
    )


def _of_one_launch(profile: KernelProfile) -> dict[str, float]:
    """Return what steps in one launch leave: they keep what each had to load, store and work out the place of."""
    computing = max(profile.single_instructions or 0.0, _LEAST_LEFT)
    units = (Unit.L1_SHARED, Unit.LSU, Unit.ADU, Unit.L2, Unit.MEMORY, Unit.DRAM)
    return relieved(profile, 1e6, *units) | relieved(profile, 1 / computing, *ISSUED)


def _lasting(time: str) -> dict[str, object]:
    return {"gpu": "h200", "profile": {"time": time, "dram_throughput": 0.01}}


RULE = Rule(
    id="short-launch",
    formerly="launch-bound",
    title="Do several steps in one launch",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    family=Family.GRID,
    why="A launch of a few microseconds costs as much as what it does, each time.",
    when=(
        "A profiled launch, no library's, takes less than 6 us, and is not known to repeat (then `launch-bound` speaks); "
        "not where others run beside it, or its launches at 5 us each are less than 5 % of a run whose time is known."
    ),
    citations=(*guide("10.1.2"), programming_guide("CUDA Graphs")),
    confidence=Confidence.POSSIBLE,
    folds_into="launch-bound",
    fewer_launches=True,
    check=check,
    examples=Examples(
        fires=_lasting("3us"), quiet=_lasting("60us"), edges=(_lasting("5.9us"), _lasting("6us"))
    ),
)
