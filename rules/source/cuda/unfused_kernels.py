"""Elementwise kernels that are launched one after the other over the same array."""

from __future__ import annotations

import re
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.lane_stride import is_address, is_thread_index
from gpuadvise.advisor.source.parameter_uses import uses_by_launch
from gpuadvise.advisor.source.rule_context import RuleContext
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.launches import SourceLaunch
    from gpuadvise.advisor.source.tree import Node

_ACTION = "Let one kernel do both: it loads each element once, keeps it in a register between the two steps, and stores it once."


_SPACE_AND_BRACKETS = re.compile(r"[\s()]")
_NUMBER = re.compile(
    r"threadIdx\.x\+(?:blockIdx\.x\*blockDim\.x|blockDim\.x\*blockIdx\.x)"
    r"|(?:blockIdx\.x\*blockDim\.x|blockDim\.x\*blockIdx\.x)\+threadIdx\.x"
)
_STRIDE = re.compile(r"\w+\+=(?:gridDim\.x\*blockDim\.x|blockDim\.x\*gridDim\.x)")


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find launches of an elementwise kernel right behind another one on an array that both touch; one per pair."""
    if context.function.place is not ExecutionSpace.HOST or not context.function.may_launch:
        return
    launches = sorted(context.launches.of(context.function), key=attrgetter("node.start"))
    for first, second in pairwise(launches):
        name = _handed_on(context, first, second)
        if name is not None and all(_is_elementwise(context, launch) for launch in (first, second)):
            yield context.diagnostic(
                "unfused-kernels", second.node,
                f"{second.kernel} takes the elements of {name} that {first.kernel} just stored, each thread the same one: they go to "
                "memory and back in between.",
                _ACTION, end=second.node.start + 1,
            )  # fmt: skip


def _handed_on(context: RuleContext, first: SourceLaunch, second: SourceLaunch) -> str | None:
    """Return the array that *first* stores and *second*, of the same shape and stream, loads; None where something lies between."""
    shapes = [
        "".join((context.at(x.grid) + "," + context.at(x.block)).split()) for x in (first, second)
    ]
    if shapes[0] != shapes[1] or first.stream != second.stream:
        return None
    # The same way leads to both, or the second is left out at times.
    if context.loop_around(first.node) is not context.loop_around(second.node):
        return None
    if any(_parts(above, first, second) for above in first.node.ancestors()):
        return None
    stored = [name for name, use in uses_by_launch(context, first.node) if use.stores]
    loaded = {name for name, use in uses_by_launch(context, second.node) if use.loads}
    name = next((n for n in stored if n in loaded), None)
    between = [call for call in context.calls() if first.node.end <= call.start < second.node.start]
    if name is None or any(name in "".join(context.at(call).split()) for call in between):
        return None
    return name


def _parts(branch: Node, first: SourceLaunch, second: SourceLaunch) -> bool:
    """Whether *branch*, around *first*, is one that *second* is not in."""
    if branch.kind != "if_statement":
        return False
    ways = [way for field in ("consequence", "alternative") if (way := branch.part(field))]
    return not any(way.holds(first.node) and way.holds(second.node) for way in ways)


def _is_elementwise(context: RuleContext, launch: SourceLaunch) -> bool:
    """Whether each thread of the kernel takes elements of its own number of every array: one, or one of each stride of the grid."""
    kernels = [f for f in context.file.called(launch.kernel) if f.place is ExecutionSpace.KERNEL]
    if len(kernels) != 1 or kernels[0].says(b"__shared__"):
        return False
    inside = RuleContext(context.file, kernels[0], context.launches)
    loops = kernels[0].nodes(*LOOPS)
    if len(loops) > 1 or not all(_steps_by_grid(inside, loop) for loop in loops):
        return False
    arrays = {p.name for p in kernels[0].parameters if "*" in p.type}
    elements = [
        element
        for element in kernels[0].nodes("subscript_expression")
        if inside.root_name(element) in arrays
    ]
    return bool(elements) and all(
        _is_of_thread(inside, element) and not is_address(inside, element) for element in elements
    )


def _is_of_thread(context: RuleContext, element: Node) -> bool:
    """Whether the index of *element* is the thread's own number, or starts with it."""
    if is_thread_index(context, element):
        return True
    index = bare(element.children[-1].children[0]) if element.children[-1].children else element
    variable = context.file.variable(context.at(index), index, context.function)
    if index.kind != "identifier" or variable is None or variable.value is None:
        return False
    return _NUMBER.fullmatch(_SPACE_AND_BRACKETS.sub("", context.at(variable.value))) is not None


def _steps_by_grid(context: RuleContext, loop: Node) -> bool:
    """Whether *loop* goes on by all threads of the grid."""
    update = loop.part("update")
    words = _SPACE_AND_BRACKETS.sub("", context.at(update)) if update is not None else ""
    return _STRIDE.fullmatch(words) is not None


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
__global__ void scale(float *x, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}
__global__ void cut(float *x, float most, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = fminf(x[i], most);
}
void run(int n) {
    scale<<<(n + 255) / 256, 256>>>(data, 2, n);
    cut<<<(n + 255) / 256, 256>>>(data, 1, n);            // loads what was just stored
}""",
        """\
__global__ void scale_and_cut(float *x, float by, float most, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = fminf(x[i] * by, most);
}
void run(int n) { scale_and_cut<<<(n + 255) / 256, 256>>>(data, 2, 1, n); }""",
    ),
)


RULE = source_rule(
    id="unfused-kernels",
    title="Fuse elementwise kernels",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    why="Elementwise kernels are limited by memory, and the second one moves the same bytes again; each launch costs microseconds too.",
    when="An elementwise kernel is launched right behind another one, in the same shape, on an array that the first stores.",
    citations=guide("10.1"),
    seen="cut<<<grid, block>>>(x)",
    action=_ACTION,
)
