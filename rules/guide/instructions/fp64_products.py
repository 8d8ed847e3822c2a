"""Matrix products of a run in FP64, often made by accident."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.product_savings import OF_PRODUCTS, saved_by_single_precision
from gpuadvise.advisor.quantity import show_number, show_seconds
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import traced
from gpuadvise.rules.judged_span import of_span
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide
from gpuadvise.rules.traced import span_gain, with_half_the_bytes

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timeline import TracedRun


def check(timeline: TracedRun, device: Device) -> Verdict:
    """Advise where products of FP64 matrices, often made by accident, take much of a run."""
    seconds, peaks = timeline.double_precision_seconds, device.peaks
    if timeline.share(seconds) < OF_PRODUCTS:
        return PASSED
    now = max(peaks.get("fp64", 0.0), peaks.get("fp64_tensor", 0.0))
    tf32 = peaks.get("tf32_tensor")
    if not now or not tf32:
        return PASSED if peaks else undecided("device.peaks")
    return Advice(
        message=(
            f"Matrix kernels in FP64 take {show_seconds(seconds)}, {of_span(timeline, seconds)}; "
            f"{device.name} computes {show_number(tf32 / now)} times as fast in TF32"
            f"{with_half_the_bytes(timeline, seconds, 32, sends_fewer=True)}."
        ),
        action=(
            "Where single precision is enough, convert data and model: torch.from_numpy(x).float(), "
            "model.float(), np.float32 where arrays are made; then "
            "torch.set_float32_matmul_precision('high'), or torch.autocast('cuda', torch.bfloat16)."
        ),
        evidence=(
            traced("time of FP64 matrix kernels", seconds, "s"),
            traced("span", timeline.span_seconds, "s"),
        ),
        gain=span_gain(
            timeline,
            saved_by_single_precision(timeline, device) or 0.0,
            "the kernels' time beyond what the peak in TF32 would take, and half of the other busy "
            "time: 32-bit numbers have half the bytes",
        ),
    )


RULE = Rule(
    id="fp64-products",
    formerly="unused-tensor-cores",
    title="Multiply matrices in FP64 on purpose alone",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.MEDIUM,
    kinds=(Kind.TIMING, Kind.DEVICE),
    family=Family.PRODUCTS,
    why="Arrays of NumPy are FP64 by default, and tensor cores multiply 8 times as fast in TF32 or faster.",
    when="Matrix kernels in FP64 take 10 % of a recorded run.",
    citations=guide("12.1"),
    check=check,
    examples=Examples(
        fires={
            "gpu": "h100-sxm",
            "timeline": {"span": "97ms", "busy": "97ms", "double_precision": "87ms"},
        },
        quiet={
            "gpu": "h100-sxm",
            "timeline": {"span": "97ms", "busy": "97ms", "double_precision": "1ms"},
        },
        edges=(
            {
                "gpu": "h100-sxm",
                "timeline": {"span": "100ms", "busy": "97ms", "double_precision": "10.1ms"},
            },
            {
                "gpu": "h100-sxm",
                "timeline": {"span": "100ms", "busy": "97ms", "double_precision": "9.9ms"},
            },
        ),
    ),
)
