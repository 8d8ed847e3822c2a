"""Waits for the GPU in each iteration of a loop that launches kernels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.source.host_work import (
    COPIES,
    is_always_reached,
    is_set_up,
    is_timed,
    loops_with_launches,
    statements_around,
)
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS
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
_OWN_MEMORY = re.compile(rb"cudaMalloc|cudaMemcpy|cudaFree|\bnew\b|\bexit\(|\bdelete\b")
# Members of matrices and tensors that return pointers to the device.
_DEVICE_MEMORY = re.compile(r"getDev\w*\(|data_ptr\b|device_data\(|gpu_data\(|\.data<|->data\(\)")
_HARMLESS = frozenset((
    "cudaGetLastError", "cudaGetErrorString", "cudaMemcpyToSymbol", "cudaMemcpyToSymbolAsync", *_WAITS,
))  # fmt: skip


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find waits in each iteration of a loop that launches, where no result goes to the host; one per loop."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    waits = context.calls(*_WAITS) if context.function.says(b"ynchronize") else []
    if not waits:
        return
    waited: list[Node] = []
    for loop in loops_with_launches(context):
        if is_timed(context, loop):
            continue
        wait = next((w for w in waits if is_always_reached(context, w, loop)), None)
        if wait is not None and not _is_needed(context, loop) and not _is_debugging(context, wait):
            waited.append(wait)
            yield context.diagnostic(
                "frequent-synchronization", wait,
                "The host waits in each iteration, and queues the next kernel only after that.",
                "Leave the wait out: kernels of one stream run in order, and copies wait for them. Where errors are asked "
                "for, call cudaGetLastError() in the loop and wait once after it.",
            )  # fmt: skip
            continue
        between = [w for w in waits if _is_between(context, w, loop)]
        if len(between) >= _FEWEST_WAITS and _is_in_order(context):
            waited.append(between[0])
            yield context.diagnostic(
                "frequent-synchronization", between[0],
                f"In each iteration the host waits {plural(len(between), 'time')} between a kernel and the next kernel or copy.",
                "Leave these waits out: kernels of one stream run in order, and cudaMemcpy waits for them by itself.",
                minor=True,
            )  # fmt: skip

    if not waited and context.function.name != "main" and not is_timed(context):
        yield from _after_each_launch(context, waits)


def _is_in_order(context: RuleContext) -> bool:
    """Whether all launches of the function go to the default stream, and none to memory that the host reads as well."""
    launches = context.launches.of(context.function)
    return not (
        context.file.says(b"cudaMallocManaged") or any(launch.stream for launch in launches)
    )


def _is_between(context: RuleContext, wait: Node, loop: Node) -> bool:
    """Whether *wait* stands in *loop* behind a launch and before what would wait anyway, or need not."""
    if context.loop_around(wait) is not loop or _is_debugging(context, wait):
        return False
    before, behind = statements_around(context, wait)
    if before is None or behind is None or not _launches(context, before):
        return False
    copies = (context.file.callee(c) for c in context.file.tree.inside(behind, "call_expression"))
    return _launches(context, behind) or "cudaMemcpy" in copies


def _after_each_launch(context: RuleContext, waits: list[Node]) -> Iterator[Diagnostic]:
    """Find functions that wait after each of their launches, though they give no result to the host."""
    after = [w for w in waits if _follows_launch(context, w) and not _is_debugging(context, w)]
    if not after or context.file.says(b"cudaMallocManaged"):
        return
    if len(after) < _FEWEST_WAITS and not _is_given_device_memory(context, after[0]):
        return
    if any(_TO_HOST.search(context.at(call)) for call in context.calls()):
        return
    yield context.diagnostic(
        "frequent-synchronization", after[0],
        f"The host waits after {len(after)} launches of this function: it cannot queue the next kernel while one runs."
        if len(after) > 1 else
        "Each call of this function waits for its kernel: the caller cannot queue the next one while it runs.",
        "Leave the waits out, or for debug builds: kernels of one stream run in order, and copies to the host wait for them. "
        "cudaGetLastError() alone finds launches that fail.",
        minor=True,
    )  # fmt: skip


def _is_given_device_memory(context: RuleContext, wait: Node) -> bool:
    """Whether the function of *wait* launches on device memory of its caller alone, which may go on with it, more than once."""
    launches = context.launches.of(context.function)
    if context.function.matches(_OWN_MEMORY) or len(launches) > 1:
        return False
    if context.loop_around(wait) is not None or is_set_up(context, wait):
        return False
    pointers = {one.name for one in context.function.parameters if "*" in one.type}
    return all(
        any(
            _DEVICE_MEMORY.search(context.at(argument))
            or context.at(argument) in pointers
            or _is_member(context, argument)
            for argument in launch.arguments
        )
        for launch in launches
    )


def _is_member(context: RuleContext, argument: Node) -> bool:
    """Whether a member function hands a member to its kernel: what the kernel leaves there stays on the device."""
    if argument.kind != "identifier" or "::" not in context.function.name:
        return False
    known = context.file.variable(context.at(argument), argument, context.function)
    return known is None and not context.file.is_constant(argument, context.function)


def _follows_launch(context: RuleContext, wait: Node) -> bool:
    """Whether the statement before that of *wait* launches a kernel."""
    before, _ = statements_around(context, wait)
    return before is not None and before.kind not in LOOPS and _launches(context, before)


def _launches(context: RuleContext, statement: Node) -> bool:
    return bool(context.file.tree.inside(statement, "kernel_call_syntax"))


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
