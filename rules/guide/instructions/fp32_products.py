"""Matrix products of a run in FP32, outside of the tensor cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.product_savings import (
    OF_PRODUCTS,
    saved_by_faster_products,
    saved_by_single_precision,
    saved_by_tensor_cores,
)
from gpuadvise.advisor.facts.tensor_cores import FASTER, FIRST_TF32, tensor_cores, tensor_speedups
from gpuadvise.advisor.quantity import show_number, show_seconds
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import traced
from gpuadvise.rules.judged_span import of_span
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide
from gpuadvise.rules.traced import LOUD, span_gain, with_half_the_bytes

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timeline import TracedRun

_FASTER_TF32 = number(
    1.1,
    "peak of TF32 beside that of FP32, worth a word",
    "times",
    "our judgement: some parts multiply TF32 no faster",
)
_TF32 = (
    "Where 10 bits of mantissa are enough: torch.set_float32_matmul_precision('high') and "
    "torch.backends.cudnn.allow_tf32 = True, in cuBLAS CUBLAS_COMPUTE_32F_FAST_TF32. "
)


def check(timeline: TracedRun, device: Device | None = None) -> Verdict:
    """Advise where products of FP32 matrices outside of the tensor cores take much of a run."""
    seconds = timeline.single_precision_seconds
    if timeline.share(seconds) < OF_PRODUCTS:
        return PASSED
    if saved_by_single_precision(timeline, device) is not None:
        return PASSED  # fp64-products comes first
    if device is None:
        return _in_half(timeline, None, None) if timeline.has_tensor_cores else undecided("device")
    factor = tensor_speedups(device)
    if factor is None:  # parts without TF32 have other peaks
        fp32, fp16 = device.peaks.get("fp32"), device.peaks.get("fp16_tensor")
        if fp32 and fp16:
            return _in_half(timeline, device, fp16 / fp32)
        if device.peaks:
            return PASSED
        return _by_capability(timeline, device)
    tf32, bf16 = factor
    in_tf32 = f"{show_number(tf32)} times as fast in TF32 and " if tf32 > _FASTER_TF32 else ""
    in_bf16 = f"{show_number(bf16)} times {'' if in_tf32 else 'as fast '}in BF16"
    return Advice(
        message=(
            f"Matrix kernels in FP32, outside of the tensor cores, take {show_seconds(seconds)}, "
            f"{of_span(timeline, seconds)}; {device.name} computes "
            f"{in_tf32}{in_bf16}"
            f"{with_half_the_bytes(timeline, seconds, 16)}.{_shapes(timeline)}"
        ),
        action=(
            f"{_TF32 if in_tf32 else ''}For training and inference: with torch.autocast('cuda', torch.bfloat16), and for "
            "convolutions model.to(memory_format=torch.channels_last)."
        ),
        evidence=(
            traced("time of FP32 matrix kernels", seconds, "s"),
            traced("span", timeline.span_seconds, "s"),
        ),
        priority=_priority(timeline, max(tf32, bf16)),
        gain=span_gain(
            timeline,
            _saved(timeline, device),
            "the kernels' time beyond what the fastest of these peaks would take, and half of the "
            "other busy time beside communication: 16-bit numbers have half the bytes",
        ),
    )


def _by_capability(timeline: TracedRun, device: Device) -> Verdict:
    """Advise on a part of which no peaks are known, where it surely has tensor cores."""
    has = tensor_cores(device)
    if has is None:
        return undecided("device.peaks")
    return (
        _in_half(timeline, device, None, tf32=device.capability.major >= FIRST_TF32)
        if has
        else PASSED
    )


def _in_half(
    timeline: TracedRun, device: Device | None, factor: float | None, *, tf32: bool = False
) -> Advice:
    """Advise 16-bit numbers on a GPU whose tensor cores know no TF32, or of which no peaks are known."""
    seconds = timeline.single_precision_seconds
    often = "several times" if factor is None else f"{show_number(factor)} times"
    return Advice(
        message=(
            f"Matrix kernels in FP32, outside of the tensor cores, take {show_seconds(seconds)}, "
            f"{of_span(timeline, seconds)}; the tensor cores of this GPU multiply 16-bit "
            f"numbers {often} as fast{with_half_the_bytes(timeline, seconds, 16)}.{_shapes(timeline)}"
        ),
        action=(
            f"{_TF32 if tf32 else ''}"
            "For training and inference: with torch.autocast('cuda', torch.float16) and torch.amp.GradScaler(), "
            "and for convolutions model.to(memory_format=torch.channels_last); in cuBLAS CUBLAS_COMPUTE_32F "
            "with matrices of CUDA_R_16F."
        ),
        evidence=(
            traced("time of FP32 matrix kernels", seconds, "s"),
            traced("span", timeline.span_seconds, "s"),
        ),
        priority=_priority(timeline, factor or FASTER),
        gain=span_gain(
            timeline,
            _saved(timeline, device),
            "the kernels' time beyond what tensor cores at their peak would take, and half of the other busy "
            "time beside communication: 16-bit numbers have half the bytes",
        ),
    )


def _saved(run: TracedRun, device: Device | None) -> float:
    return saved_by_tensor_cores(run, device) or 0.0


def _priority(run: TracedRun, factor: float) -> Priority | None:
    """Return low where the products themselves, not what else is in 16 bits then, win less than a tenth.

    Likewise where launches take the time: shorter kernels wait as long for the next.
    """
    little = run.lasting_share(saved_by_faster_products(run, factor)) < LOUD
    return Priority.LOW if little or run.launch_bound else None


def _shapes(run: TracedRun) -> str:
    products = [product for product in run.products if product.single_precision]
    if not products:
        return ""
    largest = max(products, key=lambda product: product.flops)
    return f" The largest product is {largest.rows} x {largest.inner} by {largest.inner} x {largest.columns}."


def _run(seconds: str) -> dict[str, object]:
    run = {"span": "100ms", "busy": "97ms", "single_precision": seconds}
    return {"gpu": "h100-sxm", "timeline": run}


RULE = Rule(
    id="fp32-products",
    formerly="unused-tensor-cores",
    title="Multiply matrices in TF32 or 16 bits",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.HIGH,
    kinds=(Kind.TIMING, Kind.DEVICE),
    family=Family.PRODUCTS,
    why="Tensor cores multiply matrices of 16-bit numbers 8 to 16 times as fast as the ordinary units.",
    when=(
        "Matrix kernels in FP32, outside of the tensor cores, take 10 % of a recorded run, and products in FP64 do not. Low where they win less "
        "than a tenth of all that was recorded, or launches take the time: launches of less than 10 us take as long on faster units."
    ),
    citations=guide("12.1"),
    check=check,
    examples=Examples(fires=_run("50ms"), quiet=_run("1ms"), edges=(_run("10.1ms"), _run("9.9ms"))),
)
