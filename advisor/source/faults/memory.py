"""Memory of a kernel read or written so that the lanes of a warp do not share what is fetched."""

from __future__ import annotations

import re
from math import gcd
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.lane_stride import lane_stride
from gpuadvise.advisor.source.reaching_lanes import reached_by_few_lanes
from gpuadvise.advisor.source.scopes import ExecutionSpace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable
    from gpuadvise.advisor.source.tree import Node
    from gpuadvise.advisor.source.variance import LaneStride

_WARP = _BANKS = 32
_WORD = 4  # bytes of a bank
# Bytes of a row that L1 does not keep until all of it is used: 32 lanes of 32 warps have 128 KiB of them.
_LONG_ROW = 128
# Our judgement: fewer lanes that wait for each other seldom show in the run time.
_FEWEST_WAYS = 8
_BYTES = {"int": 4, "uint": 4, "float": 4, "double": 8, "llong": 8, "ullong": 8}
# A product or a shift in an index, or in an integer that may become one; not the number of a thread.
_PRODUCT = re.compile(
    rb"\[[^\[\];]*(?:\*|<<)[^\[\];]*\]"
    rb"|\b(?:int|unsigned|long|u?int\w*|auto|\w+_t|const \w+|INDEX\w*)\s+(?:\w+\s*=[^;=,]*,\s*)*\w+"
    rb"\s*=[^;=]*(?:\*(?!\s*(?:block|grid))|<<)"
)
_COMPARING = frozenset(("<", "<=", ">", ">=", "!="))


def strided_accesses(context: RuleContext) -> Iterator[Diagnostic]:
    """Arrays in global memory of which neighbouring threads take elements a row apart; one per array."""
    if not _is_kernel_with_threads(context) or not context.function.matches(_PRODUCT):
        return
    pointers = {p.name: p.type for p in context.function.parameters if p.type.count("*") == 1}
    reported: set[str] = set()
    for access in context.function.nodes("subscript_expression"):
        if len(access.children) != 2 or len(access.children[1].children) != 1:
            continue
        name = context.at(access.children[0])
        if name not in pointers or name in reported or _is_address(context, access):
            continue
        stride = lane_stride(context, access.children[1].children[0])
        if stride is None or not _is_row_apart(context, stride, pointers[name]):
            continue
        variable = context.file.variable(name, access, context.function)
        if variable is None or not variable.parameter or _is_replaced(context, variable):
            continue
        if reached_by_few_lanes(context, access) or _most_along_x(context) < _FEWEST_WAYS:
            continue
        reported.add(name)
        yield context.diagnostic(
            "uncoalesced-access", access,
            f"Neighbouring threads access elements of {name} that are {_distance(stride)} apart: {_cost(stride)}",
            "Let threadIdx.x run along the fastest index: exchange rows and columns in the layout or among the threads, or "
            "load the rows into shared memory with neighbouring threads on neighbouring elements.",
            stride=_distance(stride),
        )  # fmt: skip


def _is_kernel_with_threads(context: RuleContext) -> bool:
    function = context.function
    return function.place is ExecutionSpace.KERNEL and function.says(b"threadIdx.x")


def _most_along_x(context: RuleContext) -> int:
    """Return how many lanes of a warp are neighbours along x: fewer than 32 where the file says so."""
    name = context.function.name
    bound = context.file.launch_bounds.get(name)
    return min(_WARP, bound or _WARP, *context.launches.widths(name))


def _is_replaced(context: RuleContext, parameter: Variable) -> bool:
    """Whether the kernel lets *parameter* point to something else, which may be shared memory."""
    return any(
        context.file.operator(change) == "="
        and context.root_name(change.children[1]) != parameter.name
        for change in context.changes(parameter)
    )


def _is_address(context: RuleContext, access: Node) -> bool:
    above = access.parent
    while above is not None and above.kind == "parenthesized_expression":
        above = above.parent
    return (
        above is not None
        and above.kind == "pointer_expression"
        and context.file.operator(above) == "&"
    )


def _is_row_apart(context: RuleContext, stride: LaneStride, kind: str) -> bool:
    """Whether the lanes surely are a long row apart, or one whose length the kernel is given.

    A factor is the length of a row where the rest of the index is compared with it: a step of a
    convolution or of a vector may be one.
    """
    size = _BYTES.get(kind.rstrip("*"), 0)
    if not stride.factors:
        return abs(stride.number) * size >= _LONG_ROW
    launched = _shortest_launched(context, stride)
    if launched is not None and launched * (size or _WORD) < _LONG_ROW:
        return False
    return any(
        context.file.operator(node) in _COMPARING
        and any(
            _plain(context, side) in stride.rest and _plain(context, bound) in stride.factors
            for side, bound in (node.children, node.children[::-1])
        )
        for node in context.function.nodes("binary_expression")
        if len(node.children) == 2
    )


def _shortest_launched(context: RuleContext, stride: LaneStride) -> int | None:
    """Return the elements between lanes in the launch with the shortest rows, None where none says it."""
    places = {p.name: place for place, p in enumerate(context.function.parameters)}
    elements = abs(stride.number)
    for factor in stride.factors:
        if factor not in places:
            return None
        lengths = context.launches.values(context.function.name, places[factor])
        if not lengths:
            return None
        elements *= min(lengths)
    return elements


def _plain(context: RuleContext, node: Node) -> str:
    return "".join(context.at(node).split())


def _distance(stride: LaneStride) -> str:
    if not stride.factors:
        return f"{abs(stride.number)} elements"
    return f"a row ({' * '.join(stride.factors)} elements)"


def _cost(stride: LaneStride) -> str:
    if not stride.factors:
        return "each lane of a warp needs a sector of 32 bytes of its own."
    return "with rows of 32 bytes or more, each lane of a warp needs a sector of its own."


def columns_of_tiles(context: RuleContext) -> Iterator[Diagnostic]:
    """Tiles in shared memory whose columns a warp takes from one bank; one per tile."""
    if not _is_kernel_with_threads(context) or not context.function.says(b"__shared__"):
        return
    reported: set[str] = set()
    for access in context.function.nodes("subscript_expression"):
        indices: list[Node] = []
        base = access
        while base.kind == "subscript_expression" and len(base.children) == 2:
            indices[:0] = base.children[1].children
            base = base.children[0]
        name = context.at(base)
        if base.kind != "identifier" or name in reported or len(indices) != 2:
            continue
        if _is_address(context, access):
            continue
        tile = context.file.variable(name, access, context.function)
        if tile is None or not tile.shared:
            continue
        ways = _ways(context, tile, indices)
        if ways < _FEWEST_WAYS or reached_by_few_lanes(context, access):
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


def _ways(context: RuleContext, tile: Variable, indices: list[Node]) -> int:
    """Return how many lanes wait for one bank, 0 where the file does not say."""
    size = _BYTES.get(tile.type.rstrip("*"), 0)
    sides = [context.constant(side) for side in tile.dimensions]
    row, column = (lane_stride(context, index) for index in indices)
    if not size or len(sides) != 2 or tile.type.count("*") != 2 or row is None or column is None:
        return 0
    rows, columns = sides
    if rows is None or columns is None or row.factors or column.factors or not row.number:
        return 0
    words = abs(row.number * columns + column.number) * size // _WORD
    lanes = min(rows // abs(row.number), _most_along_x(context))
    if not words or lanes < 2:
        return 0
    # Accesses of 8 bytes go half a warp at a time.
    lanes = min(lanes, _WARP * _WORD // size)
    return -(-lanes // min(lanes, _BANKS // gcd(words, _BANKS)))
