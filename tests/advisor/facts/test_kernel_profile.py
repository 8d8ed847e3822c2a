"""What a profiler counts, as work under a roofline."""

from __future__ import annotations

from gpuadvise.advisor.facts.kernel_profile import KernelProfile


def moved(kernel: str = "void transpose(float*)", **counts: float) -> KernelProfile:
    return KernelProfile(
        kernel=kernel,
        grid=(1000, 1, 1),
        block=(256, 1, 1),
        seconds=1e-3,
        dram_bytes=1e9,
        float_instructions=counts,
    )


def test_half_instructions_that_only_set_registers_are_no_work() -> None:
    few = 256_000 * 2.0
    assert moved(hfma=few, hadd=0.0, hmul=0.0, ffma=0.0).work is None
    assert moved(hfma=few, ffma=10.0).work.dtype == "fp32"
    assert moved(hfma=few, hmul=1.0).work.dtype == "fp16"
    assert moved(hfma=256_000 * 64.0).work.dtype == "fp16"
    assert moved("void axpy(__half2*)", hfma=few).work.dtype == "fp16"
