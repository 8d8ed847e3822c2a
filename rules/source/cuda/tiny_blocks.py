"""Blocks of a warp or less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.source.launches import block_sides, side_nodes
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find launches of many blocks that have one warp or a part of one; one per kernel of a function."""
    reported: set[str] = set()
    for launch in context.launches.of(context.function):
        threads = launch.threads or _most_threads(context, launch.block)
        if threads is None or not 1 < threads <= WARP_SIZE or launch.kernel in reported:
            continue
        if block_sides(context.file, context.function, launch.grid) is not None:
            continue  # few blocks, of which the file says how many
        reported.add(launch.kernel)
        yield context.diagnostic(
            "tiny-blocks", launch.node,
            f"Blocks of {'' if launch.threads else 'at most '}{threads} threads {'are one warp' if threads == WARP_SIZE else 'fill a part of one warp'}, and an SM holds 16 to 32 "
            "blocks by its architecture: at most that many of the 32 to 64 warps that it has room for.",
            f"Launch {launch.kernel} with 128 or 256 threads per block, and {128 // threads} or more times the elements for each.",
            threads=str(threads), minor=True,
        )  # fmt: skip


def _most_threads(context: RuleContext, block: Node) -> int | None:
    """Return the threads that ``min(n, 32)`` allows a block, None for other blocks."""
    sides = side_nodes(context.file, context.function, block)
    side = context.settled(sides[0] if len(sides) == 1 else block)
    if side.kind != "call_expression" or context.file.callee(side) not in ("min", "MIN"):
        return None
    bounds = [context.constant(argument) for argument in context.file.arguments(side)]
    return min((bound for bound in bounds if bound is not None), default=None)


CHECK = CudaCheck(
    faults=faults,
    code=BeforeAfter(
        "host",
        """\
void launch(int n) {
    kernel<<<(n + 31) / 32, 32>>>(data, n);                   // at most half of the warps of an SM
}""",
        """\
void launch(int n) {
    kernel<<<(n + 255) / 256, 256>>>(data, n);
}""",
    ),
)
