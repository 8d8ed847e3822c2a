"""What programs may do on a GPU, as the CUDA driver says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What the CUDA driver says that programs may do on a GPU; ``None``: it does not say."""

    concurrent_kernels: bool | None = None
    host_memory_mapping: bool | None = None
    unified_addressing: bool | None = None
    managed_memory: bool | None = None
    concurrent_managed_access: bool | None = None
    pageable_memory_access: bool | None = None
    cooperative_launch: bool | None = None
    cluster_launch: bool | None = None
    memory_pools: bool | None = None
    compute_preemption: bool | None = None
    stream_priorities: bool | None = None
    gpu_direct_rdma: bool | None = None
    kernel_timeout: bool | None = None  # a display's watchdog ends long kernels
    texture_alignment_bytes: int | None = None
    texture_pitch_alignment_bytes: int | None = None
    surface_alignment_bytes: int | None = None
    max_pitch_bytes: int | None = None
