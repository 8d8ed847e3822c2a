"""A hand-written kernel for which a library has one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import AtRoof, TooLittleWork
from gpuadvise.rules.evidence import given
from gpuadvise.rules.model import PASSED, Advice, Examples, Kind, Priority, Rule, Topic, Verdict
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.limiter import Limiter

_LIBRARIES = (
    (
        re.compile(r"gemm|matmul|multiply_from|\bmultiply\b|matrix_?mul", re.IGNORECASE),
        "cuBLAS (cublasGemmEx)",
    ),
    (re.compile(r"radix_?sort|bitonic|merge_?sort", re.IGNORECASE), "cub::DeviceRadixSort"),
    (re.compile(r"histogram", re.IGNORECASE), "cub::DeviceHistogram"),
    (re.compile(r"prefix_?sum|(in|ex)clusive_?scan|scan_blocks", re.IGNORECASE), "cub::DeviceScan"),
    (re.compile(r"\bfft|fft_", re.IGNORECASE), "cuFFT"),
    (re.compile(r"reduce_|_reduce|reduction", re.IGNORECASE), "cub::DeviceReduce"),
    (re.compile(r"spmv|csr_", re.IGNORECASE), "cuSPARSE (cusparseSpMV)"),
)
# Kernels of libraries, compilers and frameworks are such a library already.
_LIBRARY = re.compile(
    r"cutlass|_fusion|\bDevice[A-Z]\w+Kernel|cublas|cudnn|cusparse|cufft|\bcub::|thrust|at::|triton|ampere_|hopper_|sm\d\d_|_fft|vector_fft|regular_fft|cask|xmma|gemv|nvjet"
)


def check(kernel: str, profile: KernelProfile, limiter: Limiter | None = None) -> Verdict:
    """Advise when the kernel's name says that a library has such a kernel."""
    short = kernel.partition("(")[0]
    if _LIBRARY.search(kernel) or not profile.instructions:
        return PASSED
    if isinstance(limiter, TooLittleWork) or (
        isinstance(limiter, AtRoof) and limiter.unit == "dram"
    ):
        return PASSED  # no library moves the bytes faster, or splits what is too small
    for pattern, library in _LIBRARIES:
        if found := pattern.search(short):
            return Advice(
                message=f'The name says "{found[0]}", for which NVIDIA keeps 1 tuned kernel per GPU.',
                action=f"Time {library} on the same data before you tune this kernel any further.",
                evidence=(given("name", found[0]),),
            )
    return PASSED


RULE = Rule(
    id="library-available",
    title="Compare with the library",
    topic=Topic.APPLICATION,
    priority=Priority.MEDIUM,
    kinds=(Kind.PROFILE,),
    why="Libraries are tuned for each GPU, and faster than most first versions.",
    when="A profiled kernel that is no library's own, and neither tiny nor at the memory roof, is named after a product, sort, scan, histogram, transform or sparse product.",
    citations=guide("5.1", "4.1"),
    check=check,
    examples=Examples(
        fires={"name": "my_sgemm_tiled", "profile": {"time": "2ms", "instructions": 7e8}},
        quiet={
            "name": "cutlass::Kernel2<cutlass_80_simt_sgemm>",
            "profile": {"time": "2ms", "instructions": 7e8},
        },
    ),
)
