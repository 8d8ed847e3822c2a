"""The answer of ``gpuadvise advise``: its fields, and what each of them says."""

from __future__ import annotations

from typing import Annotated, Literal

from gpuadvise.api.answers.common import FindingRow, NotJudgedRecord, ShapeRecord
from gpuadvise.api.answers.fields import (
    BYTES,
    SECONDS,
    AnswerDeclaration,
    Count,
    Keywords,
    May,
    Record,
    Share,
    record,
)


@record
class AdviseOffload(Record):
    """Where the time on the host was given: whether the GPU pays for its copies."""

    host_seconds: Annotated[float, SECONDS] | None
    """Time the host spent in launches."""
    device_seconds: Annotated[float, SECONDS] | None
    """Kernel and copies, one after the other."""
    factor: float | None
    """Time on the host by that on the device; above 1 the GPU pays."""
    break_even_bytes: Annotated[Count, BYTES] | None
    """Data from which staging saves 5 %.

    Bytes to copy at which both take the same time.
    """


@record
class AdviseLimit(Record):
    """What limits the kernel."""

    name: str
    """Its name.

    too-little-work, tail, imbalance, roof:UNIT, issue, latency:STALL or unknown.
    """
    share: float | None
    """Share of the roof that is reached.

    The share, 0 to 1, that decided it.
    """
    text: str
    """The same in words."""


@record
class AdviseThen(Record):
    """What limits the kernel once the first of its loud findings is repaired."""

    after: str
    """The rule whose finding is repaired."""
    limit: str
    """What then limits: roof:UNIT, issue or latency."""
    unit: str
    """The unit nearest to its roof then."""
    busy: Share
    """How busy it then is, with the expected gain."""
    text: str
    """The same in words."""


@record
class AdviseTogether(Record):
    """What its loud findings win together; null below two with an expectation."""

    findings: Annotated[int, Keywords(minimum=2)]
    """What was found, the most important first.

    How many.
    """
    expected: float
    """What the model predicts.

    What all of them are likely to win.
    """
    low: float
    """Findings of low priority.

    8 of 10 win this or more, and high or less.
    """
    high: float
    """Findings of high priority.

    8 of 10 win this or less, and low or more.
    """
    upper_bound: float
    """The most that all of them can win."""


@record
class AdviseKernel(Record):
    """Kernel, in the answer of ``advise``."""

    name: str | None
    """Its name."""
    device: str | None
    """The GPU that it is judged for."""
    findings: Count
    """What was found, the most important first."""
    not_evaluated: Count
    """Rules without the facts they need."""
    launches: Annotated[int, Keywords(minimum=1)]
    """How often it was launched.

    Launches alike that it stands for.
    """
    seconds: Annotated[float, SECONDS] | None
    """Time of all its launches.

    Time of all of them.
    """
    shape: ShapeRecord | None
    """The report that holds them, and their sizes."""
    share: float | None
    """Share of the run's time.

    Their part of the run, or of all profiled kernels.
    """
    offload: AdviseOffload | None
    """Where the time on the host was given: whether the GPU pays for its copies."""
    limit: AdviseLimit
    """What limits the kernel."""
    missing_counters: tuple[
        Literal[
            "dram",
            "l2",
            "l1/shared",
            "memory",
            "pipes",
            "issue",
            "stalls",
            "occupancy",
            "instructions",
            "time",
        ],
        ...,
    ]
    """Parts whose counters its recording lacks, or has without a number: nothing rests on them."""
    together: AdviseTogether | None = None
    """What its loud findings win together; null below two with an expectation."""
    then: AdviseThen | None = None
    """What limits the kernel after the first repair; null without one, or without its units."""


@record
class AdviseFailure(Record):
    """Failure, in the answer of ``advise``."""

    rule: str
    """Id of the rule."""
    error: str
    """What went wrong."""


@record
class AdviseProfilerRule(Record):
    """Profiler rule, in the answer of ``advise``."""

    kernel: str | None
    """Name of the kernel."""
    rule: str
    """Id of the rule."""
    message: str
    """What it says."""
    estimated_speedup_percent: float | None
    """Speed-up that the profiler itself expects, per cent."""


@record
class AdviseResult(Record):
    """What ``advise`` answers."""

    not_judged: May[tuple[NotJudgedRecord, ...]] = None
    """What was asked for and neither passed nor failed: path and reason."""
    kernels: tuple[AdviseKernel, ...]
    """One record per kernel.

    Every kernel that was judged, in the order of the evidence.
    """
    high: Count
    """Findings of high priority."""
    medium: Count
    """Findings of medium priority."""
    low: Count
    """Findings of low priority."""
    note: str | None
    """Notes about how to work."""
    failures: tuple[AdviseFailure, ...]
    """Rules that failed themselves.

    Rules that broke; the process then exits with 3.
    """
    profiler_rules: May[tuple[AdviseProfilerRule, ...]] = None
    """What the profiler's own rules say.

    With --with-ncu-rules: what the profiler's own rules said, in its words.
    """


DECLARATION = AnswerDeclaration(
    command="advise",
    title="gpuadvise advise --format json",
    results=(AdviseResult,),
    rows=(FindingRow,),
)
