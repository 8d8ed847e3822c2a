"""CPU timers that are read before the GPU has done the work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.runtime_calls import WAITING
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_CLOCKS = frozenset(
    [
        "clock",
        "gettimeofday",
        "omp_get_wtime",
        "clock_gettime",
        "QueryPerformanceCounter",
        "now",
        "MPI_Wtime",
        "sdkStartTimer",
        "sdkStopTimer",
        "timespec_get",
        "get_time",
        "getTime",
        "get_wall_time",
    ]
)
# Words of a launch.
_WORK = (b"<<<", b"<< <", b"cudaLaunchKernel", b"cudaGraphLaunch")


_ACTION = (
    "Call cudaDeviceSynchronize() before the timer is started and before it is read, or time with "
    "cudaEventRecord() and cudaEventElapsedTime()."
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """CPU timers that are read after a launch without waiting for it."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    if not any(context.function.says(word) for word in _WORK):
        return
    if not context.calls(*_CLOCKS):
        return
    if context.calls("cudaEventElapsedTime"):
        # Events time the work; what the CPU timer measures is the calls.
        return
    started = False
    pending: Node | None = None
    for kind, node in _timeline(context):
        if kind == "clock":
            starts = "tart" in context.file.callee(node)
            if pending is not None and started and not starts:
                yield context.diagnostic(
                    "unsynchronized-timers", node,
                    f"The timer is read without waiting for the work of line {context.file.text.line(pending.start)}: "
                    "launches and asynchronous copies return at once.",
                    _ACTION,
                )  # fmt: skip
            started, pending = True, None
        elif kind == "work":
            pending = node
        else:
            pending = None


def _timeline(context: RuleContext) -> list[tuple[str, Node]]:
    """Return clocks, asynchronous work and waits of a function, in the order of the text."""
    events: list[tuple[str, Node]] = []
    local = {f.name for f in context.file.functions}
    for call in context.calls():
        name = context.file.callee(call)
        if context.file.is_empty_kernel(name):
            # Nothing to wait for: the cost of the launch is what is measured.
            continue
        if any(c.kind == "kernel_call_syntax" for c in call.children) or name in (
            "cudaLaunchKernel",
            "cudaLaunchKernelEx",
            "cudaGraphLaunch",
        ):
            events.append(("work", call))
        elif name in _CLOCKS and name not in local:
            events.append(("clock", call))
        elif name in WAITING or ("ync" in name and "Async" not in name):
            events.append(("wait", call))
        elif not name.startswith(("cuda", "__", "printf", "std")) and name not in (
            "dim3",
            "printf",
            "sizeof",
        ):
            # Another function, or a macro, may wait.
            events.append(("unknown", call))
    events.sort(key=lambda event: event[1].end)
    return events


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
void measure() {
    double start = now();
    kernel<<<grid, block>>>(data);
    double seconds = now() - start;            // of the launch alone
}""",
        """\
void measure() {
    cudaEventRecord(start, stream);
    kernel<<<grid, block, 0, stream>>>(data);
    cudaEventRecord(stop, stream);
    cudaEventSynchronize(stop);
    cudaEventElapsedTime(&milliseconds, start, stop);
}""",
    ),
)


RULE = source_rule(
    id="unsynchronized-timers",
    title="Synchronise before reading a CPU timer",
    topic=Topic.MEASUREMENT,
    priority=Priority.MEDIUM,
    correctness=True,
    why="Launches and asynchronous copies return before the GPU has done the work.",
    when="A CPU timer is read after a launch without anything that waits for it.",
    citations=guide("9.1", "8.1.1"),
    seen="clock_gettime(CLOCK_MONOTONIC, &end)",
    action=_ACTION,
)
