"""Waits for the GPU in each iteration of a loop that launches kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.source.host_waits import (
    BLOCKING_COPIES,
    follows_launch,
    gives_to_host,
    guards_host_memory,
    is_debugging,
    is_given_device_memory,
    is_measuring,
    is_needed,
    launches_in,
    orders_streams,
    owns_memory,
    shares_memory,
    wait_for_time,
    waits_of,
)
from gpuadvise.advisor.source.host_work import (
    is_always_reached,
    is_set_up,
    is_timed,
    loops_with_launches,
    statements_around,
)
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_FEWEST_WAITS = number(2, "waits right after launches, at least", "", "our judgement")


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find waits in each iteration of a loop that launches, where no result goes to the host; one per loop."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    waits = waits_of(context)
    if not waits:
        yield from _for_a_time(context)
        return
    waited: list[Node] = []
    for loop in loops_with_launches(context):
        if is_timed(context, loop):
            continue
        wait = next((w for w in waits if is_always_reached(context, w, loop)), None)
        if wait is not None and not _is_of_use(context, wait, loop):
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
        found = [*_after_each_launch(context, waits)]
        yield from found or _before_a_copy(context, waits)


def _for_a_time(context: RuleContext) -> Iterator[Diagnostic]:
    """Find a function that waits for its kernels in each call for no more than the time that they took."""
    launches = context.launches.of(context.function)
    wait = wait_for_time(context) if launches and context.function.name != "main" else None
    if wait is None or is_set_up(context, wait) or owns_memory(context.function):
        return
    # Of a loop of launches it is the only wait.
    if any(context.loop_around(launch.node) for launch in launches) or gives_to_host(context):
        return
    yield context.diagnostic(
        "frequent-synchronization", wait,
        "Each call of this function waits for its kernel only to learn how long it took: the caller cannot queue the next one while it runs.",
        "Record the events, and call cudaEventElapsedTime() later, where the program waits anyway; or take times in builds for "
        "measuring alone.",
        minor=True,
    )  # fmt: skip


def _before_a_copy(context: RuleContext, waits: list[Node]) -> Iterator[Diagnostic]:
    """Find a wait between a kernel and a copy that blocks, in a function that others may call often."""
    if not _is_in_order(context) or is_set_up(context, waits[0]):
        return
    for wait in waits:
        if is_debugging(context, wait) or not follows_launch(context, wait):
            continue
        _, behind = statements_around(context, wait)
        calls = context.file.tree.inside(behind, "call_expression") if behind is not None else []
        copy = next((c for c in calls if _copies_to_host(context, c)), None)
        if copy is not None:
            yield context.diagnostic(
                "frequent-synchronization", wait,
                f"The wait is one too many: the {context.file.callee(copy)} behind it waits for the kernel by itself, and returns its errors.",
                "Leave it out, or for debug builds; call cudaGetLastError() for launches that fail.",
                minor=True,
            )  # fmt: skip
            return


def _copies_to_host(context: RuleContext, call: Node) -> bool:
    name = context.file.callee(call)
    if name in context.file.effects.reading:
        return not context.file.named(name)
    return name in BLOCKING_COPIES and "DeviceToHost" in context.at(call)


def _is_of_use(context: RuleContext, wait: Node, loop: Node) -> bool:
    """Whether the host may need *wait*: for a result, a buffer that it refills, the order of two streams, or to debug."""
    return (
        is_needed(context, loop)
        or is_debugging(context, wait)
        or orders_streams(context, wait, loop)
        or guards_host_memory(context, loop)
    )


def _is_in_order(context: RuleContext) -> bool:
    """Whether all launches of the function go to the default stream, and none to memory that the host reads as well."""
    launches = context.launches.of(context.function)
    return not (
        shares_memory(context)
        or any(launch.stream for launch in launches)
        or guards_host_memory(context, context.function.body)
    )


def _is_between(context: RuleContext, wait: Node, loop: Node) -> bool:
    """Whether *wait* stands in *loop* behind a launch and before what would wait anyway, or need not."""
    if context.loop_around(wait) is not loop or is_debugging(context, wait):
        return False
    before, behind = statements_around(context, wait)
    if before is None or behind is None or not launches_in(context, before):
        return False
    copies = (context.file.callee(c) for c in context.file.tree.inside(behind, "call_expression"))
    return launches_in(context, behind) or "cudaMemcpy" in copies


def _after_each_launch(context: RuleContext, waits: list[Node]) -> Iterator[Diagnostic]:
    """Find functions that wait after each of their launches, though they give no result to the host."""
    after = [w for w in waits if follows_launch(context, w) and not is_debugging(context, w)]
    if not after or shares_memory(context) or guards_host_memory(context, context.function.body):
        return
    if len(after) < _FEWEST_WAITS and not is_given_device_memory(context, after[0]):
        return
    if gives_to_host(context):
        last = max((x.node.start for x in context.launches.of(context.function)), default=0)
        after = [wait for wait in after if wait.start < last and context.loop_around(wait) is None]
        if len(after) < _FEWEST_WAITS or is_measuring(context):
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
