"""Steps over shared memory that trust the lanes of a warp to run in step."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.source.lane_stride import terms_of_sum
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable
    from gpuadvise.advisor.source.tree import Node

_MEMORY = re.compile(rb"volatile|__shared__")
_WAIT = re.compile(rb"sync|barrier|shfl|\bbar\b", re.IGNORECASE)
_HALVED = re.compile(r"(\w+)\s*(?:>>=\s*1\b|/=\s*2\b|=[^=;]*?(?:>>\s*1\b|/\s*2\b))")
_ACTION = (
    "Let each step load, meet at __syncwarp(), store, and meet there again; or join the last 32 values in registers by "
    "__shfl_down_sync() (integers by __reduce_add_sync()), without shared memory."
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find trees whose steps follow each other without a barrier of block or warp; one per function."""
    function = context.function
    if not function.on_device or not context.file.matches(_MEMORY):
        return
    if not (
        function.says(b"]")
        and _MEMORY.search(context.file.text.content, function.node.start, function.body.end)
    ):
        return
    if _is_of_old_compilers(context):
        return
    before: tuple[str, int, Node] | None = None
    for change in function.nodes("assignment_expression"):
        step = _step(context, change)
        if step is None or context.under_version_guard(change):
            continue
        array, distance = step
        if (
            before is not None
            and before[0] == array
            and {distance, before[1]} <= {min(distance, before[1]), 2 * min(distance, before[1])}
            and distance != before[1]
            and not _WAIT.search(context.file.code, before[2].end, change.start)
        ):
            yield _reported(context, before[2])
            return
        before = array, distance, change
    for loop in function.nodes(*LOOPS):
        if _halves_without_wait(context, loop):
            yield _reported(context, loop)
            return


def _reported(context: RuleContext, node: Node) -> Diagnostic:
    body = node.part("body") if node.kind in LOOPS else None
    return context.diagnostic(
        "implicit-warp-synchrony", node,
        "Each step loads what other lanes of the warp stored in the step before, and nothing makes it wait for them: since compute "
        "capability 7.0 the lanes of a warp need not run in step, and volatile does not change that.",
        _ACTION, end=node.end if body is None else body.start,
    )  # fmt: skip


def _is_of_old_compilers(context: RuleContext) -> bool:
    """Whether everything that calls this function is compiled for some version or architecture only."""
    calls = context.file.callers(context.function.name)
    return bool(calls) and all(context.under_version_guard(call) for _, call in calls)


def _step(context: RuleContext, change: Node) -> tuple[str, int] | None:
    """Return the array and the distance of ``s[i] += s[i + 8]``, for distances of a warp at most."""
    target = bare(change.children[0])
    if target.kind != "subscript_expression" or not _is_shared(context, target):
        return None
    own, name = _index(context, target), context.at(target.children[0])
    for element in context.file.tree.inside(change, "subscript_expression"):
        if element is target or context.at(element.children[0]) != name:
            continue
        terms = _index(context, element)
        further = [term for term in terms if term not in own]
        if len(further) == 1 and len(terms) == len(own) + 1 and further[0].isdigit():
            distance = int(further[0])
            if 0 < distance <= WARP_SIZE:
                return name, distance
    return None


def _index(context: RuleContext, element: Node) -> list[str]:
    """Return the terms of the only index of *element*, without spaces."""
    if len(element.children) != 2 or len(element.children[1].children) != 1:
        return []
    return [
        "".join(context.at(t).split())
        for t in terms_of_sum(context, element.children[1].children[0])
    ]


def _is_shared(context: RuleContext, element: Node) -> bool:
    """Whether *element* lies in shared memory, or where a volatile pointer says that others store to it."""
    base = bare(element.children[0])
    array = context.file.variable(context.at(base), base, context.function)
    for _ in range(3):
        if array is None or array.shared or _is_volatile(context, array):
            return array is not None
        if array.parameter or array.value is None or "*" not in array.type:
            return False
        root = context.root_name(bare(array.value)).lstrip("&")
        array = context.file.variable(root, array.value, context.function)
    return False


def _is_volatile(context: RuleContext, array: Variable) -> bool:
    """Whether *array* is a volatile pointer; not one that a kernel is given: that is to no shared memory."""
    if array.parameter and context.function.place is ExecutionSpace.KERNEL:
        return False
    holder = array.node if array.parameter else array.node.parent
    return array.type.endswith("*") and holder is not None and "volatile" in context.at(holder)


def _halves_without_wait(context: RuleContext, loop: Node) -> bool:
    """Whether *loop* halves a distance, and adds the element so far away to that of the thread, with no barrier in it."""
    if _WAIT.search(context.file.code, loop.start, loop.end) or context.under_version_guard(loop):
        return False
    halved = {match[1] for match in _HALVED.finditer(context.at(loop))}
    if not halved:
        return False
    for change in context.file.tree.inside(loop, "assignment_expression"):
        target = bare(change.children[0])
        if target.kind != "subscript_expression" or not _is_shared(context, target):
            continue
        own, name = _index(context, target), context.at(target.children[0])
        if not own or any(term in halved for term in own):
            continue
        for element in context.file.tree.inside(loop, "subscript_expression"):
            if context.at(element.children[0]) == name:
                further = [term for term in _index(context, element) if term not in own]
                if len(further) == 1 and further[0] in halved:
                    return True
    return False


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__device__ void add_up(volatile float *part, int lane) {  // by the first warp
    part[lane] += part[lane + 16];                        // the other lanes may still be behind
    part[lane] += part[lane + 8];
    part[lane] += part[lane + 4];
    part[lane] += part[lane + 2];
    part[lane] += part[lane + 1];
}""",
        """\
__device__ float add_up(const float *part, int lane) {    // by the first warp
    float own = part[lane];
    for (int step = 16; step > 0; step /= 2) own += __shfl_down_sync(0xffffffff, own, step);
    return own;                                           // in lane 0
}""",
    ),
)
RULE = source_rule(
    id="implicit-warp-synchrony",
    title="Let the lanes of a warp wait for each other",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    why="Since compute capability 7.0 each thread has its own program counter: what lanes exchange through memory needs a barrier.",
    when="Steps of a tree over shared memory of a warp's width follow each other with no __syncwarp() or __syncthreads() between.",
    citations=(programming_guide("Independent Thread Scheduling"),),
    seen="sdata[tid] += sdata[tid + 16]",
    action=_ACTION,
    correctness=True,
)
