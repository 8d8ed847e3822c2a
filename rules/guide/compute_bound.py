"""A kernel that is limited by one kind of arithmetic unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.peaks import other_peaks, peak
from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.quantity import show_flops, show_number
from gpuadvise.advisor.roofline import FAR_FROM_ROOF, Bound
from gpuadvise.rules.evidence import derived, told
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Examples,
    Gain,
    Kind,
    Priority,
    Rule,
    Threshold,
    Topic,
    Verdict,
)
from gpuadvise.rules.sources import ROOFLINE, guide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timing import Work
    from gpuadvise.advisor.roofline import Roofline

# Dense products of libraries end here: under the power limit clocks stay below the data sheet.
AT_ROOF = 0.7
# A unit that is hardly faster is not worth another precision.
CLEARLY = 1.5


def check(device: Device, roofline: Roofline, work: Work) -> Verdict:
    """Advise when intensity is at or above the ridge and the roof is not reached yet."""
    share = roofline.share
    if roofline.bound is not Bound.COMPUTE:
        return PASSED
    if share is not None and not FAR_FROM_ROOF <= share < AT_ROOF:
        return PASSED
    faster = _faster(device, work)
    return Advice(
        message=(
            f"{show_number(roofline.intensity)} FLOP per byte is at or above the ridge point of "
            f"{show_number(roofline.ridge)}: the {work.dtype} units, {show_flops(roofline.peak)}, set the "
            "limit."
        ),
        action=_units(faster),
        evidence=(
            derived("arithmetic intensity", roofline.intensity, "FLOP/byte"),
            derived("ridge point", roofline.ridge, "FLOP/byte"),
            told(device, "peaks", f"peak, {work.dtype}", roofline.peak, "FLOP/s"),
        ),
        gain=_gain(faster, roofline.peak),
    )


def _faster(device: Device, work: Work) -> list[tuple[str, float]]:
    """Return the three next faster units for such numbers, slowest first: nearest in precision."""
    number_type, tensor = work.arithmetic
    now = peak(device, number_type, tensor=tensor)
    others = [unit for _, unit in other_peaks(device, number_type, now)]
    faster = [(unit.key, unit.rate) for unit in others if unit.rate > CLEARLY * now.rate]
    return sorted(faster, key=lambda unit: unit[1])[:3]


def _units(faster: Sequence[tuple[str, float]]) -> str:
    if not faster:
        return "Do fewer operations: this device has no faster unit for dense arithmetic."
    listed = and_list([f"{name} ({show_flops(rate)})" for name, rate in faster], "or")
    return f"Do fewer operations, or, where precision allows, move them to a faster unit: {listed}."


def _gain(faster: Sequence[tuple[str, float]], now: float) -> Gain | None:
    if not faster:
        return None
    name, best = faster[-1]
    return Gain(kind="kernel time", upper_bound=best / now, how=f"peak of {name} / this peak")


RULE = Rule(
    id="compute-bound",
    title="Move arithmetic to a faster unit",
    topic=Topic.ROOFLINE,
    priority=Priority.MEDIUM,
    kinds=(Kind.TIMING, Kind.APPLICATION, Kind.DEVICE),
    why="At and above the ridge point the time of a kernel is its operations divided by the peak.",
    when="FLOP per byte are at least peak / bandwidth. With a time: only from 50 % to 70 % of the roof.",
    thresholds=(
        Threshold(
            name="far from the roof", value=FAR_FROM_ROOF, unit="share", source="roofline model"
        ),
        Threshold(
            name="at the roof",
            value=AT_ROOF,
            unit="share",
            source="our judgement: what products of libraries reach under the power limit",
        ),
    ),
    citations=(*guide("12.1"), ROOFLINE),
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "work": {"flops": 1e13, "bytes": "12GB", "dtype": "fp32"}},
        quiet={"gpu": "h200", "work": {"flops": 1e9, "bytes": "12GB", "dtype": "fp32"}},
        edges=(
            {"gpu": "h200", "work": {"flops": 1.4e11, "bytes": "10GB", "dtype": "fp32"}},
            {"gpu": "h200", "work": {"flops": 1.3e11, "bytes": "10GB", "dtype": "fp32"}},
        ),
    ),
)
