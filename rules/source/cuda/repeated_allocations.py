"""Device memory that a loop allocates and frees in every iteration."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.allocations import kept_for_a_call
from gpuadvise.advisor.source.host_work import (
    is_set_up,
    is_sized_by_loop,
    prepares,
)
from gpuadvise.advisor.source.runtime_calls import pointer_name
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_ALLOCATIONS = (
    "cudaMalloc",
    "cudaMallocManaged",
    "cudaMallocHost",
    "cudaHostAlloc",
    "cudaMallocPitch",
)
_HOST_ALLOCATIONS = frozenset(("malloc", "calloc", "aligned_alloc", "fopen", "fread"))
_CLOCK_LIKE = re.compile(r"clock|::now$|gettimeofday|EventRecord|wtime")
# The runtime's, and those of programs that wrap them.
_WORDS = re.compile(rb"cudaFree|cudaHostAlloc|make|alloc", re.IGNORECASE)
_SHOWN = 4  # names that a sentence has room for
_FREES = {"cudaMallocHost": "cudaFreeHost", "cudaHostAlloc": "cudaFreeHost"}


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Device memory that a loop allocates and frees again in every iteration."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    if not (context.file.says(b"cudaMalloc") or context.function.matches(_WORDS)):
        return
    frees: dict[tuple[str, str], list[Node]] = {}
    for call in context.calls("cudaFree", "cudaFreeHost"):
        if arguments := context.file.arguments(call):
            key = context.file.callee(call), pointer_name(context, arguments[0])
            frees.setdefault(key, []).append(call)
    surveys: dict[int, bool] = {}
    allocated: dict[int, tuple[Node, list[str]]] = {}
    for call in sorted(context.calls(*_ALLOCATIONS), key=attrgetter("index")):
        loop = context.loop_around(call)
        if loop is None or _runs_once(context, loop) or not context.file.arguments(call):
            continue
        if loop.index not in surveys:
            surveys[loop.index] = _is_survey(context, loop)
        if surveys[loop.index]:
            continue
        if is_sized_by_loop(context, call):
            continue
        name = pointer_name(context, context.file.arguments(call)[0])
        free = _FREES.get(context.file.callee(call), "cudaFree")
        if any(map(loop.holds, frees.get((free, name), ()))):
            known = allocated.setdefault(loop.index, (call, []))
            known[1].append(name)
    for call, pointers in allocated.values():
        names = and_list([*dict.fromkeys(pointers)])
        yield context.diagnostic(
            "repeated-allocations", call, f"Each iteration of the loop allocates and frees {names}; cudaFree waits for the device.",
            "Allocate once before the loop and reuse the buffer; where sizes vary, call cudaMallocAsync() and "
            "cudaFreeAsync() with a pool whose release threshold is raised.",
            minor=prepares(context.function),
        )  # fmt: skip
    if not allocated and not prepares(context.function):
        yield from _in_each_call(context)


def _in_each_call(context: RuleContext) -> Iterator[Diagnostic]:
    """Find a function that allocates and frees memory for its launches, as a step of a longer run does again and again."""
    if any(context.loop_around(launch.node) for launch in context.launches.of(context.function)):
        return  # beside which an allocation is little
    kept = kept_for_a_call(context)
    if kept is None or context.function.name == "main" or is_set_up(context, kept.first):
        return
    further = len(kept.names) - _SHOWN
    names = and_list([*kept.names[:_SHOWN], *([f"{further} more"] if further > 0 else [])])
    yield context.diagnostic(
        "repeated-allocations", kept.first,
        f"Each call of this function allocates and frees {names}, though its data lie on the device already; cudaFree waits for "
        "the device."
        if kept.beside_device_memory else
        f"Each call of this function {kept.does} {names}: each cudaMalloc takes longer than a launch, "
        "and cudaFree waits for the device.",
        "Let the caller hand the memory in, keep it between calls, or call cudaMallocAsync() and cudaFreeAsync() with a pool whose "
        "release threshold is raised.",
        minor=True,
    )  # fmt: skip


def _runs_once(context: RuleContext, loop: Node) -> bool:
    """Whether *loop* is ``do { } while (0)``, which is there for its break."""
    condition = loop.part("condition")
    return (
        loop.kind == "do_statement"
        and condition is not None
        and "".join(context.at(condition).split()) in ("(0)", "(false)")
    )


def _is_survey(context: RuleContext, loop: Node) -> bool:
    """Whether each iteration of *loop* is a run of its own: it repeats launches, or fills host memory.

    An allocation is little beside either; programs that try one size after the other do so.
    """
    inner = [n for kind in LOOPS for n in context.file.tree.inside(loop, kind) if n is not loop]
    launches = context.file.tree.inside(loop, "kernel_call_syntax")
    if any(n.holds(launch) for n in inner for launch in launches):
        return True
    calls = context.file.tree.inside(loop, "call_expression")
    return any(
        context.file.callee(c) in _HOST_ALLOCATIONS or _CLOCK_LIKE.search(context.at(c.children[0]))
        for c in calls
        if c.children
    ) or bool(context.file.tree.inside(loop, "new_expression"))


CHECK = CudaCheck(
    faults=faults,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
void run(int steps) {
    for (int i = 0; i < steps; ++i) {
        cudaMalloc(&scratch, bytes);
        kernel<<<grid, block>>>(scratch);
        cudaFree(scratch);                                    // waits for the GPU
    }
}""",
        """\
void run(int steps) {
    for (int i = 0; i < steps; ++i) {
        cudaMallocAsync(&scratch, bytes, stream);             // from the pool
        kernel<<<grid, block, 0, stream>>>(scratch);
        cudaFreeAsync(scratch, stream);
    }
}""",
    ),
)
