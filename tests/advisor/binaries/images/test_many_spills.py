"""A kernel with more spills than an annotation can hold: its length has only 16 bits."""

from __future__ import annotations

import io
import re
import struct
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.cubin import sass
from gpuadvise.advisor.binaries.cubin.reader import describe
from gpuadvise.advisor.binaries.model import Exactness, Kernel
from gpuadvise.advisor.binaries.read import read, read_stream
from gpuadvise.advisor.binaries.span import MemorySpan
from gpuadvise.advisor.binaries.vectorized.reader import read_images

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KERNEL = """
extern "C" __global__ void __launch_bounds__(1024, 2) spilling(float *p, int n) {
  float v[48];
#pragma unroll
  for (int i = 0; i < 48; ++i) v[i] = p[i * n + threadIdx.x];
#pragma unroll
  for (int k = 0; k < 48; ++k) {
    float s = v[k];
#pragma unroll
    for (int i = 0; i < 48; ++i) s += v[i] * v[(i * 7 + k) % 48];
    p[k * n + threadIdx.x] = s;
  }
#pragma unroll
  for (int i = 0; i < 48; ++i) p[i * n + threadIdx.x + 99] = v[i];
}
"""

# Spills beside an array in local memory, which is accessed 2,200 times.
ARRAY = """
extern "C" __global__ void __launch_bounds__(1024, 2) both(float *p, const int *at, int n) {
  float v[40], local[64];
#pragma unroll
  for (int i = 0; i < 40; ++i) v[i] = p[i * n + threadIdx.x];
#pragma unroll
  for (int i = 0; i < 1100; ++i) local[at[i] & 63] += v[i % 40];
#pragma unroll
  for (int k = 0; k < 24; ++k) {
    float s = v[k];
#pragma unroll
    for (int i = 0; i < 40; ++i) s += v[i] * v[(i * 7 + k) % 40];
    p[k * n + threadIdx.x] = s;
  }
#pragma unroll
  for (int i = 0; i < 40; ++i) p[i * n + threadIdx.x + 99] = v[i] + local[at[i] & 63];
}
"""


def compiled(
    kernel: str, cuda: Callable[..., str], tmp_path: Path
) -> tuple[Kernel, Kernel, tuple[int, int]]:
    """Return *kernel* as its cubin and as the compiler describe it, and the latter's spills."""
    source, cubin = tmp_path / "many.cu", tmp_path / "many.cubin"
    source.write_text(kernel)
    log = cuda("nvcc", "-w", "-arch=sm_90", "-cubin", "-Xptxas=-v", "-o", cubin, source)
    (built,) = (item for item in read(str(cubin)) if isinstance(item, Kernel))
    (said,) = read_stream(io.BytesIO(log.encode()), "log")
    assert isinstance(said, Kernel)
    assert said.spill_stores is not None
    assert said.spill_loads is not None
    return built, said, (said.spill_stores, said.spill_loads)


def test_what_annotations_cannot_hold_is_a_bound(cuda: Callable[..., str], tmp_path: Path) -> None:
    built, said, spilled = compiled(KERNEL, cuda, tmp_path)
    assert sum(spilled) > 4 * 8192  # or this test shows nothing
    assert built.spills_are is Exactness.UPPER_BOUND
    assert built.spill_stores is not None
    assert built.spill_loads is not None
    assert built.spill_stores >= spilled[0]
    assert built.spill_loads >= spilled[1]
    assert built.frame == said.frame


def test_annotations_may_be_left_out_altogether(cuda: Callable[..., str], tmp_path: Path) -> None:
    """Of 8192 spills nothing is left over. Here the record is made one that nobody reads."""
    compiled(KERNEL, cuda, tmp_path)
    cubin = tmp_path / "many.cubin"
    image = cubin.read_bytes()
    (record,) = re.findall(rb"\x04\x55..\x01\0\0\0", image, re.DOTALL)
    cubin.write_bytes(image.replace(record, b"\x04\x7e" + record[2:]))
    built = [item for item in read(str(cubin)) if isinstance(item, Kernel)]
    assert built[0].spills_are is Exactness.UPPER_BOUND
    assert (built[0].spill_stores or 0) + (built[0].spill_loads or 0) > 4 * 8192
    entry = describe(MemorySpan(cubin.read_bytes()), built[0].place)
    assert read_images([entry], [memoryview(cubin.read_bytes())]) == [built]


def test_spills_of_large_kernels_are_told_from_their_arrays(
    cuda: Callable[..., str], tmp_path: Path
) -> None:
    built, _, spilled = compiled(ARRAY, cuda, tmp_path)
    assert built.code_bytes is not None
    assert built.code_bytes > 16 * 8192  # or this test shows nothing
    assert (built.spill_stores, built.spill_loads) == spilled
    assert built.spills_are is Exactness.EXACT


def test_only_what_8192_accesses_without_annotation_hide_is_doubted() -> None:
    code = struct.pack("<QQ", 0x387, 4 << 9) * 8191
    named = [word for place in range(8191) for word in (sass.SPILL, 16 * place)]
    assert not sass.may_be_cut([], code, 90)
    assert sass.may_be_cut([], code * 2, 90)
    assert not sass.may_be_cut(named, code * 2, 90)
    assert sass.may_be_cut(named[2:], code * 2, 90)
    narrow = struct.pack("<Q", 0xEF50 << 48 | 4 << 48) * 20000
    assert sass.may_be_cut([], narrow, 61)
    assert not sass.may_be_cut([], narrow[: 8 * 10922], 61)  # three of four words are code
