"""Managed memory that a kernel gets without a prefetch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.host_work import is_sized_by_loop
from gpuadvise.advisor.source.runtime_calls import pointer_name
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext

# Managed memory that the program places itself, or that host and device use at the same time.
_PLACED = re.compile(
    rb"cudaMem(?:PrefetchAsync|Advise)|cudaMemPrefetchBatchAsync|cudaStreamAttachMemAsync"
    rb"|atomic\w+_system|thread_scope_system|__threadfence_system"
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find managed memory that a kernel gets with neither prefetch nor advice in the file."""
    if context.function.place is not ExecutionSpace.HOST:
        return
    if not context.function.says(b"cudaMallocManaged"):
        return
    launches = context.launches.of(context.function)
    allocations = context.calls("cudaMallocManaged")
    if not launches or not allocations:
        return
    text = context.file.text.content
    if _PLACED.search(text):
        return
    passed = {context.at(a) for launch in launches for a in launch.arguments}
    filled = {
        pointer_name(context, context.file.arguments(call)[0])
        for call in context.calls("cudaMemcpy", "cudaMemset")
        if context.file.arguments(call)
    }
    for call in allocations:
        arguments = context.file.arguments(call)
        name = pointer_name(context, arguments[0]) if arguments else ""
        if name in passed and name not in filled and not is_sized_by_loop(context, call):
            yield context.diagnostic(
                "unprefetched-managed-memory", call,
                "A kernel uses this managed memory without a prefetch: the first access to each page waits until the page has moved.",
                "Call cudaMemPrefetchAsync() to the device before the launch, and to the host after it; for data that is only "
                "read, cudaMemAdvise() with cudaMemAdviseSetReadMostly.",
            )  # fmt: skip
            return


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
void run() {
    cudaMallocManaged(&data, bytes);
    fill(data);
    kernel<<<grid, block>>>(data);               // page by page, as they are touched
}""",
        """\
void run() {
    cudaMallocManaged(&data, bytes);
    fill(data);
    cudaMemPrefetchAsync(data, bytes, location, 0, stream);
    kernel<<<grid, block, 0, stream>>>(data);
}""",
    ),
)
