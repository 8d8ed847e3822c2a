"""What the names of libraries' kernels say: of matrix kernels their arithmetic, of others their kind."""

from __future__ import annotations

import re

# Compiled on first use: most advice is about no recorded run.
# Matrix kernels of cuBLAS, cuDNN and CUTLASS that multiply FP32 numbers without tensor cores.
_SINGLE_PRECISION = (
    r"f32f32_f32f32_f32|simt_sgemm|(?:^|_)sgemm|scudnn|implicit_convolve_sgemm"
    r"|(?:[dw]grad|fprop|winograd)\w*<float"
)
_NOT_SINGLE = r"(?i:tf32|tensorop|s1688|s16816|wgmma|hmma)"
# Those for which the same library has a kernel in TF32. A name like `my_sgemm` may be anybody's.
_HAS_TF32 = r"f32f32_f32f32_f32|simt_sgemm|[a-z]_sgemm_\d+x\d+|scudnn"
# Those of FP64: cuBLAS, and CUTLASS on tensor cores.
_DOUBLE_PRECISION = r"f64f64_f64f64_f64|d884gemm|(?:^|_)dgemm|zgemm|[dw]grad\w*<double"
# Tensor core kernels of 16-bit numbers whose rows lie at any multiple of one or two of them.
_SINGLE_HALVES = r"(?:tensorop|wmma)\w*(?:bf16|f16|h)\w*_align[12](?!\d)"
# What cuDNN puts before and after convolutions on tensor cores whose data are not channels-last.
_LAYOUT_CONVERSION = r"(?i:nchwToNhwc|nhwcToNchw|nchw2nhwc|nhwc2nchw)"
_LIBRARY_PRODUCT = r"cutlass\w*(?:gemm|fprop|[dw]grad)|xmma_|^nvjet_|[sdhcz]gemm_"
# Kernels of Triton, and of what XLA makes with it, have a name and no parameters.
_TRITON = r"\w*(?:gemm|matmul|_dot|dot_)\w*"
# Of PyTorch: one operation on each element, a sum or maximum of each row, a softmax, a norm or a dropout.
_ELEMENTWISE = (
    r"at::native::.*(?:elementwise_kernel|reduce_kernel)"
    r"|softmax_warp_|cunn_SoftMax|dropout_kernel|layer_norm|LayerNorm|RowwiseMoments"
)


def in_single_precision(name: str) -> bool:
    """Return whether a kernel's name is that of an FP32 matrix kernel without tensor cores."""
    return bool(re.search(_SINGLE_PRECISION, name)) and not re.search(_NOT_SINGLE, name)


def could_use_tf32(name: str) -> bool:
    """Return whether whoever calls the FP32 matrix kernel *name* can have it made in TF32 instead."""
    return not re.search(_NOT_SINGLE, name) and bool(
        re.search(_HAS_TF32, name) or re.fullmatch(_TRITON, name)
    )


def in_double_precision(name: str) -> bool:
    """Return whether a kernel's name is that of an FP64 matrix kernel."""
    return bool(re.search(_DOUBLE_PRECISION, name))


def loads_single_halves(name: str) -> bool:
    """Return whether a kernel's name is that of a product of 16-bit numbers without aligned rows."""
    return bool(re.search(_SINGLE_HALVES, name))


def is_library_product(name: str) -> bool:
    """Return whether a kernel's name is that of a matrix kernel of cuBLAS, cuDNN or CUTLASS."""
    return bool(re.search(_LIBRARY_PRODUCT, name))


def converts_layout(name: str) -> bool:
    """Return whether a kernel's name is that of a conversion between NCHW and NHWC."""
    return bool(re.search(_LAYOUT_CONVERSION, name))


def is_elementwise(name: str) -> bool:
    """Return whether a kernel's name is that of a pass over memory in PyTorch that a compiler would fuse."""
    return bool(re.search(_ELEMENTWISE, name))
