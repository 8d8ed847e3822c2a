"""What must be said beside a live GPU's numbers so that they are not misread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.visible import MASK
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.quantity import show_rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.backends.readings import NvmlGpu
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.gpu import Identity

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
_ENGINES = "Fields that no single slice owns, such as bandwidth, are not known for it."


def gpu_notes(
    device: Device,
    identity: Identity,
    nvml: NvmlGpu | None,
    environ: Mapping[str, str],
    *,
    asked: bool,
) -> tuple[str, ...]:
    """Return the sentences that belong to *device*; *asked*: the CUDA driver gave its view."""
    notes = []
    if identity.mig:
        parent = quoted(identity.mig.parent_name or "a GPU")
        notes.append(f"A MIG slice of {parent}: counts and sizes are the slice's. {_ENGINES}")
    if nvml and nvml.mig_enabled:
        notes.append(_MIG_PARENT)
    elif asked and identity.cuda_index is None:
        notes.append(_hidden(environ))
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


def _hidden(environ: Mapping[str, str]) -> str:
    mask = environ.get(MASK)
    if mask is None:
        return "CUDA programs started here do not see this GPU."
    return f"CUDA programs started here do not see this GPU: {MASK} is {quoted(mask)}."
