"""What other products of matrices save of a recorded run: on tensor cores, in fewer bits, padded, in one layout.

Each is the seconds that the change saves at most, and None where it is not worth advising.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.tensor_cores import FASTER, tensor_cores, tensor_speedups
from gpuadvise.advisor.facts.timeline import NOTICEABLE
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timeline import TracedProduct, TracedRun

OF_PRODUCTS = number(0.1, "FP32 or FP64 products", "share", "our judgement", LaunchSet.RECORDED)
CUBLAS_REACHES = number(
    0.75,
    "FP32 peak that cuBLAS reaches",
    "share",
    "measured on an H200 with 4096 x 4096 matrices: 0.77",
    LaunchSet.RECORDED,
)
MULTIPLE = number(
    8,
    "multiple",
    "elements",
    "16 bytes of 16-bit elements: cuBLAS, tensor core usage",
    LaunchSet.RECORDED,
)
_NARROW = number(
    64,
    "side of a product that reads its matrix once",
    "elements",
    "our judgement",
    LaunchSet.RECORDED,
)


def saved_by_tensor_cores(run: TracedRun, device: Device | None) -> float | None:
    """Return what FP32 products save on tensor cores, and half the bytes elsewhere; FP64 comes first."""
    factor = tensor_core_factor(run, device)
    seconds = run.single_precision_seconds
    if run.share(seconds) < OF_PRODUCTS or factor is None:
        return None
    if saved_by_single_precision(run, device) is not None:
        return None
    saved = saved_by_faster_products(run, factor) + half_of_the_rest(run, seconds)
    return beside_transfers(run, saved, copies_fewer=True)


def tensor_core_factor(run: TracedRun, device: Device | None) -> float | None:
    """Return how many times as fast as FP32 the tensor cores multiply at most; None without any."""
    if device is None:
        return FASTER if run.has_tensor_cores else None
    if speedups := tensor_speedups(device):
        return max(speedups)
    fp32, fp16 = device.peaks.get("fp32"), device.peaks.get("fp16_tensor")
    if fp32 and fp16:
        return fp16 / fp32
    return FASTER if not device.peaks and tensor_cores(device) else None


def saved_by_faster_products(run: TracedRun, factor: float) -> float:
    """Return what FP32 products save on units *factor* times as fast: short launches save nothing."""
    long = max(0.0, run.single_precision_seconds - run.short_products_seconds)
    return long * (1 - CUBLAS_REACHES / factor)


def saved_by_single_precision(run: TracedRun, device: Device | None) -> float | None:
    """Return what FP64 products save in TF32, and half the bytes elsewhere."""
    seconds, peaks = run.double_precision_seconds, device.peaks if device else {}
    now = max(peaks.get("fp64", 0.0), peaks.get("fp64_tensor", 0.0))
    tf32 = peaks.get("tf32_tensor")
    if run.share(seconds) < OF_PRODUCTS or not now or not tf32:
        return None
    faster = seconds * (1 - CUBLAS_REACHES * now / tf32)
    saved = faster + half_of_the_rest(run, seconds, sends_fewer=True)
    return beside_transfers(run, saved, sends_fewer=True, copies_fewer=True)


def saved_by_one_layout(run: TracedRun, device: Device | None) -> float | None:
    """Return what conversions between NCHW and NHWC take, and half the bytes elsewhere; wide products come first."""
    seconds = run.layout_seconds
    if run.share(seconds) < OF_PRODUCTS:
        return None
    wide = saved_by_single_precision(run, device), saved_by_tensor_cores(run, device)
    if wide != (None, None):
        return None
    return beside_transfers(run, seconds + half_of_the_rest(run, seconds), copies_fewer=True)


def half_of_the_rest(run: TracedRun, seconds: float, *, sends_fewer: bool = False) -> float:
    """Return what half the bytes save at most of the busy time beside *seconds*.

    Autocast leaves weights in FP32, and with them the gradients that ranks send each other: communication stays,
    unless all numbers have fewer bits and a program *sends_fewer* of them.
    """
    communication = 0.0 if sends_fewer else run.exposed_communication_seconds
    # Sorts move indices too, and autocast leaves what they sort in FP32.
    return max(0.0, run.busy_seconds - communication - run.sort_seconds - seconds) / 2


def beside_transfers(
    run: TracedRun, saved: float, *, sends_fewer: bool = False, copies_fewer: bool = False
) -> float:
    """Return what is *saved* where communication and copies over the link remain: shorter kernels hide less of them.

    Of half the bytes half remains, where ranks send or the host copies shorter numbers.
    """
    remains = max(
        run.communication_seconds / (2 if sends_fewer else 1),
        run.link_copy_seconds / (2 if copies_fewer else 1),
    )
    return min(saved, max(0.0, run.span_seconds - remains))


def odd_products(run: TracedRun) -> list[TracedProduct]:
    """Return the products in 16 bits with a side that is no multiple of 8 and the length of some result's rows.

    Rows lie behind each other: how many there are is nobody's stride, until the result is read by columns. Of
    attention the odd side is a sequence, which to fuse it repairs.
    """
    attention = run.score_products
    products = [product for product in run.products if product not in attention]
    strides = {product.columns for product in products if product.columns % MULTIPLE}
    odd = [product for product in products if _is_odd(product, strides)]
    return odd if run.share(_seconds_of(odd)) >= NOTICEABLE else []


def _is_odd(product: TracedProduct, strides: set[int]) -> bool:
    sides = (product.rows, product.columns, product.inner)
    return product.half_precision and not strides.isdisjoint(sides) and min(sides) >= _NARROW


def is_of_odd_attention(run: TracedRun) -> bool:
    """Return whether attention that is written out has a side that is no multiple of 8."""
    return any((one.rows | one.inner | one.columns) % MULTIPLE for one in run.score_products)


def saved_by_padding(run: TracedRun, device: Device | None) -> float | None:
    """Return what kernels for unaligned rows take beyond the peak of the tensor cores.

    All of it where no shapes tell what they need.
    """
    if run.share(run.unaligned_seconds) < NOTICEABLE:
        return None
    odd = odd_products(run)
    if not odd:
        return None if is_of_odd_attention(run) else beside_transfers(run, run.unaligned_seconds)
    peak = tensor_core_peak(device)
    if peak is None:
        return None
    least = sum(product.flops for product in odd) / peak
    return beside_transfers(run, max(0.0, _seconds_of(odd) - least))


def tensor_core_peak(device: Device | None) -> float | None:
    """Return the operations per second of 16-bit products; None where the device's peaks are not known."""
    peaks = device.peaks if device else {}
    return peaks.get("bf16_tensor") or peaks.get("fp16_tensor") or None


def _seconds_of(products: list[TracedProduct]) -> float:
    return sum(product.seconds or 0.0 for product in products)
