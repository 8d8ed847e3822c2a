"""Buffers that each iteration copies back where exchanging two pointers would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.source.buffer_uses import BufferUse, buffer_name, buffer_uses
from gpuadvise.advisor.source.host_work import COPIES, WITHIN_DEVICE, is_set_up, stays_on_device
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_POINTERS = frozenset(("identifier", "field_expression"))


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find copies within the device of buffers that kernels fill anew, or only read; one per loop or function."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    if not context.function.says(WITHIN_DEVICE.encode()):
        return
    exchanged: dict[int, list[tuple[Node, str, str]]] = {}
    for copy in context.calls(*COPIES):
        if not stays_on_device(context, copy):
            continue
        around = _outermost_loop(context, copy)
        if around is None and (context.function.name == "main" or is_set_up(context, copy)):
            continue
        uses = [
            use
            for use in buffer_uses(context, around or context.function.body)
            if use.node is not copy
        ]
        later = [use for use in uses if use.node.start > copy.start]
        again = [use for use in uses if use.node.start < copy.start] if around is not None else []
        turns = [*later, *again]
        kept, made = (buffer_name(context, a) for a in context.file.arguments(copy)[:2])
        if not kept or not made:
            continue
        pointers = (bare(a).kind for a in context.file.arguments(copy)[:2])
        if set(pointers) <= _POINTERS and _may_be_exchanged(context, around, turns, kept, made):
            loop = context.loop_around(copy) or context.function.body
            exchanged.setdefault(loop.index, []).append((copy, kept, made))
        elif (reader := _reader(context, turns, kept, made)) is not None:
            yield context.diagnostic(
                "copied-back-buffers", copy,
                f"{made} is copied to {kept} only for {reader} to read it there: a pass over both that computes nothing.",
                f"Hand {made} to {reader} itself, which leaves it as it is.",
                minor=around is None,
            )  # fmt: skip
    for loop_index, ((copy, kept, made), *others) in exchanged.items():
        also = f" (and {plural(len(others), 'more buffer')} likewise)" if others else ""
        repeats = loop_index != context.function.body.index
        follows = f", and let what follows the loop use {kept}" if repeats else ""
        yield context.diagnostic(
            "copied-back-buffers", copy,
            f"Each {'iteration' if repeats else 'call'} copies {made}, which kernels fill anew, to {kept}{also}: a pass over both that "
            "computes nothing.",
            f"Exchange the pointers instead, std::swap({kept}, {made}){follows}. The kernels have to store every element then, those "
            "too that they leave as they are.",
            minor=not repeats,
        )  # fmt: skip


def _outermost_loop(context: RuleContext, node: Node) -> Node | None:
    loops = [above for above in node.ancestors() if above.kind in LOOPS]
    inside = [loop for loop in loops if context.function.body.holds(loop)]
    return inside[-1] if inside else None


def _may_be_exchanged(
    context: RuleContext, around: Node | None, turns: list[BufferUse], kept: str, made: str
) -> bool:
    """Whether the next use of *made* behind the copy stores it without a look at what it held, and a kernel reads *kept*."""
    of_made = [use for use in turns if use.name == made]
    read = any(use.name == kept and use.loads and use.launch for use in turns)
    if not of_made or not read or of_made[0].loads or not any(use.launch for use in of_made):
        return False
    if around is not None:
        return True
    first = of_made[0]
    known = context.file.variable(made, first.node, context.function)
    reads_kept = any(
        u.node is first.node and u.name == kept and u.loads and not u.stores for u in turns
    )
    return (
        first.launch
        and reads_kept
        and context.loop_around(first.node) is None
        and (known is None or known.parameter or known.start < context.function.node.start)
    )


def _reader(context: RuleContext, turns: list[BufferUse], kept: str, made: str) -> str | None:
    """Return the only kernel that reads what the copy leaves in *kept*, while *made* still holds the same; None where there is none."""
    reader: Node | None = None
    for use in turns:
        if use.name == kept and use.loads:
            beside = any(u.node is use.node and u.name == made and u.stores for u in turns)
            if use.stores or not use.launch or beside or reader not in (None, use.node):
                return None
            reader = use.node
        elif use.name == kept:
            # What the copy left there is over, as nothing else looked at it.
            return None if reader is None else context.file.callee(reader)
        elif use.name == made and use.stores and reader is None:
            return None
    return None


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
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
    when="Host code copies, within the device, a buffer that kernels fill anew to one that they read, or one that a kernel could read itself.",
    citations=guide("10.1"),
    seen="cudaMemcpy(now, next, bytes, cudaMemcpyDeviceToDevice)",
)
