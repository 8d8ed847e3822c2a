"""The code that a staging implies, as a skeleton to fill in."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.advisor.transfers.work import Work


class Language(StrEnum):
    """What the skeleton is written in."""

    CUDA = "cuda"
    PYTHON = "cuda-python"


def skeleton(work: Work, streams: int, language: Language, *, chunks: int | None = None) -> str:
    """Return code that stages *work* over *streams* streams, in one chunk each or in *chunks*.

    It allocates pinned memory, cuts the last chunk short and waits once, at the end.
    """
    lines = _CUDA if language is Language.CUDA else _PYTHON
    copies = {"h2d": bool(work.h2d_bytes or work.h2d_seconds)}
    copies["d2h"] = bool(work.d2h_bytes or work.d2h_seconds)
    kept = [text for need, text in lines if need is None or copies[need]]
    return "\n".join(kept).replace("@N", str(streams)).replace("@M", str(chunks or streams))


_Lines = tuple[tuple[str | None, str], ...]

_CUDA: _Lines = (
    (None, "constexpr int streams = @N, chunks = @M;"),
    (None, "size_t chunk = (n + chunks - 1) / chunks;  // elements"),
    (None, "float *host, *data;"),
    (None, "cudaMallocHost(&host, n * sizeof(float));  // pinned: pageable copies do not overlap"),
    (None, "cudaMalloc(&data, n * sizeof(float));"),
    (None, "cudaStream_t stream[streams];"),
    (None, "for (auto &s : stream) cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);"),
    (None, ""),
    (None, "for (int i = 0; i < chunks; ++i) {"),
    (None, "    size_t first = i * chunk;"),
    (None, "    if (first >= n) break;"),
    (None, "    size_t count = first + chunk > n ? n - first : chunk;  // the last may be smaller"),
    ("h2d", "    cudaMemcpyAsync(data + first, host + first, count * sizeof(float),"),
    ("h2d", "                    cudaMemcpyHostToDevice, stream[i % streams]);"),
    (
        None,
        "    kernel<<<(count + 255) / 256, 256, 0, stream[i % streams]>>>(data + first, count);",
    ),
    ("d2h", "    cudaMemcpyAsync(host + first, data + first, count * sizeof(float),"),
    ("d2h", "                    cudaMemcpyDeviceToHost, stream[i % streams]);"),
    (None, "}"),
    (None, "cudaDeviceSynchronize();  // check every call's result, and cudaGetLastError()"),
)

_PYTHON: _Lines = (
    (None, "from cuda.bindings import driver"),
    (None, ""),
    (None, "def check(answer):"),
    (None, "    error, *values = answer"),
    (None, "    if error != driver.CUresult.CUDA_SUCCESS:"),
    (None, "        raise RuntimeError(error)"),
    (None, "    return values[0] if len(values) == 1 else values"),
    (None, ""),
    (None, "streams, chunks = @N, @M"),
    (None, "chunk = -(-size // chunks)  # bytes; keep it a multiple of the element"),
    (None, "host = check(driver.cuMemAllocHost(size))  # pinned: pageable copies do not overlap"),
    (None, "data = int(check(driver.cuMemAlloc(size)))"),
    (None, "flags = driver.CUstream_flags.CU_STREAM_NON_BLOCKING"),
    (None, "stream = [check(driver.cuStreamCreate(flags)) for _ in range(streams)]"),
    (None, ""),
    (None, "for i, first in enumerate(range(0, size, chunk)):"),
    (None, "    count = min(chunk, size - first)  # the last may be smaller"),
    (
        "h2d",
        "    check(driver.cuMemcpyHtoDAsync(data + first, host + first, count, stream[i % streams]))",
    ),
    (
        None,
        "    launch(kernel, data + first, count, stream[i % streams])  # cuLaunchKernel in that stream",
    ),
    (
        "d2h",
        "    check(driver.cuMemcpyDtoHAsync(host + first, data + first, count, stream[i % streams]))",
    ),
    (None, "check(driver.cuCtxSynchronize())"),
)
