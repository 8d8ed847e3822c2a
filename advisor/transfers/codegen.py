"""The code that a staging implies, as a skeleton to fill in."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.advisor.transfers.pipeline import StagedWork


class Language(StrEnum):
    """What the skeleton is written in."""

    CUDA = "cuda"
    PYTHON = "cuda-python"


_ELEMENT = 4  # bytes of the float that stands for the user's type


def skeleton(
    work: StagedWork,
    streams: int,
    language: Language,
    *,
    chunks: int | None = None,
    granularity: int = 256,
    mapped: bool = False,
) -> str:
    """Return code that stages *work* over *streams* streams, in one chunk each or in *chunks*.

    It allocates pinned memory, cuts chunks at multiples of *granularity* bytes and the last one
    short, checks every call, and waits once, at the end. *mapped* is for devices that share the
    host's memory: the same kernel over mapped memory, without copies.
    """
    template = _TEMPLATES[language, mapped]
    copies = {"h2d": work.copies_in, "d2h": work.copies_out}
    lines = (line.partition("|") for line in template.splitlines())
    kept = "\n".join(text for need, _, text in lines if copies.get(need, True))
    kept = kept.replace("@N", str(streams)).replace("@M", str(chunks or streams))
    return kept.replace("@A", str(max(1, granularity // _ELEMENT)))


# What stands before the bar is the copy that a line needs.
_CUDA_HEAD = """\
|#include <cstdio>
|#include <cstdlib>
|#include <cuda_runtime.h>
|
|#define CHECK(call) check((call), #call)
|
|void check(cudaError_t error, const char *call) {
|    if (error == cudaSuccess) return;
|    fprintf(stderr, "%s: %s\\n", call, cudaGetErrorString(error));
|    exit(1);
|}
|
|__global__ void kernel(float *data, size_t count) {  // yours
|    size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
|    if (i < count) data[i] += 1.0f;
|}
"""

_CUDA_STAGED = """\
|
|void staged(size_t n) {
|    constexpr int streams = @N, chunks = @M;
|    constexpr size_t aligned = @A;  // chunks start where accesses coalesce
|    size_t chunk = (n + chunks - 1) / chunks;
|    chunk = (chunk + aligned - 1) / aligned * aligned;
|    float *host, *data;
|    // pinned: copies of pageable memory do not overlap
|    CHECK(cudaMallocHost(&host, n * sizeof(float)));
|    CHECK(cudaMalloc(&data, n * sizeof(float)));
|    cudaStream_t stream[streams];
|    for (auto &s : stream)
|        CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
|
|    for (int i = 0; i < chunks; ++i) {
|        size_t first = i * chunk;
|        if (first >= n) break;
|        // The last chunk may be smaller.
|        size_t count = n - first < chunk ? n - first : chunk;
|        size_t size = count * sizeof(float);
|        unsigned blocks = (count + 255) / 256;
|        cudaStream_t s = stream[i % streams];
h2d|        CHECK(cudaMemcpyAsync(data + first, host + first, size,
h2d|                              cudaMemcpyHostToDevice, s));
|        kernel<<<blocks, 256, 0, s>>>(data + first, count);
|        CHECK(cudaGetLastError());
d2h|        CHECK(cudaMemcpyAsync(host + first, data + first, size,
d2h|                              cudaMemcpyDeviceToHost, s));
|    }
|    CHECK(cudaDeviceSynchronize());
|
|    for (auto &s : stream) CHECK(cudaStreamDestroy(s));
|    CHECK(cudaFree(data));
|    CHECK(cudaFreeHost(host));
|}
"""

_CUDA_MAPPED = """\
|
|void mapped(size_t n) {
|    float *host, *data;
|    CHECK(cudaHostAlloc(&host, n * sizeof(float), cudaHostAllocMapped));
|    // The same memory: nothing to copy.
|    CHECK(cudaHostGetDevicePointer(&data, host, 0));
|    kernel<<<(n + 255) / 256, 256>>>(data, n);
|    CHECK(cudaGetLastError());
|    CHECK(cudaDeviceSynchronize());  // from here on the host may read
|    CHECK(cudaFreeHost(host));
|}
"""

_PYTHON_HEAD = """\
|import ctypes
|
|from cuda.bindings import driver
|
|
|def check(answer):
|    error, *values = answer
|    if error != driver.CUresult.CUDA_SUCCESS:
|        raise RuntimeError(error)
|    return values[0] if len(values) == 1 else values
|
"""

_PYTHON_STAGED = """\
|
|# kernel: a CUfunction (float *data, size_t count); a context is current.
|def staged(kernel, n):
|    streams, chunks = @N, @M
|    aligned = @A  # elements: chunks start where accesses coalesce
|    chunk = -(-n // chunks)
|    chunk = -(-chunk // aligned) * aligned
|    size = ctypes.sizeof(ctypes.c_float)
|    # pinned: copies of pageable memory do not overlap
|    host = check(driver.cuMemAllocHost(n * size))
|    data = int(check(driver.cuMemAlloc(n * size)))
|    flags = driver.CUstream_flags.CU_STREAM_NON_BLOCKING
|    stream = [check(driver.cuStreamCreate(flags)) for _ in range(streams)]
|
|    for i, first in enumerate(range(0, n, chunk)):
|        count = min(chunk, n - first)  # the last may be smaller
|        there, here = data + first * size, host + first * size
|        s = stream[i % streams]
h2d|        check(driver.cuMemcpyHtoDAsync(there, here, count * size, s))
|        values = (there, count), (ctypes.c_void_p, ctypes.c_size_t)
|        blocks = -(-count // 256)
|        grid, block = (blocks, 1, 1), (256, 1, 1)
|        check(driver.cuLaunchKernel(kernel, *grid, *block, 0, s, values, 0))
d2h|        check(driver.cuMemcpyDtoHAsync(here, there, count * size, s))
|    check(driver.cuCtxSynchronize())
|
|    for s in stream:
|        check(driver.cuStreamDestroy(s))
|    check(driver.cuMemFree(data))
|    check(driver.cuMemFreeHost(host))
"""

_PYTHON_MAPPED = """\
|
|# kernel: a CUfunction (float *data, size_t count); a context is current.
|def mapped(kernel, n):
|    size = ctypes.sizeof(ctypes.c_float)
|    flags = driver.CU_MEMHOSTALLOC_DEVICEMAP
|    host = check(driver.cuMemHostAlloc(n * size, flags))
|    # The same memory: nothing to copy.
|    data = int(check(driver.cuMemHostGetDevicePointer(host, 0)))
|    values = (data, n), (ctypes.c_void_p, ctypes.c_size_t)
|    blocks = -(-n // 256)
|    grid, block = (blocks, 1, 1), (256, 1, 1)
|    check(driver.cuLaunchKernel(kernel, *grid, *block, 0, 0, values, 0))
|    check(driver.cuCtxSynchronize())  # from here on the host may read
|    check(driver.cuMemFreeHost(host))
"""

_TEMPLATES = {
    (Language.CUDA, False): _CUDA_HEAD + _CUDA_STAGED,
    (Language.CUDA, True): _CUDA_HEAD + _CUDA_MAPPED,
    (Language.PYTHON, False): _PYTHON_HEAD + _PYTHON_STAGED,
    (Language.PYTHON, True): _PYTHON_HEAD + _PYTHON_MAPPED,
}
