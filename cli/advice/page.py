"""Findings as a person reads them: what was seen, why it matters, what to do, what it wins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_number
from gpuadvise.cli.blocks import Heading, Line, Tone
from gpuadvise.cli.devices import device_line
from gpuadvise.rules.model import Priority
from gpuadvise.rules.report import order_note

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuadvise.cli.advice.answers import Advised
    from gpuadvise.cli.blocks import Block
    from gpuadvise.rules.report import Finding

# Findings that the short text shows; the guide asks to take them from the top anyway.
TOP = 5
_TONES = {Priority.HIGH: Tone.BAD, Priority.MEDIUM: Tone.POOR, Priority.LOW: Tone.PLAIN}
_INDENT = 3
# Names up to here stand before the title; instances of templates would push it out of sight.
_SHORT = 60


def blocks(advised: Advised) -> Iterator[Block]:
    """Yield the text: a headline, the findings from the top, and what could not be judged."""
    findings = advised.findings
    yield Line(_headline(advised), Tone.STRONG)
    shown = findings if advised.everything else findings[:TOP]
    for number, finding in enumerate(shown, 1):
        yield from _finding(number, finding, many=len(advised.reports) > 1)
    yield from _footer(advised, hidden=findings[len(shown) :])
    if advised.with_profiler_rules:
        yield from _profiler(advised)


def _headline(advised: Advised) -> str:
    counts = [f"{count} {word}" for word, count in advised.counts.items() if count]
    found = and_list(counts) if counts else _nothing(advised)
    if len(advised.reports) == 1:
        report = advised.reports[0]
        on = f" on {device_line(report.device)}" if report.device else ""
        return f"{report.kernel or 'This kernel'}{on}: {found}"
    return f"{plural(len(advised.reports), 'kernel')}: {found}"


def _nothing(advised: Advised) -> str:
    if advised.known:
        return f"nothing new, {plural(advised.known, 'finding')} in the baseline"
    return f"nothing to change, say {_judges(advised)}"


def _judges(advised: Advised) -> str:
    """Return how many rules had their evidence."""
    evaluated = len(advised.rules) - min((len(r.skipped) for r in advised.reports), default=0)
    return f"the {plural(evaluated, 'rule')} that had evidence"


def _finding(number: int, finding: Finding, *, many: bool) -> Iterator[Block]:
    rule, advice = finding.rule, finding.advice
    kernel = advice.location.kernel if many and advice.location else None
    long = kernel is not None and len(kernel) > _SHORT
    name = f"{kernel}: " if kernel and not long else ""
    yield Line("")
    yield Line(
        f"{number}. {rule.priority.upper()}  {name}{rule.title}  [{rule.id}]",
        _TONES[rule.priority],
    )
    if long:
        yield Line(f"in {kernel}", indent=_INDENT)
    yield Line(finding.message, indent=_INDENT)
    yield Line(f"Do: {advice.action}", indent=_INDENT)
    if advice.gain and advice.gain.upper_bound > 1:
        gain = advice.gain
        bound = f"Can win at most {show_number(gain.upper_bound)}x {gain.kind}: {gain.how}."
        yield Line(bound, indent=_INDENT)
    source = rule.citations[0]
    yield Line(f"Says: {source.document}, {source.section}", Tone.FAINT, _INDENT)


def _footer(advised: Advised, hidden: Sequence[Finding]) -> Iterator[Block]:
    yield Line("")
    if note := order_note(advised.findings):
        yield Line(note)
    if hidden:
        yield Line(f"{plural(len(hidden), 'more finding')}: --all shows them.")
    if advised.known and advised.findings:
        yield Line(f"{plural(advised.known, 'finding')} of the baseline left out.")
    for rule, error in advised.failures:
        yield Line(f"The rule {rule} broke: {error}", Tone.BAD)
    yield from _lacking(advised)


def _lacking(advised: Advised) -> Iterator[Block]:
    lacking = advised.not_evaluated
    if not lacking:
        return
    if not advised.everything:
        yield Line(
            f"Not evaluated: {plural(len(lacking), 'rule')} that lack evidence; --all lists them "
            "with what each needs.",
            Tone.FAINT,
        )
        return
    yield Heading("Not evaluated")
    for entry in lacking:
        yield Line(f"{entry['rule']}: {entry['how']}", Tone.FAINT)
    yield Line("")
    yield Line("`gpuadvise rules ID` shows a description with which a rule works.", Tone.FAINT)


def _profiler(advised: Advised) -> Iterator[Block]:
    yield Heading("The profiler's own rules, in its words")
    for kernel, rule in advised.profiler_rules:
        share = rule.estimated_speedup
        bound = f" (its estimate: {share:g} %)" if share else ""
        yield Line(f"{kernel or 'kernel'}: {rule.name}: {rule.message}{bound}")
