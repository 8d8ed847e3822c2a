"""Launches with more threads per block than any GPU takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.thresholds import BLOCK_THREADS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find launches with more threads than any GPU takes; bounds that they exceed say it better."""
    bounds = context.file.launch_bounds
    for launch in context.launches.of(context.function):
        most = bounds.get(launch.kernel, launch.threads)
        if launch.threads is not None and BLOCK_THREADS < launch.threads <= (most or 0):
            yield context.diagnostic(
                "impossible-launch", launch.node, f"{launch.threads} threads per block; no GPU takes more than {BLOCK_THREADS}.",
                f"Launch at most {BLOCK_THREADS} threads per block.",
                threads=str(launch.threads),
            )  # fmt: skip


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    code=BeforeAfter(
        "host",
        """\
void launch() {
    kernel<<<grid, dim3(64, 32)>>>(data);             // 2048 threads: refused
}""",
        """\
void launch() {
    kernel<<<grid, dim3(64, 16)>>>(data);             // 1024 is the most
}""",
    ),
)
