"""A fleet as text that Prometheus reads, for the text-file collector of its node exporter."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.prose import inert
from gpuadvise.rules.fleet_report import FleetReport, MachineVerdict, priority_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gpuadvise.advisor.fleet.changes import MachineChange
    from gpuadvise.advisor.fleet.groups import Difference
    from gpuadvise.advisor.fleet.machine import FleetGpu, FleetMachine

Labels = dict[str, str]


class Metric(NamedTuple):
    """A gauge of each GPU: its name, what it is, and how it is read off."""

    name: str
    help: str
    value: Callable[[FleetGpu], float | None]


_OF_A_GPU = (
    Metric("gpu_temperature_celsius", "Temperature.", lambda gpu: gpu.temperature_celsius),
    Metric("gpu_power_watts", "Power drawn.", lambda gpu: gpu.power_watts),
    Metric("gpu_power_limit_watts", "Power limit in force.", lambda gpu: gpu.power_limit_watts),
    Metric("gpu_memory_used_bytes", "Memory that programs use.", lambda gpu: gpu.memory_used_bytes),
    Metric("gpu_memory_size_bytes", "Memory of the GPU.", lambda gpu: gpu.memory_total_bytes),
    Metric(
        "gpu_utilization_ratio", "Share of time in which anything ran.",
        lambda gpu: gpu.gpu_utilisation,
    ),
    Metric("gpu_ecc_enabled", "1 where ECC is on.", lambda gpu: _flag(gpu.ecc_enabled)),
    Metric(
        "gpu_ecc_corrected_errors", "Corrected memory errors since the driver was loaded.",
        lambda gpu: gpu.ecc_corrected,
    ),
    Metric(
        "gpu_ecc_uncorrected_errors", "Uncorrected memory errors since the driver was loaded.",
        lambda gpu: gpu.ecc_uncorrected,
    ),
    Metric(
        "gpu_xid_errors", "Xid errors in the kernel's log.",
        lambda gpu: None if gpu.xids is None else len(gpu.xids),
    ),
    Metric("gpu_pcie_lanes", "Lanes of the PCIe link now.", lambda gpu: gpu.pcie_lanes),
    Metric("gpu_pcie_lanes_max", "Most lanes of the PCIe link.", lambda gpu: gpu.pcie_lanes_max),
    Metric("gpu_pcie_generation", "Generation of the PCIe link now.", lambda gpu: gpu.pcie_generation),
    Metric(
        "gpu_pcie_generation_max", "Highest generation of the PCIe link.",
        lambda gpu: gpu.pcie_generation_max,
    ),
    Metric("gpu_nvlinks_up", "NVLinks that are up.", lambda gpu: gpu.nvlinks_up),
    Metric("gpu_persistence_mode", "1 where it is on.", lambda gpu: _flag(gpu.persistence_mode)),
)  # fmt: skip


def exposition(report: FleetReport, unread_files: int) -> Iterator[str]:
    """Yield the lines of all metrics."""
    verdicts = ((verdict, report.count(verdict)) for verdict in MachineVerdict)
    yield from _family(
        "fleet_machines",
        "Machines by verdict.",
        (({"verdict": str(verdict)}, count) for verdict, count in verdicts),
    )
    yield from _family("fleet_unread_files", "Files that could not be read.", [({}, unread_files)])
    yield from _family("gpu_info", "1, with the model and the driver.", _infos(report))
    about = "1 healthy, 0 to look at; absent where not judged."
    yield from _family("gpu_healthy", about, _health(report))
    for metric in _OF_A_GPU:
        values = ((labels, metric.value(gpu)) for _, _, gpu, labels in _gpus(report))
        known = ((labels, value) for labels, value in values if value is not None)
        yield from _family(metric.name, metric.help, known)
    yield from _family("gpu_finding", "1 for each finding of a check.", _findings(report))
    about = "1 where a GPU or machine differs from its group."
    yield from _family("gpu_differs", about, _facts(report, report.differences))
    about = "1 where a GPU or machine became worse since it was saved first."
    yield from _family("gpu_worse", about, _facts(report, report.changes))
    copies = (
        ({"host": machine.host, "direction": copy.direction}, copy.rate)
        for machine in report.machines
        for copy in machine.copies
    )
    yield from _family("machine_copy_bytes_per_second", "Measured rate of pinned copies.", copies)


def _gpus(report: FleetReport) -> Iterator[tuple[FleetMachine, int, FleetGpu, Labels]]:
    """Yield each GPU, its place in its machine, and the labels that name it."""
    for machine in report.machines:
        for position, gpu in enumerate(machine.gpus):
            yield machine, position, gpu, {"host": machine.host, **_gpu_labels(gpu)}


def _infos(report: FleetReport) -> Iterator[tuple[Labels, int]]:
    for machine, _, gpu, labels in _gpus(report):
        yield {**labels, "model": gpu.model, "driver": machine.driver_version or ""}, 1


def _health(report: FleetReport) -> Iterator[tuple[Labels, int]]:
    for machine, position, _, labels in _gpus(report):
        verdict = report.gpu_verdict(machine, position)
        if verdict is not MachineVerdict.UNKNOWN:
            yield labels, int(verdict is MachineVerdict.HEALTHY)


def _findings(report: FleetReport) -> Iterator[tuple[Labels, int]]:
    for machine in report.machines:
        said = {(finding.gpu, finding.rule): finding.priority for finding in machine.findings}
        for (position, rule), priority in said.items():
            gpu = _gpu_labels_at(machine.gpus, position)
            yield {"host": machine.host, **gpu, "rule": rule, "priority": priority}, 1


def _facts(
    report: FleetReport, items: Iterable[Difference | MachineChange]
) -> Iterator[tuple[Labels, int]]:
    gpus = {machine.host: machine.gpus for machine in report.machines}
    for item in items:
        labels = {"host": item.host, **_gpu_labels_at(gpus[item.host], item.gpu)}
        yield {**labels, "fact": item.fact, "priority": str(priority_of(item))}, 1


def _gpu_labels_at(gpus: tuple[FleetGpu, ...], position: int | None) -> Labels:
    if position is None or position >= len(gpus):
        return {"gpu": "all"}
    return _gpu_labels(gpus[position])


def _gpu_labels(gpu: FleetGpu) -> Labels:
    return {"gpu": str(gpu.index) if gpu.mig is None else f"{gpu.index}/{gpu.mig}"}


def _flag(value: bool | None) -> int | None:
    return None if value is None else int(value)


def _family(name: str, about: str, samples: Iterable[tuple[Labels, float]]) -> Iterator[str]:
    """Yield the lines of one metric; a sample that was given before is left out, as it must be."""
    yield f"# HELP gpuadvise_{name} {about}\n# TYPE gpuadvise_{name} gauge\n"
    given: set[str] = set()
    for labels, value in samples:
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        if inside not in given:
            given.add(inside)
            labelled = f"{{{inside}}}" if inside else ""
            yield f"gpuadvise_{name}{labelled} {value!r}\n"


def _escaped(text: str) -> str:
    return inert(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
