"""What names of PyTorch's kernels say of passes over memory that a compiler would fuse."""

from __future__ import annotations

import re

# One operation on each element, a sum or maximum of each row, a softmax, a norm or a dropout.
_ELEMENTWISE = re.compile(
    r"at::native::.*(?:elementwise_kernel|reduce_kernel)"
    r"|softmax_warp_|cunn_SoftMax|dropout_kernel|layer_norm|LayerNorm|RowwiseMoments"
)


def is_elementwise(name: str) -> bool:
    """Return whether a kernel's name is that of one such pass, written for that operation alone."""
    return bool(_ELEMENTWISE.search(name))
