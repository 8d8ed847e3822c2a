"""The small kernels that measuring launches, compiled on the spot through NVRTC."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.measure.calls import call
from gpuadvise.advisor.backends.nvrtc import Program, compiled

if TYPE_CHECKING:
    from gpuadvise.advisor.backends.measure.session import Session

THREADS = 256  # per block: the guide's starting range is 128 to 256

# load, store: every thread moves WORDS_PER_THREAD words at a stride and an offset (guide,
# "Effects of Misaligned Accesses" and "Strided Accesses"); several in flight, or latency would
# hide what sectors cost, and one direction alone, because a store that fills half a sector
# costs a load as well.
# work: fills the device; its time follows `rounds`, whatever the size of the piece that it
# reads and writes, so that a kernel's time divides exactly over its pieces; four chains, so
# that the last warps of a kernel still keep their schedulers busy.
# fma: independent chains of fused multiply-adds, for the attainable rate of the units.
SOURCE = """
#define FIRST (blockIdx.x * (long)blockDim.x * 8 + threadIdx.x)
template <typename T> __device__ void load_words(T* out, const T* in, long stride, long offset) {
    T word[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) word[k] = in[(FIRST + k * blockDim.x) * stride + offset];
    bool never = true;
#pragma unroll
    for (int k = 0; k < 8; ++k) never = never && *(float*)&word[k] == 1.25e-38f;
    if (never) out[0] = word[0];
}
template <typename T> __device__ void store_words(T* out, long stride, long offset) {
    T word;
    for (int k = 0; k < sizeof(T) / 4; ++k) ((float*)&word)[k] = threadIdx.x + k;
#pragma unroll
    for (int k = 0; k < 8; ++k) out[(FIRST + k * blockDim.x) * stride + offset] = word;
}
template <typename T> __device__ void copy_words(T* out, const T* in) {
    T word[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) word[k] = in[FIRST + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < 8; ++k) out[FIRST + k * blockDim.x] = word[k];
}
#define MOVES(N, T) \\
extern "C" __global__ void load##N(T* o, const T* i, long s, long f) { load_words(o, i, s, f); } \\
extern "C" __global__ void store##N(T* o, const T*, long s, long f) { store_words(o, s, f); } \\
extern "C" __global__ void copy##N(T* o, const T* i, long, long) { copy_words(o, i); }
MOVES(4, float) MOVES(8, float2) MOVES(16, float4)
extern "C" __global__ void work(float4* data, long count, long rounds) {
    long thread = blockIdx.x * (long)blockDim.x + threadIdx.x;
    long threads = gridDim.x * (long)blockDim.x;
    float a = thread, b = a + 1, c = a + 2, d = a + 3, m = 0.999f, n = 0.001f;
    for (long round = 0; round < rounds; ++round) {
        a = a * m + n; b = b * m + n; c = c * m + n; d = d * m + n;
    }
    float value = a + b + c + d;
    for (long i = thread; i < count; i += threads) {
        float4 four = data[i];
        four.x += value; four.y += value; four.z += value; four.w += value;
        data[i] = four;
    }
}
template <typename T> __device__ void chains(T* out, long rounds) {
    T a = threadIdx.x, b = a + T(1), c = a + T(2), d = a + T(3), m = T(0.999), n = T(0.001);
    for (long i = 0; i < rounds; ++i) {
#pragma unroll
        for (int j = 0; j < 64; ++j) { a = a * m + n; b = b * m + n; c = c * m + n; d = d * m + n; }
    }
    if (a + b + c + d == T(-1)) out[0] = a;
}
extern "C" __global__ void fma32(float* out, long rounds) { chains(out, rounds); }
extern "C" __global__ void fma64(double* out, long rounds) { chains(out, rounds); }
"""
WORDS_PER_THREAD = 8  # of the load and store kernels
WORK_WORD = 16  # bytes that `work` moves at once
FLOPS_PER_ROUND = 64 * 4 * 2  # per thread of fma32 and fma64


class Kernels:
    """The kernels of *source* as loaded into a session's context; *target* is the compiler's."""

    def __init__(
        self, session: Session, source: str = SOURCE, *, target: str | None = None
    ) -> None:
        capability = "{}{}".format(*session.properties().capability)
        image = _image(source, target or f"sm_{capability}")
        self._module = call("cuModuleLoadData", image)
        self._functions: dict[str, Any] = {}

    def launcher(self, name: str, blocks: int, stream: Any, *args: int | Any) -> Launcher:
        """Return a launch of kernel *name*; pointers and ``long`` arguments as integers."""
        if name not in self._functions:
            function = call("cuModuleGetFunction", self._module, name.encode())
            self._functions[name] = function
        return Launcher(self._functions[name], blocks, stream, args)


class Launcher:
    """One launch with its arguments laid out once: repeating it costs one driver call."""

    def __init__(self, function: Any, blocks: int, stream: Any, args: tuple[Any, ...]) -> None:
        self._values = [ctypes.c_int64(int(arg)) for arg in args]
        pointers = [ctypes.addressof(value) for value in self._values]
        self._params = (ctypes.c_void_p * len(pointers))(*pointers)
        self._fixed = (function, blocks, 1, 1, THREADS, 1, 1, 0, stream)

    def __call__(self) -> None:
        """Launch it once more."""
        call("cuLaunchKernel", *self._fixed, ctypes.addressof(self._params), 0)


@cache
def _image(source: str, target: str) -> bytes:
    return compiled(Program(text=source.encode(), name="measure.cu"), target).cubin
