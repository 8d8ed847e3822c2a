"""The GPUs of this machine, asked now."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from gpuadvise.advisor.backends.driver_presence import driver_present
from gpuadvise.advisor.gpu import Machine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.backends.probe import ProbeOutcome
    from gpuadvise.advisor.backends.readings import DriverReport, NvmlGpu, NvmlReport


T = TypeVar("T", "NvmlReport", "DriverReport")

NO_DRIVER = "No NVIDIA driver is loaded on this machine."


def live_machine(*, telemetry: bool = False, environ: Mapping[str, str] = os.environ) -> Machine:
    """Return every GPU of this machine with all that NVML, driver and catalogue tell.

    Never raises for a missing or sick driver: ``problems`` has a sentence for each part that
    did not answer. Takes as long as the slower of both needs to start, at most
    ``probe.PATIENCE_SECONDS``. No CUDA context is created.
    """
    if not driver_present():
        return Machine(problems=(NO_DRIVER,))
    from gpuadvise.advisor.backends.merge import merged
    from gpuadvise.advisor.backends.probe import Probe, ask_all

    kind = Probe.NVML_LIVE if telemetry else Probe.NVML
    nvml, cuda = ask_all((kind, Probe.DRIVER))
    seen = nvml_report(nvml)
    machine = merged(_logged(seen) if telemetry else seen, driver_report(cuda), environ)
    return replace(machine, notes=host_notes())


def identities() -> NvmlReport:
    """Return which GPUs there are, by NVML alone: the quickest question."""
    from gpuadvise.advisor.backends.probe import Probe, ask_all

    return nvml_report(*ask_all((Probe.NVML_IDENTITY,)))


def managed(*, telemetry: bool = False) -> NvmlReport:
    """Return all that NVML tells of the GPUs; the CUDA driver is not asked."""
    from gpuadvise.advisor.backends.probe import Probe, ask_all

    seen = nvml_report(*ask_all((Probe.NVML_LIVE if telemetry else Probe.NVML,)))
    return _logged(seen) if telemetry else seen


def _logged(report: NvmlReport) -> NvmlReport:
    """Return *report* with the Xid errors of each GPU that the kernel's log holds."""
    from gpuadvise.advisor.backends.kernel_log import Unreadable, xids

    codes: dict[str, tuple[int, ...]] = {}
    why = None
    try:
        codes = xids()
    except Unreadable as error:
        why = str(error)
    return replace(report, gpus=tuple(_with_xids(gpu, codes, why) for gpu in report.gpus))


def _with_xids(gpu: NvmlGpu, codes: Mapping[str, tuple[int, ...]], why: str | None) -> NvmlGpu:
    from gpuadvise.advisor.backends.pci_tree import pci_id

    now = gpu.telemetry
    if now is None:
        return gpu
    if why:
        now = replace(now, reasons={**now.reasons, "xids": why})
    else:
        now = replace(now, xids=codes.get(pci_id(gpu.pci_bus_id or ""), ()))
    return replace(gpu, telemetry=now)


def nvml_report(outcome: ProbeOutcome) -> NvmlReport:
    """Return NVML's report from what its probe printed."""
    from gpuadvise.advisor.backends.readings import NvmlReport

    return _report(NvmlReport, outcome)


def driver_report(outcome: ProbeOutcome) -> DriverReport:
    """Return the CUDA driver's report from what its probe printed."""
    from gpuadvise.advisor.backends.readings import DriverReport

    return _report(DriverReport, outcome)


def driver_now() -> DriverReport:
    """Return the CUDA driver's own view, for checks of the model against it."""
    from gpuadvise.advisor.backends.probe import Probe, ask_all
    from gpuadvise.advisor.backends.readings import DriverReport

    if not driver_present():
        return DriverReport(problem=NO_DRIVER)
    return driver_report(*ask_all((Probe.DRIVER,)))


def _report(kind: type[T], outcome: ProbeOutcome) -> T:
    from gpuadvise.advisor.backends.readings import names
    from gpuadvise.advisor.errors import BadInput
    from gpuadvise.advisor.json_records import rebuilt

    if outcome.problem:
        return kind(problem=outcome.problem)
    try:
        return rebuilt(kind, outcome.answer, names())
    except BadInput as error:
        return kind(problem=f"The answer of a driver probe is unusable: {error.message}")


_WSL = (
    "This is WSL: the Windows driver answers, and it does not offer every field or the list "
    "of processes."
)
_JETSON = (
    "This is a Jetson: the GPU shares the processor's memory, so a copy between host and "
    "device is a copy within it; NVML answers only in part."
)


def host_notes(root: str = "/") -> tuple[str, ...]:
    """Return one sentence for each property of this machine that changes what facts mean."""
    notes = []
    if "microsoft" in _read(root, "proc/version").lower():
        notes.append(_WSL)
    model = _read(root, "proc/device-tree/model")
    if os.path.exists(os.path.join(root, "etc/nv_tegra_release")) or "jetson" in model.lower():
        notes.append(_JETSON)
    return tuple(notes)


def _read(root: str, name: str) -> str:
    try:
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
            return file.read(4096)
    except OSError:
        return ""
