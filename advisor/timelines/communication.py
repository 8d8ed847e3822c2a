"""Kernels that send data to other GPUs, or wait for what those send."""

from __future__ import annotations

import re

_LIBRARIES = re.compile(
    r"nccl|rccl|nvshmem|\bdeep_ep::|\bdpsk::ep\b|\bep::(?:internode|intranode)\b"
    r"|cross_device_reduce|\ball_?reduce_|\ball_?gather_|\breduce_?scatter_|(?:one|two)_?shot_all_?reduce"
    r"|userbuffers|multimem_",
    re.IGNORECASE,
)


def communicates(name: str) -> bool:
    """Return whether the kernel *name* is one that is known to communicate."""
    return _LIBRARIES.search(name) is not None
