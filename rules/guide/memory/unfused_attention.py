"""Attention of a recorded run whose scores go through memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.pass_savings import attention_seconds, saved_by_fused_attention
from gpuadvise.advisor.facts.timeline import NOTICEABLE
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import derived, traced
from gpuadvise.rules.judged_span import of_span
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import pytorch_attention
from gpuadvise.rules.traced import span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timeline import TracedRun


_CALL = (
    "Call torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p), which "
    "keeps the scores on the chip; in transformers attn_implementation='sdpa' or 'flash_attention_2', "
    "in JAX jax.nn.dot_product_attention(q, k, v, implementation='cudnn')."
)


def check(timeline: TracedRun, device: Device | None = None) -> Verdict:
    """Advise when products of queries, keys and values take 5 % of the span and no fused kernel runs."""
    if not timeline.products:
        return _by_softmax(timeline)
    products = timeline.score_products
    seconds, saved = attention_seconds(timeline), saved_by_fused_attention(timeline, device)
    if saved is None:
        return PASSED
    scores = max(products, key=lambda product: product.rows * max(product.columns, product.inner))
    rows, columns = scores.rows, max(scores.columns, scores.inner)
    return Advice(
        message=(
            f"{plural(sum(product.calls for product in products), 'batched product')} of attention take "
            f"{show_seconds(seconds)}, {of_span(timeline, seconds)}, and no kernel "
            f"of fused attention runs: scores of {rows} x {columns} for each of {scores.batch} heads are "
            "written, read by the softmax, written again and read again."
        ),
        action=_CALL,
        evidence=(
            traced("time of such products", seconds, "s"),
            traced("span", timeline.span_seconds, "s"),
            derived("sequence", columns, "elements"),
        ),
        gain=span_gain(
            timeline,
            saved,
            "the products' time, with the passes over memory, beyond their operations / peak of the tensor cores",
        ),
    )


def _by_softmax(run: TracedRun) -> Verdict:
    """Advise where no shapes were recorded, and softmaxes over rows in memory take 5 % of the span."""
    seconds = run.softmax_seconds
    if run.fused_attention_seconds or run.share(seconds) < NOTICEABLE:
        return PASSED
    return Advice(
        message=(
            f"Softmaxes over rows in memory take {show_seconds(seconds)}, {of_span(run, seconds)}, and no "
            "kernel of fused attention runs. Where they are of attention, its scores are written and read several times."
        ),
        action=f"{_CALL} Recorded with record_shapes=True, this says what it takes.",
        evidence=(
            traced("time of softmaxes", seconds, "s"),
            traced("span", run.span_seconds, "s"),
        ),
        priority=Priority.LOW,
    )


_SCORES = {"rows": 4096, "inner": 64, "columns": 4096, "batch": 32, "dtype": "bfloat16", "calls": 8}
_VALUES = {**_SCORES, "inner": 4096, "columns": 64}


def _run(*products: dict[str, object], **more: object) -> dict[str, object]:
    return {"gpu": "h200", "timeline": {"span": "100ms", "products": list(products), **more}}


RULE = Rule(
    id="unfused-attention",
    title="Fuse the attention",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.TIMING, Kind.APPLICATION),
    why="The fused kernel keeps scores in shared memory and registers, so that traffic grows with the length, not its square.",
    when=(
        "In a recorded run with shapes, batched products of which one makes the rows that the other sums over, with "
        "heads of at most 256 elements, take 5 % of the span or more, and no kernel of fused attention runs. "
        "Without shapes, where softmaxes over rows take 5 % of it (low)."
    ),
    citations=pytorch_attention(),
    check=check,
    examples=Examples(
        fires=_run({**_SCORES, "time": "20ms"}, {**_VALUES, "time": "20ms"}, elementwise="30ms"),
        quiet=_run({**_SCORES, "time": "20ms"}, {**_VALUES, "time": "20ms"}, fused_attention="1ms"),
        edges=(
            _run({**_SCORES, "time": "2.6ms"}, {**_VALUES, "time": "2.5ms"}),
            _run({**_SCORES, "time": "2.4ms"}, {**_VALUES, "time": "2.5ms"}),
        ),
    ),
)
