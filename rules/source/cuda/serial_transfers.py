"""Loops that copy in, compute and copy out, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.host_work import (
    copied_bytes,
    copies_one_value,
    direction,
    is_always_reached,
    is_chosen,
    is_timed,
    loops_with_launches,
)
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS
from gpuadvise.advisor.transfers.copies import Direction
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find loops whose iterations copy to the device, launch, and copy back, and block for each; one per loop."""
    if context.function.place is not ExecutionSpace.HOST or not context.function.says(
        b"cudaMemcpy"
    ):
        return
    copies = [c for c in context.calls("cudaMemcpy") if not copies_one_value(context, c)]
    ways = {c.index: direction(context, c) for c in copies}
    if Direction.D2H not in ways.values():
        return
    for loop in loops_with_launches(context):
        if is_timed(context, loop) or _holds_a_run(context, loop):
            continue
        inside = [
            c for c in copies if context.loop_around(c) is loop and not is_chosen(context, c, loop)
        ]
        back = next((c for c in inside if ways[c.index] is Direction.D2H), None)
        if back is None:
            continue
        if any(ways[c.index] is Direction.H2D for c in inside):
            yield context.diagnostic(
                "serial-transfers", back,
                "Each iteration copies in, computes and copies out, and waits for every copy: link and SMs take turns.",
                "Where iterations are independent, use pinned memory and cudaMemcpyAsync() in two or more streams with buffers "
                "of their own; where one needs the result of the last, keep it on the device and copy once after the loop.",
                minor=not is_always_reached(context, back, loop)
                or not any(_is_of_many(context, c) for c in inside if ways[c.index] is Direction.D2H),
            )  # fmt: skip
        elif (
            is_always_reached(context, back, loop)
            and _is_of_many(context, back)
            and not is_timed(context)
        ):
            yield context.diagnostic(
                "serial-transfers", back,
                "In each iteration the host waits for a copy from the device before it launches anything more: link and SMs take turns.",
                "Copy by cudaMemcpyAsync() to pinned memory in a stream of its own, from a buffer that the next iteration leaves alone, "
                "or only every few iterations.",
                minor=True,
            )  # fmt: skip


def _holds_a_run(context: RuleContext, loop: Node) -> bool:
    """Whether another loop inside of *loop* launches: beside many launches a copy is little."""
    inner = [n for kind in LOOPS for n in context.file.tree.inside(loop, kind) if n is not loop]
    launches = context.file.tree.inside(loop, "kernel_call_syntax")
    return any(other.holds(launch) for other in inner for launch in launches)


def _is_of_many(context: RuleContext, copy: Node) -> bool:
    """Whether *copy* moves more than one element, as its bytes are written."""
    size = copied_bytes(context, copy)
    return size.kind != "sizeof_expression" and context.constant(size) is None


CHECK = CudaCheck(
    faults=faults,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
void run() {
    for (int i = 0; i < pieces; ++i) {
        cudaMemcpy(data, host + i * piece, bytes, cudaMemcpyHostToDevice);
        kernel<<<(piece + 255) / 256, 256>>>(data, piece);
        cudaMemcpy(host + i * piece, data, bytes, cudaMemcpyDeviceToHost);
    }
}""",
        """\
void run() {
    for (int i = 0; i < pieces; ++i) {           // two streams take the pieces in turn
        float *part = data + i % 2 * piece;
        cudaStream_t s = stream[i % 2];
        cudaMemcpyAsync(part, host + i * piece, bytes, cudaMemcpyHostToDevice, s);
        kernel<<<(piece + 255) / 256, 256, 0, s>>>(part, piece);
        cudaMemcpyAsync(host + i * piece, part, bytes, cudaMemcpyDeviceToHost, s);
    }
}""",
    ),
)
