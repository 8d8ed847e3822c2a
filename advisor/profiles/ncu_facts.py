"""From the metrics of one profiled launch to facts, whichever page they come from.

Names change between versions of the profiler: a metric that is missing is no evidence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.profile import Profile
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.profiles.ncu_csv import number
from gpuadvise.advisor.profiles.ncu_work import profiled_work

if TYPE_CHECKING:
    from gpuadvise.advisor.profiles.ncu_csv import LaunchRecord
    from gpuadvise.advisor.profiles.ncu_work import ProfiledWork

# Scale of each unit to the base unit; the profiler's K, M and G are powers of 1000.
_SCALES = {
    "": 1.0, "%": 0.01, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "nsecond": 1e-9,
    "usecond": 1e-6, "msecond": 1e-3, "second": 1.0, "byte": 1.0, "Kbyte": 1e3, "Mbyte": 1e6,
    "Gbyte": 1e9, "K": 1e3, "M": 1e6, "G": 1e9,
}  # fmt: skip
_DIMS = re.compile(r"\(?\s*(\d{1,10})\s*,\s*(\d{1,10})\s*,\s*(\d{1,10})\s*\)?")
_STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+?)_per_issue_active(?:\.ratio)?")
_PIPE = re.compile(
    r"sm__(?:inst_executed_pipe|pipe)_(\w+?)(?:_cycles_active|_realtime)?"
    r"\.avg\.pct_of_peak_sustained_active"
)

# "selected" is the cycle of issuing, no stall; the shared pipe is counted under its users.
_NO_SIBLING = ("selected", "shared")

# Fact -> the metric's names, details page first. Shares are printed in per cent.
_SHARES = {
    "achieved_occupancy": (
        "Occupancy: Achieved Occupancy",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
    ),
    "compute_throughput": (
        "GPU Speed Of Light Throughput: Compute (SM) Throughput",
        "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    "memory_throughput": (
        "GPU Speed Of Light Throughput: Memory Throughput",
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    "dram_throughput": (
        "GPU Speed Of Light Throughput: DRAM Throughput",
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    "issue_slots_busy": (
        "Compute Workload Analysis: Issue Slots Busy",
        "smsp__issue_active.avg.pct_of_peak_sustained_active",
    ),
    "l1_hit_rate": (
        "Memory Workload Analysis: L1/TEX Hit Rate",
        "l1tex__t_sector_hit_rate.pct",
    ),
    "l2_hit_rate": ("Memory Workload Analysis: L2 Hit Rate", "lts__t_sector_hit_rate.pct"),
}
_NUMBERS = {
    "seconds": ("GPU Speed Of Light Throughput: Duration", "gpu__time_duration.sum"),
    "active_threads": (
        "Warp State Statistics: Avg. Active Threads Per Warp",
        "smsp__thread_inst_executed_per_inst_executed.ratio",
    ),
    "global_sectors": ("memory_l2_theoretical_sectors_global",),
    "global_sectors_ideal": ("memory_l2_theoretical_sectors_global_ideal",),
    "shared_wavefronts": ("memory_l1_wavefronts_shared",),
    "shared_wavefronts_ideal": ("memory_l1_wavefronts_shared_ideal",),
    "local_spill_requests": (
        "Memory Workload Analysis: Local Memory Spilling Requests",
        "derived__local_spilling_requests",
    ),
}
_BYTES = ("static_shared", "dynamic_shared")
_LAUNCH = {
    "registers": ("Launch Statistics: Registers Per Thread", "launch__registers_per_thread"),
    "static_shared": (
        "Launch Statistics: Static Shared Memory Per Block",
        "launch__shared_mem_per_block_static",
    ),
    "dynamic_shared": (
        "Launch Statistics: Dynamic Shared Memory Per Block",
        "launch__shared_mem_per_block_dynamic",
    ),
    "barriers": ("Launch Statistics: Barrier Count", "launch__barrier_count"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledKernel:
    """One profiled launch as facts; *device* is the GPU's name where the report has it."""

    kernel: str
    device: str | None  # its name, or at least its compute capability
    sm_count: int | None
    launch: Launch | None
    profile: Profile
    work: ProfiledWork | None = None


def profiled_kernel(record: LaunchRecord) -> ProfiledKernel:
    """Return the facts of one launch."""
    return ProfiledKernel(
        kernel=record.columns.get("Kernel Name", ""),
        device=_text(record, "device__attribute_display_name") or record.columns.get("CC"),
        sm_count=_whole(_value(record, ("launch__sm_count", "Launch Statistics: # SMs"))),
        launch=_launch(record),
        profile=_profile(record),
        work=profiled_work(record.metrics),
    )


def _profile(record: LaunchRecord) -> Profile:
    found = {name: _value(record, names) for name, names in (_SHARES | _NUMBERS).items()}
    shares = {name: _capped(found[name]) for name in _SHARES}
    return Profile(
        **{**found, **shares},
        pipes=_family(record, _PIPE, share=True),
        stalls=_family(record, _STALL, share=False),
        rules=tuple(record.rules),
    )


def _capped(share: float | None) -> float | None:
    """Return *share* at most 1: rounding in the profiler may print 100.3 %."""
    return None if share is None else min(1.0, share)


def _value(record: LaunchRecord, names: tuple[str, ...]) -> float | None:
    for name in names:
        if name in record.metrics:
            text, unit = record.metrics[name]
            value, scale = number(text), _SCALES.get(unit.split("/")[0].strip())
            if value is not None and value >= 0:
                return value * (1.0 if scale is None else scale)
    return None


def _family(record: LaunchRecord, name: re.Pattern[str], *, share: bool) -> dict[str, float]:
    """Return the metrics that match *name*, by the word that tells each from its siblings."""
    found: dict[str, float] = {}
    for metric, (text, _) in record.metrics.items():
        match = name.fullmatch(metric)
        value = number(text) if match else None
        if match and match[1] not in _NO_SIBLING and value is not None and value >= 0:
            best = min(1.0, value / 100) if share else value
            found[match[1]] = max(best, found.get(match[1], 0.0))
    return found


def _text(record: LaunchRecord, name: str) -> str | None:
    return record.metrics.get(name, ("", ""))[0].strip() or None


def _dims(record: LaunchRecord, column: str) -> tuple[int, int, int] | None:
    match = _DIMS.fullmatch(record.columns.get(column, "").strip())
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _unrounded(record: LaunchRecord, names: tuple[str, ...], size: int) -> int:
    """Return the multiple of 128 bytes that a figure with two decimals was rounded from."""
    unit = next(record.metrics[name][1] for name in names if name in record.metrics)
    error = 0.005 * _SCALES.get(unit.split("/")[0], 1.0)
    nearest = round(size / 128) * 128
    return nearest if abs(nearest - size) <= error else size


def _launch(record: LaunchRecord) -> Launch | None:
    block, grid = _dims(record, "Block Size"), _dims(record, "Grid Size")
    if block is None:
        return None
    found = {name: _whole(_value(record, names)) for name, names in _LAUNCH.items()}
    whole: dict[str, Any] = {name: count for name, count in found.items() if count is not None}
    for name in _BYTES:
        if name in whole:
            whole[name] = _unrounded(record, _LAUNCH[name], whole[name])
    dynamic = whole.get("dynamic_shared")
    try:
        return Launch(
            threads=block[0] * block[1] * block[2],
            block_dim=block,
            grid_dim=grid,
            max_dynamic_shared=dynamic,  # the launch ran, so the attribute was set
            **whole,
        )
    except BadInput:
        return None  # a damaged report: no evidence
