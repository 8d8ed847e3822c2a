"""Grids whose blocks are counted by a division that rounds down, and leave the last elements out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.launches import side_nodes
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import bare
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.launches import SourceLaunch
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_ACTION = (
    "Round up, (n + block - 1) / block, and let threads behind the end return: if (i >= n) return;"
)
# Sizes that were made whole numbers of blocks before.
_ROUNDED = re.compile(r"pad|align|round|pow2|power|ceil|multiple", re.IGNORECASE)
_SIDES = ("x", "y", "z")
_MEMBER = re.compile(r"\.|->|::")


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find launches with a side of the grid that is a size divided by that of the block, rounded down; one per function."""
    if context.function.place is not ExecutionSpace.HOST or not context.function.may_launch:
        return
    for launch in context.launches.of(context.function):
        if _strides(context, launch):
            continue
        quotient = _truncated(context, launch)
        if quotient is not None:
            size, block = (context.at(part) for part in quotient.children)
            yield context.diagnostic(
                "truncated-grids", launch.node,
                f"The grid has {context.at(quotient)} blocks, rounded down: where {size} is no multiple of {block}, the last elements "
                "get no thread.",
                _ACTION, minor=not _checks_end(context, launch, size),
            )  # fmt: skip
            return


def _truncated(context: RuleContext, launch: SourceLaunch) -> Node | None:
    """Return the side of the grid that drops a remainder, as far as the function shows, None without one."""
    grid = _sides(context, launch.grid)
    blocks = _sides(context, launch.block)
    for place, side in enumerate(grid):
        quotient = bare(context.settled(side))
        if quotient.kind != "binary_expression" or context.file.operator(quotient) != "/":
            continue
        size, divisor = (bare(part) for part in quotient.children)
        block = blocks[place] if place < len(blocks) else None
        if _is_side(context, divisor, launch, block, place) and _has_remainder(
            context, size, divisor
        ):
            return quotient
    return None


def _sides(context: RuleContext, shape: Node) -> list[Node]:
    sides = side_nodes(context.file, context.function, shape)
    return sides or [shape]


def _is_side(
    context: RuleContext, divisor: Node, launch: SourceLaunch, block: Node | None, place: int
) -> bool:
    """Whether *divisor* is the side of the block in the same direction as the grid's side."""
    words = "".join(context.at(divisor).split())
    if words == f"{context.at(launch.block)}.{_SIDES[place]}":
        return True
    if block is None:
        return False
    if words == "".join(context.at(block).split()):
        return True
    value = context.constant(divisor)
    return value is not None and value > 1 and value == context.constant(block)


def _has_remainder(context: RuleContext, size: Node, divisor: Node) -> bool:
    """Whether *size* may be, or is, no whole number of blocks: it is a name that nobody made one."""
    if size.kind not in ("identifier", "field_expression", "subscript_expression"):
        return False
    known, parts = context.constant(size), context.constant(divisor)
    if known is not None:
        return parts is not None and known % parts != 0
    if context.type_of(size) in ("float", "double"):
        return False
    name = context.at(size)
    if _ROUNDED.search(name) or _ROUNDED.search(context.at(divisor)):
        return False
    root = re.escape(name)
    whole, part = (_MEMBER.split(context.at(node))[-1].encode() for node in (size, divisor))
    if not part.isdigit() and context.file.matches(
        re.compile(rb"\b%b\s*=(?!=)[^;]*\b%b\b" % (re.escape(whole), re.escape(part)))
    ):
        return False  # made of it: as many blocks, times their threads
    if context.function.matches(re.compile(rb"%b\s*(?:%%|&)(?!&)" % root.encode())):
        return False  # somebody asks for the remainder
    start = context.settled(size)
    variable = context.file.variable(name, size, context.function)
    changed = variable is not None and bool(context.changes(variable))
    return start is size and not changed


def _strides(context: RuleContext, launch: SourceLaunch) -> bool:
    """Whether the kernel, or one that is not in this file, may go on by the blocks of the grid."""
    kernels = [f for f in context.file.called(launch.kernel) if f.place is ExecutionSpace.KERNEL]
    return not kernels or any(kernel.says(b"gridDim") for kernel in kernels)


def _checks_end(context: RuleContext, launch: SourceLaunch, size: str) -> bool:
    """Whether the kernel compares with *size*, which only a thread behind the end of the data needs."""
    kernel = next(f for f in context.file.called(launch.kernel) if f.place is ExecutionSpace.KERNEL)
    if len(kernel.parameters) != len(launch.arguments):
        return False
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=True):
        if context.at(argument) == size:
            bound = re.compile(rb"(?:<|>=)\s*%b\b" % re.escape(parameter.name).encode())
            for branch in kernel.nodes("if_statement"):
                condition = branch.part("condition")
                if condition is not None and bound.search(context.at(condition).encode()):
                    return True
    return False


CHECK = CudaCheck(
    faults=faults,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
__global__ void add(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}
void run(int n) { add<<<n / 256, 256>>>(data, n); }           // n = 1000: the last 232 are left out""",
        """\
__global__ void add(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}
void run(int n) { add<<<(n + 255) / 256, 256>>>(data, n); }""",
    ),
)
RULE = source_rule(
    id="truncated-grids",
    title="Round the grid up",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    correctness=True,
    why="A division of integers rounds down; elements behind the last whole block are never computed, and nothing says so.",
    when="A side of the grid is a size divided by the block's side, neither rounded up nor known to be a whole number of blocks.",
    citations=guide("11.3"),
    seen="add<<<n / 256, 256>>>(x, n)",
    action=_ACTION,
)
