"""NVML's and the driver's reports as one machine: matched by UUID or PCI id, never by index."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.live_device import live_device
from gpuadvise.advisor.backends.pci_tree import pci_id
from gpuadvise.advisor.backends.visible_devices import MASK
from gpuadvise.advisor.catalogue import identify
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.gpu import Gpu, Identity, Machine
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.quantity import show_rate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpuadvise.advisor.backends.readings import DriverGpu, DriverReport, NvmlGpu, NvmlReport
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.features import Features
    from gpuadvise.advisor.topology import Topology


# Beyond this the catalogue's and the driver's bandwidth cannot both be this GPU's.
_TOLERANCE = 0.05

_COHERENT = (
    "The GPU reads pageable host memory through the processor's page tables (a coherent link): "
    "PCIe figures do not describe its way to the host, and pinning memory wins less."
)
_INTEGRATED = (
    "The GPU shares the host's memory: transfers are copies within it, and zero-copy access "
    "is usually better."
)
_ECC = (
    "ECC is on: on GDDR memory it keeps 15/16 of the capacity and costs up to a fifth of the "
    "bandwidth (Best Practices Guide, Theoretical Bandwidth Calculation)."
)
_MIG_PARENT = "MIG is on: programs see its slices, never the whole GPU."
_ENGINES = "Of memory, L2 and bandwidth it has the share of its memory slices."


def gpu_notes(device: Device, identity: Identity, nvml: NvmlGpu | None) -> tuple[str, ...]:
    """Return the sentences that belong to *device*."""
    notes = []
    if identity.mig:
        parent = quoted(identity.mig.parent_name or "a GPU")
        notes.append(f"A MIG slice of {parent}: counts and sizes are the slice's. {_ENGINES}")
    if nvml and nvml.mig_enabled:
        notes.append(_MIG_PARENT)
    elif identity.visible is False:
        notes.append(f"CUDA programs started here do not see this GPU: {identity.hidden_because}.")
    if device.integrated:
        notes.append(_INTEGRATED)
    elif device.coherent_host_memory:
        notes.append(_COHERENT)
    if device.ecc and (device.memory_type or "").startswith("GDDR"):
        notes.append(_ECC)
    if doubt := bandwidth_doubt(device):
        notes.append(doubt)
    return tuple(notes)


def bandwidth_doubt(device: Device) -> str | None:
    """Return a sentence if clock and width contradict the published bandwidth, or None."""
    derived, published = device.memory_bandwidth, device.published_bandwidth
    if not derived or not published or abs(derived / published - 1) <= _TOLERANCE:
        return None
    return (
        f"The published memory bandwidth of {show_rate(published)} cannot be confirmed: clock "
        f"and bus width give {show_rate(derived)}."
    )


def known_product(nvml: NvmlGpu | None, cuda: DriverGpu | None) -> Device | None:
    """Return the catalogue's entry for the live GPU, or None if it has none.

    For a MIG slice it is the whole GPU's entry. An entry whose compute capability differs
    from the live one is another product of the same name.
    """
    if nvml and nvml.mig:
        return identify(nvml.mig.parent_name or "")
    name = (nvml and nvml.name) or (cuda and cuda.name) or ""
    sms = cuda.attributes.get("multiprocessor_count") if cuda else None
    memory = (nvml and nvml.memory_bytes) or (cuda and cuda.memory_bytes) or None
    product = identify(name, sm_count=sms, memory_bytes=memory)
    live = nvml.compute_capability if nvml else None
    if product and live and live != (product.capability.major, product.capability.minor):
        return None
    return product


Pair = tuple["NvmlGpu | None", "DriverGpu | None"]

_EMPTY = "A driver is loaded, but it shows no GPU."


def merged(nvml: NvmlReport, cuda: DriverReport | None, environ: Mapping[str, str]) -> Machine:
    """Return the machine that both reports describe; *cuda* is None if nobody asked it."""
    driver_answers = cuda is not None and cuda.problem is None
    both = tuple(pairs(nvml.gpus, cuda.gpus if cuda else ()))
    numbers = _numbers(both)
    gpus = [
        _gpu(nvml_gpu, driver_gpu, environ, numbers, queried=driver_answers)
        for nvml_gpu, driver_gpu in both
    ]
    failed = (nvml.problem, cuda.problem if cuda else None, *gpus)
    problems = tuple(dict.fromkeys(problem for problem in failed if isinstance(problem, str)))
    return Machine(
        gpus=tuple(gpu for gpu in gpus if isinstance(gpu, Gpu)),
        driver_version=nvml.driver_version,
        cuda_version=cuda.cuda_version if cuda else None,
        problems=problems if gpus or problems else (_EMPTY,),
    )


def _numbers(both: Sequence[Pair]) -> dict[int, int]:
    """Return the index of each GPU, as nvidia-smi counts, by CUDA's number."""
    return {
        driver.cuda_index: nvml.index if nvml else driver.cuda_index
        for nvml, driver in both
        if driver
    }


def _gpu(
    nvml: NvmlGpu | None,
    driver: DriverGpu | None,
    environ: Mapping[str, str],
    numbers: Mapping[int, int],
    *,
    queried: bool,
) -> Gpu | str:
    """Return the GPU that both views show, or in a sentence why there is nothing to say."""
    if nvml and nvml.problem:
        return f"GPU {nvml.index} does not answer: {nvml.problem}."
    name = (nvml and nvml.name) or (driver and driver.name) or "A GPU"
    try:
        device = live_device(nvml, driver, known_product(nvml, driver))
    except BadInput as error:  # a capability that the catalogue denies
        return f"{name}: {error.message}"
    if device is None:
        return f"{name} does not tell its compute capability, so nothing can be said about it{_instead(nvml)}."
    identity = _identity(nvml, driver, environ, queried=queried)
    return Gpu(
        device=replace(device, notes=gpu_notes(device, identity, nvml)),
        identity=identity,
        features=_features(driver) if driver else None,
        topology=_topology(nvml, driver, numbers),
        telemetry=nvml.telemetry if nvml else None,
    )


def _instead(nvml: NvmlGpu | None) -> str:
    """Return what would tell more than a listing of nvidia-smi, as the end of a sentence."""
    if nvml is None or nvml.source != "nvidia-smi":
        return ""
    return (
        ": nvidia-smi -q never does, and the catalogue lacks the name; save gpuadvise device --all "
        "--telemetry --format json on that machine"
    )


def pairs(nvml: Sequence[NvmlGpu], cuda: Sequence[DriverGpu]) -> Iterator[Pair]:
    """Yield every GPU of NVML with the driver's view of it, then those NVML does not know."""
    left = list(cuda)
    for nvml_gpu in nvml:
        match = next((driver_gpu for driver_gpu in left if _same(nvml_gpu, driver_gpu)), None)
        if match is not None:
            left.remove(match)
        yield nvml_gpu, match
    for driver_gpu in left:
        yield None, driver_gpu


def _same(nvml: NvmlGpu, driver: DriverGpu) -> bool:
    if nvml.uuid and driver.uuid:
        return uuid_digits(nvml.uuid) == uuid_digits(driver.uuid)
    # All slices of a GPU share its PCI id, so it cannot tell them apart.
    if nvml.mig or nvml.mig_enabled or not nvml.pci_bus_id or not driver.pci_bus_id:
        return False
    return pci_id(nvml.pci_bus_id) == pci_id(driver.pci_bus_id)


def uuid_digits(uuid: str) -> str:
    """Return the digits of a GPU's UUID, which NVML and CUDA write in different ways."""
    return uuid.partition("-")[2].replace("-", "").lower()


def _identity(
    nvml: NvmlGpu | None, driver: DriverGpu | None, environ: Mapping[str, str], *, queried: bool
) -> Identity:
    views = [view for view in (nvml, driver) if view]
    pci = next((view.pci_bus_id for view in views if view.pci_bus_id), None)
    hidden = queried and driver is None
    return Identity(
        index=nvml.index if nvml else None,
        cuda_index=driver.cuda_index if driver else None,
        minor=nvml.minor if nvml else None,
        visible=not hidden if queried else None,
        hidden_because=_hidden_because(nvml, environ) if hidden else None,
        uuid=next((view.uuid for view in views if view.uuid), None),
        pci_bus_id=f"{pci_id(pci)}.0" if pci else None,
        mig=nvml.mig if nvml else None,
    )


def _hidden_because(nvml: NvmlGpu | None, environ: Mapping[str, str]) -> str:
    if nvml and nvml.mig_enabled:
        return "MIG is on: programs see its slices"
    if (mask := environ.get(MASK)) is not None:
        return f"{MASK} is {quoted(mask)}"
    if nvml and nvml.mig:
        return "a program sees one slice at a time, the first unless CUDA_VISIBLE_DEVICES names one"
    return "the driver does not say why; a container may lack its device file"


def _features(driver: DriverGpu) -> Features:
    from gpuadvise.advisor.features import Features

    of = driver.attributes.get
    flags = {name: of(attribute) for name, attribute in _FLAGS.items()}
    values: dict[str, Any] = {
        **{name: None if value is None else bool(value) for name, value in flags.items()},
        **{name: of(attribute) or None for name, attribute in _SIZES.items()},
    }
    return Features(**values)


# Fields of Features and the driver's names of what tells them.
_FLAGS = {
    "concurrent_kernels": "concurrent_kernels",
    "host_memory_mapping": "can_map_host_memory",
    "unified_addressing": "unified_addressing",
    "managed_memory": "managed_memory",
    "concurrent_managed_access": "concurrent_managed_access",
    "pageable_memory_access": "pageable_memory_access",
    "cooperative_launch": "cooperative_launch",
    "cluster_launch": "cluster_launch",
    "memory_pools": "memory_pools_supported",
    "compute_preemption": "compute_preemption_supported",
    "stream_priorities": "stream_priorities_supported",
    "gpu_direct_rdma": "gpu_direct_rdma_supported",
    "kernel_timeout": "kernel_exec_timeout",
}
_SIZES = {
    "texture_alignment_bytes": "texture_alignment",
    "texture_pitch_alignment_bytes": "texture_pitch_alignment",
    "surface_alignment_bytes": "surface_alignment",
    "max_pitch_bytes": "max_pitch",
}


def _topology(
    nvml: NvmlGpu | None, driver: DriverGpu | None, numbers: Mapping[int, int]
) -> Topology | None:
    """Return how the GPU is connected; of peers what the driver says, which programs get, wins."""
    seen = nvml.topology if nvml else None
    if driver is None or not driver.peers or (nvml and nvml.mig):
        return seen
    from gpuadvise.advisor.topology import Peer, Topology

    seen = seen or Topology()
    peers = {peer.index: peer for peer in seen.peers}
    for driver_peer in driver.peers:
        index = numbers[driver_peer.cuda_index]
        peer = peers.get(index, Peer(index=index))
        peers[index] = replace(
            peer,
            access=peer.access if driver_peer.access is None else driver_peer.access,
            atomics=peer.atomics if driver_peer.atomics is None else driver_peer.atomics,
            why_not=None if driver_peer.access else peer.why_not,
        )
    return replace(seen, peers=tuple(peers[index] for index in sorted(peers)))
