"""The theoretical bandwidth of a device or of typed factors, with its formula and source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.traffic import KernelTraffic, TypedCopy
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.quantity import LARGEST_BYTES
from gpuadvise.advisor.transfers.copies import Direction
from gpuadvise.cli import options

if TYPE_CHECKING:
    from gpuadvise.advisor.values import CopyAmount


def typed_copy(
    *, h2d: CopyAmount | None, d2h: CopyAmount | None, time: float | None, pageable: bool
) -> TypedCopy | None:
    """Return the copy that the options describe, None without one; raises BadInput."""
    if h2d is None and d2h is None:
        if pageable:
            raise BadInput("--pageable is about a copy.", hint="Give --h2d or --d2h, and --time.")
        return None
    if h2d is not None and d2h is not None:
        raise BadInput("--h2d and --d2h: one copy at a time has a rate.", hint="Leave one out.")
    direction, copied = (Direction.H2D, h2d) if h2d is not None else (Direction.D2H, d2h)
    size = copied.size if copied else None
    if not size:
        raise BadInput(f"--{direction} takes a size here: 256MiB.", hint="--time is its time.")
    if time is None:
        raise BadInput(f"--{direction} needs the time of the copy.", hint="Give it: --time 20ms.")
    return TypedCopy(direction=direction, bytes=size, seconds=time, pageable=pageable)


def traffic(
    *,
    read: int | None,
    write: int | None,
    time: float | None,
    matrix: str | None,
    dtype: str,
    copies: int,
) -> KernelTraffic:
    """Return what the options say; raises BadInput for half of a measurement."""
    if matrix is not None and (read is not None or write is not None):
        raise BadInput("--matrix gives the bytes: leave out --read and --write.")
    if matrix is not None:
        read, write = _matrix(matrix, dtype, copies)
    kernel = KernelTraffic(read_bytes=read, write_bytes=write, seconds=time)
    if (time is None) != (kernel.moved is None):
        raise BadInput(
            "An effective bandwidth needs bytes and a time.",
            hint="Give --read, --write or --matrix together with --time.",
        )
    return kernel


def _matrix(matrix: str, dtype: str, passes: int) -> tuple[int, int]:
    """Return the bytes read and written: half of the passes each, the odd one read."""
    from gpuadvise.advisor.memory.number_types import storage_bytes
    from gpuadvise.advisor.peaks import arithmetic

    rows, columns = options.read("matrix", matrix)
    number_type, _ = arithmetic(options.read("dtype", dtype))
    size = storage_bytes(rows * columns, number_type)
    if size * passes > LARGEST_BYTES:
        raise BadInput(f"--matrix: {quoted(matrix)} has more than 2^63-1 bytes.")
    return size * (passes - passes // 2), size * (passes // 2)
