"""The answer of ``gpuadvise rules``: its fields, and what each of them says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from gpuadvise.api.answers.common import Finding
from gpuadvise.api.answers.fields import (
    AnswerDeclaration,
    Category,
    Keywords,
    May,
    Priority,
    Record,
    record,
)


@record
class RuleSummary(Record):
    """Rule summary, in the answer of ``rules``."""

    rule: str
    """Id of the rule."""
    priority: Priority
    """Priority: high, medium or low."""
    topic: str
    """Topic of the rule."""
    category: May[Category] = None
    """What the rule is about; of a finding that makes the program fail, correctness all the
    same.
    """
    title: str
    """The rule in a few words."""
    recommendation: bool
    """Whether the guide itself gives it a priority.

    One of the guide's own prioritised recommendations.
    """
    evidence: tuple[str, ...]
    """Kinds of evidence it takes."""
    needs: tuple[str, ...]
    """Facts the rule needs."""
    either: tuple[str, ...]
    """Facts of which one is enough.

    Facts of which one is needed.
    """


@record
class RulesList(Record):
    """Everything there is, in the answer of ``rules``."""

    rules: tuple[RuleSummary, ...]
    """Rules."""


@record
class RulesThreshold(Record):
    """Threshold, in the answer of ``rules``."""

    KEYWORDS: ClassVar = {"additionalProperties": False}
    name: str
    """Its name."""
    value: float
    """In `unit`."""
    unit: str
    """Unit, or the unit of the chip."""
    source: str
    """Where it comes from."""
    launches: str | None
    """Launches.

    The labelled launches at hand when it was set; null: it rests on none.
    """


@record
class RulesExpectation(Record):
    """A likely gain as a power of the bound.

    The median repair, and what 8 of 10 lie between; null where it wins no kernel's time.
    """

    low: float
    """Findings of low priority.

    1 in 10 repairs wins less than the bound to this power.
    """
    median: float
    """Half of the repairs win the bound to this power."""
    high: float
    """Findings of high priority.

    1 in 10 repairs wins more than the bound to this power.
    """
    repairs: int
    """Measured repairs of this rule; 0: the numbers are of all others."""
    programs: int
    """Programs of those repairs."""
    unit: str
    """Unit, or the unit of the chip."""
    source: str
    """Where it comes from."""


@record
class RulesCode(Record):
    """Code before and after the advice; null for rules of your own."""

    language: Literal["cuda", "host", "python", "sh"]
    """What it is written in: cuda, host (a part of a program), python or sh."""
    before: str
    """What works against the GPU."""
    after: str
    """What to write."""


@record
class RulesExamples(Record):
    """Examples, in the answer of ``rules``."""

    description: str
    findings: tuple[Finding, ...]


@record
class RuleResult(RuleSummary):
    """What ``rules`` answers."""

    why: str
    """Why it matters, or why it was chosen."""
    when: str
    """When the rule reports."""
    how_to_supply: Mapping[str, str]
    """How to give each fact the rule needs."""
    thresholds: tuple[RulesThreshold, ...]
    """Numbers that decide the rule, and their sources.

    The numbers that decide the rule, those of what tells the limiter among them.
    """
    expectation: RulesExpectation | None = None
    """A likely gain as a power of the bound: the median repair, and what 8 of 10 lie between;
    null where it wins no kernel's time.
    """
    citations: tuple[Mapping[str, object], ...]
    """Where the rule comes from."""
    code: RulesCode | None
    """Code before and after the advice.

    Code before and after the advice; null for rules of your own.
    """
    examples: Annotated[Mapping[str, RulesExamples], Keywords(required=("fires", "quiet"))]
    """Kernels that are reported, and that are not."""


DECLARATION = AnswerDeclaration(
    command="rules",
    title="gpuadvise rules --format json",
    results=(
        RulesList,
        RuleResult,
    ),
    rows=(RuleSummary,),
)
