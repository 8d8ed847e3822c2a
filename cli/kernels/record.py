"""One kernel or entry under its published names: the fields of JSON, NDJSON and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.names import demangle

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.model import Damage, Entry, Kernel, Place
    from gpuadvise.advisor.binaries.residency import Residency


def kernel_record(kernel: Kernel, residency: Residency) -> dict[str, Any]:
    """Return *kernel* as JSON values; bytes per thread or block, occupancy 0 to 1."""
    return {
        "name": kernel.name,
        "demangled": demangle(kernel.name),
        "arch": kernel.capability.target if kernel.capability else None,
        "entry": kernel.entry,
        "registers": kernel.registers,
        "static_smem": kernel.static_smem,
        "reserved_smem": kernel.reserved_smem,
        "dynamic_smem": kernel.dynamic_smem,
        "stack": kernel.stack,
        "stack_unbounded": kernel.stack_unbounded,
        "frame": kernel.frame,
        "spill_stores": kernel.spill_stores,
        "spill_loads": kernel.spill_loads,
        "spills_are": _word(kernel.spills_are),
        "max_threads": kernel.max_threads,
        "max_block": kernel.max_block,
        "required_block": kernel.required_block,
        "launched_block": kernel.launched_block,
        "launched_dynamic_smem": kernel.launched_dynamic_smem,
        "min_blocks": kernel.min_blocks,
        "min_blocks_are": _word(kernel.min_blocks_are),
        "register_cap": kernel.register_cap,
        "reconfigures_registers": kernel.reconfigures_registers,
        "cluster": kernel.cluster,
        "max_cluster_rank": kernel.max_cluster_rank,
        "barriers": kernel.barriers,
        "param_bytes": kernel.param_bytes,
        "constant_banks": _banks(kernel),
        "code_bytes": kernel.code_bytes,
        "instructions": kernel.instructions,
        "fp64_instructions": kernel.fp64_instructions,
        "linked": kernel.linked,
        "debug": kernel.debug,
        "toolkit": kernel.toolkit,
        **_residency_fields(residency),
        "source": kernel.source.value,
        **_place_fields(kernel.place),
    }


def entry_record(entry: Entry) -> dict[str, Any]:
    """Return *entry* as JSON values; sizes in bytes."""
    return {
        "content": entry.content.value,
        "arch": entry.capability.target if entry.capability else None,
        "compression": entry.compression.value,
        "size": entry.size,
        "unpacked_size": entry.unpacked_size,
        "ptx_version": "{}.{}".format(*entry.ptx_version) if entry.ptx_version else None,
        "identifier": entry.identifier,
        "options": entry.options,
        "debug": entry.debug,
        "link_input": entry.link_input,
        "module": entry.module,
        **_place_fields(entry.place),
    }


def damage_record(damage: Damage) -> dict[str, Any]:
    """Return *damage* as JSON values."""
    return {"message": damage.message, **_place_fields(damage.place)}


def _residency_fields(residency: Residency) -> dict[str, Any]:
    found = residency.occupancy
    return {
        "block_threads": residency.block_threads,
        "block_from": _word(residency.block_from),
        "blocks_per_sm": found.blocks_per_sm if found else None,
        "warps_per_sm": found.warps_per_sm if found else None,
        "occupancy": found.occupancy if found else None,
        "limiters": [limiter.value for limiter in found.limiters] if found else None,
        "launchable": found.launchable if found else None,
        "reason": residency.reason,
    }


def _place_fields(place: Place) -> dict[str, Any]:
    return {
        "file": place.path,
        "member": place.member,
        "section": place.section,
        "offset": place.offset,
        "line": place.line,
    }


def _banks(kernel: Kernel) -> dict[str, int] | None:
    if kernel.constant_banks is None:
        return None
    return {str(bank): size for bank, size in kernel.constant_banks}


def _word(value: object) -> str | None:
    return None if value is None else str(value)
