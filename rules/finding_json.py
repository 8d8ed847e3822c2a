"""A finding as the JSON object that the contract promises."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.rules.model import Missing
    from gpuadvise.rules.report import Finding, Report


def finding_object(finding: Finding) -> dict[str, object]:
    """Return *finding* with the fields, in the order, of every ``findings`` list."""
    rule, advice = finding.rule, finding.advice
    return {
        "rule": rule.id,
        "topic": str(rule.topic),
        "priority": str(rule.priority),
        "title": rule.title,
        "message": finding.message,
        "action": advice.action,
        "evidence": [asdict(item) for item in advice.evidence],
        "gain": asdict(advice.gain) if advice.gain else None,
        "location": asdict(advice.location) if advice.location else None,
        "citation": asdict(rule.citations[0]),
    }


def not_evaluated_objects(report: Report) -> list[dict[str, object]]:
    """Return the rules that lacked evidence, with how to supply each missing fact."""
    return [
        {
            "rule": rule.id,
            "missing": [item.fact for item in missing],
            "how": _how(missing),
        }
        for rule, missing in report.not_evaluated
    ]


def _how(missing: tuple[Missing, ...]) -> str:
    """Return how to supply what is missing; of alternatives, each after an ``Or``."""
    needed = " ".join(dict.fromkeys(item.how for item in missing if not item.alternative))
    either = " Or: ".join(dict.fromkeys(item.how for item in missing if item.alternative))
    return " ".join(filter(None, (needed, either)))
