"""Double precision that nobody asked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.counted_lines import LineCount
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import relieved, waits_for
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import Advice, Evidence, Verdict
from gpuadvise.rules.evidence import derived, profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.observed import advised
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import Observation
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

CONVERTING = number(
    0.6,
    "special functions pipe beside a busy FP64 pipe",
    "share of its peak",
    "our judgement: conversions run there, and both busy together are float data in double",
    LaunchSet.RECORDED,
)
COMPUTING = number(
    0.2, "FP64 pipe beside conversions", "share of its peak", "our judgement", LaunchSet.RECORDED
)
CONVERTING_FLOATS = number(
    0.2,
    "special functions pipe of a kernel that takes float and no double",
    "share of its peak",
    "measured: 0.38 and 0.54",
    LaunchSet.RECORDED,
)
_SHORTER = number(
    4.0,
    "instructions of a function in double per one in float",
    "",
    "measured: functions such as exp() have four times as many in double",
    LaunchSet.RECORDED,
)
IN_FUNCTIONS = number(
    6.0,
    "FP64 instructions per conversion",
    "instructions",
    "measured in ten kernels: 2.5 to 5 where float data meet double literals, 6.3 to 34 in exp(), erf() and pow()",
    LaunchSet.SEVENTH,
)
_LEAST_LEFT = number(
    0.001,
    "instructions left without conversions, at least",
    "share",
    "so that no gain is without bound",
)
FILLING = number(
    0.3,
    "FP64 pipe, where it is the only one named or conversions are few",
    "share of its peak",
    "our judgement",
    LaunchSet.RECORDED,
)
_NEARLY_ALL = number(
    0.8,
    "FP64 operations of all of a kernel that computes in double on purpose",
    "share",
    "our judgement",
    LaunchSet.RECORDED,
)
FEW_DOUBLES = number(
    0.25,
    "FP64 instructions per conversion, where few of them keep the pipe that converts busy",
    "instructions",
    "arithmetic: a float operand comes in and a float result goes out, each a conversion",
    LaunchSet.SEVENTH,
)
CONVERTING_MOST = number(
    0.4,
    "special functions pipe of a kernel that takes float, by conversions for few FP64 instructions",
    "share of its peak",
    "our judgement: 0.42 to 0.88 in six kernels with double literals",
    LaunchSet.SEVENTH,
)
_FLOAT, _DOUBLE = re.compile(r"\bfloat[234]?\b"), re.compile(r"\bdouble[234]?\b")


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
    measured = (_profiled(profile),) if profile and _converts(profile) else ()
    if not observations:
        return measured
    slow, ratio = _slow(fp64_ratio), _ratio(fp64_ratio)
    return advised(observations, RULE.id, lambda seen: _words(seen, slow), ratio) + measured


def _converts(profile: KernelProfile) -> bool:
    doubles = profile.pipes.get(Unit.FP64, 0.0)
    if doubles < COMPUTING and profile.pipes.get(Unit.XU, 0.0) < CONVERTING_MOST:
        return False
    floats = _takes_floats(profile.kernel)
    if floats and (Unit.XU not in profile.pipes or _mostly_doubles(profile)):
        return doubles >= FILLING
    if floats and _converts_for_few(profile):
        return True
    return (
        _conversions(profile) >= (CONVERTING_FLOATS if floats else CONVERTING)
        and doubles >= COMPUTING
    )


def _converts_for_few(profile: KernelProfile) -> bool:
    """Return whether few FP64 instructions explain a busy pipe of conversions: a literal or two among floats."""
    doubles, conversions = _doubles(profile), profile.special_functions
    busy = profile.pipes.get(Unit.XU, 0.0) >= CONVERTING_MOST
    return busy and conversions is not None and doubles >= FEW_DOUBLES * conversions


def _doubles(profile: KernelProfile) -> float:
    """Return the FP64 instructions of warps; 0 where nobody counted."""
    counts = profile.float_instructions.items()
    return sum(count for name, count in counts if name.startswith("d")) / WARP_SIZE


def _mostly_doubles(profile: KernelProfile) -> bool:
    """Return whether nearly all that is computed is double: of one float, a function or a polynomial."""
    operations = profile.float_operations
    return operations.get("fp64", 0.0) >= _NEARLY_ALL * sum(operations.values()) > 0


def _takes_floats(kernel: str) -> bool:
    """Return whether the parameters or template arguments of *kernel* name float and no double."""
    return bool(_FLOAT.search(kernel)) and not _DOUBLE.search(kernel)


def _conversions(profile: KernelProfile) -> float:
    """Return how busy the pipe is; a page without it shows it as what outdoes the pipes it has."""
    if Unit.XU in profile.pipes:
        return profile.pipes[Unit.XU]
    unnamed = profile.sm_busy or 0.0
    behind = waits_for(profile, Stall.MIO_THROTTLE, share=0.0)
    return unnamed if behind and unnamed > max(profile.pipes.values(), default=1.0) else 0.0


def _profiled(profile: KernelProfile) -> Advice:
    doubles, conversions = profile.pipes.get(Unit.FP64, 0.0), _conversions(profile)
    converts = (
        f" and the pipe that converts numbers {show_share(conversions)}" if conversions else ""
    )
    functions = _may_be_functions(profile)
    least = max(profile.kept_instructions, _LEAST_LEFT) if functions else 1 / _SHORTER
    relief = relieved(profile, 1e6, Unit.FP64, Unit.XU, Unit.COMPUTE)
    relief |= relieved(
        profile, 1 / least, Unit.ISSUE, Unit.ALU, Unit.FMA, Unit.CBU, Unit.ADU, Unit.UNIFORM
    )
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


def _may_be_functions(profile: KernelProfile) -> bool:
    """Return whether double functions, instead of plain arithmetic, may be what takes the time.

    A page without counts tells the two apart only where it names the pipe that converts.
    """
    doubles, conversions = _doubles(profile), profile.special_functions
    if doubles and conversions is not None:
        return doubles >= IN_FUNCTIONS * conversions
    return _conversions(profile) < COMPUTING


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
        "a profile shows conversions at 60 % (20 % in a kernel whose signature has float and no double) beside "
        "FP64 at 20 % or more, or FP64 at 30 % in such a kernel of which 80 % of the arithmetic is double, or conversions at 40 % with a quarter as many FP64 instructions in such a kernel, which is medium. "
        "The gain there is bounded by the instructions that are left: a quarter, or those of 16 and 32 bits and to memory "
        "where 6 FP64 instructions or more per conversion, or no counts, allow that double functions take the rest."
    ),
    citations=guide("12.1.7", "11.1.3"),
    check=check,
    either=("observations", "profile"),
    examples=Examples(
        fires={
            "gpu": "rtx-4090",
            "observations": [
                {
                    "fault": "implicit-double",
                    "file": "blur.cu",
                    "line": 12,
                    "column": 9,
                    "seen": "x * 0.5",
                }
            ],
        },
        quiet={
            "observations": [
                {"fault": "another-fault", "file": "blur.cu", "line": 12, "column": 9, "seen": "x"}
            ]
        },
        edges=(
            {"profile": {"pipes": {"fp64": 0.3, "xu": 0.6}}},
            {"profile": {"pipes": {"fp64": 0.3, "xu": 0.59}}},
        ),
    ),
)
