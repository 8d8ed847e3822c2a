"""Double precision on a GPU with few units for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.counted_lines import LineCount
from gpuadvise.advisor.facts.limiter import AT_ROOF, AtRoof
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import relieved
from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import derived, of_device, profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.code import Observation
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.advisor.facts.timing import Work

SCARCE = number(1 / 16, "scarce", "share", "guide 12.1.1: between 1:2 and 1:64")
_MOST_PLACES = number(4, "places of a source that are named", "", "so that a sentence can be read")
# sinf and its like hold a few FP64 instructions for large arguments.
NOTABLE = number(0.02, "notable", "share", "the slow path of sinf holds a few")
# As good as it gets, whatever the arithmetic.
AT_BANDWIDTH = number(0.8, "memory as busy as copies keep it", "share", "copies reach 85 % to 92 %")


def check(
    device: Device,
    fp64_ratio: float,
    fp64_share: float | None = None,
    work: Work | None = None,
    profile: KernelProfile | None = None,
    limiter: Limiter | None = None,
    observations: tuple[Observation, ...] | None = None,
) -> Verdict:
    """Advise when the device runs FP64 at 1:16 or less, and it is notable or the kernel's limit."""
    if profile is not None and isinstance(limiter, AtRoof) and limiter.unit == Unit.FP64:
        return _at_roof(device, fp64_ratio, profile) if fp64_ratio <= SCARCE else PASSED
    if fp64_share is None and work is not None:
        fp64_share = 1.0 if work.dtype == "fp64" else 0.0
    if fp64_ratio > SCARCE:
        return PASSED
    if fp64_share is None:
        return PASSED if _idle(profile) else undecided("fp64_share")
    memory_busy = _memory_busy(limiter) if profile is None else 0.0
    if fp64_share < NOTABLE or memory_busy >= AT_BANDWIDTH:
        return PASSED
    accidents = [seen for seen in observations or () if seen.fault == "implicit-double"]
    slower = 1 / fp64_ratio
    least = 1 + fp64_share * (slower - 1)
    return Advice(
        message=(
            f"{show_share(fp64_share)} of the instructions are double precision, which "
            f"{device.name} runs at 1/{slower:.0f} of the single-precision rate."
            f"{_by_accident(accidents)}"
        ),
        action=(
            f"{'Give those literals an f first. ' if accidents else ''}Compute in float where its 24 bits suffice, keep double for the sums that need it, "
            "or run on a data-centre part, whose FP64 rate is a half."
        ),
        evidence=(
            derived("FP64 instructions", fp64_share, "share"),
            of_device(device, "peaks", "FP64 / FP32 peak", fp64_ratio, "share"),
        ),
        gain=Gain(
            kind=GainKind.ARITHMETIC_TIME,
            upper_bound=least,
            how="1 + FP64 share x (FP32 rate / FP64 rate - 1)",
        ),
        priority=Priority.LOW if memory_busy else None,
    )


def _memory_busy(limiter: Limiter | None) -> float:
    """Return how busy bytes and time show device memory where it is the limit, else 0."""
    return limiter.share if isinstance(limiter, AtRoof) and limiter.unit == Unit.DRAM else 0.0


def _idle(profile: KernelProfile | None) -> bool:
    """Return whether the profile shows that another pipe is busier, or none at its roof."""
    if profile is None or profile.sm_busy is None:
        return profile is not None and Unit.FP64 in profile.pipes
    named = max(profile.pipes.values(), default=0.0)
    return Unit.FP64 in profile.pipes or named >= profile.sm_busy or profile.sm_busy < AT_ROOF


def _by_accident(accidents: list[Observation]) -> str:
    """Return where the source makes doubles of floats."""
    places = [f"{seen.seen} in line {seen.line}" for seen in accidents[:_MOST_PLACES]]
    more = len(accidents) - len(places)
    places += [f"{more} more"] if more else []
    return f" The source brings in doubles by accident: {and_list(places)}." if places else ""


def _at_roof(device: Device, fp64_ratio: float, profile: KernelProfile) -> Advice:
    busy, slower = profile.pipes.get(Unit.FP64, 0.0), 1 / fp64_ratio
    return Advice(
        message=(
            f"The FP64 pipe is {show_share(busy)} busy and limits the kernel; {device.name} runs double "
            f"precision at 1/{slower:.0f} of the single-precision rate."
        ),
        action=(
            "Where the data are float, look for literals without the suffix f (0.5 instead of 0.5f) and for "
            "functions without it (sqrt instead of sqrtf). Where 24 bits do not suffice, run on a "
            "data-centre part, whose FP64 rate is a half."
        ),
        evidence=(
            profiled("FP64 pipe", busy, "share"),
            of_device(device, "peaks", "FP64 / FP32 peak", fp64_ratio, "share"),
        ),
        gain=Gain(kind=GainKind.ARITHMETIC_TIME, upper_bound=slower, how="FP32 rate / FP64 rate"),
        relief=relieved(profile, slower, Unit.FP64, Unit.COMPUTE),
    )


RULE = Rule(
    id="scarce-fp64",
    title="Avoid double precision on this GPU",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.MEDIUM,
    kinds=(Kind.BINARY, Kind.PROFILE, Kind.DEVICE),
    family=Family.ARITHMETIC,
    line_count=LineCount.DOUBLES,
    why="GPUs for graphics have a few FP64 units per SM, only so that such code runs at all.",
    when=(
        "At least 2 % of the instructions are FP64, or a profile shows the FP64 pipe as the limit, and the "
        "FP64 peak is 1/16 of the FP32 peak or less. Not where bytes and time show device memory 80 % "
        "busy; low from 60 % on."
    ),
    citations=guide("12.1.1", "11.1"),
    check=check,
    either=("fp64_share", "work", "profile"),
    examples=Examples(
        fires={"gpu": "rtx4090", "compiled": {"fp64_instructions": 200, "instructions": 1000}},
        quiet={"gpu": "h200", "compiled": {"fp64_instructions": 200, "instructions": 1000}},
        edges=(
            {"gpu": "rtx4090", "compiled": {"fp64_instructions": 20, "instructions": 1000}},
            {"gpu": "rtx4090", "compiled": {"fp64_instructions": 19, "instructions": 1000}},
        ),
    ),
)
