"""Facts about a live or recorded GPU among those of its machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.topology import links_up, nvlinks_fitted

if TYPE_CHECKING:
    from gpuadvise.advisor.gpu import Gpu, Machine


def gpu_facts(gpu: Gpu, machine: Machine) -> dict[str, Any]:
    """Return what is known of the state and the connections of *gpu*, by the name of the fact."""
    from gpuadvise.advisor.compatibility.drivers import parse_driver

    return {
        "telemetry": gpu.telemetry,
        "topology": gpu.topology,
        "nvlinks_fitted": _fitted(gpu),
        "sibling_nvlinks": _of_siblings(gpu, machine),
        "mig": gpu.identity.mig is not None,
        "driver": parse_driver(machine.cuda_version) if machine.cuda_version else None,
    }


def _fitted(gpu: Gpu) -> int | None:
    """Return how many NVLinks the product of *gpu* has, by the catalogue and the rate of a link."""
    if gpu.topology is None or not links_up(gpu.topology):
        return None
    from gpuadvise.advisor.catalogue import identify

    product = identify(gpu.device.name)
    published = product.nvlink_bandwidth if product else None
    rate = links_up(gpu.topology)[0].bytes_per_second
    return nvlinks_fitted(published, rate) if published and rate else None


def _of_siblings(gpu: Gpu, machine: Machine) -> int | None:
    """Return the most NVLinks that are up on another GPU of the same product."""
    counts = [
        len(links_up(sibling.topology))
        for sibling in machine.gpus
        if sibling is not gpu and sibling.topology and sibling.device.name == gpu.device.name
    ]
    return max(counts, default=None)
