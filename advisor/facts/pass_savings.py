"""What fewer passes over memory save of a recorded run: of chains of operations, and of attention.

Each is the seconds that the change saves at most, and None where it is not worth advising.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.product_savings import beside_transfers, tensor_core_peak
from gpuadvise.advisor.facts.timeline import NOTICEABLE
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timeline import TracedRun

SOME_PASSES = number(
    0.1,
    "elementwise kernels, worth a word",
    "share of the span",
    "our judgement",
    LaunchSet.RECORDED,
)


def pass_seconds(run: TracedRun) -> float:
    """Return what passes take that do one operation on each element, or reduce or normalise rows.

    Where attention is written out, its softmax is no pass of its own.
    """
    attention = bool(run.score_products) and not run.fused_attention_seconds
    return max(0.0, run.elementwise_seconds - (run.softmax_seconds if attention else 0.0))


def saved_by_fused_passes(run: TracedRun) -> float | None:
    """Return what passes take but for the shortest of them: fused, they are one."""
    seconds = pass_seconds(run)
    if run.share(seconds) < SOME_PASSES:
        return None
    return beside_transfers(run, seconds - run.fused_seconds)


def attention_seconds(run: TracedRun) -> float:
    """Return what the products of attention take that is written out."""
    return sum(product.seconds or 0.0 for product in run.score_products)


def saved_by_fused_attention(run: TracedRun, device: Device | None) -> float | None:
    """Return what products and passes of attention take beyond what tensor cores need for the products.

    None where shapes do not tell them.
    """
    seconds = attention_seconds(run)
    if not run.products or run.fused_attention_seconds or run.share(seconds) < NOTICEABLE:
        return None
    peak = tensor_core_peak(device)
    least = sum(product.flops for product in run.score_products) / peak if peak else 0.0
    return beside_transfers(run, max(0.0, seconds + run.elementwise_seconds - least))
