"""Columns of a tile in shared memory that lie in one bank."""

from __future__ import annotations

import re
from math import gcd
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.banks import BANK_BYTES, BANKS
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.source.array_access import bytes_of
from gpuadvise.advisor.source.lane_stride import (
    ELEMENT_BYTES,
    is_address,
    is_kernel_with_lanes,
    lane_stride,
    lanes_along_x,
)
from gpuadvise.advisor.source.reaching_lanes import reached_by_few_lanes
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.thresholds import FEWEST_LANES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable
    from gpuadvise.advisor.source.tree import Node


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Tiles in shared memory whose columns a warp takes from one bank; one per tile."""
    if not is_kernel_with_lanes(context) or not context.function.says(b"__shared__"):
        return
    reported: set[str] = set()
    for access in context.function.nodes("subscript_expression"):
        indices: list[Node] = []
        base = access
        while base.kind == "subscript_expression" and len(base.children) == 2:
            indices[:0] = base.children[1].children
            base = base.children[0]
        name = context.at(base)
        if base.kind != "identifier" or name in reported:
            continue
        if len(indices) == 1 and _is_spread_by_loop(context, access, name, indices[0]):
            reported.add(name)
            yield _spread(context, access, name)
        if len(indices) != 2:
            continue
        if is_address(context, access):
            continue
        tile = context.file.variable(name, access, context.function)
        if tile is None or not tile.shared:
            continue
        ways = _ways(context, tile, indices)
        if ways < FEWEST_LANES or reached_by_few_lanes(context, access):
            continue
        reported.add(name)
        rows, columns = (context.at(side) for side in tile.dimensions)
        more = str(int(columns) + 1) if columns.isdigit() else f"{columns} + 1"
        line = context.file.text.line(tile.node.start)
        yield context.diagnostic(
            "bank-conflicts", access,
            f"A warp takes a column of the tile {name}[{rows}][{columns}], and {ways} lanes wait for the same bank.",
            f"Declare {name}[{rows}][{more}] (line {line}): with one more column each row begins in the next bank.",
            ways=str(ways),
        )  # fmt: skip


def _is_spread_by_loop(context: RuleContext, access: Node, name: str, index: Node) -> bool:
    """Whether the words of the lanes lie a step apart that the loop around *access* doubles."""
    array = context.file.variable(name, access, context.function)
    if array is None or not array.shared or array.type not in ("float*", "int*", "uint*"):
        return False
    loop, stride = context.loop_around(access), lane_stride(context, index)
    if loop is None or stride is None or len(stride.factors) != 1:
        return False
    steps = re.findall(r"[A-Za-z_]\w*", stride.factors[0])
    doubled = any(
        "".join(context.at(change).split()) in (f"{step}*=2", f"{step}<<=1")
        for change in context.file.tree.inside(loop, "assignment_expression")
        for step in steps
    )
    return doubled and not reached_by_few_lanes(context, access)


def _spread(context: RuleContext, access: Node, name: str) -> Diagnostic:
    return context.diagnostic(
        "bank-conflicts", access,
        f"The lanes take words of {name} that lie a step apart which each iteration doubles: 2, 4, 8 and more wait for one bank.",
        "Let the lanes take neighbouring words: begin with half of the block as the step and halve it, "
        f"for (s = blockDim.x / 2; s > 0; s /= 2) if (t < s) {name}[t] += {name}[t + s].",
        ways="16",
    )  # fmt: skip


def _ways(context: RuleContext, tile: Variable, indices: list[Node]) -> int:
    """Return how many lanes wait for one bank, 0 where the file does not say."""
    size = ELEMENT_BYTES.get(tile.type.rstrip("*"), 0) or bytes_of(context, tile)
    sides = [context.constant(side) for side in tile.dimensions]
    row, column = (lane_stride(context, index) for index in indices)
    if (
        size < BANK_BYTES
        or len(sides) != 2
        or tile.type.count("*") != 2
        or row is None
        or column is None
    ):
        return 0
    rows, columns = sides
    if rows is None or columns is None or row.factors or column.factors or not row.number:
        return 0
    words = abs(row.number * columns + column.number) * size // BANK_BYTES
    lanes = min(rows // abs(row.number), lanes_along_x(context))
    if not words or lanes < 2:
        return 0
    # Accesses of 8 bytes go half a warp at a time.
    lanes = min(lanes, WARP_SIZE * BANK_BYTES // size)
    return -(-lanes // min(lanes, BANKS // gcd(words, BANKS)))


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void transpose(float *out, const float *in, int n) {
    __shared__ float tile[32][32];                        // a column lies in one bank
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * n + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}""",
        """\
__global__ void transpose(float *out, const float *in, int n) {
    __shared__ float tile[32][33];                        // a column lies in 32 banks
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * n + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * n + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}""",
    ),
)
