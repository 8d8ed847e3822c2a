"""``--driver-check``: our limits and our answer beside the live driver's; clusters from it."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.driver_launch import DriverLaunch
from gpuadvise.advisor.backends.merge import uuid_digits
from gpuadvise.advisor.backends.pci_tree import pci_id
from gpuadvise.advisor.catalogue import limits_of
from gpuadvise.advisor.device import Origin
from gpuadvise.advisor.driver_limits import differences, driver_limits
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.occupancy.clusters import Clusters, ClusterSource, resident_clusters
from gpuadvise.advisor.occupancy.model import blocks_without_clusters, occupancy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.backends.readings import DriverGpu, DriverReport
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.gpu import Identity
    from gpuadvise.advisor.occupancy.answer import Occupancy


def of_driver(choice: Choice, result: Occupancy, *, always: bool = False) -> DriverLaunch | None:
    """Return what the live driver says of *result*'s launch; None where none was chosen.

    A launch that cannot start is only asked about if *always*.
    """
    live = choice.gpu is not None and choice.device.origin is Origin.LIVE
    if choice.gpu is None or not live or not (result.launchable or always):
        return None
    from gpuadvise.advisor.backends.live_launch import driver_launch

    return driver_launch(choice.gpu.identity, result.launch)


def trusted_clusters(
    driver: DriverLaunch | None, result: Occupancy
) -> tuple[Clusters | None, tuple[str, ...]]:
    """Return the clusters that the driver counted for *result*, and a note where it did not."""
    if driver is None or result.launch.cluster_size == 1 or not result.launchable:
        return None, ()
    if driver.problem or driver.clusters is None:
        return None, (
            f"Clusters are not the driver's: {driver.problem or 'it did not count them.'}",
        )
    if driver.blocks_per_sm != blocks_without_clusters(result):
        return None, (
            "Clusters are not the driver's: it could not be asked about as many blocks per SM.",
        )
    counted = Clusters(
        count=driver.clusters, source=ClusterSource.DRIVER, largest=driver.largest_cluster
    )
    return counted, ()


def driver_check(choice: Choice, result: Occupancy, driver: DriverLaunch | None) -> dict[str, Any]:
    """Return how many limits were compared, what the driver answers, and all that differs.

    Raises Unavailable.
    """
    from gpuadvise.advisor.backends.live import driver_now

    if choice.gpu is None or choice.device.origin is not Origin.LIVE:
        raise Unavailable(
            "--driver-check needs a live GPU; the chosen one is not in this machine.",
            hint="Leave --gpu, --cc and --from away, or name the GPU with --device.",
        )
    limits = compared(choice, driver_now())
    driver = driver or DriverLaunch(problem="The driver was not asked.")
    return {
        **limits,
        "differences": [*limits["differences"], *answer_differences(choice.device, result, driver)],
        "answer": asdict(driver),
    }


def answer_differences(
    device: Device, result: Occupancy, driver: DriverLaunch
) -> Iterator[dict[str, Any]]:
    """Yield where the driver's answer differs from the model's, at the registers it was asked about.

    The driver's kernel has no launch bounds, and grid and shape of the block do not concern it.
    """
    if driver.problem or driver.blocks_per_sm is None:
        return
    launch = replace(
        result.launch, registers=driver.registers, max_threads=None, block_dim=None, grid_dim=None
    )
    cluster_free = replace(launch, cluster_dim=(1, 1, 1))
    blocks = occupancy(device.limits, cluster_free).blocks_per_sm
    if blocks != driver.blocks_per_sm:
        yield {"limit": "blocks_per_sm", "model": blocks, "driver": driver.blocks_per_sm}
    resident = occupancy(device.limits, launch).blocks_per_sm
    ours = resident_clusters(resident, launch.cluster_size, device)
    if ours is None or driver.clusters is None:
        return
    bound = ours.source is ClusterSource.BOUND
    if driver.clusters > ours.count or (driver.clusters < ours.count and not bound):
        yield {"limit": "clusters", "model": ours.count, "driver": driver.clusters}


def compared(choice: Choice, report: DriverReport) -> dict[str, Any]:
    """Return the comparison of the model's limits for the chosen GPU with *report*.

    Raises Unavailable where the driver does not answer for that GPU.
    """
    if report.problem or choice.gpu is None:
        raise Unavailable(f"--driver-check: {report.problem}")
    identity = choice.gpu.identity
    attributes = next((gpu.attributes for gpu in report.gpus if _same(identity, gpu)), None)
    if attributes is None:
        raise Unavailable(f"--driver-check: the CUDA driver does not show {choice.device.name}.")
    model, _ = limits_of(choice.device.capability)
    return {
        "compared": len(driver_limits(attributes)),
        "differences": [
            {"limit": difference.field, "model": difference.model, "driver": difference.driver}
            for difference in differences(model, attributes)
        ],
    }


def _same(identity: Identity, gpu: DriverGpu) -> bool:
    if identity.uuid and gpu.uuid:
        return uuid_digits(identity.uuid) == uuid_digits(gpu.uuid)
    if not identity.pci_bus_id or not gpu.pci_bus_id:
        return False
    return pci_id(identity.pci_bus_id) == pci_id(gpu.pci_bus_id)
