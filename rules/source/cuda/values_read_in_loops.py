"""Single values that the host reads from the device in each iteration of a loop that launches kernels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.host_waits import is_measuring
from gpuadvise.advisor.source.host_work import (
    COPIES,
    copies_one_value,
    direction,
    is_always_reached,
    is_set_up,
    is_timed,
    loops_with_launches,
)
from gpuadvise.advisor.source.runtime_calls import pointer_name
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.transfers.copies import Direction
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

# Functions of cuBLAS that return a scalar: to the host, unless the handle is told otherwise.
_SCALAR = re.compile(
    r"cublas(?:[SD](?:nrm2|dot|asum)|I[sdcz]am(?:ax|in)|(?:Sc|Dz)(?:nrm2|asum)|[CZ]dot[uc]|Nrm2Ex|Dotc?Ex)(?:_v2|_64)?$"
)
_ON_DEVICE = b"POINTER_MODE_DEVICE"
_FROM_SYMBOL = "cudaMemcpyFromSymbol"
_ENDS = ("break_statement", "return_statement")
_ACTION = (
    "Look at it only every few iterations, or copy it by cudaMemcpyAsync to pinned memory and look at the one before while the "
    "next kernels run; several values go in one copy. Better, let kernels use them where they lie."
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find copies of one value to the host that each iteration of a loop with launches waits for, one per loop; and scalars of cuBLAS."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    if context.function.says(b"cublas") and not context.file.says(_ON_DEVICE):
        yield from _of_cublas(context)
    if not context.function.says(b"cudaMem"):
        return
    copies = [c for c in context.calls(*COPIES, _FROM_SYMBOL) if _reads_one_value(context, c)]
    loops = [*loops_with_launches(context)] if copies else []
    if not loops:
        yield from _of_calls(context, copies)
    for loop in loops:
        # Beside a loop of launches one wait is little.
        if is_timed(context, loop) or any(x is not loop and loop.holds(x) for x in loops):
            continue
        reads = [c for c in copies if is_always_reached(context, c, loop)]
        if not reads:
            continue
        names = [_value(context, c) for c in reads]
        decides = _decides(context, loop, set(names))
        yield context.diagnostic(
            "values-read-in-loops", reads[0],
            f"In each iteration the host waits for the kernels to read {and_list([*dict.fromkeys(names)])}"
            f"{' and to see whether to go on' if decides else ''}: the GPU idles until the next launch.",
            _ACTION,
        )  # fmt: skip


def _of_calls(context: RuleContext, copies: list[Node]) -> Iterator[Diagnostic]:
    """Find the value that each call of a function with launches waits for; one per function."""
    function = context.function
    if not copies or function.name == "main" or is_timed(context) or is_measuring(context):
        return
    if not context.launches.of(function):
        return
    for copy in copies:
        if context.loop_around(copy) is None and not is_set_up(context, copy):
            yield context.diagnostic(
                "values-read-in-loops", copy,
                f"Each call of this function waits for all kernels before to read {_value(context, copy)}: the GPU idles until the host "
                "has it and launches more.",
                "Let kernels use the value where it lies, or hand the caller its place on the device; where the host needs it, copy it by "
                "cudaMemcpyAsync to pinned memory and do other work until it is there.",
                minor=True,
            )  # fmt: skip
            return


def _of_cublas(context: RuleContext) -> Iterator[Diagnostic]:
    """Find scalars that cuBLAS hands to the host in each iteration of a loop; one for each call."""
    for call in context.calls():
        if not _SCALAR.match(context.file.callee(call)) or not context.file.arguments(call):
            continue
        loop, result = context.loop_around(call), bare(context.file.arguments(call)[-1])
        if loop is None or result.kind != "pointer_expression" or is_timed(context, loop):
            continue
        name = pointer_name(context, result).lstrip("& ")
        ends = _decides(context, loop, {name})
        yield context.diagnostic(
            "values-read-in-loops", call,
            f"{context.file.callee(call)} hands {name} to the host, which waits for it in each iteration"
            f"{' to see whether to go on' if ends else ''}: the GPU idles until the next call.",
            "Look at it only every few iterations."
            if ends else
            "Let it stay on the device: with cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE) cuBLAS stores results there and takes "
            "scalars from there, and a kernel of one thread divides.",
        )  # fmt: skip


def _reads_one_value(context: RuleContext, copy: Node) -> bool:
    """Whether *copy* fetches a single variable of the host's."""
    arguments = context.file.arguments(copy)
    if context.file.callee(copy) == _FROM_SYMBOL:
        return bool(arguments) and bare(arguments[0]).kind == "pointer_expression"
    return direction(context, copy) is Direction.D2H and copies_one_value(context, copy)


def _value(context: RuleContext, copy: Node) -> str:
    """Return the name of the variable that *copy* fills."""
    return pointer_name(context, context.file.arguments(copy)[0]).lstrip("& ")


def _decides(context: RuleContext, loop: Node, names: set[str]) -> bool:
    """Whether one of *names* ends *loop*, by its condition or by a break."""
    conditions = [loop.part("condition")]
    conditions += [
        branch.part("condition")
        for branch in context.file.tree.inside(loop, "if_statement")
        if any(node.kind in _ENDS for node in context.file.tree.below(branch))
        and next((a for a in branch.ancestors() if a.kind in LOOPS), None) is loop
    ]
    return any(
        node.kind == "identifier" and context.at(node) in names
        for condition in conditions
        if condition is not None
        for node in (condition, *context.file.tree.below(condition))
    )


CHECK = CudaCheck(
    faults=faults,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
void run() {
    int changed = 1;
    while (changed) {
        kernel<<<grid, block>>>(data, flag);
        cudaMemcpy(&changed, flag, sizeof(int), cudaMemcpyDeviceToHost);      // waits each time
    }
}""",
        """\
void run() {
    int changed = 1;
    while (changed) {
        for (int i = 0; i < 8; ++i) kernel<<<grid, block>>>(data, flag);      // looks every eighth time
        cudaMemcpy(&changed, flag, sizeof(int), cudaMemcpyDeviceToHost);
    }
}""",
    ),
)


RULE = source_rule(
    id="values-read-in-loops",
    title="Keep values that steer a loop on the device",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    why="The host cannot queue the next kernel before the value is there, so that the GPU waits for a copy and a launch each time.",
    when="Each iteration of a loop that launches kernels, or calls cuBLAS, hands a single variable to the host.",
    citations=guide("10.1"),
    seen="cudaMemcpy(&changed, flag, sizeof(int), cudaMemcpyDeviceToHost)",
    action=_ACTION,
)
