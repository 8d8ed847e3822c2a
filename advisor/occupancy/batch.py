"""Many launches on one capability, fast: each resource is worked out once per distinct value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.occupancy.fault import Cause
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.record import record

if TYPE_CHECKING:
    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.fault import Fault

# Distinct values remembered per resource: more than a sweep of registers by block sizes has,
# and no more memory than a stream of ever new values may take.
_REMEMBERED = 1 << 14
# Faults are met in this order; the first is the reason.
_ORDER = {cause: place for place, cause in enumerate(Cause)}


@dataclass(frozen=True, slots=True)
class _Part:
    """What one resource makes of a launch, whatever the others are."""

    answer: Occupancy
    fault: Fault | None
    needs_optin: int | None


class Batch:
    """Answers launches on the SM of *limits*, equal to ``record(occupancy(...))``.

    Registers with warps, shared memory, and barriers limit a launch independently of each
    other, so each is remembered by its own inputs alone.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._block = lru_cache(_REMEMBERED)(self._of_block)
        self._memory = lru_cache(_REMEMBERED)(self._of_memory)
        self._barriers = lru_cache(_REMEMBERED)(self._of_barriers)

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
        if not rare:
            return self._joined(
                self._block(threads, registers),
                self._memory(static_shared, dynamic_shared, optin, carveout),
                self._barriers(barriers),
            )
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

    def _joined(self, block: _Part, memory: _Part, named: _Part) -> dict[str, Any]:
        """Return the record of a launch from the answers to its three parts."""
        own, shared = block.answer, memory.answer
        warps, most, registers, _, _ = own.block_limits
        limits = {
            "warps": warps,
            "blocks": most,
            "registers": registers,
            "shared_memory": shared.block_limits[3],
            "barriers": named.answer.block_limits[4],
        }
        blocks = min(own.blocks_per_sm, shared.blocks_per_sm, named.answer.blocks_per_sm)
        resident = blocks * own.warps_per_block
        return {
            "blocks_per_sm": blocks,
            "warps_per_sm": resident,
            "threads_per_sm": blocks * own.launch.threads,
            "occupancy": resident / self._limits.max_warps_per_sm,
            "limiters": [name for name, held in limits.items() if held == blocks],
            "limits": limits,
            "launchable": blocks > 0,
            "reason": None if blocks else _reason(block, memory, named),
            "carveout_bytes": shared.carveout_bytes,
            "registers_per_block": own.registers_per_block,
            "shared_memory_per_block": shared.shared_memory_per_block,
            "needs_optin": memory.needs_optin if blocks else None,
        }

    def _of_block(self, threads: int, registers: int | None) -> _Part:
        return self._part(Launch(threads=threads, registers=registers))

    def _of_memory(self, static: int, dynamic: int, optin: bool, carveout: int | None) -> _Part:
        launch = Launch(
            threads=1,
            static_shared=static,
            dynamic_shared=dynamic,
            optin=optin,
            carveout=carveout,
        )
        return self._part(launch)

    def _of_barriers(self, barriers: int) -> _Part:
        return self._part(Launch(threads=1, barriers=barriers))

    def _part(self, launch: Launch) -> _Part:
        answer = occupancy(self._limits, launch)
        return _Part(answer, answer.fault, answer.needs_optin)


def _reason(*parts: _Part) -> str:
    faults = [part.fault for part in parts if part.fault]
    return min(faults, key=lambda fault: _ORDER[fault.cause]).message
