"""The verdict on a fleet: which machines are well, which to look at, and why."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.fleet.changes import MachineChange, changes
from gpuadvise.advisor.fleet.groups import Difference, Group, Split, differences, grouped
from gpuadvise.advisor.fleet.machine import MachinePart
from gpuadvise.rules.model import Category, Priority

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.fleet.machine import FleetFinding, FleetGpu, FleetMachine
    from gpuadvise.rules.fail_on import FailOn

# These say that somebody works there, which is what a fleet is for.
_AT_WORK = frozenset({"busy-device", "competing-contexts"})
# How urgent it is that one machine differs from its equals; what is not listed is of medium priority.
_PRIORITIES = {
    **dict.fromkeys(
        (
            "pcie_lanes",
            "pcie_lanes_max",
            "pcie_generation_max",
            "nvlinks_up",
            "h2d",
            "d2h",
            "fabric",
            "nccl_network",
            "nccl_adapters",
            "nccl_gpu_direct",
            "nccl_peers",
        ),
        Priority.HIGH,
    ),
    **dict.fromkeys(
        ("driver_version", "persistence_mode", "compute_mode", "fabric_firmware", "nccl_version"),
        Priority.LOW,
    ),
}
# How urgent it is that something became worse on a machine; what is not listed is of medium priority.
_OF_CHANGES = {
    **dict.fromkeys(
        (
            "pcie_lanes", "pcie_lanes_max", "pcie_generation_max", "nvlinks", "nvlinks_up", "gpu", "h2d", "d2h",
            "ecc_uncorrected", "ecc_uncorrected_lifetime", "pages_retired_double_bit",
        ),
        Priority.HIGH,
    ),
    **dict.fromkeys(("ecc_corrected_lifetime", "rows_remapped_corrected"), Priority.LOW),
}  # fmt: skip
# Those that endanger results; the others cost speed.
_OF_MEMORY = frozenset(
    ("ecc_uncorrected", "ecc_uncorrected_lifetime", "ecc_corrected_lifetime", "ecc_enabled", "xids", "gpu",
     "rows_remapped_corrected", "rows_remapped_uncorrected", "pages_retired_single_bit", "pages_retired_double_bit")
)  # fmt: skip
# What each fact is called in a sentence.
FACT_WORDS = {
    "driver_version": "driver",
    "persistence_mode": "persistence mode",
    "compute_mode": "compute mode",
    "ecc_enabled": "ECC",
    "memory_total_bytes": "memory",
    "sm_clock_max_hz": "highest SM clock",
    "memory_clock_max_hz": "highest memory clock",
    "power_limit_watts": "power limit",
    "pcie_generation_max": "PCIe generation",
    "pcie_lanes_max": "PCIe lanes that it can use",
    "pcie_lanes": "PCIe lanes",
    "nvlinks_up": "NVLinks up",
    "h2d": "copies to the GPU",
    "d2h": "copies to the host",
    "fabric": "network links",
    "fabric_firmware": "firmware of network adapters",
    "nccl_network": "network of NCCL",
    "nccl_adapters": "adapters that NCCL uses",
    "nccl_gpu_direct": "GPUDirect RDMA in NCCL",
    "nccl_peers": "links of NCCL between GPUs",
    "nccl_version": "NCCL",
    "nvlinks": "NVLinks",
    "ecc_uncorrected": "uncorrected memory errors",
    "ecc_uncorrected_lifetime": "uncorrected memory errors of its life",
    "ecc_corrected_lifetime": "corrected memory errors of its life",
    "rows_remapped_corrected": "rows remapped for corrected errors",
    "rows_remapped_uncorrected": "rows remapped for uncorrected errors",
    "pages_retired_single_bit": "pages retired for corrected errors",
    "pages_retired_double_bit": "pages retired for uncorrected errors",
    "xids": "Xid errors",
    "temperature_celsius": "temperature at no more power",
    "gpu": "GPU",
}


class MachineVerdict(StrEnum):
    """What came of one machine, or of one of its GPUs."""

    HEALTHY = "healthy"
    LOOK = "to look at"
    UNKNOWN = "not judged"  # nothing says how it is


class Fault(NamedTuple):
    """A finding of one rule, with the machines and GPUs (positions in their lists) that it holds for."""

    finding: FleetFinding  # the first of them
    places: tuple[tuple[str, int | None], ...]
    varies: bool  # whether others of them say it in other words

    @property
    def hosts(self) -> tuple[str, ...]:
        """The machines, once each."""
        return tuple(dict.fromkeys(host for host, _ in self.places))


class FleetReport(NamedTuple):
    """All that is said of a fleet; *reasons* are words for why a machine or GPU is to be looked at."""

    machines: Sequence[FleetMachine]
    groups: Sequence[Group]
    differences: Sequence[Difference]
    splits: Sequence[Split]
    faults: Sequence[Fault]
    reasons: dict[tuple[str, int | None], list[str]]
    changes: Sequence[MachineChange] = ()

    def verdict(self, machine: FleetMachine) -> MachineVerdict:
        """Return the verdict on *machine*."""
        places = (None, *range(len(machine.gpus)))
        if any(self.reasons.get((machine.host, place)) for place in places):
            return MachineVerdict.LOOK
        return MachineVerdict.HEALTHY if machine.judged else MachineVerdict.UNKNOWN

    def gpu_verdict(self, machine: FleetMachine, position: int) -> MachineVerdict:
        """Return the verdict on the GPU at *position* of the list of *machine*."""
        if self.why(machine.host, position):
            return MachineVerdict.LOOK
        return MachineVerdict.HEALTHY if machine.judged else MachineVerdict.UNKNOWN

    def why(self, host: str, position: int | None) -> list[str]:
        """Return why the GPU at *position*, or what it shares with its machine, is to be looked at."""
        own = [] if position is None else self.reasons.get((host, position), [])
        return [*own, *self.reasons.get((host, None), [])]

    def count(self, verdict: MachineVerdict) -> int:
        """Return how many machines have *verdict*."""
        return sum(self.verdict(machine) is verdict for machine in self.machines)


def priority_of(item: Difference | MachineChange) -> Priority:
    """Return how urgent it is that a machine differs, or became worse."""
    known = _OF_CHANGES if isinstance(item, MachineChange) else _PRIORITIES
    return known.get(item.fact, Priority.MEDIUM)


def category_of(item: Difference | MachineChange) -> Category:
    """Return what *item* endangers: the results, or the speed."""
    return Category.CORRECTNESS if item.fact in _OF_MEMORY else Category.PERFORMANCE


def report_on(machines: Sequence[FleetMachine]) -> FleetReport:
    """Return what is to be said of *machines*."""
    groups = grouped(machines)
    odd: list[Difference] = []
    splits: list[Split] = []
    for group in groups:
        differing, split = differences(group)
        odd += differing
        splits += split
    worse = [change for machine in machines for change in changes(machine)]
    reasons = _reasons(machines, odd, worse)
    return FleetReport(machines, groups, odd, splits, _faults(machines), reasons, worse)


def is_worth_a_look(finding: FleetFinding) -> bool:
    """Return whether *finding* says that a machine is unwell, and not only what it is used for."""
    return finding.priority != Priority.LOW and finding.rule not in _AT_WORK


def _reasons(
    machines: Sequence[FleetMachine], odd: Sequence[Difference], worse: Sequence[MachineChange]
) -> dict[tuple[str, int | None], list[str]]:
    reasons: dict[tuple[str, int | None], list[str]] = {}
    for machine in machines:
        for problem in machine.problems or (
            ("no GPU answers",) if _is_without_gpu(machine) else ()
        ):
            reasons.setdefault((machine.host, None), []).append(problem)
        for finding in filter(is_worth_a_look, machine.findings):
            words = reasons.setdefault((machine.host, finding.gpu), [])
            if finding.rule not in words:
                words.append(finding.rule)
    for difference in odd:
        words = reasons.setdefault((difference.host, difference.gpu), [])
        words.append(f"differs: {FACT_WORDS[difference.fact]}")
    for change in worse:
        if priority_of(change) is not Priority.LOW:
            words = reasons.setdefault((change.host, change.gpu), [])
            words.append(f"worse: {FACT_WORDS[change.fact]}")
    return reasons


def _faults(machines: Sequence[FleetMachine]) -> list[Fault]:
    """Return the findings of *machines*, each rule once, the most urgent and most common first."""
    firsts: dict[tuple[str, str], FleetFinding] = {}
    places: dict[tuple[str, str], list[tuple[str, int | None]]] = {}
    varying: set[tuple[str, str]] = set()
    for machine in machines:
        for finding in machine.findings:
            key = finding.rule, finding.priority
            first = firsts.setdefault(key, finding)
            places.setdefault(key, []).append((machine.host, finding.gpu))
            if first.message != finding.message:
                varying.add(key)
    made = [Fault(firsts[key], tuple(places[key]), key in varying) for key in firsts]
    return sorted(
        made,
        key=lambda fault: (
            Priority(fault.finding.priority).rank,
            -len(fault.places),
            fault.finding.rule,
        ),
    )


def met(report: FleetReport, limit: FailOn) -> int:
    """Return how many faults, differences, changes and sick machines meet *limit*; use of GPUs is no fault."""
    faults = sum(
        limit.meets(Category(fault.finding.category), Priority(fault.finding.priority))
        for fault in report.faults
        if fault.finding.rule not in _AT_WORK
    )
    told: list[Difference | MachineChange] = [*report.differences, *report.changes]
    odd = sum(limit.meets(category_of(item), priority_of(item)) for item in told)
    sick = sum(bool(machine.problems) or _is_without_gpu(machine) for machine in report.machines)
    return faults + odd + sick


def _is_without_gpu(machine: FleetMachine) -> bool:
    """Return whether a description of *machine* lists no GPU."""
    return machine.part is MachinePart.DESCRIPTION and not machine.kind


def unread(machine: FleetMachine) -> bool:
    """Return whether nothing says how the GPUs of *machine* are: neither readings nor copies."""
    if machine.part is not MachinePart.DESCRIPTION:
        return False
    return not (machine.judged or machine.copies or machine.problems) and bool(machine.gpus)


def ecc_words(gpu: FleetGpu) -> str:
    """Return the state of ECC and the errors since the driver was loaded; empty where unknown."""
    if gpu.ecc_enabled is None and gpu.ecc_uncorrected is None:
        return ""
    if gpu.ecc_enabled is False:
        return "off"
    if gpu.ecc_uncorrected is None:
        return "on"
    return f"{gpu.ecc_uncorrected} errors" if gpu.ecc_uncorrected else "0"
