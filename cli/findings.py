"""Findings as answers say them: the fields of JSON, and in which order to take them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import plural
from gpuadvise.rules.advice import GainKind, Priority
from gpuadvise.rules.expectation import OF_A_KERNEL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.rules.report import Finding, ProfiledShape, Report


def finding_object(finding: Finding) -> dict[str, object]:
    """Return *finding* with the fields, in the order, of every ``findings`` list."""
    place = finding.advice.location
    return {
        **named_fields(finding, _FIELDS),
        "gain": gain_object(finding),
        "location": place and {**asdict(place), "file": finding.file},
        "citation": asdict(finding.rule.citations[0]),
        **named_fields(finding, "also=advice.also launches worse_than"),
        "shape": shape_object(finding.shape),
    }


_FIELDS = (
    "id rule=rule.id topic=rule.topic category priority guide_priority=rule.priority confidence "
    "title=rule.title message action=advice.action evidence=advice.evidence"
)


def gain_object(finding: Finding) -> dict[str, object] | None:
    """Return what *finding* can win as JSON values: the most, what is likely, and both of the run."""
    gain = finding.advice.gain
    if gain is None:
        return None
    of_run = gain.kind == GainKind.RUN_TIME
    return {
        **named_fields(gain, "kind upper_bound how"),
        # Whose time it shortens, else the kind itself.
        "of": "kernel" if gain.kind in OF_A_KERNEL else "run" if of_run else gain.kind,
        **named_fields(finding.expectation, "expected low high"),
        "upper_bound_of_run": finding.bound_of_run,
        **named_fields(
            finding.expectation_of_run, "expected_of_run=expected low_of_run=low high_of_run=high"
        ),
    }


def together_object(report: Report) -> dict[str, object] | None:
    """Return what the findings of *report* win together, as JSON values."""
    joint = report.together
    if joint is None:
        return None
    return {"findings": joint.findings, **asdict(joint.expected), "upper_bound": joint.upper_bound}


def shape_object(shape: ProfiledShape | None) -> dict[str, object] | None:
    """Return *shape* with the fields of a profiled launch in answers."""
    return asdict(shape) if shape else None


_MEASURE_AGAIN = "and measure again before you turn to the low-priority ones."


def order_note(findings: Iterable[Finding]) -> str | None:
    """Return the guide's request to settle high priorities first, where it applies.

    Other findings may stand before them, for they win more of the run: the order is then the
    one to keep. Best Practices Guide, "Recommendations and Best Practices": lower priorities wait until
    the higher ones have been dealt with.
    """
    ranks = [finding.priority for finding in findings if not finding.rule.process]
    urgent = ranks.count(Priority.HIGH)
    if not urgent or Priority.LOW not in ranks:
        return None
    if any(rank is not Priority.HIGH for rank in ranks[:urgent]):
        return f"Take them in this order, {_MEASURE_AGAIN}"
    return f"Settle the {plural(urgent, 'high-priority finding')} first, {_MEASURE_AGAIN}"
