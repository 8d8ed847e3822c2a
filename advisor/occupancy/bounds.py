"""What the compiler makes of ``__launch_bounds__(threads, blocks)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.occupancy.budget import register_budget

if TYPE_CHECKING:
    from gpuadvise.advisor.limits import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledBounds:
    """Launch bounds on one compute capability.

    ``registers`` is the budget per thread that the compiler derives; ``ignored`` says why it
    drops the minimum of blocks, in a sentence.
    """

    threads: int
    blocks: int | None
    registers: int | None
    ignored: str | None = None

    def spills(self, registers: int) -> int:
        """Return by how many registers per thread a kernel of *registers* exceeds the budget."""
        return max(0, registers - self.registers) if self.registers is not None else 0


def launch_bounds(limits: Limits, threads: int, blocks: int | None = None) -> CompiledBounds:
    """Return what ``__launch_bounds__(threads, blocks)`` asks of the compiler.

    Raises BadInput for counts below 1. A minimum of blocks that no SM can hold is dropped
    with a warning by ptxas: it then asks for nothing.
    """
    if threads < 1 or (blocks is not None and blocks < 1):
        raise BadInput(f"Launch bounds must be at least 1, not {threads},{blocks}.")
    ignored = _ignored(limits, threads, blocks) if blocks else None
    wanted = 1 if ignored or not blocks else blocks
    return CompiledBounds(
        threads=threads,
        blocks=blocks,
        registers=register_budget(limits, threads, wanted),
        ignored=ignored,
    )


def _ignored(limits: Limits, threads: int, blocks: int) -> str | None:
    threads_per_sm, room = threads * blocks, limits.max_threads_per_sm
    if threads_per_sm > room:
        return (
            f"__launch_bounds__({threads}, {blocks}) asks for {threads_per_sm:,} threads per SM, which has "
            f"{room:,}: the compiler ignores the minimum of {blocks} blocks."
        )
    if blocks > limits.max_blocks_per_sm:
        return (
            f"__launch_bounds__({threads}, {blocks}) asks for {blocks} blocks per SM, which has "
            f"{limits.max_blocks_per_sm}: the compiler ignores the minimum."
        )
    return None
