"""Kernels of cuBLAS, CUTLASS, cuDNN, FlashAttention, CUB and PyTorch itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import session
import torch
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

half, brain, single, double = torch.float16, torch.bfloat16, torch.float32, torch.float64


def normal(*shape: int, dtype: torch.dtype = single) -> torch.Tensor:
    """Random numbers of a shape, on the device."""
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)


def whole(limit: int, *shape: int) -> torch.Tensor:
    """Random whole numbers below a limit, on the device."""
    return torch.randint(limit, shape, device="cuda")


def product(m: int, n: int, k: int, dtype: torch.dtype) -> Callable[[], object]:
    """Return a matrix product of a shape."""
    a, b = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype)
    return lambda: a @ b


def tf32_product(side: int) -> Callable[[], object]:
    """Return a single-precision product that may use TF32."""
    a, b = normal(side, side), normal(side, side)

    def body() -> object:
        torch.backends.cuda.matmul.allow_tf32 = True
        try:
            return a @ b
        finally:
            torch.backends.cuda.matmul.allow_tf32 = False

    return body


def fp8_product(m: int, n: int, k: int) -> Callable[[], object]:
    """Return a product of 8-bit floating-point matrices."""
    a = normal(m, k).to(torch.float8_e4m3fn)
    b = normal(n, k).to(torch.float8_e4m3fn).t()
    scale = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(a, b, scale_a=scale, scale_b=scale, out_dtype=brain)


def int8_product(side: int) -> Callable[[], object]:
    """Return a product of 8-bit whole-number matrices."""
    a, b = whole(100, side, side).to(torch.int8), whole(100, side, side).to(torch.int8).t()
    return lambda: torch._int_mm(a, b)


def batched(count: int, side: int, dtype: torch.dtype) -> Callable[[], object]:
    """Return a batch of small products."""
    a, b = normal(count, side, side, dtype=dtype), normal(count, side, side, dtype=dtype)
    return lambda: torch.bmm(a, b)


def attention(backend: SDPBackend, dtype: torch.dtype, backward: bool) -> Callable[[], object]:
    """Return scaled dot-product attention by one of the implementations."""
    q, k, v = (normal(4, 16, 2048, 64, dtype=dtype).requires_grad_(backward) for _ in range(3))

    def forward() -> torch.Tensor:
        with sdpa_kernel(backend):
            return functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    if not backward:
        return forward
    out = forward()
    gradient = torch.randn_like(out)
    return lambda: torch.autograd.grad(out, (q, k, v), gradient, retain_graph=True)


def convolution(dtype: torch.dtype, channels_last: bool, backward: bool) -> Callable[[], object]:
    """Return a 3 x 3 convolution of cuDNN, or its gradients."""
    order = torch.channels_last if channels_last else torch.contiguous_format
    x = normal(32, 128, 56, 56, dtype=dtype).to(memory_format=order).requires_grad_(backward)
    w = normal(128, 128, 3, 3, dtype=dtype).to(memory_format=order).requires_grad_(backward)
    if not backward:
        return lambda: functional.conv2d(x, w, padding=1)
    y = functional.conv2d(x, w, padding=1)
    gradient = torch.randn_like(y)
    return lambda: torch.autograd.grad(y, (x, w), gradient, retain_graph=True)


def depthwise() -> Callable[[], object]:
    """Return a convolution with one filter per channel."""
    x, w = normal(32, 256, 56, 56), normal(256, 1, 3, 3)
    return lambda: functional.conv2d(x, w, padding=1, groups=256)


def of(
    body: Callable[[torch.Tensor], object], *shape: int, dtype: torch.dtype = single
) -> Callable[[], object]:
    """Return an operation on one random tensor."""
    x = normal(*shape, dtype=dtype)
    return lambda: body(x)


def addition(dtype: torch.dtype) -> Callable[[], object]:
    """Return the sum of two long vectors."""
    x, y = normal(1 << 26, dtype=dtype), normal(1 << 26, dtype=dtype)
    return lambda: x + y


def broadcast() -> Callable[[], object]:
    """Return a matrix plus a row of its width."""
    x, row = normal(8192, 4096), normal(4096)
    return lambda: x + row


def layer_norm_backward() -> Callable[[], object]:
    """Return the gradients of a layer normalisation."""
    x = normal(8192, 4096).requires_grad_()
    w, b = normal(4096).requires_grad_(), normal(4096).requires_grad_()
    y = functional.layer_norm(x, (4096,), w, b)
    gradient = torch.randn_like(y)
    return lambda: torch.autograd.grad(y, (x, w, b), gradient, retain_graph=True)


def batch_norm() -> Callable[[], object]:
    """Return a batch normalisation in training."""
    x = normal(32, 128, 56, 56)
    layer = torch.nn.BatchNorm2d(128).cuda()
    return lambda: layer(x)


def index_select() -> Callable[[], object]:
    """Return rows picked out of a matrix."""
    x, rows = normal(1 << 17, 256), whole(1 << 17, 1 << 17)
    return lambda: x.index_select(0, rows)


def gather() -> Callable[[], object]:
    """Return single elements picked out of a long vector."""
    x, places = normal(1 << 25), whole(1 << 25, 1 << 23)
    return lambda: x[places]


def embedding(backward: bool) -> Callable[[], object]:
    """Return the rows of a vocabulary, or its gradient."""
    table, tokens = normal(50_000, 512).requires_grad_(backward), whole(50_000, 32_768)
    if not backward:
        return lambda: functional.embedding(tokens, table)
    out = functional.embedding(tokens, table)
    gradient = torch.randn_like(out)
    return lambda: torch.autograd.grad(out, table, gradient, retain_graph=True)


def scatter_add(places: int) -> Callable[[], object]:
    """Return values added to places drawn from a few or many."""
    target, index, source = (
        torch.zeros(places, device="cuda"),
        whole(places, 1 << 22),
        normal(1 << 22),
    )
    return lambda: target.scatter_add_(0, index, source)


def cross_entropy() -> Callable[[], object]:
    """Return the loss of a large vocabulary."""
    logits, labels = normal(4096, 32_000), whole(32_000, 4096)
    return lambda: functional.cross_entropy(logits, labels)


def compiled(body: Callable[..., object], *inputs: torch.Tensor) -> Callable[[], object]:
    """Return an operation as the compiler of PyTorch builds it with Triton."""
    fused = torch.compile(body, dynamic=False)
    return lambda: fused(*inputs)


def gelu_of_sum(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return GELU of a sum, in one pass when compiled."""
    return functional.gelu(x + y) * 0.5


def root_mean_square(x: torch.Tensor) -> torch.Tensor:
    """Return rows divided by their root mean square."""
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5)


def softmax_of_scaled(x: torch.Tensor) -> torch.Tensor:
    """Return the softmax of scaled rows."""
    return torch.softmax(x * 0.125, dim=-1)


def adam() -> Callable[[], object]:
    """Return one fused step of the Adam optimiser."""
    parameters = [torch.nn.Parameter(normal(4096, 1024)) for _ in range(4)]
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    return torch.optim.Adam(parameters, fused=True).step


CASES: dict[str, Callable[[], Callable[[], object]]] = {
    # Products
    "sgemm_2048": lambda: product(2048, 2048, 2048, single),
    "sgemm_odd": lambda: product(1111, 1333, 999, single),
    "sgemm_small": lambda: product(256, 256, 256, single),
    "sgemm_skinny": lambda: product(16, 8192, 4096, single),
    "sgemm_deep": lambda: product(128, 128, 65_536, single),
    "sgemv": lambda: product(8192, 1, 8192, single),
    "tf32_4096": lambda: tf32_product(4096),
    "hgemm_4096": lambda: product(4096, 4096, 4096, half),
    "hgemm_odd": lambda: product(4095, 4097, 4093, half),
    "bgemm_4096": lambda: product(4096, 4096, 4096, brain),
    "bgemm_skinny": lambda: product(32, 8192, 8192, brain),
    "bgemm_512": lambda: product(512, 512, 512, brain),
    "bgemv": lambda: product(1, 8192, 8192, brain),
    "dgemm_2048": lambda: product(2048, 2048, 2048, double),
    "fp8_4096": lambda: fp8_product(4096, 4096, 4096),
    "int8_4096": lambda: int8_product(4096),
    "batched_half_64": lambda: batched(1024, 64, half),
    "batched_single_128": lambda: batched(256, 128, single),
    # Attention
    "flash_forward": lambda: attention(SDPBackend.FLASH_ATTENTION, brain, False),
    "flash_backward": lambda: attention(SDPBackend.FLASH_ATTENTION, brain, True),
    "efficient_forward": lambda: attention(SDPBackend.EFFICIENT_ATTENTION, single, False),
    "efficient_backward": lambda: attention(SDPBackend.EFFICIENT_ATTENTION, half, True),
    "cudnn_attention": lambda: attention(SDPBackend.CUDNN_ATTENTION, brain, False),
    "math_attention": lambda: attention(SDPBackend.MATH, half, False),
    # Convolutions
    "conv_half_last": lambda: convolution(half, True, False),
    "conv_half_backward": lambda: convolution(half, True, True),
    "conv_single": lambda: convolution(single, False, False),
    "conv_depthwise": depthwise,
    # Rows
    "softmax_wide": lambda: of(lambda x: torch.softmax(x, -1), 8192, 4096),
    "softmax_few_rows": lambda: of(lambda x: torch.softmax(x, -1), 32, 32_768),
    "softmax_first_axis": lambda: of(lambda x: torch.softmax(x, 0), 4096, 4096),
    "log_softmax": lambda: of(lambda x: torch.log_softmax(x, -1), 4096, 32_000),
    "layer_norm": lambda: of(lambda x: functional.layer_norm(x, (4096,)), 8192, 4096),
    "layer_norm_backward": layer_norm_backward,
    "batch_norm": batch_norm,
    "group_norm": lambda: of(lambda x: functional.group_norm(x, 32), 32, 128, 56, 56),
    "cross_entropy": cross_entropy,
    "max_pool": lambda: of(lambda x: functional.max_pool2d(x, 2), 32, 128, 112, 112),
    "upsample": lambda: of(
        lambda x: functional.interpolate(x, scale_factor=2.0, mode="bilinear"), 16, 64, 112, 112
    ),
    # Elements
    "add_single": lambda: addition(single),
    "add_half": lambda: addition(half),
    "add_broadcast": broadcast,
    "gelu": lambda: of(functional.gelu, 1 << 25),
    "tanh_double": lambda: of(torch.tanh, 1 << 23, dtype=double),
    "cast": lambda: of(lambda x: x.half(), 1 << 26),
    "strided_copy": lambda: of(lambda x: x[:, ::8].contiguous(), 8192, 8192),
    "transposed_copy": lambda: of(lambda x: x.t().contiguous(), 8192, 4096),
    "permuted_copy": lambda: of(lambda x: x.permute(0, 2, 3, 1).contiguous(), 32, 128, 56, 56),
    "cat": lambda: of(lambda x: torch.cat([x, x], 1), 8192, 2048),
    "tiny_add": lambda: of(lambda x: x + 1, 1024),
    "fill": lambda: of(lambda x: x.fill_(1.0), 1 << 26),
    "dropout": lambda: of(lambda x: functional.dropout(x, 0.1), 1 << 25),
    "random_normal": lambda: of(lambda x: x.normal_(), 1 << 25),
    "adam": adam,
    # Sums, orders and places
    "sum_all": lambda: of(torch.sum, 1 << 26),
    "sum_rows": lambda: of(lambda x: x.sum(1), 65_536, 512),
    "sum_columns": lambda: of(lambda x: x.sum(0), 65_536, 512),
    "argmax": lambda: of(lambda x: x.argmax(-1), 4096, 16_384),
    "cumsum": lambda: of(lambda x: x.cumsum(0), 1 << 24),
    "cumsum_rows": lambda: of(lambda x: x.cumsum(1), 4096, 4096),
    "sort": lambda: of(torch.sort, 1 << 22),
    "topk": lambda: of(lambda x: x.topk(32, -1), 1024, 32_768),
    "histogram": lambda: of(lambda x: torch.histc(x, 64, -4, 4), 1 << 24),
    "index_select": index_select,
    "gather": gather,
    "embedding": lambda: embedding(False),
    "embedding_backward": lambda: embedding(True),
    "scatter_few": lambda: scatter_add(16),
    "scatter_many": lambda: scatter_add(1 << 22),
    "masked_select": lambda: of(lambda x: x[x > 1], 1 << 23),
    # Compiled
    "compiled_gelu": lambda: compiled(gelu_of_sum, normal(8192, 4096), normal(8192, 4096)),
    "compiled_root_mean_square": lambda: compiled(root_mean_square, normal(8192, 4096)),
    "compiled_softmax": lambda: compiled(softmax_of_scaled, normal(8192, 4096, dtype=brain)),
}


def prepare(name: str) -> session.Case:
    """Return a case with its inputs on the device."""
    torch.manual_seed(0)
    torch.cuda.empty_cache()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    return name, CASES[name](), torch.cuda.synchronize


if __name__ == "__main__":
    session.run("torch", prepare, list(CASES))
