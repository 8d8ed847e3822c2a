"""Operators of a recorded run that copy, sort, update or compute more than the program needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.product_savings import OF_PRODUCTS
from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import traced
from gpuadvise.rules.judged_span import of_span
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import pytorch_optimizers, pytorch_tuning_guide
from gpuadvise.rules.traced import span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.timeline import TracedRun

MUCH = number(
    0.2, "operators of one kind", "share of the span", "our judgement", LaunchSet.RECORDED
)
OF_UPDATES = number(
    0.4, "optimizer's passes and fills beside gradients of embeddings", "share of the span",
    "our judgement: of dense layers the products take more",
)  # fmt: skip
OF_LONE_UPDATES = number(
    0.15, "optimizer's steps, parameter by parameter", "share of the span", "our judgement"
)
_LONE_UPDATES = number(
    100, "kernels of an optimizer's step, parameter by parameter", "", "our judgement"
)
_FILLED = number(
    0.05, "fills, of the optimizer's passes, where tables are most of the parameters", "share",
    "a fill writes 4 bytes of a parameter; Adam's passes move 28 in one kernel, and up to 72 in several",
)  # fmt: skip
_SLOWEST_FP64 = number(
    1 / 64, "FP64 where the GPU is not known", "FP64 per FP32 operation",
    "CUDA C++ Programming Guide, arithmetic throughput: of consumer parts",
)  # fmt: skip
_HALF_THE_BYTES = number(0.5, "bytes of FP32, of those of FP64", "share", "4 of 8 bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operators:
    """One kind: whether its *seconds* are too many, and what to do."""

    seconds: float
    least: float  # share of the span
    saved: float = 1.0  # of its seconds, at most
    how: str = "the operators' time"
    name: str
    message: str  # behind "take ... of the span"
    action: str
    priority: Priority | None = None  # None: the rule's own


def check(timeline: TracedRun, fp64_ratio: float | None = None) -> Verdict:
    """Advise for each kind of operators that takes much of the span and has a cheaper call."""
    advice = tuple(
        Advice(
            message=(
                f"{kind.name} take {show_seconds(kind.seconds)}, "
                f"{of_span(timeline, kind.seconds)}: {kind.message}"
            ),
            action=kind.action,
            evidence=(
                traced("time of such operators", kind.seconds, "s"),
                traced("span", timeline.span_seconds, "s"),
            ),
            gain=span_gain(timeline, kind.saved * kind.seconds, kind.how),
            priority=kind.priority,
        )
        for kind in _kinds(timeline, fp64_ratio)
        if timeline.share(kind.seconds) >= kind.least
    )
    return advice or PASSED


def _kinds(run: TracedRun, fp64_ratio: float | None) -> tuple[_Operators, ...]:
    # Of dense layers an optimizer passes over all parameters for good reason.
    dense = run.many_tensors_seconds + run.fill_seconds if run.embedding_gradient_seconds else 0.0
    filled = run.fill_seconds >= _FILLED * run.many_tensors_seconds
    lone = run.lone_updates_seconds if run.lone_updates >= _LONE_UPDATES else 0.0
    # Where products are in FP64 too, what is said of these is the same repair.
    products = run.share(run.double_precision_seconds) >= OF_PRODUCTS
    return (
        _Operators(
            seconds=run.concatenation_seconds,
            least=MUCH,
            name="Concatenations (torch.cat, torch.stack)",
            message="each copies all of its parts into a new array, also what an earlier one had joined.",
            action=(
                "Allocate the whole array once and write the parts into it: buffer[:, t] = x, index_copy_, out=; "
                "of a language model cache_implementation='static' in transformers. Parts that come one by one "
                "stay in a list until all are there, for one concatenation."
            ),
        ),
        _Operators(
            seconds=run.sort_seconds,
            least=MUCH,
            name="Sorts of whole arrays",
            message="each moves all keys and values several times.",
            action=(
                "Call torch.topk(x, k) where the largest or smallest k are enough (before sampling of top p, too), "
                "torch.kthvalue, torch.median or torch.amax for one of them; sort data that stay the same once."
            ),
        ),
        _Operators(
            seconds=dense if run.many_tensors_seconds else 0.0,
            least=OF_UPDATES,
            name="The optimizer's passes and fills of arrays",
            message=(
                "gradients of embeddings ran, which have a row for each of the table, as the update has. Where most "
                "parameters are embeddings, a batch needs few of these rows."
            ),
            action=(
                "Where most parameters are embeddings: nn.Embedding(..., sparse=True) with torch.optim.SparseAdam or "
                "SGD for the tables and another optimizer for the rest, or tables that are updated row by row in the "
                "backward pass (TorchRec, FBGEMM). A table that the output layer shares stays dense."
            ),
            priority=None if filled else Priority.LOW,
        ),
        _Operators(
            seconds=lone,
            least=OF_LONE_UPDATES,
            name="Steps of the optimizer",
            message=f"each launches {run.lone_updates} kernels, some for each parameter after the other.",
            action=(
                "Let one kernel update many parameters: torch.optim.AdamW(params, fused=True), or foreach=True "
                "where there is no fused form; in an optimizer of your own torch._foreach_add_ and the like."
            ),
        ),
        _Operators(
            seconds=0.0 if products else run.double_passes_seconds,
            least=MUCH,
            saved=1 - min(_HALF_THE_BYTES, fp64_ratio or _SLOWEST_FP64),
            how="the operators' time beyond half of it, or what FP32's peak takes where that is less",
            name="Operators in FP64 that are no products",
            message="FP32 has half the bytes, and many parts compute FP64 at 1/32 or 1/64 of its rate.",
            action=(
                "Where single precision is enough: x.float(), np.float32 where arrays are made, complex64 for "
                "transforms; see that torch.set_default_dtype(torch.float64) is nowhere called."
            ),
        ),
    )


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
