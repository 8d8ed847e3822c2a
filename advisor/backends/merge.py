"""NVML's and the driver's reports as one machine: matched by UUID or PCI id, never by index."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.live_device import live_device
from gpuadvise.advisor.backends.live_notes import gpu_notes
from gpuadvise.advisor.backends.product import known_product
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.gpu import Gpu, Identity, Machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpuadvise.advisor.backends.readings import (
        DriverGpu,
        DriverReport,
        NvmlGpu,
        NvmlReport,
    )

Pair = tuple["NvmlGpu | None", "DriverGpu | None"]

_EMPTY = "A driver is loaded, but it shows no GPU."


def merged(nvml: NvmlReport, cuda: DriverReport | None, environ: Mapping[str, str]) -> Machine:
    """Return the machine that both reports describe; *cuda* is None if nobody asked it."""
    asked = cuda is not None and cuda.problem is None
    found = [
        _gpu(one, other, environ, asked=asked)
        for one, other in pairs(nvml.gpus, cuda.gpus if cuda else ())
    ]
    failed = (nvml.problem, cuda.problem if cuda else None, *found)
    problems = tuple(each for each in failed if isinstance(each, str))
    return Machine(
        gpus=tuple(each for each in found if isinstance(each, Gpu)),
        driver_version=nvml.driver_version,
        cuda_version=cuda.cuda_version if cuda else None,
        problems=problems if found or problems else (_EMPTY,),
    )


def _gpu(
    one: NvmlGpu | None, other: DriverGpu | None, environ: Mapping[str, str], *, asked: bool
) -> Gpu | str:
    """Return the GPU that both views show, or in a sentence why there is nothing to say."""
    if one and one.problem:
        return f"GPU {one.index} does not answer: {one.problem}."
    name = (one and one.name) or (other and other.name) or "A GPU"
    try:
        device = live_device(one, other, known_product(one, other))
    except BadInput as error:  # a capability that the catalogue denies
        return f"{name}: {error.message}"
    if device is None:
        return f"{name} does not tell its compute capability, so nothing can be said about it."
    identity = _identity(one, other)
    notes = gpu_notes(device, identity, one, environ, asked=asked)
    return Gpu(
        device=replace(device, notes=notes),
        identity=identity,
        telemetry=one.telemetry if one else None,
    )


def pairs(nvml: Sequence[NvmlGpu], cuda: Sequence[DriverGpu]) -> Iterator[Pair]:
    """Yield every GPU of NVML with the driver's view of it, then those NVML does not know."""
    left = list(cuda)
    for one in nvml:
        match = next((other for other in left if _same(one, other)), None)
        if match is not None:
            left.remove(match)
        yield one, match
    for other in left:
        yield None, other


def _same(one: NvmlGpu, other: DriverGpu) -> bool:
    if one.uuid and other.uuid:
        return _digits(one.uuid) == _digits(other.uuid)
    # All slices of a GPU share its PCI id, so it cannot tell them apart.
    if one.mig or one.mig_enabled or not one.pci_bus_id or not other.pci_bus_id:
        return False
    return pci_id(one.pci_bus_id) == pci_id(other.pci_bus_id)


def _digits(uuid: str) -> str:
    return uuid.partition("-")[2].replace("-", "").lower()


def pci_id(text: str) -> str:
    """Return a PCI id with the domain in eight digits: ``0:6:0`` parts vary by who writes it."""
    address = text.strip().lower().partition(".")[0]
    domain, _, rest = address.rpartition(":")[0].rpartition(":")
    device = address.rpartition(":")[2]
    return f"{domain.zfill(8)}:{rest.zfill(2)}:{device.zfill(2)}"


def _identity(one: NvmlGpu | None, other: DriverGpu | None) -> Identity:
    views = [view for view in (one, other) if view]
    pci = next((view.pci_bus_id for view in views if view.pci_bus_id), None)
    return Identity(
        index=one.index if one else None,
        cuda_index=other.cuda_index if other else None,
        uuid=next((view.uuid for view in views if view.uuid), None),
        pci_bus_id=f"{pci_id(pci)}.0" if pci else None,
        mig=one.mig if one else None,
    )
