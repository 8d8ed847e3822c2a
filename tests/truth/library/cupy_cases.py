"""Kernels of cuFFT, cuSPARSE, cuSOLVER, cuRAND and of CuPy itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cupy
import session

if TYPE_CHECKING:
    from collections.abc import Callable

    Body = Callable[[], object]

ROWS, ENTRIES = 1 << 17, 24


def elements() -> Body:
    """Return a formula in one fused kernel."""
    kernel = cupy.ElementwiseKernel("T x, T y", "T z", "z = x * y + sqrt(x)", "formula")
    x, y = cupy.random.rand(1 << 25, dtype="f4"), cupy.random.rand(1 << 25, dtype="f4")
    return lambda: kernel(x, y)


def transform(kind: str, *shape: int) -> Body:
    """Return a Fourier transform over the last axis, or over all of a plane."""
    x = cupy.random.rand(*shape, dtype="f4").astype("c8" if kind != "double" else "c16")
    return (lambda: cupy.fft.fft2(x)) if kind == "plane" else (lambda: cupy.fft.fft(x))


def sparse(columns: int) -> Body:
    """Return a sparse matrix times a vector or a thin matrix."""
    from cupyx.scipy.sparse import csr_matrix

    places = cupy.random.randint(0, ROWS, ROWS * ENTRIES).astype("i4")
    values = cupy.random.rand(ROWS * ENTRIES, dtype="f4")
    starts = cupy.arange(0, ROWS * ENTRIES + 1, ENTRIES, dtype="i4")
    matrix = csr_matrix((values, places, starts), shape=(ROWS, ROWS))
    dense = cupy.random.rand(ROWS, columns, dtype="f4")
    dense = dense[:, 0] if columns == 1 else cupy.asfortranarray(dense)
    return lambda: matrix @ dense


def solve(side: int) -> Body:
    """Return the solution of a small system."""
    a, b = cupy.random.rand(side, side, dtype="f4"), cupy.random.rand(side, dtype="f4")
    return lambda: cupy.linalg.solve(a, b)


def one(body: Callable[[cupy.ndarray], object], *shape: int, dtype: str = "f4") -> Body:
    """Return an operation on one random array."""
    x = cupy.random.rand(*shape, dtype="f4").astype(dtype)
    return lambda: body(x)


CASES: dict[str, Callable[[], Body]] = {
    "elements": elements,
    "sum": lambda: one(cupy.sum, 1 << 25),
    "sum_first_axis": lambda: one(lambda x: x.sum(0), 8192, 4096),
    "sort": lambda: one(cupy.sort, 1 << 22),
    "fft_long": lambda: transform("line", 1 << 24),
    "fft_batch": lambda: transform("line", 16_384, 1024),
    "fft_odd": lambda: transform("line", 4096, 1009),
    "fft_plane": lambda: transform("plane", 4096, 4096),
    "fft_double": lambda: transform("double", 4096, 4096),
    "spmv": lambda: sparse(1),
    "spmm": lambda: sparse(32),
    "uniform": lambda: one(lambda x: cupy.random.rand(1 << 25, dtype="f4"), 1),
    "solve": lambda: solve(512),
    "polynomial_double": lambda: one(lambda x: ((x * 2 + 1) * x + 3) * x, 1 << 22, dtype="f8"),
}


def prepare(name: str) -> session.Case:
    """Return a case with its inputs on the device."""
    cupy.random.seed(0)
    cupy.get_default_memory_pool().free_all_blocks()
    return name, CASES[name](), cupy.cuda.Device().synchronize


if __name__ == "__main__":
    session.run("cupy", prepare, list(CASES))
