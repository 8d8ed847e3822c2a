"""GPUs of one machine: which they are, what is known about them, what could not be asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.features import Features
    from gpuadvise.advisor.telemetry import Telemetry
    from gpuadvise.advisor.topology import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class MigSlice:
    """A part of a GPU in MIG mode that programs see as a GPU of its own."""

    parent_uuid: str | None
    parent_name: str | None
    gpu_instance: int | None = None
    compute_instance: int | None = None
    gpu_slices: int | None = None  # of the parent's GPU slices
    compute_slices: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """How a live GPU is addressed.

    ``index`` counts as nvidia-smi does (PCI order); ``cuda_index`` as a CUDA program started
    here would (CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER applied), ``None`` if it sees none:
    ``hidden_because`` then says why. ``minor`` is N of /dev/nvidiaN.
    """

    index: int | None = None
    cuda_index: int | None = None
    minor: int | None = None
    visible: bool | None = None  # to CUDA programs started here; None: the driver was not asked
    hidden_because: str | None = None
    uuid: str | None = None
    pci_bus_id: str | None = None
    mig: MigSlice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One live (or recorded) GPU with everything that is known about it."""

    device: Device
    identity: Identity
    features: Features | None = None
    topology: Topology | None = None
    telemetry: Telemetry | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """All GPUs of a machine, and one sentence for each thing that did not answer."""

    gpus: tuple[Gpu, ...] = ()
    driver_version: str | None = None
    cuda_version: str | None = None  # newest CUDA that the driver supports
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
