"""A ledger of kernels: what bounds each, and whether to make it faster or to fuse it, with the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limit_words import limit_sentence
from gpuadvise.advisor.facts.limiter import (
    AT_ROOF,
    AtRoof,
    IssueBound,
    LatencyBound,
    TooLittleWork,
    UnknownLimiter,
)
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.advisor.timelines.communication import communicates
from gpuadvise.rules.advice import Advice, Passed
from gpuadvise.rules.model import Priority

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.rules.report import Finding, Report

BALANCED = number(
    0.1,
    "SM and memory alike",
    "share of their peaks",
    "Nsight Compute's own margin in its rule on the speed of light",
    LaunchSet.RECORDED,
)
FUSION_RULE = "unfused-pass"
UNPROFILED = "no profile counted this kernel: no speed of light"
_MEMORY_UNITS = frozenset({Unit.DRAM, Unit.L2, Unit.L1_SHARED, Unit.LSU, Unit.ADU, Unit.MEMORY})


class BoundClass(StrEnum):
    """What bounds a kernel, by the names that agents of NVIDIA's own use."""

    COMPUTE = "compute"
    MEMORY = "memory"
    LATENCY = "latency"
    BALANCED = "balanced"
    COMMUNICATION = "comm"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFigures:
    """What a profile counted of a kernel, as shares from 0 to 1; None is not known."""

    sm: float | None = None  # speed of light of the SM: its busiest pipe or queue
    memory: float | None = None  # speed of light of the memory system
    occupancy: float | None = None  # achieved, else what the launch allows
    measured: bool = False  # whether the occupancy was achieved


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerQuestion:
    """A question of the ledger; *answer* is None where nothing that was recorded tells."""

    answer: bool | None
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One kernel of the ledger; *notes* say why figures are missing."""

    report: Report
    figures: LedgerFigures
    share: float | None  # of the run, or of all that was profiled
    bound: BoundClass | None
    faster: LedgerQuestion
    fusion: LedgerQuestion
    notes: tuple[str, ...]


def figures_of(facts: Facts) -> LedgerFigures:
    """Return what *facts* of a kernel say of its units and its occupancy."""
    allowed = facts.launched or facts.occupancy
    most = allowed.occupancy if allowed else None
    profile = facts.profile
    if profile is None:
        return LedgerFigures(occupancy=most)
    achieved = profile.achieved_occupancy
    return LedgerFigures(
        sm=profile.sm_busy,
        memory=profile.memory_busy,
        occupancy=most if achieved is None else achieved,
        measured=achieved is not None,
    )


def ledger(kernels: Iterable[tuple[Report, LedgerFigures, float | None]]) -> Iterator[LedgerEntry]:
    """Yield an entry for each kernel with its figures and its share of the time."""
    for report, figures, share in kernels:
        bound = bound_class(report, figures)
        yield LedgerEntry(
            report=report,
            figures=figures,
            share=share,
            bound=bound,
            faster=_faster(report),
            fusion=_fusion(report, bound),
            notes=tuple(_notes(report, figures)),
        )


def bound_class(report: Report, figures: LedgerFigures) -> BoundClass | None:
    """Return what bounds a kernel: by the units that were counted, else by its limit; None unknown.

    A unit at 60 % of its peak bounds; where SM and memory are within 10 points of each other neither
    does alone, and below 60 % of both it is latency, as in Nsight Compute's rule.
    """
    if report.kernel is not None and communicates(report.kernel):
        return BoundClass.COMMUNICATION
    sm, memory = figures.sm, figures.memory
    if sm is not None and memory is not None:
        if max(sm, memory) < AT_ROOF:
            return BoundClass.LATENCY
        if abs(sm - memory) <= BALANCED:
            return BoundClass.BALANCED
        return BoundClass.COMPUTE if sm > memory else BoundClass.MEMORY
    match report.limiter:
        case AtRoof(unit=unit):
            return BoundClass.MEMORY if unit in _MEMORY_UNITS else BoundClass.COMPUTE
        case IssueBound():
            return BoundClass.COMPUTE
        case LatencyBound() | TooLittleWork():
            return BoundClass.LATENCY
        case _:
            return None


def _faster(report: Report) -> LedgerQuestion:
    """Return whether the kernel itself can become faster, by its first finding or by its limit."""
    own = [f for f in report.findings if not f.whole_run and not f.rule.process]
    loud = [finding for finding in own if finding.priority is not Priority.LOW]
    if loud:
        return LedgerQuestion(answer=True, evidence=f"{loud[0].rule.id}{_gain_words(loud[0])}")
    limit = limit_sentence(report.limiter)
    match report.limiter:
        case None | UnknownLimiter():
            return LedgerQuestion(answer=None, evidence=limit)
        case AtRoof() | IssueBound():
            return LedgerQuestion(answer=False, evidence=limit)
        case _:
            return LedgerQuestion(answer=None, evidence=f"no rule names a repair. {limit}")


def _gain_words(finding: Finding) -> str:
    likely = finding.expectation
    if likely is not None:
        return f", about {likely.expected:.3g}x, at most {finding.bound:.3g}x"
    return f", at most {finding.bound:.3g}x" if finding.bound > 1 else ""


def _fusion(report: Report, bound: BoundClass | None) -> LedgerQuestion:
    """Return whether the kernel is worth fusing with the launch before it."""
    line = next((line for line in report.lines if line.rule.id == FUSION_RULE), None)
    if line is not None and isinstance(line.outcome, Advice):
        gain = line.outcome.gain
        most = f", at most {gain.upper_bound:.3g}x of both" if gain else ""
        return LedgerQuestion(answer=True, evidence=f"{FUSION_RULE}, with the launch before{most}")
    if bound in (BoundClass.COMPUTE, BoundClass.COMMUNICATION):
        what = "arithmetic" if bound is BoundClass.COMPUTE else "the link"
        return LedgerQuestion(answer=False, evidence=f"{what} bounds it, not passes over memory")
    if line is not None and isinstance(line.outcome, Passed) and _has_neighbours(report):
        return LedgerQuestion(
            answer=False, evidence="it does not only pass over what the launch before wrote"
        )
    return LedgerQuestion(answer=None, evidence="no counters of launches in a row")


def _has_neighbours(report: Report) -> bool:
    return report.shape is not None and any(number > 0 for number in report.shape.ids)


def _notes(report: Report, figures: LedgerFigures) -> Iterator[str]:
    if report.seconds is None:
        yield "no time was recorded"
    if "profile" not in report.known:
        yield UNPROFILED
    elif figures.sm is None or figures.memory is None:
        yield "speed of light: its counters are missing or NaN"
    if figures.occupancy is not None and not figures.measured:
        yield f"occupancy {show_share(figures.occupancy)} is what the launch allows, not measured"
