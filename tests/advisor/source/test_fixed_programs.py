"""What ``--fix`` writes compiles, and no fault that it mends is left."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gpuadvise.advisor.source.fixes import mended
from gpuadvise.rules.source.lint import lint_cuda

PROGRAM = Path(__file__).parent / "fixed.cu"
LEGACY = b"""\
__global__ void sum(float *out, const float *in) {
  float v = in[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down(v, d);
  out[threadIdx.x] = v;
}
"""
NVCC = shutil.which("nvcc")
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="no toolkit on PATH")


def fixed(data: bytes) -> bytes:
    for _ in range(8):
        result = mended(data, lint_cuda(data, "fixed.cu").diagnostics)
        if not result.fixed:
            return result.data
        data = result.data
    raise AssertionError("fixes go on for ever")


def compiles(data: bytes, folder: Path) -> bool:
    (folder / "program.cu").write_bytes(data)
    words = [str(NVCC), "-arch=sm_80", "-cubin", "-o", "program.cubin", "program.cu"]
    return subprocess.run(words, cwd=folder, capture_output=True, check=False).returncode == 0


def test_every_kernel_has_a_fix_and_none_is_left() -> None:
    data = PROGRAM.read_bytes()
    kernels = {d.kernel for d in lint_cuda(data, "fixed.cu").diagnostics if d.edits}
    assert len(kernels) == data.count(b"__global__")
    assert not [d for d in lint_cuda(fixed(data), "fixed.cu").diagnostics if d.edits]


@needs_nvcc
def test_programs_compile_before_and_after(tmp_path: Path) -> None:
    data = PROGRAM.read_bytes()
    assert compiles(data, tmp_path)
    assert compiles(fixed(data), tmp_path)


@needs_nvcc
def test_a_mask_makes_a_legacy_shuffle_compile(tmp_path: Path) -> None:
    assert not compiles(LEGACY, tmp_path)
    assert compiles(fixed(LEGACY), tmp_path)
