"""The rate of fused multiply-adds that a kernel of independent chains attains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.kernels import FLOPS_PER_ROUND, THREADS, Kernels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.backends.measure.session import Session
    from gpuadvise.advisor.measurement import Sample

# Kernel of each type and its rounds per thread: milliseconds of work on any GPU.
TYPES = {"fp32": ("fma32", 1024), "fp64": ("fma64", 64)}
_REPEATS = 11
_QUICK_REPEATS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Operations of one type (an FMA counts as two) and the seconds they took."""

    dtype: str
    operations: int
    seconds: Sample

    @property
    def rate(self) -> float:
        """FLOP/s of the median."""
        return self.operations / self.seconds.median


def measure_rates(session: Session, *, quick: bool = False) -> Iterator[Rate]:
    """Yield the attained FLOP/s of each type on the ordinary (not tensor) units."""
    properties = session.properties()
    blocks = properties.grid(THREADS)
    with session.scope():
        kernels, stream = Kernels(session), session.stream()
        out = session.device_bytes(8)
        for dtype, (name, rounds) in TYPES.items():
            launch = kernels.launcher(name, blocks, stream, out, rounds)
            seconds = session.timed(launch, [stream], _QUICK_REPEATS if quick else _REPEATS)
            operations = blocks * THREADS * rounds * FLOPS_PER_ROUND
            yield Rate(dtype=dtype, operations=operations, seconds=seconds)
