"""Occupancy of many launches at once, as numpy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike

    from gpuadvise.advisor.occupancy.vectorized import Sweep

# What the arguments are called in the model of a launch.
_AXES = {
    "regs": "registers",
    "block": "threads",
    "smem": "static_shared",
    "dynamic_smem": "dynamic_shared",
    "barriers": "barriers",
}


def sweep(
    *,
    regs: ArrayLike,
    block: ArrayLike,
    smem: ArrayLike = 0,
    dynamic_smem: ArrayLike = 0,
    barriers: ArrayLike = 0,
    gpu: str | None = None,
    cc: str | None = None,
    device: int | str | None = None,
    from_file: str | os.PathLike[str] | None = None,
) -> Sweep:
    """Return the occupancy of every launch of arrays of whole numbers, which broadcast as numpy's do.

    ``blocks_per_sm``, ``warps_per_sm`` and ``occupancy`` are arrays of that shape; ``numpy.ix_`` makes
    an open grid of the axes. Raises `GpuAdviseError` for values that no launch has.
    """
    import os

    import numpy as np

    from gpuadvise.advisor.backends.choose import choose
    from gpuadvise.advisor.occupancy.launch import Launch
    from gpuadvise.advisor.occupancy.vectorized import sweep as answers

    given = dict(zip(_AXES, (regs, block, smem, dynamic_smem, barriers), strict=True))
    arrays = {_AXES[name]: np.asarray(values) for name, values in given.items()}
    if empty := [name for name in given if not arrays[_AXES[name]].size]:
        raise BadInput(f"{empty[0]} is empty.")
    chosen = choose(
        gpu=gpu,
        cc=cc,
        device=None if device is None else str(device),
        from_file=None if from_file is None else os.fspath(from_file),
    )
    return answers(chosen.device.limits, Launch(threads=1, registers=1), **arrays)
