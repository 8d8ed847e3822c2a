"""How the SM divides its memory between shared memory and L1 for a launch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.limits import SharedMode
from gpuadvise.advisor.occupancy.model import occupancy

if TYPE_CHECKING:
    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.answer import Occupancy


class Carveout(NamedTuple):  # made at every start
    """The shared memory that an answer assumes, and the least that gives the same answer.

    Bytes per SM; ``smallest_per_cent`` is the preference that asks for the least. L1 gets the
    rest of the memory; None where its size is not published.
    """

    bytes: int
    l1_bytes: int | None
    smallest_bytes: int
    smallest_per_cent: int
    smallest_l1_bytes: int | None


def carveout(result: Occupancy) -> Carveout | None:
    """Return what *result* assumes; None where the SM has no carveout, or no block can start."""
    limits = result.hardware
    if limits.shared_memory_config_mode is not SharedMode.CARVEOUT or not result.launchable:
        return None
    sizes = sorted(size for size in limits.shared_memory_configs if size <= result.carveout_bytes)
    smallest = next(size for size in sizes if _suffices(result, size))
    return Carveout(
        bytes=result.carveout_bytes,
        l1_bytes=_rest(limits, result.carveout_bytes),
        smallest_bytes=smallest,
        smallest_per_cent=_per_cent(limits, smallest),
        smallest_l1_bytes=_rest(limits, smallest),
    )


def _suffices(result: Occupancy, size: int) -> bool:
    launch = replace(result.launch, carveout=_per_cent(result.hardware, size))
    trial = occupancy(result.hardware, launch)
    return trial.carveout_bytes == size and trial.blocks_per_sm == result.blocks_per_sm


def _per_cent(limits: Limits, size: int) -> int:
    return size * 100 // limits.shared_memory_per_sm


def _rest(limits: Limits, size: int) -> int | None:
    return None if limits.unified_l1_shared is None else limits.unified_l1_shared - size
