"""What a profiler or NVML measured, as a description writes it: for tools that pipe it in."""

from __future__ import annotations

from gpuadvise.advisor.description import lists
from gpuadvise.advisor.description import values as v
from gpuadvise.advisor.description.tables import Key, Table
from gpuadvise.advisor.facts.profile import Profile
from gpuadvise.advisor.telemetry import Process, ProcessKind, Telemetry

_SHARES = (
    "achieved_occupancy",
    "compute_throughput",
    "memory_throughput",
    "dram_throughput",
    "issue_slots_busy",
    "l1_hit_rate",
    "l2_hit_rate",
)
_COUNTS = (
    "global_sectors",
    "global_sectors_ideal",
    "shared_wavefronts",
    "shared_wavefronts_ideal",
    "local_spill_requests",
)

PROFILE = Table(
    Profile,
    {
        "time": Key("seconds", v.seconds),
        **{name: Key(name, v.share) for name in _SHARES},
        **{name: Key(name, v.number()) for name in _COUNTS},
        "active_threads": Key("active_threads", v.number(0, 32)),
        "pipes": Key("pipes", lists.share_table),
        "stalls": Key("stalls", lists.number_table),
    },
)

_PROCESS = Table(
    Process,
    {
        "pid": Key("pid", v.whole(1)),
        "kind": Key("kind", v.word(ProcessKind)),
        "name": Key("name", v.text),
        "memory_bytes": Key("memory_bytes", v.size),
    },
)


def _processes(value: object) -> tuple[Process, ...]:
    rows = value if isinstance(value, list) else [value]
    return tuple(_PROCESS.value(row, ()) for row in rows)


_FLAGS = (
    "ecc_enabled",
    "ecc_enabled_after_reboot",
    "row_remap_pending",
    "row_remap_failed",
    "persistence_mode",
)
_WHOLES = (
    "performance_state",
    "temperature_celsius",
    "temperature_slowdown_celsius",
    "temperature_shutdown_celsius",
    "pcie_generation",
    "pcie_generation_max",
    "pcie_lanes",
    "pcie_lanes_max",
    "ecc_corrected",
    "ecc_uncorrected",
    "sm_clock_hz",
    "sm_clock_max_hz",
    "memory_clock_hz",
    "memory_clock_max_hz",
)
_SIZES = (
    "memory_total_bytes",
    "memory_used_bytes",
    "memory_reserved_bytes",
    "memory_free_bytes",
)

TELEMETRY = Table(
    Telemetry,
    {
        **{name: Key(name, v.flag) for name in _FLAGS},
        **{name: Key(name, v.whole()) for name in _WHOLES},
        **{name: Key(name, v.size) for name in _SIZES},
        "power_watts": Key("power_watts", v.number()),
        "power_limit_watts": Key("power_limit_watts", v.number()),
        "gpu_utilisation": Key("gpu_utilisation", v.share),
        "memory_utilisation": Key("memory_utilisation", v.share),
        "compute_mode": Key("compute_mode", v.text),
        "clock_event_reasons": Key("clock_event_reasons", lists.text_list),
        "processes": Key("processes", _processes),
    },
)
