"""Asynchronous copies of pageable memory, which the host waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.host_work import host_side, is_set_up, pageable_memory
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find asynchronous copies whose host side the function itself allocated as pageable memory."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    if not context.function.says(b"cudaMemcpyAsync"):
        return
    for copy in context.calls("cudaMemcpyAsync"):
        side = host_side(context, copy)
        memory = pageable_memory(context, side) if side is not None else None
        if memory is not None:
            yield context.diagnostic(
                "pageable-transfers", copy,
                f"The copy is asynchronous by name alone: its host side is {memory}, which is pageable, and the driver "
                "goes through a pinned buffer of its own.",
                "Allocate the host memory by cudaMallocHost(), or pin it once by cudaHostRegister(), where it is used often.",
                minor=is_set_up(context, copy),
            )  # fmt: skip


CHECK = CudaCheck(
    faults=faults,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
void upload() {
    float *host = (float *)malloc(bytes);
    cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, stream);   // pageable: the host waits
}""",
        """\
void upload() {
    float *host;
    cudaMallocHost(&host, bytes);                                         // pinned, allocated once
    cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, stream);
}""",
    ),
)
