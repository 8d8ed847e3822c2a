"""Integer division or remainder by a value that is not a literal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import library_of
from gpuadvise.advisor.facts.limiter import AT_ROOF, AtRoof, IssueBound
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.bottleneck import relieved
from gpuadvise.rules.evidence import profiled
from gpuadvise.rules.model import (
    Advice,
    Examples,
    Family,
    Kind,
    Priority,
    Rule,
    Topic,
    Verdict,
    undecided,
)
from gpuadvise.rules.observed import advised
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import Observation
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

# The pipe of special functions converts an integer to float, takes its reciprocal and converts it back,
# once per division. Measured on an H100 and an H200 are 35 % to 60 % where divisions fill the issue slots.
DIVIDING = number(
    0.3,
    "special functions",
    "share of the pipe, which converts integers and takes reciprocals for a division",
    "measured on an H100 and an H200: 0.35 to 0.6",
    LaunchSet.FOURTH,
)
OF_FLOATS = number(
    0.6,
    "floating-point instructions per special function, of a lane",
    "",
    "measured: 0 to 0.5 beside divisions, 0.7 where floats become bytes",
    LaunchSet.FOURTH,
)
MULTIPLYING = number(
    0.4,
    "FMA pipe per share of the special functions'",
    "",
    "measured: 0.5 to 0.8 beside divisions, 0.1 where votes count bits",
    LaunchSet.FOURTH,
)
# Instructions that go with one on that pipe: measured are 8 to 11 in four pairs with and without divisions.
PER_CONVERSION = number(
    11.0,
    "instructions that go with one on that pipe",
    "instructions; the gain is bounded by what is left",
    "measured: 8 to 11 in four pairs with and without divisions",
    LaunchSet.FOURTH,
)
_LEAST_LEFT = number(
    0.05,
    "instructions left without divisions, at least",
    "share",
    "so that no gain is without bound",
)


def check(
    observations: tuple[Observation, ...] | None = None,
    profile: KernelProfile | None = None,
    limiter: Limiter | None = None,
) -> Verdict:
    """Advise at each place that the source reader marked, and where a profile shows divisions."""
    places = advised(observations or (), RULE.id, _words)
    if profile is None or library_of(profile.kernel):
        return places
    lacking = _lacking(profile, limiter)
    if lacking and observations is None:
        return undecided(lacking)
    divides = _fills_issue_slots(profile, limiter) and not lacking and _divides(profile)
    return (*places, _profiled(profile)) if divides else places


def _fills_issue_slots(profile: KernelProfile, limiter: Limiter | None) -> bool:
    """Return whether issue slots are the limit, be it beside a unit that is busier still."""
    beside = isinstance(limiter, AtRoof) and (profile.issue_busy or 0.0) >= AT_ROOF
    return beside or isinstance(limiter, IssueBound)


def _lacking(profile: KernelProfile, limiter: Limiter | None) -> str | None:
    """Return the first value that the profile lacks to tell divisions; None where it has all that decide."""
    if profile.issue_busy is None:
        return "profile.issue_slots_busy"
    if not _fills_issue_slots(profile, limiter):
        return None
    if Unit.XU not in profile.pipes:
        return "profile.pipes"
    known = profile.pipes[Unit.XU] < DIVIDING or profile.float_instructions
    return None if known else "profile.float_instructions"


def _divides(profile: KernelProfile) -> bool:
    """Return whether special functions serve integers, whose divisions then fill the issue slots."""
    functions = profile.pipes[Unit.XU]
    lanes = profile.unpredicated_threads or WARP_SIZE
    floats = sum(profile.float_instructions.values()) / lanes
    return (
        functions >= DIVIDING
        and floats <= OF_FLOATS * (profile.special_functions or 0.0)
        and profile.pipes.get(Unit.FMA, 0.0) >= MULTIPLYING * functions
    )


def _profiled(profile: KernelProfile) -> Advice:
    functions, issue = profile.pipes[Unit.XU], profile.issue_busy or 0.0
    conversions = (profile.special_functions or 0.0) / (profile.instructions or 1.0)
    left = max(_LEAST_LEFT, 1 - PER_CONVERSION * conversions)
    return Advice(
        message=(
            f"The pipe of special functions is {show_share(functions)} busy with hardly a floating-point "
            f"instruction, and issue slots are {show_share(issue)} busy: integers are divided, or remainders taken."
        ),
        action=(
            "Take divisions and remainders out of the inner loop: let a 2-D or 3-D grid give the coordinates, "
            "carry them along by additions, divide in 32 bits instead of 64, by constants, or by powers of two "
            "(shift and mask). For a divisor that the host knows, multiply by its reciprocal "
            "(cuda::fast_mod_div). `gpuadvise lint` shows the places."
        ),
        evidence=(
            profiled("pipe of special functions", functions, "share"),
            profiled("issue slots", issue, "share"),
        ),
        relief=relieved(profile, 1e6, Unit.XU)
        | relieved(
            profile, 1 / left, Unit.ISSUE, Unit.ALU, Unit.FMA, Unit.CBU, Unit.ADU, Unit.COMPUTE
        ),
        left={Unit.ISSUE: f"with {show_share(left)} of the instructions"},
        priority=Priority.MEDIUM,  # measured: 1.3 to 3.6 times the time of a kernel without them
    )


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
    recommendation=True,
    why="An integer division takes tens of instructions, a shift one.",
    when=(
        "Device code divides integers, or takes a remainder, by a value that is not a literal; or a profile "
        "shows a kernel that is not a library's, whose issue slots are its limit, alone or beside a busier unit, with special functions at "
        "30 % or more beside fewer floating-point instructions than that makes, which is medium."
    ),
    citations=guide("12.1.4", "11.1.1"),
    check=check,
    either=("observations", "profile"),
    examples=Examples(
        fires={
            "observations": [
                {
                    "fault": "integer-division",
                    "file": "blur.cu",
                    "line": 12,
                    "column": 9,
                    "seen": "i / width",
                }
            ]
        },
        quiet={
            "observations": [
                {"fault": "another-fault", "file": "blur.cu", "line": 12, "column": 9, "seen": "x"}
            ]
        },
        edges=({"profile": _at_an_edge(0.31)}, {"profile": _at_an_edge(0.29)}),
    ),
)
