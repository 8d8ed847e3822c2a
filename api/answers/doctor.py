"""The answer of ``gpuadvise doctor``: its fields, and what each of them says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from gpuadvise.api.answers.common import NotJudgedRecord
from gpuadvise.api.answers.fields import (
    BYTES,
    WATTS,
    AnswerDeclaration,
    Count,
    May,
    NotNegative,
    Priority,
    Record,
    Share,
    record,
)

CheckOutcome = Literal["ok", "finding", "idle, not judged", "not available"]


@record
class DoctorGpus(Record):
    """Gpus, in the answer of ``doctor``."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    index: Count
    """Number of the GPU."""
    cuda_index: int | None
    """Number that the CUDA runtime gives the GPU."""
    name: str
    """Its name."""
    uuid: str | None = None
    """UUID of the GPU."""
    pci_bus_id: str | None = None
    """PCI address."""
    temperature_celsius: int | None = None
    """Temperature, degrees Celsius."""
    power_watts: Annotated[NotNegative, WATTS] | None = None
    """Power drawn, watts."""
    power_limit_watts: Annotated[NotNegative, WATTS] | None = None
    """Power limit in force, watts."""
    memory_used_bytes: Annotated[Count, BYTES] | None = None
    """Memory that programs use, bytes."""
    memory_total_bytes: Annotated[Count, BYTES] | None = None
    """Memory, bytes."""
    gpu_utilisation: Share | None = None
    """Share of time in which anything ran."""
    xids: tuple[int, ...] | None = None
    """Xid errors in the kernel's log."""


@record
class DoctorCheck(Record):
    """Check, in the answer of ``doctor``."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    check: str
    """Name of the check."""
    gpu: int | None
    """Number of the GPU."""
    status: CheckOutcome
    """ok, finding, idle (not judged) or not available."""
    reason: str | None
    """Why, in a sentence."""


@record
class DoctorRow(Record):
    """A check of a GPU in a line of CSV and NDJSON."""

    gpu: int | None
    """Number of the GPU."""
    check: str
    """Name of the check."""
    status: CheckOutcome
    """ok, finding, idle (not judged) or not available."""
    priority: Priority | None
    """How urgent what was found is."""
    message: str | None
    """What was found."""
    action: str | None
    """What to do."""
    reason: str | None
    """Why there is no verdict, in a sentence."""


@record
class DoctorSoftware(Record):
    """Software, in the answer of ``doctor``."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    system: str | None
    """Operating system."""
    kernel: str | None
    """Kernel of the operating system."""
    machine: str | None = None
    """Processor architecture."""
    python: str | None = None
    """Version of Python."""
    container: str | None = None
    """Container that this runs in."""
    virtual: bool | None = None
    """Virtual machine that this runs in."""
    wsl: May[bool] = None
    """Whether this is Windows Subsystem for Linux."""
    toolkits: tuple[str, ...]
    """CUDA toolkits that were found."""
    libraries: Mapping[str, tuple[str, ...]]
    """CUDA libraries that were found."""
    packages: Mapping[str, str]
    """Python packages for GPUs."""
    variables: Mapping[str, str]
    """Environment variables that change what CUDA does."""
    jit_cache_bytes: Annotated[int, BYTES] | None = None
    """Size of the cache of compiled PTX."""
    notes: May[tuple[str, ...]] = None
    """Remarks."""


@record
class DoctorResult(Record):
    """What ``doctor`` answers."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    verdict: Literal["healthy", "findings", "unknown", "broken"]
    """healthy, findings or broken."""
    not_judged: May[tuple[NotJudgedRecord, ...]] = None
    """What was asked for and neither passed nor failed: path and reason."""
    counts: Mapping[str, Count]
    """How many of each outcome."""
    gpus: tuple[DoctorGpus, ...]
    """GPUs it is about."""
    driver_version: str | None
    """Version of the driver."""
    cuda_version: str | None
    """Newest CUDA that the driver accepts."""
    problems: tuple[str, ...]
    """What could not be asked."""
    checks: tuple[DoctorCheck, ...]
    """Each check with its outcome."""
    software: DoctorSoftware | None
    """Drivers, toolkits, libraries, packages, variables."""


@record
class DoctorInput(Record):
    """What ``doctor`` was asked."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    from_: str | None
    load: bool
    fail_on: str | None
    with_ids: bool


DECLARATION = AnswerDeclaration(
    command="doctor",
    title="JSON answer of gpuadvise doctor",
    description="Every check of a machine's GPUs, links, driver and settings, what was found, and the software around them. Nothing names the host, a user or a path; UUIDs and PCI addresses are there with --with-ids only.",
    input=DoctorInput,
    results=(DoctorResult,),
    rows=(DoctorRow,),
    device="none",
)
