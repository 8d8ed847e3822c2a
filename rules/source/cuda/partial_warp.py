"""Blocks that do not fill their last warp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.source.launches import block_sides
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.thresholds import BLOCK_THREADS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext

_LITTLE = number(
    8,
    "threads for each idle lane, from which the loss is little",
    "threads",
    "our judgement: an eighth, as of a tile with its border, which has no other size",
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Blocks that are no whole number of warps."""
    for launch in context.launches.of(context.function):
        threads = launch.threads
        if threads is None or threads % WARP_SIZE == 0 or threads > BLOCK_THREADS:
            continue
        if threads == 1 or threads < WARP_SIZE:
            continue
        alone = set(block_sides(context.file, context.function, launch.grid) or ()) == {1}
        if alone and "*" in context.at(context.settled(launch.block)):
            continue  # as many threads as a table has elements, once
        sides = block_sides(context.file, context.function, launch.block) or ()
        yield context.diagnostic(
            "partial-warp", launch.node, f"Blocks of {_block_words(sides)} threads leave {plural(-threads % WARP_SIZE, 'lane')} of the last warp idle.",
            f"Launch {-(-threads // WARP_SIZE) * WARP_SIZE} or {threads // WARP_SIZE * WARP_SIZE} threads per block.",
            threads=str(threads), minor=alone or -threads % WARP_SIZE * _LITTLE < threads,
        )  # fmt: skip


def _block_words(sides: tuple[int, ...]) -> str:
    return " x ".join(str(side) for side in sides)


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    code=BeforeAfter(
        "host",
        """\
void launch(int n) {
    kernel<<<(n + 99) / 100, 100>>>(data, n);                 // 4 warps, the last with 4 lanes
}""",
        """\
void launch(int n) {
    kernel<<<(n + 127) / 128, 128>>>(data, n);                // with: if (i < n)
}""",
    ),
)
