"""A launch put before the live driver, in a child process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.driver_launch import DriverLaunch
from gpuadvise.advisor.backends.probe import Probe, ask_about
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.json_records import rebuilt

if TYPE_CHECKING:
    from gpuadvise.advisor.gpu import Identity
    from gpuadvise.advisor.occupancy.launch import Launch


def driver_launch(identity: Identity, launch: Launch) -> DriverLaunch:
    """Return what the driver of the GPU *identity* says of *launch*; takes a child process."""
    outcome = ask_about(Probe.LAUNCH, question(identity, launch))
    if outcome.problem:
        return DriverLaunch(problem=outcome.problem)
    try:
        return rebuilt(DriverLaunch, outcome.answer, {})
    except BadInput as error:
        return DriverLaunch(problem=f"The driver's answer is unusable: {error.message}")


def question(identity: Identity, launch: Launch) -> dict[str, Any]:
    """Return *launch* on the GPU *identity* as JSON values."""
    return {
        "uuid": identity.uuid,
        "pci_bus_id": identity.pci_bus_id,
        "index": identity.cuda_index,
        "registers": launch.registers,
        "static": launch.static_shared,
        "dynamic": launch.dynamic_shared,
        "optin": launch.optin,
        "threads": launch.threads,
        "barriers": launch.barriers,
        "carveout": launch.carveout,
        "cluster": launch.cluster_dim,
        "nonportable": launch.nonportable_cluster,
    }
