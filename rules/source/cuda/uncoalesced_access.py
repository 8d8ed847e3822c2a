"""Neighbouring threads whose elements lie a row apart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.source.array_access import (
    accesses_of,
    array_access,
    is_loaded_by_address,
    sparse_accesses,
)
from gpuadvise.advisor.source.lane_stride import (
    is_address,
    is_kernel_with_lanes,
    is_of_steps,
    lanes_along_x,
)
from gpuadvise.advisor.source.reaching_lanes import reached_by_elected_lanes, reached_by_few_lanes
from gpuadvise.advisor.source.row_walks import (
    is_beside_loops,
    is_of_little_weight,
    is_row_apart,
    is_walked,
    may_be_narrow,
    rows_handed_on,
    runs_of_lanes,
    walks_its_row,
)
from gpuadvise.advisor.source.tensor_rows import ACCESSOR, tensors_in_rows
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.thresholds import FEWEST_LANES, SPARSE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.variance import LaneStride

# A product or a shift in an index, or in an integer that may become one; not the number of a thread.
_PRODUCT = re.compile(
    rb"\[[^\[\];]*(?:\*|<<|\w\([^;\[\]]*,)[^\[\];]*\]|\*\s*\([^;]*\*"
    rb"|\bfor\s*\(\s*\w+\s*=[^;=]*\*"
    rb"|\*[ \t]*(?:const\s+|__restrict__\s+)?\w+\s*=[^;=]*\*|\+=[^;=]*\*"
    rb"|\b(?:int|unsigned|long|u?int\w*|auto|\w+_t|const \w+|INDEX\w*)\s+(?:\w+\s*=[^;=,]*,\s*)*\w+"
    rb"\s*=[^;=]*(?:\*(?!\s*(?:block|grid))|<<)"
)
_MULTIPLE = re.compile(rb"\*\s*[\dA-Z]|[\dA-Z]\s*\*|<<")
_FIELD_OF_ELEMENT = re.compile(rb"\]\s*\.")

_ACTION = (
    "Let threadIdx.x run along the fastest index: exchange rows and columns in the layout or among the threads, or "
    "load the rows into shared memory with neighbouring threads on neighbouring elements."
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Arrays in global memory of which neighbouring threads take elements a row apart; one per array."""
    if not is_kernel_with_lanes(context) or lanes_along_x(context) < FEWEST_LANES:
        return
    if context.file.says(ACCESSOR):
        yield from _rows_of_tensors(context)
    yield from _runs(context)
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
        apart = is_row_apart(context, stride, reached.parameter.type)
        if not apart and not walks_its_row(context, access, stride):
            continue
        if reached_by_elected_lanes(context, access):
            continue
        few = reached_by_few_lanes(context, access)
        if few and not is_walked(context, access):
            continue
        reported.add(name)
        narrow = may_be_narrow(context, access, stride)
        yield context.diagnostic(
            "uncoalesced-access", access,
            f"Neighbouring threads access elements of {name} that are {_distance(stride)} apart"
            f"{' unless blocks are one thread wide' if narrow else ''}: {_cost(stride)}",
            _ACTION, stride=_distance(stride), minor=narrow or few or is_of_steps(stride) or is_of_little_weight(context, access, stride),
        )  # fmt: skip
    yield from _rows_of_calls(context, reported)
    if context.function.matches(_FIELD_OF_ELEMENT) or context.function.matches(_MULTIPLE):
        yield from _parts_of_elements(context, reported)


def _rows_of_calls(context: RuleContext, reported: set[str]) -> Iterator[Diagnostic]:
    """Find rows that a function walks, one for each lane; one finding per array."""
    for argument, reached in rows_handed_on(context):
        name, stride = reached.parameter.name, reached.stride
        if name in reported or reached_by_elected_lanes(context, argument):
            continue
        reported.add(name)
        yield context.diagnostic(
            "uncoalesced-access", argument,
            f"Each thread gives a function its own elements of {name}, {_distance(stride)} from its neighbour's: {_cost(stride)}",
            _ACTION, stride=_distance(stride), minor=True,
        )  # fmt: skip


def _rows_of_tensors(context: RuleContext) -> Iterator[Diagnostic]:
    """Find tensors of which each lane takes elements in a row of its own; one finding per tensor."""
    reported: set[str] = set()
    for element in tensors_in_rows(context):
        name = element.array.name
        if name in reported or reached_by_elected_lanes(context, element.node):
            continue
        reported.add(name)
        index = element.indices[element.lanes or 0]
        yield context.diagnostic(
            "uncoalesced-access", element.node,
            f"Neighbouring threads have neighbouring values of {context.at(index)}, which is not the last index of {name}: their elements "
            "are a row or more apart, unless the tensor was transposed before.",
            "Let threadIdx.x run along the last index: exchange the dimensions in the layout, or the order in which the number of the "
            "thread is taken apart.",
            minor=is_beside_loops(context, element.node),
        )  # fmt: skip


def _runs(context: RuleContext) -> Iterator[Diagnostic]:
    """Find the first array of which each lane walks a run that begins where an offset of its own says."""
    for access, array, begin in runs_of_lanes(context):
        if reached_by_elected_lanes(context, access):
            continue
        yield context.diagnostic(
            "uncoalesced-access", access,
            f"Each thread walks a run of {array.name} that begins at {context.at(begin)}: neighbouring threads are as far apart as their "
            "runs are long.",
            "Let the lanes of a warp share a run, or a part of one of 4 to 16 lanes where runs are short, and add up by __shfl_down_sync().",
            minor=True,
        )  # fmt: skip
        return


def _parts_of_elements(context: RuleContext, reported: set[str]) -> Iterator[Diagnostic]:
    for access, sparse in sparse_accesses(context):
        name = sparse.parameter.name
        if name in reported or sparse.apart < SECTOR or sparse.used * SPARSE > sparse.apart:
            continue
        if reached_by_few_lanes(context, access):
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
