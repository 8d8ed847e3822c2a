"""A kernel that is limited by one kind of arithmetic unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import is_product
from gpuadvise.advisor.memory.number_types import NumberType
from gpuadvise.advisor.peaks import TENSOR, other_peaks, peak
from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.quantity import show_flops, show_number
from gpuadvise.advisor.roofline import FAR_FROM_ROOF, Bound, narrowed
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, of_device
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import ROOFLINE, guide
from gpuadvise.rules.thresholds import CLEARLY_FASTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.timing import Work
    from gpuadvise.advisor.roofline import Roofline

# Dense products of libraries end here: under the power limit clocks stay below the data sheet.
AT_ROOF = number(
    0.7,
    "at the roof",
    "share",
    "our judgement: what products of libraries reach under the power limit",
)
NARROW = number(16, "widest type that tensor cores take as it is", "bits", "data sheets")
# Hardly anything computed in doubles can do with 16 bits.
LEAST_BITS = number(
    0.5,
    "least bits",
    "share of the present type's",
    "our judgement: results of doubles seldom survive 16 bits",
    LaunchSet.FIFTH,
)


def check(
    device: Device,
    roofline: Roofline,
    work: Work,
    profile: KernelProfile | None = None,
    kernel: str | None = None,
) -> Verdict:
    """Advise when intensity is at or above the ridge and the roof is not reached yet; loud for products."""
    share = roofline.share
    if roofline.bound is not Bound.COMPUTE or profile is not None:
        return PASSED
    if share is not None and not FAR_FROM_ROOF <= share <= 1:
        return PASSED
    number_type, tensor = work.arithmetic
    # FP16 is on tensor cores unless somebody says that it is not.
    ordinary = tensor is False or (number_type in (NumberType.FP32, NumberType.FP64) and not tensor)
    if share is not None and share >= AT_ROOF and not ordinary:
        return PASSED
    faster = _faster(device, work, roofline)
    # Narrow types lose nothing there; wider ones lose digits, or are seldom matrix products.
    beside = f"{number_type}{TENSOR}" if tensor is False and number_type.bits <= NARROW else None
    idle = any(name == beside for name, _ in faster)
    product = kernel is not None and is_product(kernel)
    return Advice(
        message=(
            f"{show_number(roofline.intensity)} FLOP per byte is at or above the ridge point of "
            f"{show_number(roofline.ridge)}: the {work.dtype} units, {show_flops(roofline.peak)}, set the "
            "limit."
        ),
        action=_units(faster, sure=product or idle),
        evidence=(
            derived("arithmetic intensity", roofline.intensity, "FLOP/byte"),
            derived("ridge point", roofline.ridge, "FLOP/byte"),
            of_device(device, "peaks", f"peak, {work.dtype}", roofline.peak, "FLOP/s"),
        ),
        gain=_gain(faster, min(1.0, share or 1.0)),
        priority=None
        if ordinary and faster and (idle or (product and (share or 0.0) < AT_ROOF))
        else Priority.LOW,
    )


def _faster(device: Device, work: Work, now: Roofline) -> list[tuple[str, float]]:
    """Return the three next faster units for such numbers with the most each wins, least first.

    The memory roof bounds it: a faster unit with the same bytes soon waits for memory.
    """
    number_type, tensor = work.arithmetic
    unit = peak(device, number_type, tensor=tensor)
    moves = [
        narrowed(now, faster_unit.key, number_type.bits, kind.bits, faster_unit.rate)
        for kind, faster_unit in other_peaks(device, number_type, unit)
        if kind.bits >= number_type.bits * LEAST_BITS
    ]
    faster = [(move.name, move.gain) for move in moves if move.gain > CLEARLY_FASTER]
    return sorted(faster, key=lambda move: move[1])[:3]


def _units(faster: Sequence[tuple[str, float]], *, sure: bool) -> str:
    """Return what to do; *sure*: of work that is known to suit tensor cores."""
    if not faster:
        return "Do fewer operations: this device has no faster unit for dense arithmetic."
    listed = and_list([f"{name} (at most {show_number(gain)}x)" for name, gain in faster], "or")
    moves = (
        f"Do fewer operations, or, where precision allows, move them to a faster unit: {listed}."
    )
    if sure or not any(name.endswith(TENSOR) for name, _ in faster):
        return moves
    return f"{moves} Tensor cores do products of matrices only."


def _gain(faster: Sequence[tuple[str, float]], share: float) -> Gain | None:
    if not faster:
        return None
    name, best = faster[-1]
    reached = f"; / {show_number(share)}, the share of the roof reached" if share < 1 else ""
    return Gain(
        kind=GainKind.KERNEL_TIME,
        upper_bound=best / share,
        how=f"roof of {name} at its intensity / this roof{reached}",
    )


RULE = Rule(
    id="compute-bound",
    title="Move arithmetic to a faster unit",
    topic=Topic.ROOFLINE,
    priority=Priority.MEDIUM,
    kinds=(Kind.TIMING, Kind.APPLICATION, Kind.DEVICE),
    family=Family.ROOFLINE,
    why="At and above the ridge point the time of a kernel is its operations divided by the peak.",
    when=(
        "FLOP per byte are at least peak / bandwidth. With a time: only from 50 % of the roof on, and for 16 bits "
        "and fewer only up to 70 %; low from there on, and where the kernel's name is not that of a product of matrices, "
        "unless they are said to be off the tensor cores, which take the same type."
    ),
    citations=(*guide("12.1"), ROOFLINE),
    check=check,
    examples=Examples(
        fires={
            "name": "my_gemm",
            "gpu": "h200",
            "work": {"flops": 1e13, "bytes": "12GB", "dtype": "fp32"},
        },
        quiet={"gpu": "h200", "work": {"flops": 1e9, "bytes": "12GB", "dtype": "fp32"}},
        edges=(
            {"gpu": "h200", "work": {"flops": 1.4e11, "bytes": "10GB", "dtype": "fp32"}},
            {"gpu": "h200", "work": {"flops": 1.3e11, "bytes": "10GB", "dtype": "fp32"}},
        ),
    ),
)
