"""Launches with more threads than the launch bounds of the kernel allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find launches with more threads than the kernel's own bounds allow."""
    bounds = context.file.launch_bounds
    for launch in context.launches.of(context.function):
        most = bounds.get(launch.kernel)
        if launch.threads is not None and most is not None and launch.threads > most:
            yield context.diagnostic(
                "exceeded-launch-bounds", launch.node,
                f"{launch.threads} threads per block, but {launch.kernel} is declared __launch_bounds__({most}): the launch fails.",
                f"Launch at most {most} threads, or declare __launch_bounds__({launch.threads}).",
                threads=str(launch.threads), bound=str(most),
            )  # fmt: skip


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    code=BeforeAfter(
        "host",
        """\
__global__ void __launch_bounds__(128) scale(float *x) { x[threadIdx.x] *= 2; }
void launch() { scale<<<1, 256>>>(data); }     // refused""",
        """\
__global__ void __launch_bounds__(256) scale(float *x) { x[threadIdx.x] *= 2; }
void launch() { scale<<<1, 256>>>(data); }""",
    ),
)
