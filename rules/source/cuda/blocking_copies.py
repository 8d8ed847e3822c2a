"""Copies that block among work in several streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.runtime_calls import loops_over_streams
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find blocking copies among work in several streams."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    if not (context.function.may_launch or context.function.says(b"Async")):
        return
    copies = context.calls("cudaMemcpy", "cudaMemset")
    for loop, _ in loops_over_streams(context) if copies else ():
        for call in copies:
            if context.loop_around(call) is loop:
                yield context.diagnostic(
                    "blocking-copies", call,
                    "A blocking copy among work in several streams: the host waits, and so do the streams.",
                    "Call cudaMemcpyAsync() with the stream, from pinned memory.",
                )  # fmt: skip


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
void run() {
    for (int i = 0; i < 4; ++i) {
        cudaMemcpy(part[i], host[i], bytes, cudaMemcpyHostToDevice);   // host and streams wait each time
        kernel<<<grid, block, 0, stream[i]>>>(part[i]);
    }
}""",
        """\
void run() {
    for (int i = 0; i < 4; ++i) {
        cudaMemcpyAsync(part[i], host[i], bytes, cudaMemcpyHostToDevice, stream[i]);
        kernel<<<grid, block, 0, stream[i]>>>(part[i]);
    }
}""",
    ),
)
