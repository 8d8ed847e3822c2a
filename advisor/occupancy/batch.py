"""Many launches on one capability, fast: what repeats is worked out once."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.occupancy.answer import RESOURCES
from gpuadvise.advisor.occupancy.checks import first_fault
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.record import record

if TYPE_CHECKING:
    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.answer import Occupancy

_NAMES = tuple(resource.value for resource in RESOURCES)
# Distinct values remembered per resource: all register counts by all block sizes of one
# capability, and no more memory than a stream of ever new values may take.
_REMEMBERED = 1 << 14


class BatchModel:
    """Answers launches on the SM of *limits*, equal to ``record(occupancy(...))``.

    The register file sees only warps and registers, the shared memory only allocation units:
    both have few distinct answers, however many launches there are.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._by_block = lru_cache(_REMEMBERED)(self._block)
        self._by_memory = lru_cache(_REMEMBERED)(self._memory)
        self._by_barriers = lru_cache(_REMEMBERED)(self._named)
        self._reason = lru_cache(_REMEMBERED)(self._block_reason)

    def record(
        self,
        threads: int,
        registers: int | None = None,
        static_shared: int = 0,
        dynamic_shared: int = 0,
        *,
        optin: bool = True,
        carveout: int | None = None,
        barriers: int = 1,
        **rare: Any,
    ) -> dict[str, Any]:
        """Return the published fields for one launch; *rare* are further fields of Launch.

        All must be values that a Launch accepts.
        """
        limits = self._limits
        used = static_shared + dynamic_shared
        warps = -(-threads // limits.warp_size)
        units = -(-used // limits.shared_memory_allocation_unit)
        memory = self._by_memory(units, optin, carveout)
        named = self._by_barriers(barriers)
        held = min(memory.blocks_per_sm, named.blocks_per_sm)
        if rare or not held or static_shared > limits.shared_memory_per_block:
            launch = Launch(
                threads=threads,
                registers=registers,
                static_shared=static_shared,
                dynamic_shared=dynamic_shared,
                optin=optin,
                carveout=carveout,
                barriers=barriers,
                **rare,
            )
            return record(occupancy(limits, launch))
        block = self._by_block(warps, registers)
        blocks = min(block.blocks_per_sm, held)
        block_limits = (*block.block_limits[:3], memory.block_limits[3], named.block_limits[4])
        raised = optin and blocks and used > limits.shared_memory_per_block
        by_resource = dict(zip(_NAMES, block_limits, strict=True))
        return {
            "blocks_per_sm": blocks,
            "warps_per_sm": blocks * warps,
            "threads_per_sm": blocks * threads,
            "occupancy": blocks * warps / limits.max_warps_per_sm,
            "limiters": [name for name, most in by_resource.items() if most == blocks],
            "limits": by_resource,
            "launchable": blocks > 0,
            "reason": None if blocks else self._reason(threads, registers),
            "carveout_bytes": memory.carveout_bytes,
            "registers_per_block": block.registers_per_block,
            "shared_memory_per_block": memory.shared_memory_per_block,
            "needs_optin": dynamic_shared if raised else None,
        }

    def _block(self, warps: int, registers: int | None) -> Occupancy:
        threads = warps * self._limits.warp_size
        return occupancy(self._limits, Launch(threads=threads, registers=registers))

    def _memory(self, units: int, optin: bool, carveout: int | None) -> Occupancy:
        used = units * self._limits.shared_memory_allocation_unit
        launch = Launch(threads=1, dynamic_shared=used, optin=optin, carveout=carveout)
        return occupancy(self._limits, launch)

    def _named(self, barriers: int) -> Occupancy:
        return occupancy(self._limits, Launch(threads=1, barriers=barriers))

    def _block_reason(self, threads: int, registers: int | None) -> str | None:
        fault = first_fault(self._limits, Launch(threads=threads, registers=registers))
        return fault.message if fault else None
