"""Operators of a recorded run that another call makes cheaper: each kind at its threshold, and its bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.facts.derive import completed
from gpuadvise.advisor.facts.timeline import TracedRun
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.model import Priority

if TYPE_CHECKING:
    from gpuadvise.rules.advice import Advice

RULE = next(rule for rule in RULES if rule.id == "costly-operators")


def said(fp64_ratio: float | None = None, **fields: Any) -> list[Advice]:
    verdict = RULE.check(TracedRun(span_seconds=1.0, **fields), fp64_ratio=fp64_ratio)
    return list(verdict) if isinstance(verdict, tuple) else []


TABLES = {"embedding_gradient_seconds": 0.01, "fill_seconds": 0.05}


@pytest.mark.parametrize(
    ("quiet", "fires", "words"),
    [
        ({"concatenation_seconds": 0.19}, {"concatenation_seconds": 0.2}, "buffer[:, t] = x"),
        ({"sort_seconds": 0.19}, {"sort_seconds": 0.2}, "torch.topk"),
        (
            TABLES | {"many_tensors_seconds": 0.34},
            TABLES | {"many_tensors_seconds": 0.36},
            "sparse=True",
        ),
        # Without a gradient of an embedding all parameters need the passes, and without these nothing updates.
        (
            {"many_tensors_seconds": 0.8, "fill_seconds": 0.1},
            TABLES | {"many_tensors_seconds": 0.8},
            "sparse=True",
        ),
        ({**TABLES, "fill_seconds": 0.8}, TABLES | {"many_tensors_seconds": 0.8}, "sparse=True"),
        (
            {"lone_updates": 100, "lone_updates_seconds": 0.14},
            {"lone_updates": 100, "lone_updates_seconds": 0.16},
            "fused=True",
        ),
        (
            {"lone_updates": 99, "lone_updates_seconds": 0.5},
            {"lone_updates": 100, "lone_updates_seconds": 0.5},
            "fused=True",
        ),
        ({"double_passes_seconds": 0.19}, {"double_passes_seconds": 0.2}, "np.float32"),
        # Where products are in FP64 too, fp64-products says it.
        (
            {"double_passes_seconds": 0.5, "double_precision_seconds": 0.1},
            {"double_passes_seconds": 0.5, "double_precision_seconds": 0.09},
            "np.float32",
        ),
    ],
)
def test_each_kind_is_said_from_its_threshold_on(
    quiet: dict[str, Any], fires: dict[str, Any], words: str
) -> None:
    assert said(**quiet) == []
    (advice,) = said(**fires)
    assert words in advice.action


def test_several_kinds_are_said_one_by_one() -> None:
    both = said(concatenation_seconds=0.3, sort_seconds=0.4)
    assert [advice.gain.upper_bound for advice in both if advice.gain] == pytest.approx(
        [1 / 0.7, 1 / 0.6]
    )


@pytest.mark.parametrize(
    ("ratio", "saved"), [(0.5, 0.5), (1.0, 0.5), (1 / 64, 63 / 64), (None, 63 / 64)]
)
def test_fp32_saves_half_of_the_bytes_or_what_the_part_computes_slowly(
    ratio: float | None, saved: float
) -> None:
    (advice,) = said(ratio, double_passes_seconds=0.4)
    assert advice.gain is not None
    assert advice.gain.upper_bound == pytest.approx(1 / (1 - 0.4 * saved))


@pytest.mark.parametrize(("filled", "priority"), [(0.04, Priority.MEDIUM), (0.02, Priority.LOW)])
def test_tables_that_are_few_of_the_parameters_are_low(filled: float, priority: Priority) -> None:
    line = TracedRun(
        span_seconds=1.0,
        busy_seconds=0.9,
        kernels=1000,
        embedding_gradient_seconds=0.01,
        many_tensors_seconds=0.6,
        fill_seconds=filled,
    )
    facts = completed(Facts(device=find("h100-sxm"), timeline=line))
    (finding,) = run((RULE,), facts).findings
    assert finding.priority is priority
