"""Blocks of a warp or less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.source.launches import block_sides
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find launches of many blocks that have one warp or a part of one; one per kernel of a function."""
    reported: set[str] = set()
    for launch in context.launches.of(context.function):
        threads = launch.threads
        if threads is None or not 1 < threads <= WARP_SIZE or launch.kernel in reported:
            continue
        if block_sides(context.file, context.function, launch.grid) is not None:
            continue  # few blocks, of which the file says how many
        reported.add(launch.kernel)
        yield context.diagnostic(
            "tiny-blocks", launch.node,
            f"Blocks of {threads} threads {'are one warp' if threads == WARP_SIZE else 'fill a part of one warp'}, and an SM holds 16 to 32 "
            "blocks by its architecture: at most that many of the 32 to 64 warps that it has room for.",
            f"Launch {launch.kernel} with 128 or 256 threads per block, and {128 // threads} or more times the elements for each.",
            threads=str(threads), minor=threads == WARP_SIZE,
        )  # fmt: skip


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
