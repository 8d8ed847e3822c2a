"""What the answers of several commands hold: the GPU, findings, what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from gpuadvise.api.answers.fields import (
    BYTES,
    BYTES_PER_SECOND,
    HERTZ,
    Category,
    ComputeCapability,
    Count,
    Keywords,
    May,
    Priority,
    Record,
    record,
)


@record
class DeviceRecord(Record):
    """One GPU in base units.

    Bytes, hertz, bytes per second. null is not known; reasons says why, sources says where a known
    value comes from.
    """

    name: str
    """Its name."""
    compute_capability: ComputeCapability
    """Compute capability: 9.0."""
    sm_count: Count | None = None
    """Streaming multiprocessors (SMs)."""
    catalogue_id: str | None = None
    """Name in the catalogue; --gpu takes it."""
    origin: May[str] = None
    """Where the facts come from: catalogue, capability, live, snapshot."""
    extrapolated: May[bool] = None
    """Whether limits are those of the nearest known capability."""
    sm_clock_hz: Annotated[float, HERTZ] | None = None
    """SM clock."""
    memory_bytes: Annotated[Count, BYTES] | None = None
    """Device memory, bytes."""
    memory_bandwidth: Annotated[float, BYTES_PER_SECOND] | None = None
    """Theoretical bandwidth of device memory, bytes/s."""
    sources: Mapping[str, str]
    """Where each number comes from."""
    reasons: May[Mapping[str, str]] = None
    """Why what is unknown is unknown."""


@record
class NotJudgedRecord(Record):
    """A file, or a part of one, that could not be read."""

    path: str
    """The file, and the member in it."""
    reason: str
    """Why, in a sentence."""


@record
class NotEvaluated(Record):
    """A rule that could not be judged, and what it lacked."""

    rule: str
    """Id of the rule."""
    missing: tuple[str, ...]
    """Facts that it lacked."""
    how: str
    """How to supply them."""


@record
class ShapeRecord(Record):
    """What tells profiled launches of one kernel apart."""

    file: str | None
    """The report that holds them."""
    grid: tuple[int, ...] | None
    """Blocks along x, y and z."""
    block: tuple[int, ...] | None
    """Threads along x, y and z."""
    ids: tuple[int, ...]
    """The launches' numbers in the file, as the profiler counts."""


@record
class EvidenceRecord(Record):
    """A fact that a finding rests on, and where it comes from."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    label: str
    """What the fact is."""
    value: float | str | bool | None
    """Its value, in `unit`."""
    unit: str | None
    """Unit of the value."""
    source: str
    """Where it comes from."""


@record
class FindingGain(Record):
    """What a change wins, as a factor of the time."""

    kind: str
    """Kind of gain."""
    upper_bound: float
    """The most that the change can win, as a factor."""
    how: str
    """How it was worked out."""
    of: May[str] = None
    """Whose time it shortens: kernel or run; of other gains the kind."""
    expected: float | None = None
    """What such a change is likely to win; null where no counts tell."""
    low: float | None = None
    """8 of 10 such changes win this or more, and high or less."""
    high: float | None = None
    """8 of 10 such changes win this or less, and low or more."""
    upper_bound_of_run: float | None = None
    """The most of the run, or of all that was profiled; null where the kernel's share is not
    known.
    """
    expected_of_run: float | None = None
    """What is likely of the run."""
    low_of_run: float | None = None
    """Low, of the run."""
    high_of_run: float | None = None
    """High, of the run."""


@record
class FindingLocation(Record):
    """Where the fault is; null is not known."""

    file: str | None
    """The file."""
    line: Count | None
    """Line, from 1."""
    column: Count | None = None
    """Column, from 1."""
    kernel: str | None
    """Name of the kernel."""


@record
class FindingCitation(Record):
    """Who says so."""

    document: str
    """Title of the document."""
    section: str
    """Its section."""
    url: str | None
    """Where it can be read."""


@record
class FindingRow(Record):
    """A finding in a line of CSV and NDJSON."""

    kernel: str | None
    """The kernel it is about."""
    rule: str
    """Id of the rule."""
    topic: str
    """Topic of the rule."""
    priority: Priority
    """How urgent it is."""
    title: str
    """What the rule asks for."""
    message: str
    """What was found."""
    action: str
    """What to do."""
    gain: float | None
    """The most that the change can win, as a factor."""
    gain_kind: str | None
    """Kind of gain."""
    file: str | None
    """The file it is in."""
    line: Count | None
    """Line in the file."""
    section: str
    """Section of the document that asks for it."""
    grid: str | None
    """Grid of the launch: 96, 64x64."""
    block: str | None
    """Block of the launch: 256, 16x16."""
    category: Category
    """correctness, performance or process."""
    confidence: Literal["certain", "likely", "possible"]
    """How sure it is."""
    gain_expected: float | None
    """What such a change is likely to win, as a factor; null where no counts tell."""
    gain_low: float | None
    """8 of 10 such changes win this or more."""
    gain_high: float | None
    """8 of 10 such changes win this or less."""
    gain_expected_of_run: float | None
    """What is likely of the run, as a factor."""
    gain_of_run: float | None
    """The most of the run, as a factor; null where the kernel's share is not known."""
    id: str
    """Name that stays the same while lines move."""


@record
class Finding(Record):
    """Something to change, what it wins, and who says so."""

    id: May[str] = None
    """The same from one answer to the next: of the rule, the file and the kernel."""
    rule: Annotated[str, Keywords(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
    """Id of the rule."""
    topic: str
    """What part of the guide it belongs to."""
    priority: Priority
    """How urgent this case is."""
    title: str
    """What is wrong, in a few words."""
    message: str
    """What is wrong, and why it costs time."""
    action: str
    """What to do."""
    evidence: tuple[EvidenceRecord, ...]
    """The facts that it rests on."""
    gain: FindingGain | None
    """What the change can win; null where no time is won or none is known."""
    location: FindingLocation | None
    """Where it is; null of what stands in no file and no kernel."""
    citation: FindingCitation
    """Who says so."""
    category: May[Category] = None
    """What it is about: a gate on speed can leave correctness and process out."""
    confidence: May[Literal["certain", "likely", "possible"]] = None
    """How sure it is: certain is stated by program, driver or guide; likely was measured;
    possible rests on a launch, a description or a name alone.
    """
    guide_priority: May[Priority] = None
    """The guide's own class of the rule; priority is this case's."""
    also: May[tuple[str, ...]] = None
    """Rules that say the same of this kernel."""
    launches: May[Annotated[int, Keywords(minimum=1)]] = None
    """Launches alike that the finding stands for."""
    worse_than: float | None = None
    """The baseline's bound, where this one is larger by more than a tenth."""
    ranks: May[tuple[str | None, ...]] = None
    """Runs of a program's ranks that it holds for, the one it is told of first."""
    shape: ShapeRecord | None = None
    """The report that holds the launches, and their sizes."""
