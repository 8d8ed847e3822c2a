"""Kernels written by hand in Triton: a product, a softmax, a normalisation, elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import session
import torch
import triton
import triton.language as tl

if TYPE_CHECKING:
    from collections.abc import Callable


@triton.jit
def add_vectors(x, y, out, n, BLOCK: tl.constexpr):
    """Add two vectors."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


@triton.jit
def softmax_rows(x, out, columns, BLOCK: tl.constexpr):
    """Softmax of one row per program."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, at < columns, other=-float("inf"))
    weights = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + at, weights / tl.sum(weights, 0), at < columns)


@triton.jit
def normalised_rows(x, out, columns, BLOCK: tl.constexpr):
    """Rows less their mean, divided by their deviation."""
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, at < columns, other=0.0)
    mean = tl.sum(values, 0) / columns
    away = tl.where(at < columns, values - mean, 0.0)
    scale = tl.rsqrt(tl.sum(away * away, 0) / columns + 1e-5)
    tl.store(out + row * columns + at, away * scale, at < columns)


@triton.jit
def multiply(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Multiply matrices, one tile of the result per program."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for step in range(0, k, K):
        left = tl.load(a + rows[:, None] * k + step + inner[None, :])
        right = tl.load(b + (step + inner[:, None]) * n + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * n + columns[None, :], total.to(tl.float16))


def add() -> Callable[[], object]:
    """Return the addition of long vectors."""
    x, y = torch.rand(1 << 26, device="cuda"), torch.rand(1 << 26, device="cuda")
    out = torch.empty_like(x)
    return lambda: add_vectors[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)


def rows(kernel: object, count: int, columns: int, warps: int) -> Callable[[], object]:
    """Return a kernel that works on rows."""
    x = torch.rand(count, columns, device="cuda")
    out = torch.empty_like(x)
    block = triton.next_power_of_2(columns)
    return lambda: kernel[(count,)](x, out, columns, BLOCK=block, num_warps=warps)


def product(side: int, tile: tuple[int, int, int], warps: int, stages: int) -> Callable[[], object]:
    """Return a half-precision product with tiles of a shape."""
    a = torch.randn(side, side, device="cuda", dtype=torch.float16)
    b = torch.randn(side, side, device="cuda", dtype=torch.float16)
    c = torch.empty_like(a)
    grid = (side // tile[0], side // tile[1])
    return lambda: multiply[grid](
        a,
        b,
        c,
        side,
        side,
        side,
        M=tile[0],
        N=tile[1],
        K=tile[2],
        num_warps=warps,
        num_stages=stages,
    )


CASES: dict[str, Callable[[], Callable[[], object]]] = {
    "add": add,
    "softmax": lambda: rows(softmax_rows, 16_384, 2000, 8),
    "softmax_one_warp": lambda: rows(softmax_rows, 4096, 8192, 1),
    "layer_norm": lambda: rows(normalised_rows, 16_384, 2048, 4),
    "product_large_tile": lambda: product(4096, (128, 256, 64), 8, 3),
    "product_medium_tile": lambda: product(4096, (128, 128, 32), 4, 3),
    "product_tiny_tile": lambda: product(2048, (16, 16, 16), 1, 1),
}


def prepare(name: str) -> session.Case:
    """Return a case with its inputs on the device."""
    torch.manual_seed(0)
    torch.cuda.empty_cache()
    return name, CASES[name](), torch.cuda.synchronize


if __name__ == "__main__":
    session.run("triton", prepare, list(CASES))
