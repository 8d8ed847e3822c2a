"""The answer of ``gpuadvise fleet``: its fields, and what each of them says."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from gpuadvise.api.answers.common import NotJudgedRecord
from gpuadvise.api.answers.fields import (
    BYTES,
    BYTES_PER_SECOND,
    HERTZ,
    WATTS,
    AnswerDeclaration,
    Category,
    Count,
    May,
    NotNegative,
    Priority,
    Record,
    Share,
    record,
)

Verdict = Literal["healthy", "to look at", "not judged"]


@record
class FleetReadings(Record):
    """What is known of a GPU, or MIG slice, of a machine of the fleet, in base units; null is not known."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    model: str
    """Its name."""
    mig: str | None
    """Instance of a MIG slice."""
    temperature_celsius: int | None
    """Temperature, degrees Celsius."""
    power_watts: Annotated[NotNegative, WATTS] | None
    """Power drawn, watts."""
    power_limit_watts: Annotated[NotNegative, WATTS] | None
    """Power limit in force, watts."""
    memory_used_bytes: Annotated[Count, BYTES] | None
    """Memory that programs use, bytes."""
    memory_total_bytes: Annotated[Count, BYTES] | None
    """Memory, bytes."""
    gpu_utilisation: Share | None
    """Share of time in which anything ran."""
    ecc_enabled: bool | None
    """Whether ECC is on."""
    ecc_corrected: Count | None
    """Corrected memory errors since the driver was loaded."""
    ecc_uncorrected: Count | None
    """Uncorrected memory errors since the driver was loaded."""
    xids: tuple[int, ...] | None
    """Xid errors in the kernel's log."""
    pcie_generation: int | None
    """Generation of the PCIe link now."""
    pcie_generation_max: int | None
    """Highest generation of the PCIe link."""
    pcie_lanes: int | None
    """Lanes of the PCIe link now."""
    pcie_lanes_max: int | None
    """Most lanes of the PCIe link."""
    nvlinks: Count | None
    """NVLinks of the GPU."""
    nvlinks_up: Count | None
    """NVLinks that are up."""
    persistence_mode: bool | None
    """Whether persistence mode is on."""
    compute_mode: str | None
    """Compute mode."""
    sm_clock_max_hz: Annotated[Count, HERTZ] | None
    """Highest SM clock."""
    memory_clock_max_hz: Annotated[Count, HERTZ] | None
    """Highest memory clock."""
    verdict: Verdict
    """healthy, to look at, or not judged."""
    reasons: tuple[str, ...]
    """Why it is to be looked at: rules, and facts in which it differs."""
    ecc_corrected_lifetime: Count | None
    """Corrected memory errors of its life."""
    ecc_uncorrected_lifetime: Count | None
    """Uncorrected memory errors of its life."""
    rows_remapped_corrected: Count | None
    """Rows of memory remapped because of corrected errors."""
    rows_remapped_uncorrected: Count | None
    """Rows of memory remapped because of uncorrected errors."""
    pages_retired_single_bit: Count | None
    """Pages retired because of corrected errors, before Ampere."""
    pages_retired_double_bit: Count | None
    """Pages retired because of uncorrected errors, before Ampere."""
    uuid: str | None = None
    """UUID, with --with-ids."""
    pci_bus_id: str | None = None
    """PCI address, with --with-ids."""


@record
class FleetGpuRecord(FleetReadings):
    """One GPU, or MIG slice, of a machine of the fleet, in base units; null is not known."""

    index: Count
    """Number of the GPU, as nvidia-smi counts."""


@record
class FleetRow(FleetReadings):
    """A GPU, or MIG slice, in a line of CSV and NDJSON; null is not known."""

    COLUMNS: ClassVar = (
        "host", "gpu", "model", "driver", "temperature_celsius", "power_watts", "power_limit_watts",
        "ecc_enabled", "ecc_corrected", "ecc_uncorrected", "xids", "pcie_generation",
        "pcie_generation_max", "pcie_lanes", "pcie_lanes_max", "nvlinks", "nvlinks_up", "verdict",
        "reasons", "mig", "memory_used_bytes", "memory_total_bytes", "gpu_utilisation",
        "persistence_mode", "compute_mode", "sm_clock_max_hz", "memory_clock_max_hz",
        "ecc_corrected_lifetime", "ecc_uncorrected_lifetime", "rows_remapped_corrected",
        "rows_remapped_uncorrected", "pages_retired_single_bit", "pages_retired_double_bit",
    )  # fmt: skip
    host: str
    """The machine; hashed without --show-hosts."""
    gpu: Count
    """Number of the GPU, as nvidia-smi counts."""
    driver: str | None
    """Version of the driver."""


@record
class FleetFabric(Record):
    """InfiniBand and RoCE ports of a machine, as ibstat lists them."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    links: str
    """Ports that are up, by their rate and kind."""
    down: tuple[str, ...]
    """The others, and why."""
    firmware: str | None
    """Firmware of the adapters."""


@record
class FleetNccl(Record):
    """The links that NCCL used, by its logs."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    networks: tuple[str, ...]
    """Between machines."""
    adapters: int | None
    """Adapters of InfiniBand or RoCE that it found."""
    gpu_direct: bool | None
    """Whether the network read the memory of GPUs for all channels."""
    peers: tuple[str, ...]
    """Between GPUs of the machine."""
    version: str | None
    """Version of NCCL."""


@record
class FleetMachineRecord(Record):
    """One machine of the fleet."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    host: str
    """The name of its file, hashed without --show-hosts."""
    verdict: Verdict
    """healthy, to look at, or not judged."""
    kind: str | None
    """Models of its GPUs and how many of each."""
    driver_version: str | None
    """Version of the driver."""
    cuda_version: str | None
    """Newest CUDA that the driver accepts."""
    problems: tuple[str, ...]
    """What did not answer."""
    reasons: tuple[str, ...]
    """Why all of it is to be looked at."""
    h2d: Annotated[NotNegative, BYTES_PER_SECOND] | None
    """Measured rate of pinned copies to the GPU."""
    d2h: Annotated[NotNegative, BYTES_PER_SECOND] | None
    """Measured rate of pinned copies to the host."""
    taken: str | None
    """When it was described last, by its own clock; of a day alone the beginning."""
    fabric: FleetFabric | None
    """Its network adapters."""
    nccl: FleetNccl | None
    """Links that NCCL used there."""
    gpus: tuple[FleetGpuRecord, ...]
    """Its GPUs."""


@record
class FleetGroup(Record):
    """Machines with the same GPUs."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    kind: str
    """Models of the GPUs and how many of each."""
    machines: Count
    """How many machines."""
    gpus: Count
    """How many GPUs they have together."""
    h2d: Annotated[NotNegative, BYTES_PER_SECOND] | None
    """Median rate of pinned copies to the GPU."""
    d2h: Annotated[NotNegative, BYTES_PER_SECOND] | None
    """Median rate of pinned copies to the host."""
    hosts: tuple[str, ...]
    """The machines."""


@record
class FleetDifference(Record):
    """A machine or GPU that differs from more than half of its group."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    host: str
    """The machine."""
    gpu: int | None
    """Number of the GPU; null: all of the machine."""
    fact: str
    """What differs, by its field; h2d and d2h are rates of copies."""
    value: str | float | bool
    """What it has."""
    usual: str | float | bool
    """What most of the group have; of rates the median."""
    of: Count
    """How many of the group tell it."""
    priority: Priority
    """How urgent it is."""
    category: Category
    """What it endangers."""


@record
class FleetSplitValue(Record):
    """One of the values that a group is split into."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    value: str | float | bool
    """The value."""
    count: Count
    """How many have it."""


@record
class FleetSplit(Record):
    """A fact in which a group differs, and no value holds for more than half of it."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    kind: str
    """The group."""
    fact: str
    """What differs."""
    values: tuple[FleetSplitValue, ...]
    """The values, the most common first."""


@record
class FleetFault(Record):
    """A finding of doctor's judgement, once, with the machines that it holds for."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    rule: str
    """The rule."""
    priority: Priority
    """How urgent it is."""
    category: Category
    """What it endangers."""
    title: str
    """The rule in a sentence."""
    message: str
    """What it says of the first of them."""
    same_message: bool
    """Whether it says the same of all."""
    action: str
    """What to do."""
    worth_a_look: bool
    """Whether it makes a machine one to look at."""
    gpus: Count
    """How many GPUs it holds for."""
    hosts: tuple[str, ...]
    """The machines that it holds for."""


@record
class FleetChange(Record):
    """What became worse on a machine or GPU between two descriptions of it."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    host: str
    """The machine."""
    gpu: int | None
    """Number of the GPU; null: all of the machine, or a GPU that is gone."""
    fact: str
    """What became worse, by its field; gpu is one that is gone."""
    before: str | float | bool
    """What it was in the first description."""
    now: str | float | bool
    """What it is in the last."""
    since: str
    """When the first description was taken."""
    until: str
    """When the last was."""
    priority: Priority
    """How urgent it is."""
    category: Category
    """What it endangers."""


@record
class FleetCounts(Record):
    """How many machines and GPUs there are, by verdict."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    machines: Count
    """Machines."""
    gpus: Count
    """GPUs, without MIG slices."""
    healthy: Count
    """Machines with nothing to look at."""
    to_look_at: Count
    """Machines with a finding or a difference."""
    not_judged: Count
    """Machines of which nothing tells how they are."""


@record
class FleetResult(Record):
    """What ``fleet`` answers."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    verdict: Literal["healthy", "findings", "unknown"]
    """healthy, findings or unknown."""
    not_judged: May[tuple[NotJudgedRecord, ...]] = None
    """Files that could not be read, and machines without readings."""
    counts: FleetCounts
    """How many of each verdict."""
    machines: tuple[FleetMachineRecord, ...]
    """Each machine."""
    groups: tuple[FleetGroup, ...]
    """Machines with the same GPUs, the largest group first."""
    differences: tuple[FleetDifference, ...]
    """What differs from most of its group."""
    splits: tuple[FleetSplit, ...]
    """What differs in a group without a usual value."""
    faults: tuple[FleetFault, ...]
    """Findings, each once."""
    changes: tuple[FleetChange, ...]
    """What became worse, where several descriptions of a machine are there."""


@record
class FleetInput(Record):
    """What ``fleet`` was asked."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    paths: tuple[str, ...] | None
    host: tuple[str, ...] | None
    show_hosts: bool
    with_ids: bool
    fail_on: str | None
    since: str | None


DECLARATION = AnswerDeclaration(
    command="fleet",
    title="JSON answer of gpuadvise fleet",
    description="Many machines, each judged by what was saved of it, groups of equal ones, what differs within a group, and each finding once. Hosts are hashed without --show-hosts; UUIDs and PCI addresses are there with --with-ids only.",
    input=FleetInput,
    results=(FleetResult,),
    rows=(FleetRow,),
    device="none",
)
