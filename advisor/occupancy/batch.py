"""Many launches on one capability, fast: each resource is worked out once per distinct value."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.record import record

if TYPE_CHECKING:
    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.answer import Occupancy

# Distinct values remembered per resource: more than a sweep of registers by block sizes has,
# and no more memory than a stream of ever new values may take.
_REMEMBERED = 1 << 14


class Batch:
    """Answers launches on the SM of *limits*, equal to ``record(occupancy(...))``.

    Registers with warps, shared memory, and barriers limit a launch independently of each
    other, so each is remembered by its own inputs alone.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._by_block = lru_cache(_REMEMBERED)(self._block)
        self._by_memory = lru_cache(_REMEMBERED)(self._memory)
        self._by_barriers = lru_cache(_REMEMBERED)(self._named)

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

        Raises BadInput as Launch does.
        """
        block = self._by_block(threads, registers)
        memory = self._by_memory(static_shared, dynamic_shared, optin, carveout)
        named = self._by_barriers(barriers)
        if rare or block.fault or memory.fault or named.fault:
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
            return record(occupancy(self._limits, launch))
        return self._joined(block, memory, named)

    def _joined(self, block: Occupancy, memory: Occupancy, named: Occupancy) -> dict[str, Any]:
        """Return the record of a possible launch from the answers to its three parts."""
        warps, most, registers, _, _ = block.block_limits
        limits = {
            "warps": warps,
            "blocks": most,
            "registers": registers,
            "shared_memory": memory.block_limits[3],
            "barriers": named.block_limits[4],
        }
        blocks = min(block.blocks_per_sm, memory.blocks_per_sm, named.blocks_per_sm)
        resident = blocks * block.warps_per_block
        return {
            "blocks_per_sm": blocks,
            "warps_per_sm": resident,
            "threads_per_sm": blocks * block.launch.threads,
            "occupancy": resident / self._limits.max_warps_per_sm,
            "limiters": [name for name, held in limits.items() if held == blocks],
            "limits": limits,
            "launchable": True,
            "reason": None,
            "carveout_bytes": memory.carveout_bytes,
            "registers_per_block": block.registers_per_block,
            "shared_memory_per_block": memory.shared_memory_per_block,
            "needs_optin": memory.needs_optin,
        }

    def _block(self, threads: int, registers: int | None) -> Occupancy:
        return occupancy(self._limits, Launch(threads=threads, registers=registers))

    def _memory(self, static: int, dynamic: int, optin: bool, carveout: int | None) -> Occupancy:
        launch = Launch(
            threads=1,
            static_shared=static,
            dynamic_shared=dynamic,
            optin=optin,
            carveout=carveout,
        )
        return occupancy(self._limits, launch)

    def _named(self, barriers: int) -> Occupancy:
        return occupancy(self._limits, Launch(threads=1, barriers=barriers))
