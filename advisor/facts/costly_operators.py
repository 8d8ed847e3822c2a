"""Operators of a recorded run that another call makes cheaper: what they take, and what of it is saved at most."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.product_savings import OF_PRODUCTS
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.timeline import TracedRun

_MUCH = number(
    0.2, "operators of one kind", "share of the span", "our judgement", LaunchSet.RECORDED
)
_OF_UPDATES = number(
    0.4,
    "optimizer's passes and fills beside gradients of embeddings",
    "share of the span",
    "our judgement: of dense layers the products take more",
)
_OF_LONE_UPDATES = number(
    0.15, "optimizer's steps, parameter by parameter", "share of the span", "our judgement"
)
_LONE_UPDATES = number(
    100, "kernels of an optimizer's step, parameter by parameter", "", "our judgement"
)
_FILLED = number(
    0.05,
    "fills, of the optimizer's passes, where tables are most of the parameters",
    "share",
    "a fill writes 4 bytes of a parameter; Adam's passes move 28 in one kernel, and up to 72 in several",
)
_SLOWEST_FP64 = number(
    1 / 64,
    "FP64 where the rates of the GPU are not known",
    "FP64 per FP32 operation",
    "CUDA C++ Programming Guide, arithmetic throughput: of consumer parts",
)
_HALF_THE_BYTES = number(0.5, "bytes of FP32, of those of FP64", "share", "4 of 8 bytes")
_ALL = "the operators' time"


class CostlyKind(StrEnum):
    """What operators do that another call does for less."""

    CONCATENATE = "concatenate"
    SORT = "sort"
    UPDATE_TABLES = "update-tables"
    UPDATE_ALONE = "update-alone"
    COMPUTE_IN_FP64 = "compute-in-fp64"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostlyOperators:
    """Operators of one kind: their seconds, and those that another call saves at most.

    Where they are not *certain*, something else may need them.
    """

    kind: CostlyKind
    seconds: float
    saved: float
    how: str = _ALL
    certain: bool = True


def costly_operators(run: TracedRun, fp64_ratio: float | None) -> tuple[CostlyOperators, ...]:
    """Return the kinds that take so much of a run that they are worth a word.

    *fp64_ratio* is the GPU's rate in FP64 beside that in FP32, None where it is not known.
    """
    # Of dense layers an optimizer passes over all parameters for good reason.
    tables = run.embedding_gradient_seconds > 0 and run.many_tensors_seconds > 0
    updates = run.many_tensors_seconds + run.fill_seconds if tables else 0.0
    alone = run.lone_updates_seconds if run.lone_updates >= _LONE_UPDATES else 0.0
    # Where products are in FP64 too, what is said of these is the same repair.
    products = run.share(run.double_precision_seconds) >= OF_PRODUCTS
    doubles = 0.0 if products else run.double_passes_seconds
    kept = min(_HALF_THE_BYTES, fp64_ratio or _SLOWEST_FP64)
    found = (
        (_MUCH, _all_of(CostlyKind.CONCATENATE, run.concatenation_seconds)),
        (_MUCH, _all_of(CostlyKind.SORT, run.sort_seconds)),
        (
            _OF_UPDATES,
            CostlyOperators(
                kind=CostlyKind.UPDATE_TABLES,
                seconds=updates,
                saved=updates,
                certain=run.fill_seconds >= _FILLED * run.many_tensors_seconds,
            ),
        ),
        (_OF_LONE_UPDATES, _all_of(CostlyKind.UPDATE_ALONE, alone)),
        (
            _MUCH,
            CostlyOperators(
                kind=CostlyKind.COMPUTE_IN_FP64,
                seconds=doubles,
                saved=(1 - kept) * doubles,
                how="the operators' time beyond half of it, or what FP32's peak takes where that is less",
            ),
        ),
    )
    return tuple(one for least, one in found if one.seconds and run.share(one.seconds) >= least)


def _all_of(kind: CostlyKind, seconds: float) -> CostlyOperators:
    return CostlyOperators(kind=kind, seconds=seconds, saved=seconds)
