"""The catalogue's entry for a live GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.catalogue import identify

if TYPE_CHECKING:
    from gpuadvise.advisor.backends.readings import DriverGpu, NvmlGpu
    from gpuadvise.advisor.device import Device


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
