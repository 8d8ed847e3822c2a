"""Kernels that send data to other GPUs, or wait for what those send."""

from __future__ import annotations

import re

_LIBRARIES = re.compile(
    r"nccl|rccl|nvshmem|\bdeep_ep::|\bdpsk::ep\b|\bep::(?:internode|intranode)\b"
    r"|cross_device_reduce|\ball_?reduce_|\ball_?gather_|\breduce_?scatter_|(?:one|two)_?shot_all_?reduce"
    r"|userbuffers|multimem_",
    re.IGNORECASE,
)

# What PyTorch calls the collectives of its backends for the host, and MPI its functions.
_ON_HOST = re.compile(r"(?:gloo|mpi|ucc):\w|MPI_(?!Init|Finalize|Comm_)")


def communicates_on_host(name: str) -> bool:
    """Return whether *name*, of what the host did, is of a collective or a message that the host itself sends."""
    return _ON_HOST.match(name) is not None


def communicates(name: str) -> bool:
    """Return whether the kernel *name* is one that is known to communicate."""
    return _LIBRARIES.search(name) is not None
