"""What the names of libraries' matrix kernels say of their arithmetic."""

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
# Kernels of Triton, and of what XLA makes with it, have a name and no parameters.
_TRITON = re.compile(r"\w*(?:gemm|matmul|_dot|dot_)\w*")


def in_single_precision(name: str) -> bool:
    """Return whether a kernel's name is that of an FP32 matrix kernel without tensor cores."""
    return bool(_SINGLE_PRECISION.search(name)) and not _NOT_SINGLE.search(name)


def could_use_tf32(name: str) -> bool:
    """Return whether whoever calls the FP32 matrix kernel *name* can have it made in TF32 instead."""
    return not _NOT_SINGLE.search(name) and bool(_HAS_TF32.search(name) or _TRITON.fullmatch(name))
