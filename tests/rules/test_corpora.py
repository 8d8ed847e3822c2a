"""No false alarms on kernels that are fine; exactly the right findings on those that are not."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.reader import described
from gpuadvise.advisor.errors import BadInput
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.model import Kind, Priority

if TYPE_CHECKING:
    from gpuadvise.rules.report import Report

FOLDER = Path(__file__).parent / "corpus"
FILES = {
    name: tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    for name in ("fine", "faulty")
}
FINE, FAULTY = FILES["fine"]["kernel"], FILES["faulty"]["case"]
KERNELS = [*FINE, *(case["kernel"] for case in FAULTY)]


def report(kernel: dict[str, Any]) -> Report:
    return run(RULES, described(kernel, from_catalogue).facts)


def test_both_corpora_are_large_enough() -> None:
    assert set(FILES["fine"]) == {"kernel"}, "fine.toml holds [[kernel]] alone"
    assert set(FILES["faulty"]) == {"case"}, "faulty.toml holds [[case]] alone"
    assert len(FINE) >= 40
    assert len(FAULTY) >= 40


@pytest.mark.parametrize("kernel", FINE, ids=lambda kernel: kernel["name"])
def test_a_fine_kernel_is_left_alone(kernel: dict[str, Any]) -> None:
    result = report(kernel)
    loud = [f for f in result.findings if f.priority is not Priority.LOW]
    assert [f"{f.rule.id}: {f.message}" for f in loud] == []
    assert not result.failures


@pytest.mark.parametrize("case", FAULTY, ids=lambda case: case["kernel"]["name"])
def test_a_faulty_kernel_gets_exactly_its_findings(case: dict[str, Any]) -> None:
    found = report(case["kernel"]).findings
    loud = sorted({f.rule.id for f in found if f.priority is not Priority.LOW})
    assert loud == sorted([*case["expect"], *case.get("also", [])])
    quiet = sorted({f.rule.id for f in found if f.priority is Priority.LOW})
    assert quiet == sorted(case.get("low", []))
    folded = sorted({rule for f in found for rule in f.advice.also})
    assert folded == sorted(case.get("folded", []))


def test_every_kind_of_fault_is_in_the_corpus() -> None:
    told = ("expect", "also", "low", "folded")
    expected = {name for case in FAULTY for key in told for name in case.get(key, [])}
    # Rules that only sources can answer are shown by the files in tests/advisor/source/cases.
    judged = (rule for rule in RULES if rule.kinds != (Kind.SOURCE,) or rule.id in expected)
    loud = {rule.id for rule in judged if rule.priority is not Priority.LOW}
    assert loud <= expected, "add a kernel with the fault to corpus/faulty.toml"


GPUS = ["h200", "b200", "a100-sxm4-80", "rtx-4090", "t4", "v100-sxm2-32", "gtx-1080", "tesla-m2090"]


@settings(max_examples=300, deadline=None)
@given(
    kernel=st.sampled_from(KERNELS),
    gpu=st.sampled_from(GPUS),
    changes=st.fixed_dictionaries(
        {},
        optional={
            "regs": st.integers(1, 256),
            "block": st.integers(1, 2048),
            "grid": st.integers(1, 2**31 - 1),
            "dynamic_smem": st.integers(0, 300_000),
            "smem": st.integers(0, 100_000),
            "elements": st.integers(1, 2**40),
            "ilp": st.floats(1, 64),
        },
    ),
)
def test_no_change_of_a_kernel_breaks_a_rule(
    kernel: dict[str, Any], gpu: str, changes: dict[str, Any]
) -> None:
    try:
        result = report({**kernel, "gpu": gpu, **changes})
    except BadInput:
        return  # a launch without a block, and the like
    assert not result.failures
    for finding in result.findings:
        assert finding.advice.gain is None or finding.advice.gain.upper_bound >= 1


@settings(max_examples=200, deadline=None)
@given(
    regs=st.integers(16, 255),
    block=st.integers(1, 1024),
    grid=st.integers(1, 100_000),
    gpu=st.sampled_from(GPUS[:6]),
)
def test_rules_do_not_contradict_each_other(regs: int, block: int, grid: int, gpu: str) -> None:
    kernel = {"gpu": gpu, "regs": regs, "block": block, "grid": grid}
    found = {finding.rule.id for finding in report(kernel).findings}
    assert not {"low-occupancy", "surplus-occupancy"} <= found
    assert not {"impossible-launch", "low-occupancy"} <= found
    assert not {"memory-bound", "compute-bound"} <= found
    if "register-limited-occupancy" in found or "shared-memory-limited-occupancy" in found:
        assert "low-occupancy" in found


@settings(max_examples=100, deadline=None)
@given(scale=st.integers(2, 50), seconds=st.floats(1e-5, 1e-1))
def test_a_longer_run_of_the_same_rate_gets_the_same_advice(scale: int, seconds: float) -> None:
    def found(factor: int) -> set[str]:
        size = 10**8 * factor  # more than L2 holds: what a cache serves has no such roof
        traffic = {"read": size, "write": size, "time": seconds * factor}
        return {f.rule.id for f in report({"gpu": "h200", "traffic": traffic}).findings}

    assert found(1) == found(scale)


def test_a_problem_that_is_too_small_is_not_told_to_launch_more_blocks() -> None:
    kernel = {"gpu": "h200", "regs": 24, "block": 1024, "grid": 1}
    [small] = [f for f in report({**kernel, "elements": 1000}).findings if "fill" in f.rule.title]
    assert small.advice.action.startswith(
        "1,000 elements for the 270,336 threads that fit at once are too few: "
    )
    [large] = [f for f in report({**kernel, "elements": 10**6}).findings if "fill" in f.rule.title]
    assert large.advice.action.startswith("Launch at least 264 blocks (132 SMs x 2 blocks)")
    assert large.advice.gain is not None
    assert large.advice.gain.how == "SMs / blocks = 132 / 1"


def test_spills_under_launch_bounds_name_the_bounds_to_write() -> None:
    kernel = {"gpu": "h200", "compiled": {"spill_stores": 8, "spill_loads": 8, "stack": 8}}
    result = report({**kernel, "launch_bounds": [512, 2], "block": 512})
    [found] = [f for f in result.findings if f.rule.id == "register-spills"]
    assert "__launch_bounds__(512, 1) instead of 2 blocks" in found.advice.action


def test_registers_that_no_block_of_the_size_can_have_are_told() -> None:
    compiled = {"spill_stores": 976, "spill_loads": 976, "stack": 448}
    result = report({"gpu": "h200", "regs": 32, "block": 1024, "compiled": compiled})
    [found] = [f for f in result.findings if f.rule.id == "register-spills"]
    assert "; 255 registers need blocks of fewer than 1,024 threads. From" in found.advice.action


def test_copies_beside_which_nothing_runs() -> None:
    transfers = [{"direction": "h2d", "bytes": "1GiB", "memory": "pinned", "time": "20ms"}]
    result = report({"gpu": "h200", "transfers": transfers, "total_time": "20ms"})
    [found] = [f for f in result.findings if f.rule.id == "transfer-bound-run"]
    assert found.advice.action.startswith("Nothing else runs that copies could hide behind,")


def test_cutting_registers_names_the_independent_instructions_that_it_may_cost() -> None:
    kernel = {"gpu": "h200", "regs": 168, "block": 256, "ilp": 3}
    found = {f.rule.id: f.advice.action for f in report(kernel).findings}
    assert "may end the 3 independent instructions per thread" in found["low-occupancy"]
    plenty = {f.rule.id for f in report({**kernel, "ilp": 4}).findings}
    assert not {"low-occupancy", "register-limited-occupancy"} & plenty
    alone = {f.rule.id: f.advice.action for f in report({**kernel, "ilp": 1}).findings}
    assert "independent" not in alone["low-occupancy"]
