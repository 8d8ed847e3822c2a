"""Neighbouring threads whose elements lie a row apart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.load_width import WORD
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.source.array_access import (
    accesses_of,
    array_access,
    index_of,
    is_loaded_by_address,
    sparse_accesses,
)
from gpuadvise.advisor.source.lane_stride import (
    ELEMENT_BYTES,
    compared_lengths,
    is_address,
    is_kernel_with_lanes,
    is_of_dimensions,
    is_of_steps,
    lanes_along_x,
    shortest_launched,
)
from gpuadvise.advisor.source.reaching_lanes import reached_by_elected_lanes, reached_by_few_lanes
from gpuadvise.advisor.source.tree import LOOPS
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.thresholds import FEWEST_LANES, SPARSE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node
    from gpuadvise.advisor.source.variance import LaneStride

_LONG_ROW = number(
    128,
    "row that L1 does not keep until all of it is used",
    "bytes",
    "our judgement: 32 lanes of 32 warps have 128 KiB of them",
)
# A product or a shift in an index, or in an integer that may become one; not the number of a thread.
_PRODUCT = re.compile(
    rb"\[[^\[\];]*(?:\*|<<|\w\([^;\[\]]*,)[^\[\];]*\]|\*\s*\([^;]*\*"
    rb"|\*[ \t]*(?:const\s+|__restrict__\s+)?\w+\s*=[^;=]*\*|\+=[^;=]*\*"
    rb"|\b(?:int|unsigned|long|u?int\w*|auto|\w+_t|const \w+|INDEX\w*)\s+(?:\w+\s*=[^;=,]*,\s*)*\w+"
    rb"\s*=[^;=]*(?:\*(?!\s*(?:block|grid))|<<)"
)
_MULTIPLE = re.compile(rb"\*\s*[\dA-Z]|[\dA-Z]\s*\*|<<")
# How many numbers a point has is called so: two or three, perhaps.
_COORDINATES = re.compile(r"(?:\w*_)?(?:dims?|D|ndims?|coords?)")
_FIELD_OF_ELEMENT = re.compile(rb"\]\s*\.")


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Arrays in global memory of which neighbouring threads take elements a row apart; one per array."""
    if not is_kernel_with_lanes(context):
        return
    if not (context.function.matches(_PRODUCT) or context.function.matches(_FIELD_OF_ELEMENT)):
        return
    reported: set[str] = set()
    for access in accesses_of(context):
        if is_address(context, access) and not is_loaded_by_address(context, access):
            continue
        reached = array_access(context, access)
        if reached is None or reached.parameter.name in reported:
            continue
        name, stride = reached.parameter.name, reached.stride
        if not _is_row_apart(context, stride, reached.parameter.type):
            continue
        if reached_by_elected_lanes(context, access) or lanes_along_x(context) < FEWEST_LANES:
            continue
        few = reached_by_few_lanes(context, access)
        if few and not _is_walked(context, access):
            continue
        reported.add(name)
        narrow = _may_be_narrow(context, access, stride)
        yield context.diagnostic(
            "uncoalesced-access", access,
            f"Neighbouring threads access elements of {name} that are {_distance(stride)} apart"
            f"{' unless blocks are one thread wide' if narrow else ''}: {_cost(stride)}",
            "Let threadIdx.x run along the fastest index: exchange rows and columns in the layout or among the threads, or "
            "load the rows into shared memory with neighbouring threads on neighbouring elements.",
            stride=_distance(stride), minor=narrow or few or is_of_steps(stride) or _is_of_little_weight(context, access, stride),
        )  # fmt: skip
    if context.function.matches(_FIELD_OF_ELEMENT) or context.function.matches(_MULTIPLE):
        yield from _parts_of_elements(context, reported)


def _is_of_little_weight(context: RuleContext, access: Node, stride: LaneStride) -> bool:
    """Whether the row may be short, as of the coordinates of a point, or the kernel has deeper loops than around *access*."""
    if stride.factors and all(map(_COORDINATES.fullmatch, stride.factors)):
        return True
    deepest = max(map(context.loops_around, context.function.nodes(*LOOPS)), default=-1)
    return context.loops_around(access) < deepest + 1


def _is_walked(context: RuleContext, access: Node) -> bool:
    """Whether a loop counts the elements that *access* reaches: then a lane that is alone there takes many."""
    loop = context.loop_around(access)
    update = loop.part("update") if loop is not None else None
    if update is None or not update.children:
        return False
    counter = context.at(update.children[0])
    return counter in {context.at(n) for n in context.file.tree.below(index_of(access))}


def _may_be_narrow(context: RuleContext, access: Node, stride: LaneStride) -> bool:
    """Whether threads along y may be the neighbours: they take the elements side by side, and no launch is seen."""
    if context.launches.widths(context.function.name) or not context.function.says(b"threadIdx.y"):
        return False
    indices = (context.file.variable(name, access, context.function) for name in stride.rest)
    return any(
        i is not None and i.value is not None and "threadIdx.y" in context.at(i.value)
        for i in indices
    )


def _parts_of_elements(context: RuleContext, reported: set[str]) -> Iterator[Diagnostic]:
    for access, sparse in sparse_accesses(context):
        name = sparse.parameter.name
        if name in reported or sparse.apart < SECTOR or sparse.used * SPARSE > sparse.apart:
            continue
        if reached_by_few_lanes(context, access) or lanes_along_x(context) < FEWEST_LANES:
            continue
        yield context.diagnostic(
            "uncoalesced-access", access,
            f"Each thread takes {sparse.used} bytes of {name}, and its neighbour's lie {sparse.apart} bytes further on: "
            "a warp moves a sector of 32 bytes for each lane.",
            "Keep one array for each field, so that neighbouring threads take neighbouring words."
            if sparse.of_structures else
            "Let neighbouring threads take neighbouring elements: store the ones that are used side by side.",
            stride=f"{sparse.apart} bytes",
        )  # fmt: skip


def _is_row_apart(context: RuleContext, stride: LaneStride, kind: str) -> bool:
    """Whether the lanes surely are a long row apart, or one whose length the kernel is given.

    A factor is the length of a row where the rest of the index is compared with it, or is a row number
    for it elsewhere, as in a transpose: a step of a convolution or of a vector may be one.
    """
    size = ELEMENT_BYTES.get(kind.rstrip("*"), 0)
    if not stride.factors:
        return abs(stride.number) * size >= _LONG_ROW
    launched = shortest_launched(context, stride)
    if launched is not None and launched * (size or WORD) < _LONG_ROW:
        return False
    rows = {*stride.factors, "*".join(sorted("*".join(stride.factors).split("*")))}
    rows |= {
        term for factor in stride.factors if "+" in factor for term in re.split(r"[+()]", factor)
    }
    compared = compared_lengths(context)
    return is_of_dimensions(context, stride) or any(
        not compared.get(row, frozenset()).isdisjoint(stride.rest) for row in rows
    )


def _distance(stride: LaneStride) -> str:
    if not stride.factors:
        return f"{abs(stride.number)} elements"
    times = f"{abs(stride.number)} * " if abs(stride.number) > 1 else ""
    words = f"{times}{' * '.join(stride.factors)} elements"
    return words if is_of_steps(stride) else f"a row ({words})"


def _cost(stride: LaneStride) -> str:
    if not stride.factors:
        return "each lane of a warp needs a sector of 32 bytes of its own."
    if is_of_steps(stride):
        return (
            "a warp moves so many times as many sectors of 32 bytes, and at most one for each lane."
        )
    return "with rows of 32 bytes or more, each lane of a warp needs a sector of its own."


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void scale(float *matrix, int width, int height) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;      // neighbours are a row apart
    for (int column = 0; column < width; ++column)
        if (row < height) matrix[row * width + column] *= 2;
}""",
        """\
__global__ void scale(float *matrix, int width, int height) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;   // neighbours are side by side
    for (int row = 0; row < height; ++row)
        if (column < width) matrix[row * width + column] *= 2;
}""",
    ),
)
