"""What bytes and operations in a time leave a change to win, and what they say nothing of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.reader import described
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.model import Priority

if TYPE_CHECKING:
    from gpuadvise.rules.report import Finding, Report

# 2.2 GB in 500 us are 91.4 % of what the memory of an H200 moves.
BUSY = {"read": "1.1GB", "write": "1.1GB", "time": "500us"}
COPIES = {"h2d": "40ms", "kernel": "3ms", "d2h": "40ms"}


def report(**kernel: Any) -> Report:
    return run(RULES, described({"gpu": "h200", **kernel}, from_catalogue).facts)


def findings(**kernel: Any) -> dict[str, Finding]:
    return {finding.rule.id: finding for finding in report(**kernel).findings}


def test_no_change_wins_more_than_busy_memory_leaves() -> None:
    launch = {"regs": 32, "block": 100, "grid": 100_000}
    assert findings(**launch)["partial-warp"].priority is Priority.MEDIUM
    partial = findings(**launch, traffic=BUSY)["partial-warp"]
    assert partial.priority is Priority.LOW
    assert partial.bound == pytest.approx(1 / 0.914, rel=1e-3)
    assert partial.advice.gain is not None
    assert partial.advice.gain.how.endswith("91.4 % busy by the times given: 1 / 0.914")


def test_a_change_that_its_own_formula_bounds_more_keeps_it() -> None:
    launch = {"regs": 32, "block": 100, "grid": 100_000}
    slow = {"read": "0.5GB", "write": "0.5GB", "time": "500us"}
    gain = findings(**launch, traffic=slow)["partial-warp"].advice.gain
    assert gain is not None
    assert gain.how == "lanes / threads = 128 / 100"


def test_fewer_bytes_are_not_bounded_by_the_bytes_there_are() -> None:
    strided = [{"name": "x", "space": "global", "word": 4, "stride": 2}]
    wasteful = findings(accesses=strided, traffic=BUSY)["uncoalesced-access"]
    assert wasteful.priority is Priority.HIGH
    assert wasteful.bound == 2


def test_busy_arithmetic_bounds_what_is_said_of_memory() -> None:
    strided = [{"name": "x", "space": "global", "word": 4, "stride": 2}]
    work = {"flops": 5.5e13, "bytes": "1GB", "dtype": "fp32", "tensor": False, "time": "1s"}
    wasteful = findings(accesses=strided, work=work)["uncoalesced-access"]
    assert wasteful.priority is Priority.LOW
    assert wasteful.bound == pytest.approx(66.9 / 55, rel=1e-2)


def test_spills_of_a_kernel_at_its_arithmetic_roof_get_its_bound() -> None:
    compiled = {"spill_stores": 400, "spill_loads": 400, "stack": 8}
    work = {"flops": 5.5e13, "bytes": "1GB", "dtype": "fp32", "tensor": False, "time": "1s"}
    spills = findings(regs=64, block=256, compiled=compiled, work=work)["register-spills"]
    assert 1.1 < spills.bound < 1.3
    far = {**work, "flops": 1e12}
    assert (
        findings(regs=64, block=256, compiled=compiled, work=far)["register-spills"].advice.gain
        is None
    )


def test_a_kernels_limit_says_nothing_of_copies() -> None:
    profile = {"time": "3ms", "dram_throughput": 0.97}
    alone = findings(pipeline=COPIES)["serial-transfers"]
    beside = findings(pipeline=COPIES, profile=profile)["serial-transfers"]
    assert beside.bound == alone.bound
    assert beside.bound == pytest.approx(1.886, rel=1e-3)
    assert beside.priority is Priority.HIGH


def test_a_roof_by_bytes_counts_where_operations_are_far_from_theirs() -> None:
    work = {"flops": 1e9, "bytes": "1GB", "dtype": "fp32", "time": "3ms"}
    moved = report(work=work, traffic={"read": "12GB", "write": "1GB", "time": "3ms"})
    assert moved.limiter is not None
    assert moved.limiter.name == "roof:dram"
    assert not moved.findings
    assert "far-from-roof" in findings(work=work)


def test_too_small_a_grid_is_the_limit_of_a_kernel_far_from_its_roof() -> None:
    work = {"flops": 1e9, "bytes": "1MB", "dtype": "fp32", "time": "3ms"}
    limiter = report(regs=32, block=256, grid=1, work=work).limiter
    assert limiter is not None
    assert limiter.name == "too-little-work"


def test_a_launch_that_fails_need_not_weigh_registers_against_spills() -> None:
    # Spills and registers pull in opposite directions, but neither matters before it starts.
    compiled = {"spill_stores": 400, "spill_loads": 40, "stack": 8}
    advised = findings(
        gpu="rtx-2080-ti", regs=96, block=326, dynamic_smem=54_625, compiled=compiled
    )
    assert "shared-memory-carveout" in advised
    assert "register-limited-occupancy" not in advised


@pytest.mark.parametrize(
    ("host", "kernel", "bound"), [("3ms", "1ms", 3.0), ("2ms", "2ms", 2.0), ("1ms", "2ms", 4.0)]
)
def test_a_round_trip_that_does_not_pay_is_bounded_by_the_faster_place(
    host: str, kernel: str, bound: float
) -> None:
    offload = {"host_time": host, "kernel_time": kernel, "transfer_time": "2ms"}
    offloaded = findings(offload=offload)["unprofitable-offload"]
    assert offloaded.bound == pytest.approx(bound)
    assert offloaded.priority is Priority.HIGH


@pytest.mark.parametrize(("host", "pays"), [("20.3ms", False), ("20.4ms", True)])
def test_bytes_and_a_link_tell_whether_a_round_trip_pays(host: str, pays: bool) -> None:
    # 1 GiB and 1 MiB take 19.4 ms over PCIe 5 x16.
    pipeline = {"h2d": "1GiB", "kernel": "1ms", "d2h": "1MiB", "host": host}
    assert ("unprofitable-offload" in findings(pipeline=pipeline)) is not pays


def test_the_size_from_which_a_round_trip_pays_is_where_it_does() -> None:
    def action(h2d: str) -> str | None:
        pipeline = {"h2d": h2d, "kernel": "1ms", "host": "10ms"}
        finding = findings(pipeline=pipeline).get("unprofitable-offload")
        return finding.advice.action if finding else None

    assert "less than 475.9 MiB to copy instead of 1 GiB" in str(action("1GiB"))
    assert action("475MiB") is None
    assert action("477MiB")


def test_two_small_kernels_at_once_do_not_share_a_busy_memory() -> None:
    launch = {"regs": 32, "block": 256, "grid": 200}
    half = {"flops": 1e6, "bytes": "1.2GB", "dtype": "fp32", "time": "500us"}
    assert "lone-small-kernel" in findings(**launch, work=half)
    assert "lone-small-kernel" not in findings(**launch, work={**half, "bytes": "1.6GB"})


def test_a_grid_for_some_of_the_multiprocessors_explains_a_kernel_far_from_its_roof() -> None:
    work = {"flops": 1e6, "bytes": "1MB", "dtype": "fp32", "time": "20us"}
    assert "far-from-roof" in findings(regs=32, block=256, grid=132, work=work)
    assert "far-from-roof" not in findings(regs=32, block=256, grid=131, work=work)


def test_bytes_in_a_time_are_no_second_finding_under_the_memory_roof() -> None:
    """The share of the roof below the ridge is the share of the bandwidth: one fact."""
    work = {"flops": 1e9, "bytes": "2GB", "dtype": "fp32", "time": "1ms"}
    traffic = {"read": "1GB", "write": "1GB", "time": "1ms"}
    assert set(findings(work=work, traffic=traffic)) == {"low-effective-bandwidth"}
    assert set(findings(work=work)) == {"far-from-roof"}
    assert "far-from-roof" in findings(work=work, traffic=traffic, concurrent=True)
    heavy = work | {"flops": 1e10, "bytes": "1MB"}
    assert "far-from-roof" in findings(work=heavy, traffic=traffic)  # below the arithmetic roof
    short = {"read": "1MB", "write": "1MB", "time": "1ms"}
    assert "far-from-roof" in findings(work=work | {"bytes": "2MB"}, traffic=short)


def test_a_grid_that_leaves_most_warps_away_has_no_surplus_of_them() -> None:
    launch = {"regs": 40, "block": 256}  # 6 blocks of 8 warps: 75 %
    assert "surplus-occupancy" in findings(**launch)
    assert "surplus-occupancy" in findings(**launch, grid=132 * 3 + 1)  # 4 blocks: 50 %
    assert "surplus-occupancy" not in findings(**launch, grid=132 * 3)
    assert "surplus-occupancy" not in findings(**launch, grid=20)


def test_a_gpu_without_page_faults_is_not_told_of_them() -> None:
    managed = {"bytes": "8GiB", "prefetched": False}
    found = {f.rule.id: f for f in report(gpu="gtx-970", managed=managed).findings}
    assert "page fault costs" not in found["unprefetched-managed-memory"].message
    found = {f.rule.id: f for f in report(gpu="gtx-1060-3gb", managed=managed).findings}
    assert "page fault costs" in found["unprefetched-managed-memory"].message
