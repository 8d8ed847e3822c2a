"""Double precision that nobody asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.counted_lines import LineCount
from gpuadvise.advisor.facts.library_kernels import widens_operands
from gpuadvise.advisor.facts.special_functions import conversions_busy, converts, may_be_functions
from gpuadvise.advisor.facts.units import ISSUED, Unit
from gpuadvise.advisor.facts.workload import relieved
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import Advice, Evidence, Verdict
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.observed import advised, place
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import Observation
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

_SHORTER = number(
    4.0,
    "instructions of a function in double per one in float",
    "",
    "measured: functions such as exp() have four times as many in double",
    LaunchSet.RECORDED,
)
_HALF_AS_WIDE = number(2.0, "bytes of a double per byte of a float", "", "arithmetic")
_LEAST_LEFT = number(
    0.001,
    "instructions left without conversions, at least",
    "share",
    "so that no gain is without bound",
)


def check(
    observations: tuple[Observation, ...] | None = None,
    fp64_ratio: float | None = None,
    profile: KernelProfile | None = None,
    fp64_share: float | None = None,
) -> Verdict:
    """Advise at each place that the source reader marked, and where a profile shows conversions.

    Compiled code without one instruction in double precision shows that the compiler folded them.
    """
    if fp64_share == 0:
        observations = None
    measured: tuple[Advice, ...] = ()
    if profile is not None and widens_operands(profile.kernel):
        measured = (_operator(profile),)
    elif profile is not None and converts(profile):
        measured = (_profiled(profile),)
    if not observations:
        return measured
    slow, ratio = _slow(fp64_ratio), _ratio(fp64_ratio)
    return advised(observations, RULE.id, lambda seen: _words(seen, slow), ratio) + measured


def _profiled(profile: KernelProfile) -> Advice:
    doubles, conversions = profile.pipes.get(Unit.FP64, 0.0), conversions_busy(profile)
    converts = (
        f" and the pipe that converts numbers {show_share(conversions)}" if conversions else ""
    )
    functions = may_be_functions(profile)
    least = max(profile.kept_instructions, _LEAST_LEFT) if functions else 1 / _SHORTER
    relief = relieved(profile, 1e6, Unit.FP64, Unit.XU, Unit.COMPUTE)
    relief |= relieved(profile, 1 / least, *ISSUED, Unit.ADU, Unit.UNIFORM)
    if Unit.FMA in relief:
        relief[Unit.FMA] = max(relief[Unit.FMA], profile.fp32_of_peak or 0.0)
    return Advice(
        message=(
            f"The FP64 pipe is {show_share(doubles)} busy{converts}: float data are computed in double."
        ),
        action=(
            "Write literals with the suffix f (0.5f), call the functions that end in f (sqrtf), and "
            "compile with -Xptxas -v and --Werror to see what is left. Keep double where it is meant."
        ),
        evidence=(
            profiled("FP64 pipe", doubles, "share"),
            *((profiled("conversion pipe", conversions, "share"),) if conversions else ()),
        ),
        relief=relief,
        left={Unit.ISSUE: f"with {show_share(least)} of the instructions"},
        priority=Priority.MEDIUM,  # measured, three times the time on an H200: more than a habit
    )


def _operator(profile: KernelProfile) -> Advice:
    """Return the advice on an operator of PyTorch that converts operands of another type to double."""
    relief = relieved(profile, _SHORTER, Unit.FP64, Unit.XU, Unit.COMPUTE, *ISSUED, Unit.ADU)
    return Advice(
        message="An operator of PyTorch computes in double, and one of its operands at least is of another type: each element is converted.",
        action=(
            "Look for the operand that is float64: a NumPy array, or a tensor of numbers made with dtype=torch.float64. Give it the "
            "type of the other (.float(), dtype=torch.float32); a Python number keeps the tensor's type."
        ),
        evidence=(profiled("issue slots", profile.issue_busy or 0.0, "share"),),
        relief=relief
        | relieved(profile, _HALF_AS_WIDE, Unit.DRAM, Unit.L2, Unit.L1_SHARED, Unit.LSU),
        left={Unit.DRAM: "with half of the bytes", Unit.L2: "with half of the bytes"},
        priority=Priority.MEDIUM,
    )


def _slow(fp64_ratio: float | None) -> str:
    """Return what double precision costs on the GPU, where that is known."""
    if not fp64_ratio:
        return ""
    return f" This GPU runs double precision at 1/{1 / fp64_ratio:.0f} of the rate of float."


def _ratio(fp64_ratio: float | None) -> tuple[Evidence, ...]:
    if fp64_ratio is None:
        return ()
    return (derived("FP64 rate / FP32 rate", fp64_ratio, "share"),)


def _words(seen: Observation, slow: str) -> tuple[str, str]:
    return (
        f"a double operand in a float expression.{slow}",
        seen.detail.get(
            "replacement",
            "Write the literal with the suffix f (0.5f), and call the function that ends in f (sqrtf).",
        ),
    )


RULE = Rule(
    id="implicit-double",
    title="Write float literals with an f",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.LOW,
    kinds=(Kind.SOURCE, Kind.PROFILE),
    family=Family.ARITHMETIC,
    line_count=LineCount.DOUBLES,
    recommendation=True,
    why="One double literal makes the compiler convert and compute the whole expression in double.",
    when=(
        "A float expression contains a floating literal without f or a double-precision math function, or "
        "a profile is of an operator of PyTorch in double with operands of another type, or shows conversions at 60 % (20 % in a kernel whose signature has float and no double) beside "
        "FP64 at 20 % or more, or FP64 at 30 % in such a kernel of which 80 % of the arithmetic is double, or conversions at 40 % with a quarter as many FP64 instructions in such a kernel, which is medium. "
        "The gain there is bounded by the instructions that are left: a quarter, or those of 16 and 32 bits and to memory "
        "where 6 FP64 instructions or more per conversion, or no counts, allow that double functions take the rest."
    ),
    citations=guide("12.1.7", "11.1.3"),
    check=check,
    either=("observations", "profile"),
    examples=Examples(
        fires={"gpu": "rtx-4090", "observations": [place("implicit-double", "x * 0.5")]},
        quiet={"observations": [place()]},
        edges=(
            {"profile": {"pipes": {"fp64": 0.3, "xu": 0.6}}},
            {"profile": {"pipes": {"fp64": 0.3, "xu": 0.59}}},
        ),
    ),
)
