"""An operator of PyTorch in a trace: its calls with the same shapes, and their kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.advisor.timelines.operator_work import OperatorCall, OperatorWork

_NS = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedOperator:
    """Every call of one operator with the same shapes; nanoseconds of the GPU."""

    call: OperatorCall
    work: OperatorWork  # of one call
    calls: int
    kernels: int
    total_ns: int
    tensor_ns: int  # in kernels that use tensor cores

    @property
    def seconds(self) -> float:
        """Time of all its kernels."""
        return self.total_ns / _NS

    @property
    def flop_rate(self) -> float | None:
        """Operations per second, None where its shapes do not tell them."""
        return self._rate(self.work.flops)

    @property
    def byte_rate(self) -> float | None:
        """Bytes per second that it has to move at least."""
        return self._rate(self.work.bytes)

    @property
    def tensor_share(self) -> float:
        """The share (0 to 1) of its time in kernels that use tensor cores."""
        return self.tensor_ns / self.total_ns if self.total_ns else 0.0

    def _rate(self, amount: float | None) -> float | None:
        return amount * self.calls / self.seconds if amount and self.total_ns else None
