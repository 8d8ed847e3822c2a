"""A kernel with more spills than an annotation can hold: its length has only 16 bits."""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries import spills
from gpuadvise.advisor.binaries.model import Exactness, Kernel
from gpuadvise.advisor.binaries.read import read, read_stream

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


def test_what_annotations_cannot_hold_is_a_bound(cuda: Callable[..., str], tmp_path: Path) -> None:
    source, cubin = tmp_path / "many.cu", tmp_path / "many.cubin"
    source.write_text(KERNEL)
    log = cuda("nvcc", "-w", "-arch=sm_90", "-cubin", "-Xptxas=-v", "-o", cubin, source)
    (built,) = (item for item in read(str(cubin)) if isinstance(item, Kernel))
    (said,) = read_stream(io.BytesIO(log.encode()), "log")
    assert isinstance(said, Kernel)
    assert said.spill_stores is not None
    assert said.spill_loads is not None
    assert built.spill_stores is not None
    assert built.spill_loads is not None
    assert said.spill_stores + said.spill_loads > 4 * 8192  # or this test shows nothing
    assert built.spills_are is Exactness.UPPER_BOUND
    assert built.spill_stores >= said.spill_stores
    assert built.spill_loads >= said.spill_loads
    assert built.frame == said.frame


def test_small_kernels_are_never_doubted() -> None:
    code = struct.pack("<QQ", 0x387, 4 << 9) * 8191
    assert not spills.may_be_cut((0, 0), code, 90)
    assert spills.may_be_cut((0, 0), code * 2, 90)
    assert not spills.may_be_cut((8191 * 8, 0), code * 2, 90)
    narrow = struct.pack("<Q", 0xEF50 << 48 | 4 << 48) * 20000
    assert spills.may_be_cut((0, 0), narrow, 61)
