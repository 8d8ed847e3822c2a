"""Issue slots that exponentials, powers, sines or divisions of floats may fill."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import library_of
from gpuadvise.advisor.facts.units import ISSUED, Unit
from gpuadvise.advisor.facts.workload import global_requests, relieved
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Confidence, Verdict, undecided
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

ISSUING = number(
    0.75,
    "issue slots beside a busy pipe of special functions",
    "share of the peak",
    "of 40 kernels in nine sets with such functions the 11 that their repairs made 1.5 to 13 times as fast kept 0.76 to 0.93 busy",
    LaunchSet.NINTH,
)
IN_FUNCTIONS = number(
    0.25,
    "pipe of special functions",
    "share of its peak",
    "of those 11 kernels: 0.27 to 0.66",
    LaunchSet.NINTH,
)
_OF_FLOATS = number(
    2.0,
    "floating-point instructions per special function",
    "",
    "fewer are divisions of integers or conversions",
    LaunchSet.NINTH,
)
_ARITHMETIC = number(
    14.0,
    "floating-point instructions per special function, at most",
    "",
    "of those 11 kernels: 4 to 13.6; more are plain arithmetic",
    LaunchSet.NINTH,
)
_PRECISE = number(
    0.4,
    "ALU pipe beside precise functions",
    "share of what is issued",
    "of those 11 kernels 10 show 0.43 to 0.78, for special cases and large arguments; products of bodies 0.09 to 0.2",
    LaunchSet.NINTH,
)
_INSTRUCTIONS = number(
    11.0,
    "instructions per special function beside precise functions",
    "",
    "of those 10 kernels: 11.5 to 27; kernels known as good show 8 to 10, but for one that integrates precise functions",
    LaunchSet.NINTH,
)
_MOVING = number(0.5, "device memory", "share of its peak", "our judgement", LaunchSet.NINTH)
_DOUBLES = number(
    0.05, "FP64 pipe", "share of its peak", "our judgement: implicit-double speaks", LaunchSet.NINTH
)


def check(profile: KernelProfile, sm_count: int | None = None) -> Verdict:
    """Advise when a kernel fills issue slots beside a busy pipe of special functions."""
    issue, functions = profile.issue_busy, profile.pipes.get(Unit.XU)
    if issue is None or functions is None:
        return undecided("profile.issue_slots_busy" if issue is None else "profile.pipes")
    if issue < ISSUING or functions < IN_FUNCTIONS or library_of(profile.kernel):
        return PASSED
    if (profile.dram_busy or 0.0) > _MOVING or profile.pipes.get(Unit.FP64, 0.0) > _DOUBLES:
        return PASSED
    special = replace(profile, sm_count=profile.sm_count or sm_count).special_functions
    if not special or not profile.float_instructions:
        return undecided("profile.float_instructions")
    floats = sum(profile.float_instructions.values()) / WARP_SIZE / special
    if not _OF_FLOATS <= floats <= _ARITHMETIC:
        return PASSED
    alu, each = profile.pipes.get(Unit.ALU, 0.0), (profile.instructions or 0.0) / special
    precise = alu >= _PRECISE * issue and each >= _INSTRUCTIONS
    left = min(1.0, (special + global_requests(profile)) / (profile.instructions or special))
    return Advice(
        message=(
            f"Issue slots are {show_share(issue)} busy and the pipe of special functions {show_share(functions)}, with "
            f"{show_number(floats)} floating-point instructions per special function: exponentials, powers, sines or "
            f"divisions of floats {'are likely' if precise else 'may be'} what fills them."
        ),
        action=(
            "Look at the functions: compute what repeats once (in front of the loop, in a table, by a recurrence), write x * x "
            "for pow(x, 2), exp2f for powf(2, x), rsqrtf(x) for 1 / sqrtf(x), and where last bits do not matter __expf, __powf, "
            "__sinf, __fdividef or --use_fast_math. `gpuadvise lint` names them in the source."
        ),
        evidence=(
            profiled("issue slots", issue, "share"),
            profiled("pipe of special functions", functions, "share"),
            derived("floating-point instructions per special function", floats, ""),
        ),
        confidence=None if precise else Confidence.POSSIBLE,
        relief=relieved(profile, 1e6, Unit.XU) | relieved(profile, 1 / left, *ISSUED, Unit.ADU),
        left={Unit.ISSUE: f"with {show_share(left)} of the instructions"},
        priority=Priority.MEDIUM if precise else None,
    )


def _computing(issue: float, functions: float = 0.35, floats: float = 3e9) -> dict[str, object]:
    return {
        "gpu": "h200",
        "profile": {
            "elapsed_cycles": 1_000_000,
            "compute_throughput": issue,
            "issue_slots_busy": issue,
            "dram_throughput": 0.1,
            "float_instructions": {"ffma": floats},
            "pipes": {"xu": functions, "fma": 0.3},
        },
    }


RULE = Rule(
    id="costly-functions",
    title="Compute fewer or cheaper functions",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.LOW,
    kinds=(Kind.PROFILE,),
    family=Family.ARITHMETIC,
    why="A precise function takes ten to a hundred instructions, its fast form two to four.",
    when=(
        "A profiled kernel, no library's own, keeps issue slots 75 % busy or more and the pipe of special functions 25 % or more, "
        "with 2 to 14 floating-point instructions per special function, device memory at most 50 % and FP64 at most 5 %; medium with "
        "11 instructions or more per special function and the ALU pipe at 40 % of what is issued or more."
    ),
    citations=guide("12.1.3", "11.1.3"),
    silenced_by=("slow-math", "general-math-functions"),
    check=check,
    examples=Examples(
        fires=_computing(0.86),
        quiet=_computing(0.6),
        edges=(_computing(0.75), _computing(0.749)),
    ),
)
