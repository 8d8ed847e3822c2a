"""The rules over every kernel of a file, and findings of one rule told together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.evidence.code import kernel_facts
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.cli.blocks import Block, Heading, Line, Tone
from gpuadvise.cli.findings import finding_object
from gpuadvise.cli.render import reviews
from gpuadvise.cli.schemas import columns_of
from gpuadvise.rules.coverage import not_evaluated_objects
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.model import Kind
from gpuadvise.rules.report import Finding, of_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gpuadvise.advisor.binaries.kernel_order import ListedKernel
    from gpuadvise.advisor.device import Device

_NAMED = 3
_LONGEST_NAME = 60
_KERNEL_RULES = tuple(rule for rule in RULES if Kind.BINARY in rule.kinds)


@dataclass(slots=True)
class KernelAdvice:
    """What the rules say about all kernels, most urgent first."""

    findings: list[Finding]
    not_evaluated: list[dict[str, Any]]
    judged: int = 0  # rules that gave a verdict on some kernel

    def objects(self) -> list[dict[str, Any]]:
        """Return the findings as JSON values."""
        return [finding_object(finding) for finding in self.findings]

    def rows(self) -> list[dict[str, Any]]:
        """Return the findings as rows of CSV or NDJSON."""
        from gpuadvise.cli.advise.answer import finding_row

        return [finding_row(finding) for finding in self.findings]

    def columns(self) -> tuple[str, ...]:
        """Return the header of those rows."""
        return columns_of("advise")

    def documents(self) -> dict[str, Callable[[], str]]:
        """Return the findings as annotations, as SARIF and for GitLab, each with its file."""
        return reviews.documents(self.about_code, _KERNEL_RULES)

    def about_code(self) -> list[dict[str, Any]]:
        """Return the findings as JSON values, without advice on how to work."""
        kept = [finding for finding in self.findings if not finding.rule.process]
        return [finding_object(finding) for finding in kept]

    def blocks(self) -> Iterator[Block]:
        """Yield what the rules say once for all kernels of which they say the same but for numbers."""
        groups: dict[tuple[str, ...], list[Finding]] = {}
        for finding in self.findings:
            groups.setdefault(_alike(finding), []).append(finding)
        if not self.judged:
            yield Heading(
                "Nothing could be judged: the registers of PTX are decided when it is compiled, and code for "
                "another GPU is not loaded. Give the machine code, or the log of -Xptxas -v."
            )
            return
        yield Heading("Advice" if groups else self._nothing)
        for group in groups.values():
            yield from _group(group)

    @property
    def _nothing(self) -> str:
        lacking = f", {len(self.not_evaluated)} lacked evidence" if self.not_evaluated else ""
        return f"No fault found; {plural(self.judged, 'rule')} judged{lacking}."


_NUMBER = re.compile(r"\d[\d,.]*")


def _alike(finding: Finding) -> tuple[str, ...]:
    """Return what findings that are told together have in common: rule, priority, words."""
    words = _NUMBER.sub("#", f"{finding.advice.message} {finding.advice.action}")
    return finding.rule.id, str(finding.priority), words


def advised(kernels: Iterable[ListedKernel], device: Device | None) -> KernelAdvice:
    """Return what the rules say about the kernels *kernels*, on *device* or each on its target."""
    findings: list[Finding] = []
    skipped: dict[str, dict[str, Any]] = {}
    evaluated: set[str] = set()
    for kernel, residency in kernels:
        facts = kernel_facts(kernel, device, residency)
        if facts is not None:
            report = of_file(run(_KERNEL_RULES, facts), facts)
            findings += report.findings
            missing = {str(row["rule"]): dict(row) for row in not_evaluated_objects(report)}
            skipped |= missing
            evaluated |= {line.rule.id for line in report.lines} - missing.keys()
    findings.sort(key=lambda finding: finding.rank())
    left = [row for name, row in skipped.items() if name not in evaluated]
    return KernelAdvice(findings=findings, not_evaluated=left, judged=len(evaluated))


def _group(group: list[Finding]) -> Iterator[Block]:
    first = group[0]
    names = list(dict.fromkeys(_short(finding) for finding in group))
    head = f"{first.priority.upper()}  {first.rule.title}  [{first.rule.id}]"
    yield Line(f"{head}: {plural(len(group), 'kernel')}", Tone.STRONG)
    yield Line(f"   {and_list(names, most=_NAMED)}")
    numbers = {(finding.message, finding.advice.action) for finding in group}
    whose = f"{names[0]}: " if len(numbers) > 1 else ""
    yield Line(f"   {whose}{first.message}")
    yield Line(f"   Do: {first.advice.action}")


def _short(finding: Finding) -> str:
    location = finding.advice.location
    name = (location.kernel if location else None) or "?"
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
