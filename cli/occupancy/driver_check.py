"""``--driver-check``: the limits the model rests on beside the live driver's attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.merge import pci_id
from gpuadvise.advisor.catalogue import limits_of
from gpuadvise.advisor.device import Origin
from gpuadvise.advisor.driver_limits import differences, driver_limits
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.prose import plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.advisor.backends.readings import DriverGpu, DriverReport
    from gpuadvise.advisor.gpu import Identity


def driver_check(choice: Choice) -> dict[str, Any]:
    """Return how many limits were compared and which differ, as JSON; raises Unavailable."""
    from gpuadvise.advisor.backends.live import driver_now

    if choice.gpu is None or choice.device.origin is not Origin.LIVE:
        raise Unavailable(
            "--driver-check needs a live GPU; the chosen one is not in this machine.",
            hint="Leave --gpu, --cc and --from away, or name the GPU with --device.",
        )
    return compared(choice, driver_now())


def compared(choice: Choice, report: DriverReport) -> dict[str, Any]:
    """Return the comparison of the model's limits for the chosen GPU with *report*."""
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
            {"limit": each.field, "model": each.model, "driver": each.driver}
            for each in differences(model, attributes)
        ],
    }


def driver_sentence(check: Mapping[str, Any]) -> str:
    """Return the outcome of the check in a sentence."""
    found = check["differences"]
    if not found:
        return f"The driver agrees with all {plural(check['compared'], 'limit')} that it tells."
    parts = [f"{each['limit']} is {each['driver']}, not {each['model']}" for each in found]
    return f"The driver differs from the model's limits: {'; '.join(parts)}."


def _same(identity: Identity, gpu: DriverGpu) -> bool:
    if identity.uuid and gpu.uuid:
        return _digits(identity.uuid) == _digits(gpu.uuid)
    if not identity.pci_bus_id or not gpu.pci_bus_id:
        return False
    return pci_id(identity.pci_bus_id) == pci_id(gpu.pci_bus_id)


def _digits(uuid: str) -> str:
    return uuid.partition("-")[2].replace("-", "").lower()
