"""The keys of what was measured: a kernel's profile, a GPU's telemetry, its links."""

from __future__ import annotations

from gpuadvise.advisor import values as v
from gpuadvise.advisor.description.tables import Key, KeyTable, nested, one_or_more
from gpuadvise.advisor.facts.kernel_profile import (
    CycleSpread,
    KernelProfile,
    SharedRequests,
    WarpRequests,
)
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.telemetry import Process, ProcessKind, Telemetry
from gpuadvise.advisor.topology import NvLink, Topology

# Key -> field of the profile.
_SHARES = {
    "achieved_occupancy": "achieved_occupancy",
    "compute_throughput": "sm_busy",
    "memory_throughput": "memory_busy",
    "dram_throughput": "dram_busy",
    "l1_throughput": "l1_busy",
    "shared_atomics_throughput": "shared_atomics_busy",
    "l2_throughput": "l2_busy",
    "issue_slots_busy": "issue_busy",
    "l1_hit_rate": "l1_hit_rate",
    "l2_hit_rate": "l2_hit_rate",
}
_COUNTS = {
    "dram_read": "dram_read",
    "dram_written": "dram_written",
    "host_sectors_read": "host_sectors_read",
    "global_sectors": "global_sectors",
    "global_sectors_ideal": "global_sectors_ideal",
    "shared_wavefronts": "shared_wavefronts",
    "shared_wavefronts_ideal": "shared_wavefronts_ideal",
    "local_spill_requests": "spill_requests",
}

_REQUESTS = KeyTable(
    WarpRequests,
    {
        "requests": Key("requests", v.number()),
        "sectors": Key("sectors", v.number()),
        "used_bytes": Key("used_bytes", v.number(0, 32)),
    },
)
_SHARED = KeyTable(
    SharedRequests,
    {name: Key(name, v.number()) for name in ("requests", "wavefronts", "conflicts")},
)
_CYCLES = KeyTable(CycleSpread, {name: Key(name, v.number()) for name in ("least", "mean", "most")})


def _stalls(value: object) -> dict[str, float]:
    """Return the share of a warp's time of each stall, given in cycles per issued instruction.

    The instruction itself is one cycle more. Raises BadInput.
    """
    cycles = v.number_table(value)
    whole = sum(cycles.values()) + (0.0 if Stall.SELECTED in cycles else 1.0)
    return {reason: count / whole for reason, count in cycles.items()}


PROFILE = KeyTable(
    KernelProfile,
    {
        "time": Key("seconds", v.seconds),
        **{name: Key(field, v.share) for name, field in _SHARES.items()},
        **{name: Key(field, v.number()) for name, field in _COUNTS.items()},
        "active_threads": Key("active_threads", v.number(0, 32)),
        "unpredicated_threads": Key("unpredicated_threads", v.number(0, 32)),
        "pipes": Key("pipes", v.share_table),
        "waves": Key("waves", v.number()),
        "instructions": Key("instructions", v.number()),
        "elapsed_cycles": Key("elapsed_cycles", v.number(above=True)),
        "float_instructions": Key("float_instructions", v.number_table),
        "loads": Key("global_loads", nested(_REQUESTS)),
        "stores": Key("global_stores", nested(_REQUESTS)),
        "local_loads": Key("local_loads", nested(_REQUESTS)),
        "local_stores": Key("local_stores", nested(_REQUESTS)),
        "reductions": Key("global_reductions", nested(_REQUESTS)),
        "atomics": Key("global_atomics", nested(_REQUESTS)),
        "shared_loads": Key("shared_loads", nested(_SHARED)),
        "shared_stores": Key("shared_stores", nested(_SHARED)),
        "shared_atomics": Key("shared_atomics", v.number()),
        "sm_cycles": Key("sm_cycles", nested(_CYCLES)),
        "stalls": Key("stalls", _stalls),
    },
)

_PROCESS = KeyTable(
    Process,
    {
        "pid": Key("pid", v.whole(1)),
        "kind": Key("kind", v.word(ProcessKind)),
        "name": Key("name", v.text),
        "memory_bytes": Key("memory_bytes", v.size),
    },
)


_FLAGS = (
    "ecc_enabled",
    "ecc_enabled_after_reboot",
    "row_remap_pending",
    "row_remap_failed",
    "page_retirement_pending",
    "persistence_mode",
)
_WATTS = (
    "power_watts",
    "power_limit_watts",
    "power_limit_default_watts",
    "power_limit_requested_watts",
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

TELEMETRY = KeyTable(
    Telemetry,
    {
        **{name: Key(name, v.flag) for name in _FLAGS},
        **{name: Key(name, v.whole()) for name in _WHOLES},
        **{name: Key(name, v.size) for name in _SIZES},
        **{name: Key(name, v.number()) for name in _WATTS},
        "gpu_utilisation": Key("gpu_utilisation", v.share),
        "memory_utilisation": Key("memory_utilisation", v.share),
        "compute_mode": Key("compute_mode", v.text),
        "recovery_action": Key("recovery_action", v.text),
        "clock_event_reasons": Key("clock_event_reasons", v.text_list),
        "clock_limit_seconds": Key("clock_limit_seconds", v.number_table),
        "xids": Key("xids", v.codes),
        "processes": Key("processes", one_or_more(_PROCESS)),
    },
)

_NVLINK = KeyTable(
    NvLink,
    {
        "number": Key("number", v.whole()),
        "up": Key("up", v.flag),
        "resting": Key("resting", v.flag),
        "bytes_per_second": Key("bytes_per_second", v.rate),
        "to": Key("to", v.one_word("gpu", "switch", "processor")),
        **{name: Key(name, v.whole()) for name in ("peer", "replays", "recoveries", "crc_errors")},
    },
)


TOPOLOGY = KeyTable(
    Topology,
    {
        "nvlinks": Key("nvlinks", one_or_more(_NVLINK)),
        "nvlink_bandwidth_mode": Key("nvlink_bandwidth_mode", v.text),
    },
)
