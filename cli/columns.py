"""The columns of CSV by command, with a line of one kind: written by ``docs/generate.py`` from ``api/answers``."""

from __future__ import annotations

COLUMNS = {
    "advise": (
        "kernel", "rule", "topic", "priority", "title", "message", "action", "gain", "gain_kind",
        "file", "line", "section", "grid", "block", "category", "confidence", "gain_expected",
        "gain_low", "gain_high", "gain_expected_of_run", "gain_of_run", "id",
    ),
    "doctor": (
        "gpu", "check", "status", "priority", "message", "action", "reason",
    ),
    "explain": (
        "term", "text", "also", "see", "command", "causes",
    ),
    "fleet": (
        "host", "gpu", "model", "driver", "temperature_celsius", "power_watts", "power_limit_watts",
        "ecc_enabled", "ecc_corrected", "ecc_uncorrected", "xids", "pcie_generation",
        "pcie_generation_max", "pcie_lanes", "pcie_lanes_max", "nvlinks", "nvlinks_up", "verdict",
        "reasons", "mig", "memory_used_bytes", "memory_total_bytes", "gpu_utilisation",
        "persistence_mode", "compute_mode", "sm_clock_max_hz", "memory_clock_max_hz",
        "ecc_corrected_lifetime", "ecc_uncorrected_lifetime", "rows_remapped_corrected",
        "rows_remapped_uncorrected", "pages_retired_single_bit", "pages_retired_double_bit",
    ),
    "lint": (
        "file", "line", "column", "rule", "priority", "kernel", "message", "action", "fixable", "id",
    ),
    "measure": (
        "seconds", "low", "high", "spread", "n", "expected", "ratio",
    ),
    "overlap": (
        "streams", "predicted", "speedup", "chunk_bytes", "pieces",
    ),
    "roofline": (
        "kernel", "arithmetic_intensity", "ridge_point", "attainable", "bound", "achieved", "share",
        "least_seconds", "peak", "unit", "bandwidth", "flops", "bytes", "seconds",
    ),
    "rules": (
        "rule", "priority", "topic", "title", "recommendation", "evidence", "needs", "either",
    ),
    "scaling": (
        "processors", "amdahl", "gustafson",
    ),
    "timeline": (
        "name", "calls", "seconds", "share", "median_seconds", "longest_seconds", "grid", "block",
        "cluster", "registers", "static_smem", "dynamic_smem", "local_memory", "occupancy",
        "limiters", "blocks_per_sm", "waves", "streams", "in_graphs", "reported_occupancy",
    ),
    "whatif": (
        "arch", "block", "register_cap", "registers", "local_bytes", "spill_stores", "spill_loads",
        "static_smem", "code_bytes", "blocks_per_sm", "warps_per_sm", "occupancy", "limiters",
        "dropped", "seconds", "seconds_low", "seconds_high",
    ),
}  # fmt: skip
