"""Kernels that keep the tensor cores busy: one per type, from registers or shared memory alone."""

from __future__ import annotations

from dataclasses import dataclass

_CHAINS = 8  # independent accumulators of a warp
_PER_ROUND = 4  # wgmma between two looks at the loop's counter
_WARP = 32
# Random bits with bit 6 of every byte clear: in each type numbers below 2, no NaN.
_FILLED = """
__device__ unsigned filled(unsigned n) {
    n = (n + blockIdx.x * 7919u) * 2654435761u; n ^= n >> 15; n *= 2246822519u; n ^= n >> 13;
    return n & 0xBFBFBFBFu;
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorType:
    """How one type is multiplied: *instruction*, its shape, operand registers per lane.

    ``multiply`` is PTX up to the operands; *tail* what follows them.
    """

    dtype: str
    instruction: str  # mma or wgmma
    shape: tuple[int, int, int]
    multiply: str
    a: int = 0  # registers of A and B; of wgmma they are in shared memory
    b: int = 0
    d: int = 0
    kind: str = "f"  # of the accumulator, as inline assembly names it
    operand: str = "r"
    tail: str = ""

    @property
    def kernel(self) -> str:
        """The name of the kernel."""
        return f"tensor_{self.dtype}"

    def operations(self, threads: int) -> int:
        """Return what *threads* of a block do per round; a multiply-add counts as two."""
        m, n, k = self.shape
        warps = threads // _WARP
        issued = warps * _CHAINS if self.instruction == "mma" else warps // 4 * _PER_ROUND
        return 2 * m * n * k * issued


def _mma(dtype: str, shape: tuple[int, int, int], types: str, registers: tuple[int, int, int],
         kind: str = "f", operand: str = "r") -> TensorType:  # fmt: skip
    a, b, d = registers
    name = "mma.sync.aligned.m{}n{}k{}.row.col".format(*shape)
    return TensorType(dtype=dtype, instruction="mma", shape=shape, multiply=f"{name}.{types}",
                      a=a, b=b, d=d, kind=kind, operand=operand)  # fmt: skip


def _wgmma(dtype: str, k: int, types: str, tail: str, kind: str = "f") -> TensorType:
    return TensorType(dtype=dtype, instruction="wgmma", shape=(64, 256, k), d=128, kind=kind,
                      multiply=f"wgmma.mma_async.sync.aligned.m64n256k{k}.{types}", tail=tail)  # fmt: skip


# Shapes and registers: PTX ISA, "Matrix Fragments for mma" and "Asynchronous wgmma".
_TURING = (
    _mma("fp16_tensor", (16, 8, 8), "f32.f16.f16.f32", (2, 1, 4)),
    _mma("int8_tensor", (8, 8, 16), "s32.s8.s8.s32", (1, 1, 2), "r"),
)
_AMPERE = (
    _mma("fp16_tensor", (16, 8, 16), "f32.f16.f16.f32", (4, 2, 4)),
    _mma("bf16_tensor", (16, 8, 16), "f32.bf16.bf16.f32", (4, 2, 4)),
    _mma("tf32_tensor", (16, 8, 8), "f32.tf32.tf32.f32", (4, 2, 4)),
    _mma("int8_tensor", (16, 8, 32), "s32.s8.s8.s32", (4, 2, 4), "r"),
)
_FP8 = _mma("fp8_tensor", (16, 8, 32), "f32.e4m3.e4m3.f32", (4, 2, 4))
_FP64 = _mma("fp64_tensor", (8, 8, 4), "f64.f64.f64.f64", (1, 1, 2), "d", "d")
_HOPPER = (
    _wgmma("fp16_tensor", 16, "f32.f16.f16", ", 1, 1, 0, 0"),
    _wgmma("bf16_tensor", 16, "f32.bf16.bf16", ", 1, 1, 0, 0"),
    _wgmma("tf32_tensor", 8, "f32.tf32.tf32", ", 1, 1"),
    _wgmma("fp8_tensor", 32, "f32.e4m3.e4m3", ", 1, 1"),
    _wgmma("int8_tensor", 32, "s32.s8.s8", "", "r"),
    _mma("fp64_tensor", (16, 8, 16), "f64.f64.f64.f64", (8, 4, 4), "d", "d"),
)


def tensor_types(capability: tuple[int, int]) -> tuple[TensorType, ...]:
    """Return the types that the tensor cores of *capability* multiply, as far as kernels are here.

    Blackwell's own instructions (tcgen05) are not: there ``mma`` reaches a part of the peak.
    """
    if capability == (9, 0):
        return _HOPPER
    if capability < (7, 5):
        return ()
    if capability < (8, 0):
        return _TURING
    doubles = (_FP64,) if capability in ((8, 0), (10, 0)) else ()
    return (*_AMPERE, *((_FP8,) if capability >= (8, 9) else ()), *doubles)


def architecture(capability: tuple[int, int]) -> str:
    """Return the compiler's target: Hopper's own instructions need its own."""
    return "sm_{}{}".format(*capability) + ("a" if capability == (9, 0) else "")


def source(types: tuple[TensorType, ...]) -> str:
    """Return CUDA C++ with a kernel ``tensor_TYPE(out, rounds)`` for each of *types*."""
    return _FILLED + "".join(
        _from_registers(kind) if kind.instruction == "mma" else _from_shared(kind) for kind in types
    )


_ACCUMULATORS = {"f": "float", "r": "int", "d": "double"}


def _from_registers(kind: TensorType) -> str:
    accumulator, operand = _ACCUMULATORS[kind.kind], "double" if kind.operand == "d" else "unsigned"
    groups, first = [], 0
    for count in (kind.d, kind.a, kind.b):
        groups.append("{" + ",".join(f"%{first + n}" for n in range(count)) + "}")
        first += count
    d, a, b = groups
    outputs = ",".join(f'"+{kind.kind}"(d[c][{n}])' for n in range(kind.d))
    inputs = ",".join(
        f'"{kind.operand}"({name}[{n}])'
        for name, count in (("a", kind.a), ("b", kind.b))
        for n in range(count)
    )
    value = "1.0 + filled(n) * 1e-10" if kind.operand == "d" else "filled(n)"
    return f"""
extern "C" __global__ void {kind.kernel}({accumulator}* out, long rounds) {{
    {operand} a[{kind.a}], b[{kind.b}];
    for (unsigned i = 0; i < {kind.a}; ++i) {{ unsigned n = threadIdx.x * 64 + i; a[i] = {value}; }}
    for (unsigned i = 0; i < {kind.b}; ++i) {{ unsigned n = threadIdx.x * 64 + 32 + i; b[i] = {value}; }}
    {accumulator} d[{_CHAINS}][{kind.d}] = {{}};
    for (long i = 0; i < rounds; ++i) {{
#pragma unroll
        for (int c = 0; c < {_CHAINS}; ++c)
            asm volatile("{kind.multiply} {d}, {a}, {b}, {d};" : {outputs} : {inputs});
    }}
    {accumulator} sum = 0;
    for (int c = 0; c < {_CHAINS}; ++c) for (int n = 0; n < {kind.d}; ++n) sum += d[c][n];
    if (sum == ({accumulator})1234567) out[0] = sum;
}}
"""


def _from_shared(kind: TensorType) -> str:
    accumulator = _ACCUMULATORS[kind.kind]
    registers = ",".join(f"%{n}" for n in range(kind.d))
    outputs = ",".join(f'"+{kind.kind}"(d[{n}])' for n in range(kind.d))
    instruction = f"{kind.multiply} {{{registers}}}, %{kind.d}, %{kind.d + 1}, p{kind.tail}; "
    issued = instruction * _PER_ROUND
    # Tiles of 8 rows of 16 bytes, two side by side: 128 bytes to the next along K, 256 along M or N.
    return f"""
extern "C" __global__ void __launch_bounds__(256) {kind.kernel}({accumulator}* out, long rounds) {{
    __shared__ __align__(1024) unsigned tile[2560];
    for (unsigned n = threadIdx.x; n < 2560; n += blockDim.x) tile[n] = filled(n);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(tile);
    unsigned long long layout = (8ull << 16) | (16ull << 32);
    unsigned long long a = layout | ((at >> 4) & 0x3FFF), b = layout | (((at + 2048) >> 4) & 0x3FFF);
    {accumulator} d[{kind.d}] = {{}};
    for (long i = 0; i < rounds; ++i)
        asm volatile("{{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.fence.sync.aligned; "
                     "{issued}"
                     "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; }}"
                     : {outputs} : "l"(a), "l"(b) : "memory");
    {accumulator} sum = 0;
    for (int n = 0; n < {kind.d}; ++n) sum += d[n];
    if (sum == ({accumulator})1234567) out[0] = sum;
}}
"""
