"""Matrix products in half precision whose dimensions keep them from the fast kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.product_savings import (
    MULTIPLE,
    is_of_odd_attention,
    odd_products,
    saved_by_padding,
)
from gpuadvise.advisor.facts.timeline import NOTICEABLE
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.rules.advice import PASSED, Advice, Gain, Verdict
from gpuadvise.rules.evidence import derived, traced
from gpuadvise.rules.judged_span import of_span
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import cited
from gpuadvise.rules.traced import span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timeline import TracedProduct, TracedRun


def check(timeline: TracedRun, device: Device | None = None) -> Verdict:
    """Advise when kernels for rows without alignment take 5 % of the span.

    Shapes alone do not tell: rows of a matrix may be of any number, and a view of a larger one may
    be aligned. Where shapes were recorded they name the product.
    """
    if timeline.share(timeline.unaligned_seconds) < NOTICEABLE:
        return PASSED
    odd = odd_products(timeline)
    if not odd:
        return PASSED if is_of_odd_attention(timeline) else _by_kernels(timeline)
    seconds = sum(product.seconds or 0.0 for product in odd)
    worst = max(odd, key=lambda product: product.seconds or 0.0)
    shape = f"{worst.rows} x {worst.inner} by {worst.inner} x {worst.columns}"
    return Advice(
        message=(
            f"{plural(sum(product.calls for product in odd), 'product')} in half precision with a "
            f"dimension that is no multiple of {MULTIPLE} take {show_seconds(seconds)}, "
            f"{of_span(timeline, seconds)}; most time goes to {shape} "
            f"({worst.dtype})."
        ),
        action=(
            f"Pad to the next multiple: {_padded(worst)}. In PyTorch: nn.Embedding and the last "
            "nn.Linear with a vocabulary of a multiple of 64, or torch.nn.functional.pad() once, "
            "outside of the loop; slices of a padded matrix do not help, its row stride counts."
        ),
        evidence=(
            traced("time of such products", seconds, "s"),
            traced("span", timeline.span_seconds, "s"),
            derived("rows", worst.rows, "elements"),
            derived("columns", worst.columns, "elements"),
            derived("inner dimension", worst.inner, "elements"),
        ),
        gain=_gain(timeline, device),
    )


def _by_kernels(timeline: TracedRun) -> Advice:
    seconds = timeline.unaligned_seconds
    return Advice(
        message=(
            f"Products of 16-bit elements in kernels for rows without alignment (align1, align2) "
            f"take {show_seconds(seconds)}, {of_span(timeline, seconds)}: a "
            f"dimension, or the stride of a row, is no multiple of {MULTIPLE}."
        ),
        action=(
            f"Pad it to the next multiple of {MULTIPLE}, better of 64: a vocabulary of 50257 to "
            "50304, a hidden size, a slice of a larger matrix. "
            "torch.profiler.profile(record_shapes=True) shows which product it is."
        ),
        evidence=(
            traced("time of such kernels", seconds, "s"),
            traced("span", timeline.span_seconds, "s"),
        ),
        gain=span_gain(timeline, seconds, "all of the kernels' time: their shapes are not known"),
    )


def _padded(product: TracedProduct) -> str:
    sides = (product.rows, product.columns, product.inner)
    moves = (
        f"{side} to {-(-side // MULTIPLE) * MULTIPLE}"
        for side in dict.fromkeys(sides)
        if side % MULTIPLE
    )
    return ", ".join(moves)


def _gain(run: TracedRun, device: Device | None) -> Gain | None:
    """Return the bound: the products at the peak of the tensor cores."""
    saved = saved_by_padding(run, device)
    how = "the products' time beyond their operations / peak of the tensor cores"
    return None if saved is None else span_gain(run, saved, how)


_ODD = {"rows": 4095, "columns": 4095, "inner": 4095, "dtype": "bfloat16", "calls": 8}
_EVEN = {"rows": 4096, "columns": 4096, "inner": 4096, "dtype": "bfloat16", "calls": 8}
RULE = Rule(
    id="odd-gemm-shape",
    title="Pad matrix products to multiples of 8",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.MEDIUM,
    kinds=(Kind.TIMING, Kind.APPLICATION),
    why="Rows that are no multiple of 16 bytes cannot be loaded 16 bytes at a time, and the fast kernels need that.",
    when=(
        "In a recorded run, the kernels that cuBLAS has for rows of 16-bit elements without "
        "alignment take 5 % of the span or more. Recorded shapes name the products with a dimension of "
        "64 or more that is no multiple of 8 and is the length of some result's rows."
    ),
    citations=(
        cited(
            "cuBLAS Library",
            "Tensor Core Usage",
            "https://docs.nvidia.com/cuda/cublas/index.html#tensor-core-usage",
        ),
    ),
    check=check,
    examples=Examples(
        fires={
            "gpu": "h200",
            "timeline": {
                "span": "8ms",
                "unaligned": "7.3ms",
                "products": [{**_ODD, "time": "7.3ms"}],
            },
        },
        quiet={
            "gpu": "h200",
            "timeline": {"span": "2ms", "products": [{**_EVEN, "time": "1.4ms"}]},
        },
        edges=(
            {
                "timeline": {
                    "span": "100ms",
                    "unaligned": "5.1ms",
                    "products": [{**_ODD, "time": "5.1ms"}],
                }
            },
            {
                "timeline": {
                    "span": "100ms",
                    "unaligned": "4.9ms",
                    "products": [{**_ODD, "time": "4.9ms"}],
                }
            },
        ),
    ),
)
