"""Blocks per SM over whole grids of launches at once, with numpy.

Each resource is worked out over its own axes only; broadcasting joins them at the end, so that
a sweep of registers by block sizes by shared memory costs one comparison per configuration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput, Unavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.launch import Launch

# The fields of a launch that may vary.
AXES = ("threads", "registers", "static_shared", "dynamic_shared", "barriers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Answers of the model, in the shape that the axes broadcast to."""

    blocks_per_sm: NDArray[np.uint8]  # 0 where the launch is impossible
    warps_per_block: NDArray[np.uint8]  # in the shape of the threads axis
    max_warps_per_sm: int

    @property
    def warps_per_sm(self) -> NDArray[np.uint8]:
        """Resident warps: at most 64, so that a byte holds them."""
        return self.blocks_per_sm * self.warps_per_block

    @property
    def occupancy(self) -> NDArray[np.float64]:
        """Resident warps as a share of the most the SM can hold, 0 to 1."""
        return self.warps_per_sm / self.max_warps_per_sm


def sweep(limits: Limits, launch: Launch, **axes: ArrayLike) -> Sweep:
    """Return the model's answers for *launch* with arrays of whole numbers for some of AXES.

    The arrays broadcast against each other as numpy's do: ``numpy.ix_`` makes an open grid of
    them. Raises BadInput as Launch does, and Unavailable where numpy is not installed.
    """
    unknown = sorted(set(axes) - set(AXES))
    if unknown:
        raise BadInput(f"{unknown[0]} is no axis of a sweep.", hint=f"Axes: {', '.join(AXES)}.")
    try:
        from gpuadvise.advisor.occupancy import arrays
    except ImportError as error:
        raise Unavailable(
            "A sweep needs numpy.", hint="Install it with: pip install 'gpuadvise[sweep]'"
        ) from error
    threads = arrays.axis(launch, "threads", axes)
    memory = arrays.shared_limit(
        limits,
        launch,
        arrays.axis(launch, "static_shared", axes),
        arrays.axis(launch, "dynamic_shared", axes),
    )
    blocks = arrays.block_limit(limits, launch, threads, arrays.registers_axis(launch, axes))
    barriers = arrays.barrier_limit(limits, launch, arrays.axis(launch, "barriers", axes))
    return Sweep(
        blocks_per_sm=arrays.least(blocks, memory, barriers),
        warps_per_block=arrays.warp_slots(limits, threads),
        max_warps_per_sm=limits.max_warps_per_sm,
    )
