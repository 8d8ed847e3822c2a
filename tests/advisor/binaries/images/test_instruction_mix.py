"""What instructions ask for, against the vendor's disassembler."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.binaries.cubin.instruction_mix import instruction_mix
from gpuadvise.advisor.binaries.model import InstructionMix, Kernel
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

_NAME = re.compile(r"^\s*\.text\.(\S+):", re.MULTILINE)
_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)")
_BYTES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
_ATOMICS = {"ATOM", "ATOMS", "ATOMG", "RED", "REDG"}
# Everything that is counted; of its own, for the kernels that the other tests compile divide little.
SOURCE = """
struct __align__(16) Four { float x, y, z, w; };
struct __align__(32) Wide { double x, y, z, w; };
__global__ void narrow(const float *a, float *b, const char *c) { b[threadIdx.x] = a[threadIdx.x] + c[1]; }
__global__ void wide(const Four *a, Four *b) { b[threadIdx.x] = a[threadIdx.x]; }
__global__ void widest(const Wide *a, Wide *b) { b[threadIdx.x] = a[threadIdx.x]; }
__global__ void atomic(int *a, unsigned long long *u, float *f, int n) {
    __shared__ int s[32];
    atomicAdd(&s[threadIdx.x & 31], 1);
    __syncthreads();
    if (atomicAdd(a, s[0]) == 3) atomicAdd(u, 1ull);
    atomicCAS(a + 2, 1, 2);
    atomicAdd(f, 1.f);
    a[5] = atomicMax(a + 4, n);
    atomicCAS(&s[1], 1, 2);
    a[6] = __syncthreads_count(n);
}
__global__ void divides(float *f, double *d, int *i, unsigned *u, long long *l, int n, int m) {
    f[0] = f[1] / f[2];
    d[0] = d[1] / d[2];
    i[0] = i[1] / n;
    u[0] = u[1] % m;
    f[3] = rsqrtf(f[4]) + exp2f(f[5]) + (float)n;
}
__global__ void local(float *f, int n) {
    float a[64];
    for (int i = 0; i < 64; i++) a[i] = f[i];
    for (int i = 0; i < n; i++) a[(i * 7) & 63] += f[i];
    f[0] = a[n & 63];
}
"""


def mix_of(names: Iterable[str]) -> InstructionMix:
    """Return what nvdisasm's names of instructions amount to."""
    loads: Counter[int] = Counter()
    stores: Counter[int] = Counter()
    others: Counter[str] = Counter()
    for name in names:
        base, *modifiers = name.split(".")
        width = next((_BYTES[word] for word in modifiers if word in _BYTES), 4)
        if base == "LDG":
            loads[width] += 1
        elif base == "STG":
            stores[width] += 1
        elif base in ("LDL", "STL", "BAR"):
            others[base] += 1
        elif base in _ATOMICS:
            others["atomic"] += 1
        elif base == "FCHK" or (base == "I2F" and "RP" in modifiers) or "RCP64H" in modifiers:
            others["division"] += 1
    return InstructionMix(
        global_loads=tuple(sorted(loads.items())),
        global_stores=tuple(sorted(stores.items())),
        local_loads=others["LDL"],
        local_stores=others["STL"],
        atomics=others["atomic"],
        barriers=others["BAR"],
        divisions=others["division"],
    )


def compared(path: Path, listing: str) -> dict[str, InstructionMix]:
    parts = _NAME.split(listing)
    said = {
        name: mix_of(_INSTRUCTION.findall(code))
        for name, code in zip(parts[1::2], parts[2::2], strict=True)
    }
    items = read(str(path), ReadOptions(instructions=True))
    counted = {item.name: item.mix for item in items if isinstance(item, Kernel)}
    assert counted == said
    return said


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_as_disassembled(target: str, assemble: Callable, cuda: Callable, tmp_path: Path) -> None:
    path = assemble(target).path
    compared(path, cuda("nvdisasm", path))
    source, own = tmp_path / "mix.cu", tmp_path / "mix.cubin"
    source.write_text(SOURCE)
    cuda("nvcc", f"-arch={target}", "-cubin", "-o", own, source)
    said = compared(own, cuda("nvdisasm", own))
    by_name = {re.sub(r"^_Z\d+([a-z]+?)(?=P).*", r"\1", name): mix for name, mix in said.items()}
    assert dict(by_name["narrow"].global_loads).keys() == {1, 4}
    assert dict(by_name["wide"].global_loads) == {16: 1}
    assert by_name["divides"].divisions >= 4
    assert by_name["local"].local_loads >= 2
    assert by_name["atomic"].barriers == 2


@given(st.binary(max_size=400), st.sampled_from([60, 70, 90, 120]))
def test_any_bytes_are_counted_or_not_known(code: bytes, sm: int) -> None:
    mix = instruction_mix(code, sm)
    if sm < 70:
        assert mix is None
        return
    assert mix is not None
    whole = sum(count for _, count in (*mix.global_loads, *mix.global_stores)) + sum(mix[2:])
    assert whole <= -(-len(code) // 16)
