"""What a kernel moved, from the options that describe it."""

from __future__ import annotations

from dataclasses import dataclass

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.bandwidth import effective_bandwidth
from gpuadvise.advisor.memory.number_types import parse_number_type, storage_bytes
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.quantity import LARGEST_BYTES, parse_bytes, parse_seconds
from gpuadvise.cli.args import named, whole

_MOST_ELEMENTS = 2**40
_MOST_PASSES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Bytes read and written by a kernel and its time; ``None`` is not given."""

    read_bytes: int | None = None
    write_bytes: int | None = None
    seconds: float | None = None

    @property
    def effective(self) -> float | None:
        """Effective bandwidth in bytes/s, None without bytes or time."""
        if self.seconds is None or self.moved is None:
            return None
        return effective_bandwidth(self.moved, 0, self.seconds)

    @property
    def moved(self) -> int | None:
        """Bytes read and written together."""
        if self.read_bytes is None and self.write_bytes is None:
            return None
        return (self.read_bytes or 0) + (self.write_bytes or 0)


def traffic(
    *,
    read: str | None,
    write: str | None,
    time: str | None,
    matrix: str | None,
    dtype: str,
    copies: str,
) -> Traffic:
    """Return what the options say; raises BadInput for half of a measurement."""
    if matrix is not None and (read is not None or write is not None):
        raise BadInput("--matrix gives the bytes: leave out --read and --write.")
    read_bytes = None if read is None else named("--read", parse_bytes, read)
    write_bytes = None if write is None else named("--write", parse_bytes, write)
    if matrix is not None:
        read_bytes, write_bytes = _matrix(matrix, dtype, copies)
    seconds = None if time is None else named("--time", parse_seconds, time)
    found = Traffic(read_bytes=read_bytes, write_bytes=write_bytes, seconds=seconds)
    if (seconds is None) != (found.moved is None):
        raise BadInput(
            "An effective bandwidth needs bytes and a time.",
            hint="Give --read, --write or --matrix together with --time.",
        )
    return found


def _matrix(matrix: str, dtype: str, copies: str) -> tuple[int, int]:
    """Return the bytes read and written: half of the passes each, the odd one read."""
    rows, by, columns = matrix.lower().partition("x")
    if not by:
        raise BadInput(f"--matrix: {quoted(matrix)} is no matrix.", hint="Write it as 2048x2048.")
    elements = whole("--matrix", rows, low=1, high=_MOST_ELEMENTS)
    elements *= whole("--matrix", columns, low=1, high=_MOST_ELEMENTS)
    size = storage_bytes(elements, named("--dtype", parse_number_type, dtype))
    passes = whole("--copies", copies, low=1, high=_MOST_PASSES)
    if size * passes > LARGEST_BYTES:
        raise BadInput(f"--matrix: {quoted(matrix)} has more than 2^63-1 bytes.")
    return size * (passes - passes // 2), size * (passes // 2)
