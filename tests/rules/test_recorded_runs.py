"""Each recorded fault gets its rule and no other, its repair does not, and no bound is too low."""

from __future__ import annotations

import csv
import json
from math import prod
from statistics import median_high
from typing import TYPE_CHECKING

import pytest
import recordings

from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.advisor.timelines.account import ONCE
from gpuadvise.advisor.timelines.avoidable import least_ns
from gpuadvise.advisor.timelines.evidence import facts_of_timeline, traced_run
from gpuadvise.advisor.timelines.gaps import GapCause
from gpuadvise.advisor.timelines.what_if import Change, what_if
from gpuadvise.advisor.transfers.links import default_link_model
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.model import Priority

if TYPE_CHECKING:
    from pathlib import Path

    from gpuadvise.advisor.timelines.timeline import Timeline
    from gpuadvise.advisor.timelines.what_if import WhatIf
    from gpuadvise.rules.report import Finding

# What is loud about each recording. Two programs carry a second fault: the products of `serial`
# and `host_gaps` (PyTorch) are FP32, before and after the repair. Two repairs leave the next one
# to be seen: a loop without its waits is bound by its launches.
LOUD = {
    "torch": {
        "alloc_in_loop": {"repeated-allocations"},
        "d2h_pageable": {"pageable-transfers"},
        "h2d_pageable": {"pageable-transfers"},
        "gemm_fp32": {"fp32-products"},
        "gemm_odd": {"odd-gemm-shape"},
        "host_gaps": {"idle-gaps", "fp32-products"},
        "host_beside": {"fp32-products"},
        "item_each_step": {"frequent-synchronization", "launch-bound"},
        "item_once": {"launch-bound"},
        "resnet50_fp32": {"fp32-products"},
        "resnet50_amp_channels_last": {"launch-bound"},
        "serial": {"serial-transfers", "fp32-products"},
        "staged": {"fp32-products"},
        "small_copies": {"small-transfers"},
        "tiny_launches": {"launch-bound"},
        "transformer_eager": {"launch-bound"},
        "triton_one_warp": {"tiny-blocks"},
    },
    "torch_h100": {
        "gemm_fp64": {"fp64-products"},
        "pointwise_eager": {"memory-bound"},
    },
    "nsys": {
        "alloc_in_loop": {"repeated-allocations"},
        "d2h_pageable": {"pageable-transfers"},
        "h2d_pageable": {"pageable-transfers"},
        "host_gaps": {"idle-gaps"},
        "large_shared": {"low-occupancy"},
        "managed_faults": {"unprefetched-managed-memory"},
        "one_warp_blocks": {"tiny-blocks"},
        "serial": {"serial-transfers"},
        "small_copies": {"small-transfers"},
        "sync_each_step": {"frequent-synchronization", "launch-bound"},
        "sync_once": {"launch-bound"},
        "tiny_launches": {"launch-bound"},
        "torch_gemm_fp32": {"fp32-products"},
        "whole_program": {"idle-gaps"},  # the start of CUDA is nearly all of it
    },
    "jax": {
        "gemm_fp32": {"fp32-products"},
        "host_gaps": {"idle-gaps"},
        "item_each_step": {"frequent-synchronization", "launch-bound"},
        "item_once": {"launch-bound"},
        "large_copy": {"idle-gaps"},
        "small_copies": {"small-transfers"},
        "tiny_launches": {"launch-bound"},
    },
}
# The GPU idle for a tenth of a run and more, of which nothing else is said.
QUIET = {
    ("nsys", "graph"): {"hidden-graphs"},
    ("torch", "graph"): {"idle-gaps"},
    ("torch", "transformer_compiled"): {"idle-gaps"},
    # Batch norms, ReLUs and additions of PyTorch, each a pass of its own.
    ("torch", "resnet50_amp_channels_last"): {"memory-bound"},
    ("torch", "resnet50_fp32"): {"memory-bound"},
    ("torch_h100", "gemm_fp64_as_tf32"): {"memory-bound"},
    ("nsys", "managed_faults"): {"idle-gaps"},
    # Prefetched to the GPU, and taken back page by page.
    ("nsys", "managed_prefetched"): {
        "idle-gaps",
        "transfer-bound-run",
        "unprefetched-managed-memory",
    },
    ("nsys", "whole_program"): {"serial-transfers"},
    # What streams leave of the copies before the first kernel and behind the last.
    ("nsys", "staged"): {"transfer-bound-run"},
    ("torch", "staged"): {"transfer-bound-run"},
    ("jax", "one_scan"): {"idle-gaps"},  # what JAX's profiler adds to each launch
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recordings.unpack(tmp_path_factory.mktemp("recordings"))


@pytest.fixture(scope="module")
def lines(folder: Path) -> dict[tuple[str, str], Timeline]:
    return {
        (kind, case): recordings.line_of(path)
        for kind in recordings.KINDS
        for case, path in recordings.cases(folder / kind).items()
    }


def findings(line: Timeline) -> list[Finding]:
    found = []
    for facts in facts_of_timeline(line):
        rules = tuple(rule for rule in RULES if facts.kernel is None or rule.shape_decides)
        report = run(rules, facts)
        assert not report.failures
        found += report.findings
    return found


def changes(line: Timeline) -> tuple[WhatIf, ...]:
    link = default_link_model(line.device)
    return what_if(line, link, traced_run(line, link))


def test_start_up_and_the_hosts_code_outside_of_the_run_are_said(
    lines: dict[tuple[str, str], Timeline],
) -> None:
    (once,) = (
        found.advice.message
        for found in findings(lines["nsys", "whole_program"])
        if found.priority is not Priority.LOW
    )
    assert "go to what a program does once" in once
    for case, line in lines.items():
        run = traced_run(line, default_link_model(line.device))
        beside = run.one_time_seconds, run.outside_code_seconds
        much = [each >= 5e-3 and run.share_of_recording(each) >= 0.1 for each in beside]
        loud = [
            each
            for each in findings(line)
            if each.rule.id == "idle-gaps"
            and each.priority is not Priority.LOW
            and each.advice.gain is None
        ]
        assert len(loud) == sum(much), case
        assert run.recorded_seconds >= line.span_seconds - 1e-9


def test_a_staged_run_and_migrations_are_offered_no_staging(
    lines: dict[tuple[str, str], Timeline],
) -> None:
    for case in (("torch", "staged"), ("nsys", "staged"), ("nsys", "managed_faults")):
        listed = {one.change for one in changes(lines[case])}
        assert not listed & {Change.OVERLAP_COPIES, Change.MERGE_COPIES}, case
    for kind in ("torch", "nsys"):
        assert Change.OVERLAP_COPIES in {one.change for one in changes(lines[kind, "serial"])}


def test_small_copies_take_the_time_that_was_recorded(
    lines: dict[tuple[str, str], Timeline],
) -> None:
    line = lines["torch", "small_copies"]
    (found,) = (found for found in findings(line) if found.rule.id == "small-transfers")
    taken = sum(copies.seconds for copies in line.copies if copies.on_link)
    assert f"instead of {show_seconds(taken)}" in found.advice.action


def test_each_fault_gets_its_rule_and_no_other(lines: dict[tuple[str, str], Timeline]) -> None:
    assert len(lines) > 60
    for (kind, case), line in lines.items():
        found = findings(line)
        loud = {each.rule.id for each in found if each.priority is not Priority.LOW}
        assert loud == LOUD[kind].get(case, set()), (kind, case)
        quiet = {each.rule.id for each in found} - loud
        assert quiet == QUIET.get((kind, case), set()), (kind, case)


def test_what_numbers_of_half_the_bytes_win_elsewhere_is_said_where_it_counts(
    lines: dict[tuple[str, str], Timeline],
) -> None:
    halves = "of 16 bits may halve the time of the other kernels and copies"
    said = {
        name: finding.advice.message
        for (_, name), line in lines.items()
        for finding in findings(line)
        if finding.rule.id == "fp32-products"
    }
    assert halves in said["serial"]  # 35 % of the span are products, the rest are copies
    assert halves not in said["gemm_fp32"]  # nothing else


def test_no_repair_gets_the_rule_of_its_fault() -> None:
    for kind, loud in LOUD.items():
        for fault, repair in recordings.TWINS.items():
            if fault in loud:
                mended = loud[fault] - {"fp32-products"}
                if "frequent-synchronization" in mended:
                    mended -= {"launch-bound"}  # what is left, with and without the waits
                assert not mended & loud.get(repair, set()), kind


def test_no_bound_is_below_the_measured_gain(
    lines: dict[tuple[str, str], Timeline], folder: Path
) -> None:
    compared = 0
    for kind in recordings.KINDS:
        times = recordings.seconds(folder / kind)
        for fault, repair in recordings.TWINS.items():
            if fault not in times or repair not in times or fault not in LOUD[kind]:
                continue
            gain = times[fault] / times[repair]
            bound = max(each.bound for each in findings(lines[kind, fault]))
            assert bound >= gain, (kind, fault, bound, gain)
            compared += 1
    assert compared >= 24


def test_the_account_adds_up_and_its_largest_idle_time_is_named(
    lines: dict[tuple[str, str], Timeline],
) -> None:
    for case, line in lines.items():
        account = line.account
        assert account.busy_ns == line.busy_ns
        assert account.idle_ns == line.idle_ns
        assert account.busy_ns + account.idle_ns == account.span_ns == line.span_ns
        steady = [idle for idle in account.idle if idle.cause not in ONCE]
        largest = max(steady, key=lambda idle: idle.total_ns, default=None)
        if largest is None or largest.total_ns < account.steady_ns / 10:
            continue
        found = findings(line)
        said = [each for each in found if f"idle: {largest.cause}" in _labels(each)]
        if not line.launches.kernels:
            named = {"small-transfers", "pageable-transfers"}
        else:
            named = _NAMED_BY[largest.cause]
        assert said or named & {each.rule.id for each in found}, (case, largest)


_NAMED_BY = {
    GapCause.HOST_WORK: {"idle-gaps", "launch-bound"},
    GapCause.LAUNCH: {"launch-bound"},
    GapCause.PROFILER: {"launch-bound"},
    GapCause.SYNCHRONIZATION: {"frequent-synchronization"},
    GapCause.QUEUED: set(),
    GapCause.ALLOCATION: {"repeated-allocations"},
    GapCause.COPY: {"pageable-transfers", "small-transfers"},
    GapCause.OTHER_CALL: set(),
}


def _labels(found: Finding) -> set[str]:
    return {evidence.label for evidence in found.advice.evidence}


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Timeline]:
    folder = recordings.unpack(tmp_path_factory.mktemp("loops"), recordings.LOOPS)
    lines = {
        case: recordings.line_of(path)
        for kind in recordings.LOOPS
        for case, path in recordings.cases(folder / kind).items()
    }
    ranks = {
        f"{case.name}/{rank}": recordings.line_of(path)
        for case in (folder / "ranks").iterdir()
        if case.is_dir()
        for rank, path in recordings.cases(case).items()
    }
    assert len(ranks) == 6
    return {**lines, **ranks}


# Times of one and the same program differ by more from one run to the next.
_RUN_TO_RUN = 1.02


def test_no_bound_of_a_loop_is_below_the_measured_gain(
    loops: dict[str, Timeline], tmp_path: Path
) -> None:
    folder, seconds = recordings.unpack(tmp_path, recordings.LOOPS), {}
    for kind in recordings.LOOPS:
        seconds |= recordings.seconds(folder / kind)
    for fault, repair in recordings.LOOP_TWINS.items():
        gain = seconds[fault] / seconds[repair]
        bound = max(each.bound for each in findings(loops[fault]))
        assert bound * _RUN_TO_RUN >= gain, (fault, bound, gain)


@pytest.mark.parametrize("case", ["adamw_loop", "loss_item_each_batch"])
def test_where_a_repair_is_not_the_one_that_is_bounded_the_step_bounds_it_as_well(
    case: str, loops: dict[str, Timeline], tmp_path: Path
) -> None:
    """A graph of all launches wins what the step takes without the profiler beside the GPU's work in it."""
    rows = (recordings.unpack(tmp_path, ("loops",)) / "loops" / "seconds.ndjson").read_text()
    (row,) = (one for one in map(json.loads, rows.splitlines()) if one["case"] == case)
    run = traced_run(loops[case], default_link_model(loops[case].device))
    most = row["median"] / (run.busy_seconds / row["steps"])
    bound = max(each.bound for each in findings(loops[case]))
    assert bound == pytest.approx(most, rel=0.2)


def test_of_each_loop_the_largest_idle_time_is_named(loops: dict[str, Timeline]) -> None:
    assert len(loops) > 30
    for case, line in loops.items():
        steady = [idle for idle in line.account.idle if idle.cause not in ONCE]
        largest = max(steady, key=lambda idle: idle.total_ns)
        if largest.total_ns >= line.account.steady_ns / 10:
            found = findings(line)
            said = any(f"idle: {largest.cause}" in _labels(each) for each in found)
            assert said or _NAMED_BY[largest.cause] & {each.rule.id for each in found}, case


@pytest.mark.parametrize(
    ("case", "place", "culprit"),
    [
        ("loader_slow_collate", ("torch_loops.py", 65), "slow_collate"),
        ("resize_on_host", ("torch_loops.py", 91), "resized_on_host"),
        ("checkpoint_each_second_step", ("torch_loops.py", 290), "save_checkpoint"),
        ("nvtx_loop_before", None, "load_batch"),
        ("loop_waits", ("jax_loops.py", 29), "make_batch"),
        # Of code outside of functions the file has the line at which the recording began.
        ("module_loop", ("module_loop.py", 21), "sort"),
    ],
)
def test_the_line_that_keeps_the_gpu_waiting_is_named(
    case: str, place: tuple[str, int] | None, culprit: str, loops: dict[str, Timeline]
) -> None:
    (found,) = (each for each in findings(loops[case]) if each.rule.id == "idle-gaps")
    assert f": {culprit}" in found.advice.message or f", {culprit}, " in found.advice.message
    location = found.advice.location
    assert (location and (location.file, location.line)) == place
    assert "num_workers" not in found.advice.action or case == "loader_slow_collate"


@pytest.mark.parametrize("case", ["loss_item_once", "loader_workers"])
def test_late_launches_have_the_line_that_most_of_them_are_called_from(
    case: str, loops: dict[str, Timeline]
) -> None:
    """No function holds most of them up, and one line of the program calls all of these."""
    (found,) = (each for each in findings(loops[case]) if each.rule.id == "launch-bound")
    location = found.advice.location
    assert location is not None
    assert (location.file, location.line) == ("torch_loops.py", 45)
    assert "of it: step, torch_loops.py:45." in found.advice.message


def test_workers_are_advised_for_a_loader_without_them_alone(loops: dict[str, Timeline]) -> None:
    told = {
        case
        for case, line in loops.items()
        if any("num_workers" in each.advice.action for each in findings(line))
    }
    assert told == {"loader_slow_collate"}


@pytest.mark.parametrize("case", ["adamw_loop", "decode_eager"])
def test_late_launches_without_a_line_say_how_to_record_one(
    case: str, loops: dict[str, Timeline]
) -> None:
    (found,) = (each for each in findings(loops[case]) if each.rule.id == "launch-bound")
    assert found.advice.location is None
    assert "with_stack=True" in found.advice.action


@pytest.mark.parametrize(
    ("case", "source", "count", "seconds"),
    [
        ("resize_on_gpu", "profiler", 3, 5.28e-3),
        ("attention_plain", "profiler", 5, 3.81e-3),
        ("checkpoint_seldom", "profiler", 4, 3.41e-3),
        ("nvtx_loop_before", "ranges", 10, None),
        ("loop_waits", "kernels", 5, None),
    ],
)
def test_steps_take_what_they_take_without_the_profiler(
    case: str, source: str, count: int, seconds: float | None, loops: dict[str, Timeline]
) -> None:
    steps = loops[case].steps
    assert steps is not None
    assert (str(steps.source), len(steps.steps)) == (source, count)
    if seconds is not None:  # of busy GPUs, which the profiler does not slow down
        assert steps.median_ns / 1e9 == pytest.approx(seconds, rel=0.1)


def test_bounds_are_close_to_what_repairs_won(
    lines: dict[tuple[str, str], Timeline], folder: Path
) -> None:
    """Of what the account bounds: launches, waits, host's work, allocations and copies."""
    ratios = []
    for kind in recordings.KINDS:
        times = recordings.seconds(folder / kind)
        for fault, repair in recordings.TWINS.items():
            if fault not in times or repair not in times or fault not in LOUD[kind]:
                continue
            bounds = [
                each.bound
                for each in findings(lines[kind, fault])
                if each.rule.id in LOUD[kind][fault] and each.rule.id in _OF_THE_ACCOUNT
            ]
            if bounds:
                ratios.append(max(bounds) / (times[fault] / times[repair]))
    assert len(ratios) >= 15
    assert min(ratios) >= 1
    assert median_high(ratios) <= 1.3


_OF_THE_ACCOUNT = {
    "launch-bound",
    "frequent-synchronization",
    "idle-gaps",
    "repeated-allocations",
    "pageable-transfers",
    "serial-transfers",
    "small-transfers",
}


def test_what_if_is_not_below_what_pinning_won(
    lines: dict[tuple[str, str], Timeline], folder: Path
) -> None:
    for kind in ("torch", "nsys"):
        times = recordings.seconds(folder / kind)
        for way in ("h2d", "d2h"):
            line = lines[kind, f"{way}_pageable"]
            (change,) = (one for one in changes(line) if one.change is Change.PIN_MEMORY)
            gain = times[f"{way}_pageable"] / times[f"{way}_pinned"]
            assert change.speedup is not None
            assert change.speedup >= gain, (kind, way)


def test_pinned_copies_take_what_bytes_and_link_tell(
    lines: dict[tuple[str, str], Timeline],
) -> None:
    for kind in ("torch", "nsys"):
        for way in ("h2d", "d2h"):
            slow, fast = lines[kind, f"{way}_pageable"], lines[kind, f"{way}_pinned"]
            least = least_ns(slow.copies[0], default_link_model(slow.device))
            assert least == pytest.approx(fast.copies[0].total_ns, rel=0.1)


def test_occupancy_is_the_drivers(lines: dict[tuple[str, str], Timeline]) -> None:
    with (recordings.FOLDER / "driver.csv").open() as file:
        rows = list(csv.DictReader(file))
    truth = {
        (int(row["registers"]), int(row["shared"]), int(row["threads"])): int(row["blocks_per_sm"])
        for row in rows
        # The driver's kernel stands for the recorded one where it got as many registers.
        if _allocated(row["registers"]) == _allocated(row["driver_registers"])
    }
    compared = set()
    for line in lines.values():
        for kernel in line.kernels:
            shape = kernel.shape
            if kernel.occupancy is None or shape.block is None:
                continue
            assert kernel.occupancy.occupancy > 0
            key = (
                shape.registers or 0,
                shape.static_shared + (shape.dynamic_shared or 0),
                prod(shape.block),
            )
            if key in truth:
                assert kernel.occupancy.blocks_per_sm == truth[key], shape
                compared.add(key)
    assert len(compared) >= 20


def _allocated(registers: str) -> int:
    return -(-max(int(registers), 32) // 8)


def test_sums_are_those_of_nsys_stats(lines: dict[tuple[str, str], Timeline], folder: Path) -> None:
    compared = 0
    for (kind, case), line in lines.items():
        sums = {
            "cuda_gpu_kern_sum": sum(kernel.total_ns for kernel in line.kernels),
            "cuda_api_sum": sum(call.total_ns for call in line.calls),
            "cuda_gpu_mem_time_sum": sum(each.total_ns for each in line.copies) + line.memset_ns,
        }
        for report, total in sums.items():
            path = folder / kind / "stats" / f"{case}_{report}.csv"
            rows = list(csv.DictReader(path.read_text().splitlines())) if path.exists() else []
            if rows:
                assert sum(int(row["Total Time (ns)"]) for row in rows) == total, (case, report)
                compared += 1
    assert compared >= 50
