"""The answer of ``gpuadvise.ledger`` and of ``advise --format ledger``: a row for each kernel, and what to do."""

from __future__ import annotations

from typing import Annotated, Literal

from gpuadvise.api.answers.fields import SECONDS, Count, Priority, Record, Share, record


@record
class LedgerQuestionRecord(Record):
    """A question of the ledger: an item, or a dismissal with evidence."""

    answer: Literal["yes", "no"] | None
    """yes: the evidence names the item; no: it says why not; null: nothing that was recorded tells."""
    evidence: str
    """What the answer rests on, or what is missing."""


@record
class LedgerKernel(Record):
    """One kernel in one launch shape."""

    name: str | None
    """Its name."""
    launches: Count
    """How often it ran."""
    seconds: Annotated[float, SECONDS] | None
    """Time of all its launches."""
    share: Share | None
    """Their part of the run, or of all that was profiled."""
    sm: float | None
    """Speed of light of the SM: how busy its busiest pipe or queue is, 0 to 1."""
    memory: float | None
    """Speed of light of the memory system, 0 to 1."""
    occupancy: float | None
    """Achieved occupancy, 0 to 1; where a note says so what the launch allows."""
    bound: Literal["compute", "memory", "latency", "balanced", "comm"] | None
    """What bounds it."""
    limit: str
    """The same by our rules, in a sentence."""
    faster: LedgerQuestionRecord
    """Whether the kernel can be made faster."""
    fusion: LedgerQuestionRecord
    """Whether it should become one kernel with the launch before."""
    notes: tuple[str, ...]
    """Why values are null, or not measured."""


@record
class LedgerAction(Record):
    """One of the at most three things to do first."""

    rule: str
    """Id of the rule."""
    priority: Priority
    """How urgent."""
    kernel: str | None
    """Name of the kernel; null: the whole run."""
    action: str
    """What to do."""
    expected: float | None
    """What it is likely to win of that kernel, or of the run without a kernel, as a factor."""
    upper_bound: float | None
    """The most that it can win."""
    expected_of_run: float | None
    """What it is likely to win of the run, or of all that was profiled."""
    file: str | None
    """The source, or the report."""
    line: Count | None
    """Line of the source, from 1."""


@record
class LedgerResult(Record):
    """What the ledger says: kernels by time, the longest first."""

    kernels: tuple[LedgerKernel, ...]
    """One row for each kernel in one launch shape."""
    actions: tuple[LedgerAction, ...]
    """At most three, the first the most urgent."""
    covered: float | None
    """Share of the time that the rows with a bound class take; null without times."""
    more: int
    """Kernels that a limit left out."""
    findings: Count
    """Findings in all; `gpuadvise advise` lists them."""
