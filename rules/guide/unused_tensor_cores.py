"""Matrix work in FP32 beside idle tensor cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_number, show_seconds, show_share
from gpuadvise.rules.evidence import traced
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Examples,
    Kind,
    Priority,
    Rule,
    Threshold,
    Topic,
    Verdict,
)
from gpuadvise.rules.sources import other
from gpuadvise.rules.traced import span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timeline import TracedRun

NOTICEABLE = 0.1
# cuBLAS reached 77 % of the FP32 peak with 4096 x 4096 matrices on a H200: the ratio of peaks
# alone would be too low a bound.
_REACHED = 0.75


def check(timeline: TracedRun, device: Device) -> Verdict:
    """Advise when FP32 matrix kernels without tensor cores take 10 % of the span or more."""
    seconds = timeline.single_precision_seconds
    factor = _factor(device)
    if factor is None or timeline.share(seconds) < NOTICEABLE:
        return PASSED
    tf32, bf16 = factor
    return Advice(
        message=(
            f"Matrix kernels in FP32, outside of the tensor cores, take {show_seconds(seconds)}, "
            f"{show_share(timeline.share(seconds))} of the span; {device.name} computes "
            f"{show_number(tf32)} times as fast in TF32 and {show_number(bf16)} times in BF16."
            f"{_shapes(timeline)}"
        ),
        action=(
            "Where 10 bits of mantissa are enough: torch.set_float32_matmul_precision('high') and "
            "torch.backends.cudnn.allow_tf32 = True, in cuBLAS CUBLAS_COMPUTE_32F_FAST_TF32. For "
            "training and inference: with torch.autocast('cuda', torch.bfloat16), and for "
            "convolutions model.to(memory_format=torch.channels_last)."
        ),
        evidence=(
            traced("time of FP32 matrix kernels", seconds, "s"),
            traced("span", timeline.span_seconds, "s"),
        ),
        gain=span_gain(
            timeline,
            seconds * (1 - _REACHED / max(tf32, bf16)),
            "the kernels' time beyond what the fastest of these peaks would take",
        ),
    )


def _factor(device: Device) -> tuple[float, float] | None:
    """Return how much faster the tensor cores are in TF32 and in BF16; None without them."""
    peaks = device.peaks
    fp32, tf32, bf16 = (peaks.get(name) for name in ("fp32", "tf32_tensor", "bf16_tensor"))
    return (tf32 / fp32, bf16 / fp32) if fp32 and tf32 and bf16 else None


def _shapes(run: TracedRun) -> str:
    products = [product for product in run.products if product.single_precision]
    if not products:
        return ""
    largest = max(products, key=lambda product: product.flops)
    return f" The largest product is {largest.rows} x {largest.inner} by {largest.inner} x {largest.columns}."


RULE = Rule(
    id="unused-tensor-cores",
    title="Multiply matrices on the tensor cores",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.HIGH,
    kinds=(Kind.TIMING, Kind.DEVICE),
    why="The tensor cores multiply several times as fast as the FP32 units, and are idle meanwhile.",
    when=(
        "In a recorded run, matrix kernels whose names tell FP32 without tensor cores take 10 % of "
        "the span or more, on a GPU with tensor cores for TF32."
    ),
    thresholds=(
        Threshold(name="share of the span", value=NOTICEABLE, unit="share", source="our judgement"),
    ),
    citations=(
        other(
            "cuBLAS Library",
            "Tensor Core Usage",
            "https://docs.nvidia.com/cuda/cublas/index.html#tensor-core-usage",
        ),
    ),
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "timeline": {"span": "22ms", "single_precision": "21.5ms"}},
        quiet={"gpu": "h200", "timeline": {"span": "3ms", "busy": "2.8ms"}},
        edges=(
            {"gpu": "h200", "timeline": {"span": "100ms", "single_precision": "10.1ms"}},
            {"gpu": "h200", "timeline": {"span": "100ms", "single_precision": "9.9ms"}},
        ),
    ),
)
