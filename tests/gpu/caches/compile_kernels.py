"""Fill the kernel cache of Triton, of PyTorch's Inductor or of CuPy: run by record_caches.py.

``compile_kernels.py triton|inductor|cupy`` writes where the environment of that library says.
"""

import sys


def fill_triton() -> None:
    """Compile candidates of two autotuned kernels, one kernel with clusters and one that spills."""
    import torch
    import triton
    import triton.language as tl

    @triton.autotune(
        configs=[
            triton.Config({"BLOCK": 256}, num_warps=2),
            triton.Config({"BLOCK": 1024}, num_warps=4),
            triton.Config({"BLOCK": 4096}, num_warps=8),
        ],
        key=["n"],
        cache_results=True,
    )
    @triton.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        kept = at < n
        tl.store(out + at, tl.load(x + at, kept) + tl.load(y + at, kept), kept)

    @triton.autotune(
        configs=[
            triton.Config({"M": 64, "N": 64, "K": 32}, num_warps=4, num_stages=3),
            triton.Config({"M": 128, "N": 128, "K": 64}, num_warps=8, num_stages=3),
            triton.Config({"M": 128, "N": 128, "K": 64}, num_warps=8, num_stages=3, maxnreg=64),
        ],
        key=["size"],
    )
    @triton.jit
    def matmul(a, b, c, size, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
        rows = tl.program_id(0) * M + tl.arange(0, M)
        columns = tl.program_id(1) * N + tl.arange(0, N)
        inner = tl.arange(0, K)
        total = tl.zeros((M, N), dtype=tl.float32)
        for start in range(0, size, K):
            left = tl.load(a + rows[:, None] * size + (start + inner)[None, :])
            right = tl.load(b + (start + inner)[:, None] * size + columns[None, :])
            total = tl.dot(left, right, total)
        tl.store(c + rows[:, None] * size + columns[None, :], total.to(tl.float16))

    @triton.jit
    def scale(x, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + at, tl.load(x + at, at < n) * 2.0, at < n)

    n = 1 << 20
    x, y = torch.rand(n, device="cuda"), torch.rand(n, device="cuda")
    out = torch.empty_like(x)
    add[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n)
    assert torch.equal(out, x + y)
    size = 1024
    a = torch.rand(size, size, device="cuda", dtype=torch.float16)
    c = torch.empty_like(a)
    matmul[lambda meta: (size // meta["M"], size // meta["N"])](a, a, c, size)
    assert torch.allclose(c.float(), (a @ a).float(), rtol=1e-2)
    scale[(triton.cdiv(n, 2048),)](x, n, BLOCK=2048, num_warps=4, num_ctas=2)
    torch.cuda.synchronize()


def fill_inductor() -> None:
    """Compile a small function with candidates that are timed."""
    import torch

    def work(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.softmax(torch.nn.functional.gelu(x) + y, dim=-1)

    options = {"max_autotune_pointwise": True, "coordinate_descent_tuning": True}
    compiled = torch.compile(work, options=options)
    x, y = torch.rand(512, 3000, device="cuda"), torch.rand(512, 3000, device="cuda")
    assert torch.allclose(compiled(x, y), work(x, y), rtol=1e-3, atol=1e-6)


def fill_cupy() -> None:
    """Compile an elementwise kernel, a reduction and a raw kernel."""
    import cupy

    raw = cupy.RawKernel(
        r"""
extern "C" __global__ void __launch_bounds__(256) reverse(const float* in, float* out, int n) {
  __shared__ float tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : 0.f;
  __syncthreads();
  if (i < n) out[i] = tile[255 - threadIdx.x];
}""",
        "reverse",
    )
    values = cupy.arange(4096, dtype=cupy.float32)
    out = cupy.empty_like(values)
    raw((16,), (256,), (values, out, 4096))
    assert float((values * 2 + 1).sum()) > float(out[0])


if __name__ == "__main__":
    {"triton": fill_triton, "inductor": fill_inductor, "cupy": fill_cupy}[sys.argv[1]]()
