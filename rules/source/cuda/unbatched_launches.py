"""Loops of the host that launch a kernel for one item of a batch after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.buffer_uses import buffer_name
from gpuadvise.advisor.source.host_work import is_timed
from gpuadvise.advisor.source.parameter_uses import parameter_uses
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.thresholds import number
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

_FEWEST = number(8, "launches that are worth one, at least", "", "our judgement")
_ACTION = (
    "Launch once with the item as a dimension of the grid, dim3(blocks, count) and blockIdx.y in the place of the loop's number: the "
    "items run side by side, and one launch is paid for instead of one for each."
)
# What stands beside the launch and orders nothing.
_BESIDE = frozenset(("cudaGetLastError", "cudaPeekAtLastError", "cudaGetErrorString", "dim3"))


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find loops that launch a kernel on parts of arrays that their counter chooses, and that no other iteration touches."""
    if context.function.place is not ExecutionSpace.HOST or not context.function.may_launch:
        return
    for launch in context.launches.of(context.function):
        loop = context.loop_around(launch.node)
        counter = _counter(context, loop) if loop is not None else None
        if loop is None or counter is None or is_timed(context, loop) or _is_short(context, loop):
            continue
        inside = [x for x in context.launches.of(context.function) if loop.holds(x.node)]
        if len(inside) > 1 or (launch.stream is not None and counter in launch.stream):
            continue
        part = _own_part(context, launch, loop, counter)
        if part is not None and _does_nothing_else(context, loop, launch):
            yield context.diagnostic(
                "unbatched-launches", launch.node,
                f"Each iteration launches {launch.kernel} on a part of {part} of its own: they run one after the other, each paid for.",
                _ACTION,
            )  # fmt: skip


def _counter(context: RuleContext, loop: Node) -> str | None:
    """Return the name that a for loop counts by one."""
    update = loop.part("update")
    if loop.kind != "for_statement" or update is None or update.kind != "update_expression":
        return None
    return context.at(update.children[0]) if update.children else None


def _is_short(context: RuleContext, loop: Node) -> bool:
    condition = loop.part("condition")
    if condition is None or condition.kind != "binary_expression":
        return True
    bound = context.constant(condition.children[-1])
    return bound is not None and bound < _FEWEST


def _own_part(context: RuleContext, launch: SourceLaunch, loop: Node, counter: str) -> str | None:
    """Return an array of which each launch stores a part of its own, None where one may touch what another one stores."""
    kernels = [f for f in context.file.called(launch.kernel) if f.place is ExecutionSpace.KERNEL]
    if len(kernels) != 1 or len(kernels[0].parameters) != len(launch.arguments):
        return None
    uses = parameter_uses(context.file, kernels[0])
    buffers: dict[str, set[str]] = {}
    stored: list[str] = []
    for parameter, argument in zip(kernels[0].parameters, launch.arguments, strict=True):
        if "*" not in parameter.type:
            if "*" not in parameter.type and parameter.type == "?":
                return None  # an object may lead to memory
            continue
        shown = context.settled(argument)
        name = buffer_name(context, shown)
        buffers.setdefault(name, set()).add("".join(context.at(shown).split()))
        if not uses[parameter.name].stores:
            continue
        named = [n for n in (shown, *context.file.tree.below(shown)) if n.kind == "identifier"]
        if (
            not name
            or counter not in map(context.at, named)
            or shown.kind == "subscript_expression"
        ):
            return None
        stored.append(name)
    # The part of another iteration, x + (i - 1) * n, makes one wait for the other.
    if not stored or any(len(buffers[name]) > 1 for name in stored):
        return None
    return stored[0]


def _does_nothing_else(context: RuleContext, loop: Node, launch: SourceLaunch) -> bool:
    """Whether *loop* holds no other calls than those that ask for errors or shape the grid."""
    calls = context.file.tree.inside(loop, "call_expression")
    others = [c for c in calls if c is not launch.node and not c.holds(launch.node)]
    return all(
        context.file.callee(call) in _BESIDE
        or any(
            argument.kind == "call_expression" and context.file.callee(argument) in _BESIDE
            for argument in context.file.arguments(call)
        )
        for call in others
    )


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
__global__ void scale(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}
void run(int items, int n) {
    for (int k = 0; k < items; ++k) scale<<<(n + 255) / 256, 256>>>(data + k * n, n);
}""",
        """\
__global__ void scale(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[blockIdx.y * n + i] *= 2;
}
void run(int items, int n) { scale<<<dim3((n + 255) / 256, items), 256>>>(data, n); }""",
    ),
)
RULE = source_rule(
    id="unbatched-launches",
    title="Launch once for a batch",
    topic=Topic.APPLICATION,
    priority=Priority.LOW,
    why="Launches of one stream run one after the other: small items leave the GPU half empty, and each launch costs microseconds.",
    when="A loop launches one kernel on a part of an array that its counter chooses, and does nothing else.",
    citations=guide("11.3"),
    seen="scale<<<blocks, 256>>>(x + k * n, n)",
    action=_ACTION,
)
