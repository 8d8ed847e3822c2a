"""What NVML and the driver each said, before anything is merged; savable as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.gpu import MigSlice
    from gpuadvise.advisor.telemetry import Telemetry
    from gpuadvise.advisor.topology import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlGpu:
    """One GPU or MIG slice as NVML describes it; ``problem``: it did not answer at all.

    Also what the kernel driver lists, which is less; *source* tells them apart.
    """

    source: str = "NVML"
    index: int
    problem: str | None = None
    name: str | None = None
    uuid: str | None = None
    pci_bus_id: str | None = None
    compute_capability: tuple[int, int] | None = None
    cores: int | None = None  # FP32 lanes of the whole GPU
    sm_count: int | None = None  # NVML tells it of MIG slices only
    memory_bytes: int | None = None
    memory_bus_bits: int | None = None
    sm_clock_hz: int | None = None  # highest
    memory_clock_hz: int | None = None  # highest
    pcie_generation: int | None = None  # highest that GPU and slot share
    pcie_lanes: int | None = None
    power_limit_watts: float | None = None
    ecc: bool | None = None
    minor: int | None = None  # N of /dev/nvidiaN
    mig_enabled: bool | None = None
    topology: Topology | None = None
    mig: MigSlice | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    telemetry: Telemetry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlReport:
    """NVML's whole answer, or in *problem* why there is none."""

    problem: str | None = None
    driver_version: str | None = None
    gpus: tuple[NvmlGpu, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverPeer:
    """What a program on one GPU can do with the memory of the GPU *cuda_index*."""

    cuda_index: int
    access: bool | None = None
    atomics: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverGpu:
    """One GPU as the CUDA driver describes it to a program started here.

    ``attributes`` are keyed by the driver's own names in lower case, without the common
    prefix: ``max_threads_per_block``. Units are the driver's (clocks in kHz).
    """

    cuda_index: int
    name: str | None = None
    uuid: str | None = None
    pci_bus_id: str | None = None
    memory_bytes: int | None = None
    attributes: Mapping[str, int] = field(default_factory=dict)
    peers: tuple[DriverPeer, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverReport:
    """The CUDA driver's whole answer, or in *problem* why there is none."""

    problem: str | None = None
    cuda_version: str | None = None
    gpus: tuple[DriverGpu, ...] = ()


def names() -> dict[str, Any]:
    """Return what the annotations above name, for ``json_records.rebuilt``."""
    from gpuadvise.advisor.gpu import MigSlice
    from gpuadvise.advisor.telemetry import Process, Telemetry
    from gpuadvise.advisor.topology import NvLink, Peer, Topology

    kinds = (MigSlice, NvLink, Peer, Process, Telemetry, Topology)
    return {kind.__name__: kind for kind in kinds}
