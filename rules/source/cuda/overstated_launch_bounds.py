"""Launch bounds that ask for more threads per SM than any GPU holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.thresholds import SM_THREADS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Launch bounds that ask for more threads per SM than any GPU holds."""
    bounds = context.function.launch_bounds
    if bounds is None or len(bounds.children) < 2:
        return
    threads, blocks = (context.constant(child) for child in bounds.children[:2])
    if threads and blocks and threads * blocks > SM_THREADS:
        yield context.diagnostic(
            "overstated-launch-bounds", bounds,
            f"{blocks} blocks of {threads} threads are {threads * blocks} per SM; no SM holds more than {SM_THREADS}, so the compiler ignores the minimum.",
            f"Write __launch_bounds__({threads}, {max(1, SM_THREADS // threads)}).",
        )  # fmt: skip


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void __launch_bounds__(256, 16) scale(float *x) {   // 4096 threads of 2048: ignored
    x[blockIdx.x * 256 + threadIdx.x] *= 2;
}""",
        """\
__global__ void __launch_bounds__(256, 8) scale(float *x) {
    x[blockIdx.x * 256 + threadIdx.x] *= 2;
}""",
    ),
)
