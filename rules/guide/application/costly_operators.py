"""Operators of a recorded run that copy, sort, update or compute more than the program needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.costly_operators import CostlyKind, costly_operators
from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import traced
from gpuadvise.rules.judged_span import of_span
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import pytorch_optimizers, pytorch_tuning_guide
from gpuadvise.rules.traced import span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.costly_operators import CostlyOperators
    from gpuadvise.advisor.facts.timeline import TracedRun


def check(timeline: TracedRun, fp64_ratio: float | None = None) -> Verdict:
    """Advise for each kind of operators that takes much of the span and has a cheaper call."""
    advice = tuple(_advice(timeline, one) for one in costly_operators(timeline, fp64_ratio))
    return advice or PASSED


def _advice(run: TracedRun, operators: CostlyOperators) -> Advice:
    name, why, action = _SAID[operators.kind]
    if operators.kind is CostlyKind.UPDATE_ALONE:
        why = f"each launches {run.lone_updates} kernels, {why}"
    return Advice(
        message=f"{name} take {show_seconds(operators.seconds)}, {of_span(run, operators.seconds)}: {why}",
        action=action,
        evidence=(
            traced("time of such operators", operators.seconds, "s"),
            traced("span", run.span_seconds, "s"),
        ),
        gain=span_gain(run, operators.saved, operators.how),
        priority=None if operators.certain else Priority.LOW,
    )


# Whose time it is, why it is more than is needed, and what to call instead.
_SAID = {
    CostlyKind.CONCATENATE: (
        "Concatenations (torch.cat, torch.stack)",
        "each copies all of its parts, those that an earlier one had joined already again.",
        "Allocate the whole array once and write the parts into it: buffer[:, t] = x, index_copy_, out=; "
        "of a language model cache_implementation='static' in transformers. Parts that come one by one "
        "stay in a list until all are there, for one concatenation.",
    ),
    CostlyKind.SORT: (
        "Sorts of whole arrays",
        "each moves all keys and values several times.",
        "Call torch.topk(x, k) where the largest or smallest k are enough (before sampling of top p, too), "
        "torch.kthvalue, torch.median or torch.amax for one of them; sort data that stay the same once.",
    ),
    CostlyKind.UPDATE_TABLES: (
        "The optimizer's passes and fills of arrays",
        "gradients of embeddings ran, which have a row for each of the table, as the update has. Where most "
        "parameters are embeddings, a batch needs few of these rows.",
        "Where most parameters are embeddings: nn.Embedding(..., sparse=True) with torch.optim.SparseAdam or "
        "SGD for the tables and another optimizer for the rest, or tables that are updated row by row in the "
        "backward pass (TorchRec, FBGEMM). A table that the output layer shares stays dense.",
    ),
    CostlyKind.UPDATE_ALONE: (
        "Steps of the optimizer",
        "some for each parameter after the other.",
        "Let one kernel update many parameters: torch.optim.AdamW(params, fused=True), or foreach=True "
        "where there is no fused form; in an optimizer of your own torch._foreach_add_ and the like.",
    ),
    CostlyKind.COMPUTE_IN_FP64: (
        "Operators in FP64 that are no products",
        "FP32 has half the bytes, and many parts compute FP64 at 1/32 or 1/64 of its rate.",
        "Where single precision is enough: x.float(), np.float32 where arrays are made, complex64 for "
        "transforms; see that torch.set_default_dtype(torch.float64) is nowhere called.",
    ),
}


def _run(**seconds: object) -> dict[str, object]:
    return {"timeline": {"span": "100ms", "busy": "90ms", **seconds}}


RULE = Rule(
    id="costly-operators",
    title="Call the operator that does less",
    topic=Topic.APPLICATION,
    priority=Priority.MEDIUM,
    kinds=(Kind.TIMING,),
    why="Another call has the same result with fewer passes, rows, bytes or launches.",
    when=(
        "In a recorded run concatenations, sorts of whole arrays, or operators in FP64 that are no products take "
        "20 % of the span; or an optimizer's passes and fills 40 % beside dense gradients of embeddings; or an "
        "optimizer's steps of 100 kernels or more, each of one parameter, 15 %."
    ),
    citations=(*pytorch_tuning_guide(), *pytorch_optimizers()),
    check=check,
    examples=Examples(
        fires=_run(concatenation="40ms"),
        quiet=_run(sort="1ms", many_tensors="80ms", fill="5ms", double_passes="5ms"),
        edges=(_run(concatenation="20.1ms"), _run(concatenation="19.9ms")),
    ),
)
