"""What is said of launches that fail, of one block per SM, and of units that are told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.reader import described
from gpuadvise.advisor.facts.limit_words import limit_sentence
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES

if TYPE_CHECKING:
    from gpuadvise.rules.report import Report


def report(**keys: Any) -> Report:
    return run(RULES, described({"gpu": "h200", **keys}, from_catalogue).facts)


def finding(rule: str, **keys: Any) -> Any:
    return next((f for f in report(**keys).findings if f.rule.id == rule), None)


def test_a_launch_that_fails_is_not_to_be_profiled() -> None:
    failing = limit_sentence(report(regs=128, block=1024, grid=1000).limiter)
    assert "launch that the device can run" in failing
    assert "ncu" not in failing
    assert "ncu" in limit_sentence(report(regs=64, block=1024, grid=1000).limiter)


def test_one_block_per_sm_is_said_where_smaller_ones_hold_as_much() -> None:
    lone = finding("surplus-occupancy", regs=40, block=1024, grid=10_000)
    assert "3 blocks of 512 threads hold 48 warps" in lone.advice.message
    pair = finding("surplus-occupancy", regs=40, block=512, grid=10_000)
    assert "all of 1 block" not in pair.advice.message
    # Half the threads with as much shared memory each: a second block does not fit.
    full = finding("surplus-occupancy", regs=40, block=1024, smem="47KiB", grid=10_000, carveout=25)
    assert full is None or "all of 1 block" not in full.advice.message


def test_half_precision_on_ordinary_units_is_sent_to_tensor_cores() -> None:
    work = {"flops": 2e12, "bytes": "200MB", "dtype": "fp16", "time": "25ms"}
    ordinary = finding("compute-bound", work={**work, "tensor": False})
    assert "fp16_tensor" in ordinary.advice.action
    assert str(ordinary.priority) == "medium"
    near = finding("compute-bound", work={**work, "tensor": False, "time": "20ms"})
    assert "fp16_tensor" in near.advice.action
    assert finding("compute-bound", work={**work, "tensor": True, "time": "2.1ms"}) is None
