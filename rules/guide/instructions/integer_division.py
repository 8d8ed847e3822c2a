"""Integer division or remainder by a value that is not a literal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.counted_lines import LineCount
from gpuadvise.advisor.facts.library_kernels import library_of
from gpuadvise.advisor.facts.limiter import AT_ROOF, AtRoof, IssueBound
from gpuadvise.advisor.facts.special_functions import (
    divides,
    instructions_per_conversion,
    lacking_of_divisions,
    looks_like_divisions,
)
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import ISSUED, Unit
from gpuadvise.advisor.facts.workload import relieved, shared_requests
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import Advice, Verdict, undecided
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.observed import advised, place
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import Observation
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

_LEAST_LEFT = number(
    0.05,
    "instructions left without divisions, at least",
    "share",
    "so that no gain is without bound",
)
LEFT_UNCOUNTED = number(
    0.2,
    "instructions left without divisions, on a page without counts",
    "share",
    "measured: 0.2 to 0.8",
    LaunchSet.SIXTH,
)
_OF_A_TREE = number(
    0.03,
    "accesses to shared memory, and waits at barriers, of a tree whose lanes a remainder picks",
    "share of instructions, and of a warp's time",
    "measured: 0.065 to 0.076 and 0.13 in four such trees, 0 and 0 in eight other kernels that divide",
    LaunchSet.SEVENTH,
)
_ACTION = (
    "Take divisions and remainders out of the inner loop: let a 2-D or 3-D grid give the coordinates, "
    "carry them along by additions, divide in 32 bits instead of 64, by constants, or by powers of two "
    "(shift and mask). For a divisor that the host knows, multiply by its reciprocal "
    "(cuda::fast_mod_div). `gpuadvise lint` shows the places."
)
_BY_SHUFFLES = (
    " Where a remainder picks the lanes that add in a tree between barriers, let each warp add up by "
    "__shfl_down_sync() first, or call cub::BlockReduce: neither divides, and both leave out most barriers."
)


def check(
    observations: tuple[Observation, ...] | None = None,
    profile: KernelProfile | None = None,
    limiter: Limiter | None = None,
) -> Verdict:
    """Advise at each place that the source reader marked, and where a profile shows divisions."""
    places = advised(observations, RULE.id, _words) if observations else ()
    if profile is None or library_of(profile.kernel):
        return places
    fills = _fills_issue_slots(profile, limiter)
    if fills and looks_like_divisions(profile):
        return (*places, _inferred(profile))
    lacking = lacking_of_divisions(profile) if fills else None
    if profile.issue_busy is None:
        lacking = "profile.issue_slots_busy"
    if lacking:
        return places if observations is not None else undecided(lacking)
    return (*places, _profiled(profile)) if fills and divides(profile) else places


def _fills_issue_slots(profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether issue slots are the limit, be it beside a unit that is busier still."""
    beside = isinstance(limiter, AtRoof) and (profile.issue_busy or 0.0) >= AT_ROOF
    return beside or isinstance(limiter, IssueBound)


def _inferred(profile: KernelProfile) -> Advice:
    issue, alu = profile.issue_busy or 0.0, profile.pipes[Unit.ALU]
    active, working = profile.active_threads or WARP_SIZE, profile.unpredicated_threads or WARP_SIZE
    return Advice(
        message=(
            f"Issue slots are {show_share(issue)} busy with few floating-point operations, the ALU pipe takes "
            f"{show_share(alu)}, and a predicate stops {show_share(1 - working / active)} of the active lanes: that looks like "
            "integer divisions or remainders, whose pipe this page does not name (the raw page does: pipe xu)."
        ),
        action=_ACTION,
        evidence=(
            profiled("issue slots", issue, "share"),
            profiled("ALU pipe", alu, "share"),
            profiled("lanes at work / active", working / active, "share"),
        ),
        relief=relieved(profile, 1 / LEFT_UNCOUNTED, *ISSUED, Unit.ADU, Unit.COMPUTE),
        left={Unit.ISSUE: f"with {show_share(LEFT_UNCOUNTED)} of the instructions"},
        priority=Priority.MEDIUM,
    )


def _profiled(profile: KernelProfile) -> Advice:
    functions, issue = profile.pipes[Unit.XU], profile.issue_busy or 0.0
    conversions = (profile.special_functions or 0.0) / (profile.instructions or 1.0)
    left = max(_LEAST_LEFT, 1 - instructions_per_conversion(profile) * conversions)
    tree = _of_a_tree(profile)
    return Advice(
        message=(
            f"The pipe of special functions is {show_share(functions)} busy with hardly a floating-point "
            f"instruction, and issue slots are {show_share(issue)} busy: integers are divided, or remainders taken."
        ),
        action=f"{_ACTION}{_BY_SHUFFLES if tree else ''}",
        evidence=(
            profiled("pipe of special functions", functions, "share"),
            profiled("issue slots", issue, "share"),
        ),
        relief=relieved(profile, 1e6, Unit.XU)
        | relieved(profile, 1 / left, *ISSUED, Unit.ADU, Unit.COMPUTE)
        | tree,
        left={Unit.ISSUE: f"with {show_share(left)} of the instructions"},
        priority=Priority.MEDIUM,  # measured: 1.3 to 3.6 times the time of a kernel without them
    )


def _of_a_tree(profile: KernelProfile) -> dict[str, float]:
    """Return what is left to shared memory where a remainder picks the lanes of a tree between barriers.

    Another way to add up, by shuffles of a warp, takes the passes and the barriers with it.
    """
    least = _OF_A_TREE * (profile.instructions or math.inf)
    if shared_requests(profile) < least or profile.stalls.get(Stall.BARRIER, 0.0) < _OF_A_TREE:
        return {}
    return relieved(profile, 1e6, Unit.L1_SHARED, Unit.LSU, Unit.ADU, Unit.MEMORY)


def _words(seen: Observation) -> tuple[str, str]:
    return (
        "an integer division by a variable.",
        "If the divisor n is always a power of two, keep its logarithm: i / n is i >> log2(n) and i % n is "
        "i & (n - 1), for i >= 0. Divisions by literals are handled by the compiler.",
    )


def _at_an_edge(functions: float) -> dict[str, object]:
    return {
        "elapsed_cycles": 1_000_000,
        "instructions": 400_000_000,
        "compute_throughput": 0.8,
        "issue_slots_busy": 0.8,
        "dram_throughput": 0.1,
        "float_instructions": {"ffma": 0},
        "pipes": {"xu": functions, "fma": 0.3},
    }


RULE = Rule(
    id="integer-division",
    title="Replace integer division by shifts",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.LOW,
    kinds=(Kind.SOURCE, Kind.PROFILE),
    family=Family.ARITHMETIC,
    line_count=LineCount.DIVISIONS,
    recommendation=True,
    why="An integer division takes tens of instructions, a shift one.",
    when=(
        "Device code divides integers, or takes a remainder, by a value that is not a literal; or a profile "
        "shows a kernel that is not a library's, whose issue slots are its limit, alone or beside a busier unit, with special functions at "
        "18 % or more beside fewer floating-point instructions than that makes (up to 1.75 for each where predicates stop 7.5 % of the lanes) and with integers multiplied, which is medium; or, on a page that counts no "
        "instructions, with the FP32 peak at 1 % or less (6.5 % where the pipes to memory are at 20 % or more), the ALU pipe at 50 % to 93 % of "
        "what is issued, all lanes active of which a predicate stops 7.5 % or more, and the pipes to memory at 40 % or less."
    ),
    citations=guide("12.1.4", "11.1.1"),
    check=check,
    either=("observations", "profile"),
    examples=Examples(
        fires={"observations": [place("integer-division", "i / width")]},
        quiet={"observations": [place()]},
        edges=({"profile": _at_an_edge(0.19)}, {"profile": _at_an_edge(0.17)}),
    ),
)
