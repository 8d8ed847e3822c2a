"""What is kept of one machine among thousands: a few hundred bytes for each GPU."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.topology import links_up

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.gpu import Gpu, Machine


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetGpu:
    """One GPU, or MIG slice, of a machine in base units; ``None`` is not known."""

    index: int
    model: str
    mig: str | None = None  # the instance of a slice
    temperature_celsius: int | None = None
    power_watts: float | None = None
    power_limit_watts: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    gpu_utilisation: float | None = None
    ecc_enabled: bool | None = None
    ecc_corrected: int | None = None  # since the driver was loaded
    ecc_uncorrected: int | None = None
    xids: tuple[int, ...] | None = None
    pcie_generation: int | None = None
    pcie_generation_max: int | None = None
    pcie_lanes: int | None = None
    pcie_lanes_max: int | None = None
    nvlinks: int | None = None
    nvlinks_up: int | None = None
    persistence_mode: bool | None = None
    compute_mode: str | None = None
    sm_clock_max_hz: int | None = None
    memory_clock_max_hz: int | None = None
    uuid: str | None = None
    pci_bus_id: str | None = None
    ecc_corrected_lifetime: int | None = None
    ecc_uncorrected_lifetime: int | None = None
    rows_remapped_corrected: int | None = None
    rows_remapped_uncorrected: int | None = None
    pages_retired_single_bit: int | None = None
    pages_retired_double_bit: int | None = None

    @property
    def is_read(self) -> bool:
        """Whether any sensor or counter of it was read."""
        return any(getattr(self, name) is not None for name in _READINGS)


_NOT_READINGS = {"index", "model", "mig", "nvlinks", "nvlinks_up", "uuid", "pci_bus_id"}
_READINGS = tuple(f.name for f in fields(FleetGpu) if f.name not in _NOT_READINGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRate:
    """Bytes/s that copies in one direction reached; *spread* of the repetitions, as a share."""

    direction: str  # h2d or d2h
    rate: float
    spread: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetFinding:
    """What a check of ``doctor`` says of GPU number *gpu* of the machine's list, or of all (None)."""

    rule: str
    title: str
    category: str
    priority: str
    message: str
    action: str
    gpu: int | None = None


class MachinePart(StrEnum):
    """What one file says of a machine; files of several kinds make one machine."""

    DESCRIPTION = "its GPUs"
    COPIES = "measured copies"
    FABRIC = "network adapters"
    NCCL = "links that NCCL used"
    SAMPLES = "samples of its GPUs"
    DIAGNOSIS = "a diagnostic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """InfiniBand and RoCE ports: *links* that are up, as ``8 x 400 Gbit/s InfiniBand``, and the others."""

    links: str
    down: tuple[str, ...] = ()
    firmware: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NcclUse:
    """Between machines the *networks*, between GPUs of this one the *peers* that NCCL used.

    *gpu_direct*: the network read the GPUs' memory for all channels.
    """

    networks: tuple[str, ...] = ()
    adapters: int | None = None
    gpu_direct: bool | None = None
    peers: tuple[str, ...] = ()
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetMachine:
    """One machine; *host* is the name of its file, *judged* whether its sensors were read.

    *taken* is when this was described, *before* the oldest description of it that is compared.
    """

    host: str
    gpus: tuple[FleetGpu, ...] = ()
    driver_version: str | None = None
    cuda_version: str | None = None
    problems: tuple[str, ...] = ()
    findings: tuple[FleetFinding, ...] = ()
    judged: bool = False
    copies: tuple[CopyRate, ...] = ()
    measured: str | None = None  # the GPU that was measured
    unread_gpus: tuple[int, ...] = ()  # their indices: sensors of others were read
    taken: str | None = None
    before: FleetMachine | None = None
    part: MachinePart = MachinePart.DESCRIPTION
    fabric: Fabric | None = None
    nccl: NcclUse | None = None

    @property
    def kind(self) -> str:
        """The models of its GPUs and how many of each: ``8 x NVIDIA H200``."""
        counts: dict[str, int] = {}
        for gpu in self.gpus:
            if gpu.mig is None:
                counts[gpu.model] = counts.get(gpu.model, 0) + 1
        if not counts and self.measured:
            counts[self.measured] = 1
        return " and ".join(f"{count} x {model}" for model, count in sorted(counts.items()))


def fleet_machine(host: str, machine: Machine) -> FleetMachine:
    """Return what is kept of *machine*, which the file *host* describes; no finding yet."""
    return FleetMachine(
        host=host,
        gpus=tuple(_fleet_gpu(number, gpu) for number, gpu in enumerate(machine.gpus)),
        driver_version=machine.driver_version,
        cuda_version=machine.cuda_version,
        problems=machine.problems,
    )


def _fleet_gpu(number: int, gpu: Gpu) -> FleetGpu:
    now, own, topology = gpu.telemetry, gpu.identity, gpu.topology
    readings: Mapping[str, Any] = {}
    if now:  # the readings of both records have the same names
        readings = {name: getattr(now, name) for name in _READINGS}
    links = topology.nvlinks if topology else None
    instance = None
    if own.mig:
        instance = f"{own.mig.gpu_instance}/{own.mig.compute_instance}"
    return FleetGpu(
        index=own.index if own.index is not None else number,
        model=gpu.device.name,
        mig=instance,
        nvlinks=len(links) if links else None,
        nvlinks_up=len(links_up(topology)) if topology and links else None,
        uuid=own.uuid,
        pci_bus_id=own.pci_bus_id,
        **readings,
    )
