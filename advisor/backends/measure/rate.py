"""The rate of multiply-adds that kernels without memory traffic attain, by type and unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.measure.kernels import FLOPS_PER_ROUND, THREADS, Kernels
from gpuadvise.advisor.backends.measure.tensor import architecture, source, tensor_types

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.backends.measure.session import Session
    from gpuadvise.advisor.measurement import Sample

# Kernel of each type and its rounds per thread: milliseconds of work on any GPU.
TYPES = {"fp32": ("fma32", 1024), "fp64": ("fma64", 64)}
# Blocks for each SM, so that its schedulers always have warps to choose from, and rounds: some
# milliseconds of work on a fast GPU.
_TENSOR_BLOCKS = 4
_TENSOR_ROUNDS = 512
_REPEATS = 11
_QUICK_REPEATS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Operations of one type (an FMA counts as two) and the seconds they took.

    *instruction*: ``fma`` of the ordinary units; ``mma`` or ``wgmma`` of the tensor cores.
    """

    dtype: str
    instruction: str
    operations: int
    seconds: Sample

    @property
    def rate(self) -> float:
        """FLOP/s of the median."""
        return self.operations / self.seconds.median


def measure_rates(session: Session, *, quick: bool = False) -> Iterator[Rate]:
    """Yield the attained FLOP/s of each type, on the ordinary units and on the tensor cores."""
    properties = session.properties()
    repeats = _QUICK_REPEATS if quick else _REPEATS
    with session.scope():
        kernels, stream = Kernels(session), session.stream()
        out, blocks = session.device_bytes(8), properties.grid(THREADS)
        for dtype, (name, rounds) in TYPES.items():
            launch = kernels.launcher(name, blocks, stream, out, rounds)
            seconds = session.timed(launch, [stream], repeats)
            operations = blocks * THREADS * rounds * FLOPS_PER_ROUND
            yield Rate(dtype=dtype, instruction="fma", operations=operations, seconds=seconds)
        types = tensor_types(properties.capability)
        if types:
            target = architecture(properties.capability)
            kernels = Kernels(session, source(types), target=target)
        blocks = properties.sm_count * _TENSOR_BLOCKS
        for kind in types:
            launch = kernels.launcher(kind.kernel, blocks, stream, out, _TENSOR_ROUNDS)
            seconds = session.timed(launch, [stream], repeats)
            operations = blocks * _TENSOR_ROUNDS * kind.operations(THREADS)
            yield Rate(dtype=kind.dtype, instruction=kind.instruction, operations=operations,
                       seconds=seconds)  # fmt: skip
