"""The fields of ``diff``: one record per kernel, and the same as one flat row."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.names import demangle
from gpuadvise.advisor.resource_diff.change import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpuadvise.advisor.resource_diff.change import Change, Side

SIDES = ("old", "new")


def record(change: Change) -> dict[str, Any]:
    """Return *change* as JSON values; bytes per thread or block, occupancy 0 to 1."""
    kernel = change.kernel
    return {
        "name": kernel.name,
        "demangled": demangle(kernel.name),
        "arch": kernel.capability.target if kernel.capability else None,
        "status": str(change.status),
        "old": _side(change.old),
        "new": _side(change.new),
    }


def _side(side: Side | None) -> dict[str, Any] | None:
    if side is None:
        return None
    kernel, residency = side.kernel, side.residency
    found = residency.occupancy
    return {
        "registers": kernel.registers,
        "static_smem": kernel.static_smem,
        "stack": kernel.stack,
        "frame": kernel.frame,
        "spill_stores": kernel.spill_stores,
        "spill_loads": kernel.spill_loads,
        "spills_are": str(kernel.spills_are) if kernel.spills_are else None,
        "barriers": kernel.barriers,
        "max_threads": kernel.max_threads,
        "code_bytes": kernel.code_bytes,
        "block_threads": residency.block_threads,
        "block_from": str(residency.block_from) if residency.block_from else None,
        "blocks_per_sm": found.blocks_per_sm if found else None,
        "occupancy": side.tier,
        "limiters": [limiter.value for limiter in found.limiters] if found else None,
    }


def flat(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return *records* with a column for each number of either side, as CSV needs it."""
    rows = []
    for one in records:
        row = {key: value for key, value in one.items() if key not in SIDES}
        names = dict.fromkeys(key for side in SIDES for key in one[side] or ())
        for name in names:
            row |= {f"{side}_{name}": (one[side] or {}).get(name) for side in SIDES}
        rows.append(row)
    return rows


def counted(records: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many kernels have each status."""
    found = Counter(one["status"] for one in records)
    return {str(status): found[status] for status in Status}


def in_order(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return *records*, worst first, then by name."""
    order = {str(status): place for place, status in enumerate(Status)}
    return sorted(records, key=lambda r: (order[r["status"]], r["demangled"] or r["name"]))
