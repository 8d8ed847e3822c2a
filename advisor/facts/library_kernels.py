"""What the names of libraries' kernels say: of matrix kernels their arithmetic, of others their kind."""

from __future__ import annotations

import re

# Matrix kernels of cuBLAS, cuDNN and CUTLASS that multiply FP32 numbers without tensor cores.
_SINGLE_PRECISION = re.compile(
    r"f32f32_f32f32_f32|simt_sgemm|(?:^|_)sgemm|scudnn|implicit_convolve_sgemm"
    r"|(?:[dw]grad|fprop|winograd)\w*<float"
)
_NOT_SINGLE = re.compile(r"tf32|tensorop|s1688|s16816|wgmma|hmma", re.IGNORECASE)
# Those for which the same library has a kernel in TF32. A name like `my_sgemm` may be anybody's.
_HAS_TF32 = re.compile(r"f32f32_f32f32_f32|simt_sgemm|[a-z]_sgemm_\d+x\d+|scudnn")
# Those of FP64: cuBLAS, and CUTLASS on tensor cores.
_DOUBLE_PRECISION = re.compile(r"f64f64_f64f64_f64|d884gemm|(?:^|_)dgemm|zgemm|[dw]grad\w*<double")
# Tensor core kernels of 16-bit numbers whose rows lie at any multiple of one or two of them.
_SINGLE_HALVES = re.compile(r"(?:tensorop|wmma)\w*(?:bf16|f16|h)\w*_align[12](?!\d)")
# What cuDNN puts before and after convolutions on tensor cores whose data are not channels-last.
_LAYOUT_CONVERSION = re.compile(r"nchwToNhwc|nhwcToNchw|nchw2nhwc|nhwc2nchw", re.IGNORECASE)
_LIBRARY_PRODUCT = re.compile(r"cutlass\w*(?:gemm|fprop|[dw]grad)|xmma_|^nvjet_|[sdhcz]gemm_")
# Kernels of Triton, and of what XLA makes with it, have a name and no parameters.
_TRITON = re.compile(r"\w*(?:gemm|matmul|_dot|dot_)\w*")
# Of PyTorch: one operation on each element, a sum or maximum of each row, a softmax, a norm or a dropout.
_ELEMENTWISE = re.compile(
    r"at::native::.*(?:elementwise_kernel|reduce_kernel)"
    r"|softmax_warp_|cunn_SoftMax|dropout_kernel|layer_norm|LayerNorm|RowwiseMoments"
)


def in_single_precision(name: str) -> bool:
    """Return whether a kernel's name is that of an FP32 matrix kernel without tensor cores."""
    return bool(_SINGLE_PRECISION.search(name)) and not _NOT_SINGLE.search(name)


def could_use_tf32(name: str) -> bool:
    """Return whether whoever calls the FP32 matrix kernel *name* can have it made in TF32 instead."""
    return not _NOT_SINGLE.search(name) and bool(_HAS_TF32.search(name) or _TRITON.fullmatch(name))


def in_double_precision(name: str) -> bool:
    """Return whether a kernel's name is that of an FP64 matrix kernel."""
    return bool(_DOUBLE_PRECISION.search(name))


def loads_single_halves(name: str) -> bool:
    """Return whether a kernel's name is that of a product of 16-bit numbers without aligned rows."""
    return bool(_SINGLE_HALVES.search(name))


def is_library_product(name: str) -> bool:
    """Return whether a kernel's name is that of a matrix kernel of cuBLAS, cuDNN or CUTLASS."""
    return bool(_LIBRARY_PRODUCT.search(name))


def converts_layout(name: str) -> bool:
    """Return whether a kernel's name is that of a conversion between NCHW and NHWC."""
    return bool(_LAYOUT_CONVERSION.search(name))


def is_elementwise(name: str) -> bool:
    """Return whether a kernel's name is that of a pass over memory in PyTorch that a compiler would fuse."""
    return bool(_ELEMENTWISE.search(name))
