"""Buffers that each iteration copies back where exchanging two pointers would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.source.host_work import COPIES, WITHIN_DEVICE, stays_on_device
from gpuadvise.advisor.source.parameter_uses import uses_by_launch
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import bare
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.parameter_uses import ParameterUse
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_POINTERS = frozenset(("identifier", "field_expression"))
_FILLS = ("cudaMemset", "cudaMemsetAsync")


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find copies within the device, in a loop, of buffers that kernels fill anew in each iteration; one per loop."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    if not context.function.says(WITHIN_DEVICE.encode()):
        return
    copies: dict[int, list[tuple[Node, str, str]]] = {}
    for copy in context.calls(*COPIES):
        loop = context.loop_around(copy)
        if loop is None or not stays_on_device(context, copy):
            continue
        kept, made = (bare(argument) for argument in context.file.arguments(copy)[:2])
        if kept.kind not in _POINTERS or made.kind not in _POINTERS:
            continue
        if _may_be_exchanged(context, loop, context.at(kept), context.at(made)):
            copies.setdefault(loop.index, []).append((copy, context.at(kept), context.at(made)))
    for (copy, kept_name, made_name), *others in copies.values():
        also = f" (and {plural(len(others), 'more buffer')} likewise)" if others else ""
        yield context.diagnostic(
            "copied-back-buffers", copy,
            f"Each iteration copies {made_name}, which kernels fill anew, to {kept_name}{also}: a pass over both that computes nothing.",
            f"Exchange the pointers instead, std::swap({kept_name}, {made_name}), and let what follows the loop use {kept_name}.",
        )  # fmt: skip


def _may_be_exchanged(context: RuleContext, loop: Node, kept: str, made: str) -> bool:
    """Whether *loop* fills *made* without a look at what it held, and a kernel reads *kept*."""
    inside = [
        use
        for launch in context.launches.of(context.function)
        if loop.holds(launch.node)
        for use in uses_by_launch(context, launch.node)
    ]
    of_made = [use for name, use in inside if name == made]
    filled = any(
        loop.holds(call) and context.at(bare(context.file.arguments(call)[0])) == made
        for call in context.calls(*_FILLS)
        if context.file.arguments(call)
    )
    return (
        any(name == kept and use.loads for name, use in inside)
        and any(use.stores for use in of_made)
        and (filled or _is_stored_first(of_made))
    )


def _is_stored_first(uses: list[ParameterUse]) -> bool:
    """Whether the first kernel that is given the array stores to it and loads nothing."""
    return uses[0].stores and not uses[0].loads


CHECK = CudaCheck(
    faults=faults,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
__global__ void smooth(float *next, const float *now, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) next[i] = (now[i - 1] + now[i] + now[i + 1]) / 3;
}
void run(float *now, float *next, int n, int steps) {
    for (int i = 0; i < steps; ++i) {
        smooth<<<(n + 255) / 256, 256>>>(next, now, n);
        cudaMemcpy(now, next, n * sizeof(float), cudaMemcpyDeviceToDevice);   // as long as the kernel
    }
}""",
        """\
__global__ void smooth(float *next, const float *now, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) next[i] = (now[i - 1] + now[i] + now[i + 1]) / 3;
}
void run(float *now, float *next, int n, int steps) {
    for (int i = 0; i < steps; ++i) {
        smooth<<<(n + 255) / 256, 256>>>(next, now, n);
        float *other = now;
        now = next;
        next = other;
    }
}""",
    ),
)


RULE = source_rule(
    id="copied-back-buffers",
    title="Exchange pointers instead of copying buffers",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    why="The copy reads and writes every byte once more; a kernel that is limited by memory takes up to twice as long with it.",
    when="A loop copies, within the device, a buffer that its kernels fill anew to one that they read.",
    citations=guide("10.1"),
    seen="cudaMemcpy(now, next, bytes, cudaMemcpyDeviceToDevice)",
)
