"""One kernel or entry under its published names: the fields of JSON, NDJSON and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.names import demangle
from gpuadvise.cli.render.form import Fields, Form, same

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.kernel_occupancy import Residency
    from gpuadvise.advisor.binaries.model import Damage
    from gpuadvise.advisor.capability import Capability

_PLACE = ("file", "member", "section", "offset", "line")


def damage_record(damage: Damage) -> dict[str, Any]:
    """Return *damage* as JSON values."""
    return {"message": damage.message, **dict(zip(_PLACE, damage.place, strict=True))}


def _names(mangled: str) -> tuple[str, str | None]:
    return mangled, demangle(mangled)


def _target(capability: Capability | None) -> tuple[str | None]:
    return (capability.target if capability else None,)


def _word(value: object) -> tuple[str | None]:
    return (None if value is None else str(value),)


def _banks(banks: tuple[tuple[int, int], ...] | None) -> tuple[dict[str, int] | None]:
    return (None if banks is None else {str(bank): size for bank, size in banks},)


def _version(version: tuple[int, int] | None) -> tuple[str | None]:
    return ("{}.{}".format(*version) if version else None,)


def _resident(residency: Residency) -> tuple[Any, ...]:
    found = residency.occupancy
    return (
        residency.block_threads,
        None if residency.block_from is None else residency.block_from.value,
        found.blocks_per_sm if found else None,
        found.warps_per_sm if found else None,
        found.occupancy if found else None,
        [limiter.value for limiter in found.limiters] if found else None,
        found.launchable if found else None,
        residency.reason,
    )


_RESIDENCY = (
    "block_threads",
    "block_from",
    "blocks_per_sm",
    "warps_per_sm",
    "occupancy",
    "limiters",
    "launchable",
    "reason",
)

# Of what cli/kernels/order.py calls Found; bytes per thread or block, occupancy 0 to 1.
KERNEL = Form(
    Fields("kernel.name", ("name", "demangled"), _names),
    Fields("kernel.capability", ("arch",), _target),
    *same("kernel.", "entry", "registers", "static_smem", "reserved_smem", "dynamic_smem"),
    *same("kernel.", "stack", "stack_unbounded", "frame", "spill_stores", "spill_loads"),
    Fields("kernel.spills_are", ("spills_are",), _word),
    *same("kernel.", "max_threads", "max_block", "required_block"),
    *same("kernel.", "launched_block", "launched_dynamic_smem", "min_blocks"),
    Fields("kernel.min_blocks_are", ("min_blocks_are",), _word),
    *same("kernel.", "register_cap", "reconfigures_registers", "cluster", "max_cluster_rank"),
    *same("kernel.", "barriers", "param_bytes"),
    Fields("kernel.constant_banks", ("constant_banks",), _banks),
    *same("kernel.", "code_bytes", "instructions", "fp64_instructions"),
    *same("kernel.", "linked", "debug", "toolkit"),
    Fields("residency", _RESIDENCY, _resident),
    Fields("kernel.source", ("source",), _word),
    Fields("kernel.place", _PLACE, tuple),
)

# Of one entry; sizes in bytes.
ENTRY = Form(
    Fields("content", ("content",), _word),
    Fields("capability", ("arch",), _target),
    Fields("compression", ("compression",), _word),
    *same("", "size", "unpacked_size"),
    Fields("ptx_version", ("ptx_version",), _version),
    *same("", "identifier", "options", "debug", "link_input", "module"),
    Fields("place", _PLACE, tuple),
)
