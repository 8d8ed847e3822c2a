"""Waits for the GPU in each iteration of a loop that launches kernels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.host_work import (
    COPIES,
    is_always_reached,
    is_timed,
    loops_with_launches,
)
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_WAITS = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaThreadSynchronize")
# Where these stand in the loop the host, or another device, needs what the wait is for.
_NEEDING = re.compile(r"cpy|copy|host|download|fetch|read|get|sum|SetDevice|print", re.IGNORECASE)
_FEWEST_WAITS = number(2, "waits right after launches, at least", "", "our judgement")
_TO_HOST = re.compile(r"DeviceToHost|toCpu|to_cpu|ToHost|printf|\bcout\b")
_HARMLESS = frozenset(
    (
        "cudaGetLastError",
        "cudaGetErrorString",
        "cudaMemcpyToSymbol",
        "cudaMemcpyToSymbolAsync",
        *_WAITS,
    )
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find waits in each iteration of a loop that launches, where no result goes to the host; one per loop."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    waits = context.calls(*_WAITS) if context.function.says(b"ynchronize") else []
    if not waits or is_timed(context):
        return
    waited: list[Node] = []
    for loop in loops_with_launches(context):
        wait = next((w for w in waits if is_always_reached(context, w, loop)), None)
        if wait is not None and not _is_needed(context, loop) and not _is_debugging(context, wait):
            waited.append(wait)
            yield context.diagnostic(
                "frequent-synchronization", wait,
                "The host waits in each iteration, and queues the next kernel only after that.",
                "Leave the wait out: kernels of one stream run in order, and copies wait for them. Where errors are asked "
                "for, call cudaGetLastError() in the loop and wait once after it.",
            )  # fmt: skip

    if not waited and context.function.name != "main":
        yield from _after_each_launch(context, waits)


def _after_each_launch(context: RuleContext, waits: list[Node]) -> Iterator[Diagnostic]:
    """Find functions that wait after each of their launches, though they give no result to the host."""
    after = [w for w in waits if _follows_launch(context, w) and not _is_debugging(context, w)]
    if len(after) < _FEWEST_WAITS or context.file.says(b"cudaMallocManaged"):
        return
    if any(_TO_HOST.search(context.at(call)) for call in context.calls()):
        return
    yield context.diagnostic(
        "frequent-synchronization", after[0],
        f"The host waits after {len(after)} launches of this function: it cannot queue the next kernel while one runs.",
        "Leave the waits out, or for debug builds: kernels of one stream run in order, and copies to the host wait for them. "
        "cudaGetLastError() alone finds launches that fail.",
        minor=True,
    )  # fmt: skip


def _follows_launch(context: RuleContext, wait: Node) -> bool:
    """Whether the statement before that of *wait* launches a kernel."""
    statement = wait
    while statement.parent is not None and statement.parent.kind != "compound_statement":
        statement = statement.parent
    if statement.parent is None:
        return False
    siblings = statement.parent.children
    at = next(place for place, sibling in enumerate(siblings) if sibling is statement)
    return at > 0 and bool(context.file.tree.inside(siblings[at - 1], "kernel_call_syntax"))


def _is_needed(context: RuleContext, loop: Node) -> bool:
    """Whether the host may look at a result in *loop*, or another device take its turn."""
    if context.file.says(b"cudaMallocManaged"):
        return True
    return any(
        _NEEDING.search(context.file.callee(call)) and not _is_harmless(context, call)
        for call in context.file.tree.inside(loop, "call_expression")
    )


def _is_harmless(context: RuleContext, call: Node) -> bool:
    name = context.file.callee(call)
    if name in COPIES:
        return "cudaMemcpyHostToDevice" in context.at(call) or "DeviceToDevice" in context.at(call)
    return name in _HARMLESS or any(f.on_device for f in context.file.called(name))


def _is_debugging(context: RuleContext, wait: Node) -> bool:
    """Whether *wait* is compiled under a condition."""
    return any(
        g.start <= wait.start < g.end
        for g in context.file.preprocessed.guarded
        if "_H" not in g.condition
    )


CHECK = CudaCheck(
    faults=faults,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
void run(int steps) {
    for (int i = 0; i < steps; ++i) {
        step<<<grid, block>>>(data, i);
        cudaDeviceSynchronize();              // the GPU idles until the next launch
    }
}""",
        """\
void run(int steps) {
    for (int i = 0; i < steps; ++i) step<<<grid, block>>>(data, i);
    cudaDeviceSynchronize();                  // once, before the host looks at the result
}""",
    ),
)
