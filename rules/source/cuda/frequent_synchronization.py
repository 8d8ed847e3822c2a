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
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_WAITS = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaThreadSynchronize")
# Where these stand in the loop the host, or another device, needs what the wait is for.
_NEEDING = re.compile(r"cpy|copy|host|download|fetch|read|get|sum|SetDevice|print", re.IGNORECASE)
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
    for loop in loops_with_launches(context):
        wait = next((w for w in waits if is_always_reached(context, w, loop)), None)
        if wait is not None and not _is_needed(context, loop) and not _is_debugging(context, wait):
            yield context.diagnostic(
                "frequent-synchronization", wait,
                "The host waits in each iteration, and queues the next kernel only after that.",
                "Leave the wait out: kernels of one stream run in order, and copies wait for them. Where errors are asked "
                "for, call cudaGetLastError() in the loop and wait once after it.",
            )  # fmt: skip


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
