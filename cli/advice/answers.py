"""Reports as an answer: the JSON contract, one row per finding, and the extra formats."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpuadvise.cli.advice.judge import met
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.devices import device_block
from gpuadvise.cli.exits import Exit
from gpuadvise.rules.finding_json import finding_object, not_evaluated_objects
from gpuadvise.rules.model import Priority
from gpuadvise.rules.report import order_note

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuadvise.advisor.facts.profile import ProfilerRule
    from gpuadvise.rules.model import Rule
    from gpuadvise.rules.report import Finding, Report


@dataclass(frozen=True, kw_only=True)
class Advised:
    """Everything that one call found; *findings* are new ones, ranked over all kernels."""

    rules: tuple[Rule, ...]
    reports: Sequence[Report]
    findings: tuple[Finding, ...]
    everything: bool = False
    with_profiler_rules: bool = False
    profiler_rules: tuple[tuple[str | None, ProfilerRule], ...] = ()

    @cached_property
    def counts(self) -> dict[str, int]:
        """Findings by priority."""
        priorities = [finding.rule.priority for finding in self.findings]
        return {str(priority): priorities.count(priority) for priority in Priority}

    @property
    def known(self) -> int:
        """How many findings the baseline has already."""
        return sum(len(report.findings) for report in self.reports) - len(self.findings)

    @cached_property
    def failures(self) -> list[tuple[str, str]]:
        """Rules that broke, each with its reason, once."""
        broken = ((rule.id, error) for report in self.reports for rule, error in report.failures)
        return list(dict.fromkeys(broken))

    @cached_property
    def not_evaluated(self) -> list[dict[str, object]]:
        """Rules that lacked evidence for every kernel, with how to supply it."""
        if not self.reports:
            return []
        common = {rule.id for rule, _ in self.reports[0].not_evaluated}
        for report in self.reports[1:]:
            common &= {rule.id for rule, _ in report.not_evaluated}
        entries = not_evaluated_objects(self.reports[0])
        return [entry for entry in entries if entry["rule"] in common]


def answer(
    advised: Advised,
    given: Mapping[str, Any],
    limit: Priority | None,
    notes: Sequence[str],
    *,
    source: str | None,
) -> Answer:
    """Return the answer of ``advise``; *source* is the file that described the kernels."""
    from gpuadvise.cli.advice.page import blocks
    from gpuadvise.cli.render import github, sarif

    findings = [finding_object(finding) for finding in advised.findings]
    devices = {report.device.name: report.device for report in advised.reports if report.device}
    return Answer(
        command="advise",
        device=device_block(next(iter(devices.values()))) if len(devices) == 1 else None,
        input=given,
        result=_result(advised),
        rows=[finding_row(finding) for finding in advised.findings],
        columns=FINDING_COLUMNS,
        findings=findings,
        not_evaluated=advised.not_evaluated,
        blocks=lambda: tuple(blocks(advised)),
        notes=notes,
        documents={
            "sarif": lambda: sarif.render(advised.rules, findings, source),
            "github": lambda: github.render(findings, source),
        },
        exit=exit_code(advised, limit),
    )


def exit_code(advised: Advised, limit: Priority | None) -> Exit:
    """Return 3 when a rule broke, 1 when a finding meets *limit*, else 0."""
    if advised.failures:
        return Exit.UNAVAILABLE
    return Exit.THRESHOLD if met(advised.findings, limit) else Exit.RAN


def _result(advised: Advised) -> dict[str, Any]:
    return {
        "kernels": [
            {
                "name": report.kernel,
                "device": report.device.name if report.device else None,
                "findings": len(report.findings),
                "not_evaluated": len(report.not_evaluated),
            }
            for report in advised.reports
        ],
        **advised.counts,
        "note": order_note(advised.findings),
        "failures": [{"rule": rule, "error": error} for rule, error in advised.failures],
        **({"profiler_rules": _profiler_rules(advised)} if advised.with_profiler_rules else {}),
    }


def _profiler_rules(advised: Advised) -> list[dict[str, Any]]:
    return [
        {
            "kernel": kernel,
            "rule": rule.name,
            "message": rule.message,
            "estimated_speedup_percent": rule.estimated_speedup,
        }
        for kernel, rule in advised.profiler_rules
    ]


FINDING_COLUMNS = (
    "kernel",
    "rule",
    "topic",
    "priority",
    "title",
    "message",
    "action",
    "gain",
    "gain_kind",
    "file",
    "line",
    "section",
)


def finding_row(finding: Finding) -> dict[str, Any]:
    """Return *finding* as one row of CSV or NDJSON."""
    advice, place = finding.advice, finding.advice.location
    values = (
        place.kernel if place else None,
        finding.rule.id,
        str(finding.rule.topic),
        str(finding.rule.priority),
        finding.rule.title,
        finding.message,
        advice.action,
        advice.gain.upper_bound if advice.gain else None,
        advice.gain.kind if advice.gain else None,
        place.file if place else None,
        place.line if place else None,
        finding.rule.citations[0].section,
    )
    return dict(zip(FINDING_COLUMNS, values, strict=True))
