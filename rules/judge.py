"""Rules run over kernels: reports, ranked, with what an older answer already said left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import plural, quoted
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.engine import run
from gpuadvise.rules.gain_bounds import NOTABLE
from gpuadvise.rules.guide import RULES, SHAPE_RULES
from gpuadvise.rules.model import Advice, Evidence, Priority
from gpuadvise.rules.report import ProfiledShape, of_file
from gpuadvise.rules.select import among, selected

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gpuadvise.advisor.description.reader import Described
    from gpuadvise.rules.fail_on import FailOn
    from gpuadvise.rules.model import Location, Rule
    from gpuadvise.rules.report import Finding, Report, RuleLine


Key: TypeAlias = tuple[str, str | None, str | None]  # rule, kernel, file


@dataclass(slots=True)
class BaselineFinding:
    """What a baseline says of one key: lines move and numbers change, so it is counted as well."""

    count: int = 0
    messages: set[str] = field(default_factory=set)
    bound: float = 0.0  # the largest gain of any of them


# Of the run: a change that wins less is no finding of high or medium priority.
_NOTICEABLE = number(1 - 1 / NOTABLE, "noticeable saving", "share of a run's time", "our judgement")
# Of what was profiled: less is printed as 1.00x.
_HARDLY_ANY = number(1.005, "hardly any gain", "factor", "less is printed as 1.00x")
# A bound grown by more than a tenth is something to look at again.
WORSE = number(1.1, "worse than in a baseline", "factor", "our judgement")
_UNSEEN = BaselineFinding()


def new_among(
    findings: Sequence[Finding], known: Mapping[Key, BaselineFinding], *, of_run: bool = False
) -> tuple[Finding, ...]:
    """Return those of one kernel's *findings* that *known* does not have.

    Baselines of a single run, and older ones, do not name the run of findings *of_run*.

    A rule that fires more often in one place than it did says something new; of its findings
    those in the baseline's very words are the old ones.
    """
    counts = Counter(map(_key, findings))
    former = {finding.rule.id: finding.rule.formerly for finding in findings}
    seen = {
        key: known.get(key)
        or known.get((*key[:2], None))
        or known.get((former[key[0]] or "", *key[1:]))
        or (known.get((key[0], None, key[2])) if of_run else None)
        or _UNSEEN
        for key in counts
    }
    surplus = {key: count - seen[key].count for key, count in counts.items()}
    new = []
    for finding in findings:
        key = _key(finding)
        before = seen[key].bound
        if before and finding.bound > WORSE * before:
            new.append(replace(finding, worse_than=before))
        elif surplus[key] > 0 and finding.message not in seen[key].messages:
            surplus[key] -= 1
            new.append(finding)
    return tuple(new)


def _key(finding: Finding) -> Key:
    """Return what a finding is known by: the next report of a kernel has another name."""
    place = finding.advice.location
    return finding.rule.id, place.kernel if place else None, place.file if place else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """The rules that run for every kernel, and what is known already."""

    rules: tuple[Rule, ...]
    all_rules: tuple[Rule, ...]  # also those not selected: a kernel may name them
    baseline: Mapping[Key, BaselineFinding] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process makes it: rules of the guide go by their names."""
        return _judge_of, (frozenset(rule.id for rule in self.rules), self.baseline)

    def report(self, kernel: Described) -> Report:
        """Return what the rules say about *kernel*, its own selection applied."""
        rules = self.rules
        if kernel.select or kernel.ignore or kernel.traced:
            rules = among(rules, self._wanted_by(kernel))
        report = run(rules, kernel.facts)
        profile = kernel.facts.profile
        if profile is None:
            return of_file(report, kernel.facts)
        shape = ProfiledShape(
            file=kernel.file, grid=profile.grid, block=profile.block, ids=kernel.launch_ids
        )
        return replace(report, shape=shape, measured_seconds=kernel.seconds)

    def _wanted_by(self, kernel: Described) -> tuple[Rule, ...]:
        name = kernel.facts.kernel
        place = f"kernel {quoted(name)}: " if name else "kernel: "
        select = SHAPE_RULES if kernel.traced else kernel.select
        return selected(self.all_rules, select, kernel.ignore, place=place)

    def new_findings(self, report: Report) -> tuple[Finding, ...]:
        """Return the findings of *report* that the baseline does not have."""
        if not self.baseline:
            return report.findings
        return new_among(report.findings, self.baseline, of_run="timeline" in report.known)


def _judge_of(rules: frozenset[str], baseline: Mapping[Key, BaselineFinding]) -> Judge:
    chosen = tuple(rule for rule in RULES if rule.id in rules)
    return Judge(rules=chosen, all_rules=RULES, baseline=baseline)


def said_once(reports: Sequence[Report]) -> list[Report]:
    """Return *reports* with what a source shows at one place said of one kernel.

    Instances of a template share their lines: of those whose profile measured the fault each says
    so, of the others the first.
    """
    said: set[tuple[str, Location]] = set()
    for report in reports:
        said.update(
            place for line in report.lines if (place := _place(line)) and _is_measured(line)
        )
    once = []
    for report in reports:
        kept = []
        for line in report.lines:
            place = _place(line)
            if place is None or _is_measured(line):
                kept.append(line)
            elif place not in said:
                said.add(place)
                kept.append(line)
        same = len(kept) == len(report.lines)
        once.append(report if same else replace(report, lines=tuple(kept)))
    return once


def _place(line: RuleLine) -> tuple[str, Location] | None:
    """Return what tells a place in a source from others: the rule, file, line and column."""
    advice = line.outcome
    where = advice.location if isinstance(advice, Advice) else None
    if not isinstance(advice, Advice) or where is None or where.line is None:
        return None
    if not any(item.label == "source" for item in advice.evidence):
        return None  # no reader of sources saw it: it is where the kernel begins
    return line.rule.id, replace(where, kernel=None)


def _is_measured(line: RuleLine) -> bool:
    return isinstance(line.outcome, Advice) and line.outcome.gain is not None


def check_threshold_reachable(reports: Iterable[Report], limit: FailOn | None) -> None:
    """Raise BadInput when *limit* was set and no rule that could meet it was evaluated.

    A threshold that passes because nothing was looked at would be a gate that is always open.
    """
    if limit is not None and not any(can_meet(report, limit) for report in reports):
        raise threshold_unreachable(limit)


def threshold_unreachable(limit: FailOn) -> BadInput:
    """Return the error of a threshold that nothing could meet."""
    return BadInput(
        f"--fail-on {limit}: no rule of that priority had its evidence.",
        hint="Run without it and with --all: each rule then says what it needs.",
    )


def can_meet(report: Report, limit: FailOn) -> bool:
    """Return whether a rule that can meet *limit* was evaluated for *report*."""
    evaluated = any(limit.meets(line.rule.category, line.rule.priority) for line in report.lines)
    return evaluated or count_at_or_above(report.findings, limit) > 0


def count_at_or_above(findings: Iterable[Finding], limit: FailOn | None) -> int:
    """Return how many of *findings* are as urgent as *limit*, or more so."""
    return sum(limit.meets(each.category, each.priority) for each in findings) if limit else 0


def met_note(findings: Iterable[Finding], limit: FailOn | None) -> list[str]:
    """Return the sentence that says why the exit code is 1, if it is."""
    count = count_at_or_above(findings, limit)
    return [f"{plural(count, 'finding')} at --fail-on {limit} or above."] if count else []


def shares(reports: Sequence[Report], beside: float = 0.0) -> list[float | None]:
    """Return the part of the run that each kernel takes, of the profiled total without a run's.

    *beside* are the seconds of profiled kernels that no report is about.
    """
    known = [report.share for report in reports]
    times = [report.total_seconds for report in reports]
    total = beside + sum(time for time in times if time)
    enough = beside or len(times) == 1 or sum(time is not None for time in times) > 1
    if total and enough and not any(known):
        return [time / total if time else None for time in times]
    return known


def ranked(
    reports: Sequence[tuple[Report, tuple[Finding, ...]]], beside: float = 0.0
) -> Iterator[Finding]:
    """Yield the findings of all kernels: what is wrong, then by what the run can win.

    Where the time of the run is known, a small share of it makes a finding low. The profiled
    total orders, for a report seldom holds all launches of a run; only what wins hardly anything of
    it is not high.
    """
    parts = shares([report for report, _ in reports], beside)
    # A kernel without a time beside others that have one counts as one of them, not as the run.
    usual = 1 / len(reports) if any(part is not None for part in parts) else 1.0
    # Of one kernel alone what was profiled is no run.
    of_several = len(reports) > 1 or beside > 0
    minor = _minor(reports)
    by_rank: list[tuple[Any, Finding]] = []
    for (report, findings), part in zip(reports, parts, strict=True):
        for finding in findings:
            judged = _lowered(finding, report) if finding.rule.id in minor else finding
            if judged.share is None and part is not None and of_several:
                judged = _high_no_more(replace(judged, share=part))
            by_rank.append((judged.rank(usual if part is None else part), judged))
    yield from (finding for _, finding in sorted(by_rank, key=itemgetter(0)))


def _high_no_more(finding: Finding) -> Finding:
    """Return *finding* as a medium one where it is high and wins hardly anything of what was profiled."""
    gains = finding.advice.gain is not None and finding.share is not None
    if not gains or finding.broken or finding.whole_run or finding.priority is not Priority.HIGH:
        return finding
    if finding.value(finding.share or 0.0) >= _HARDLY_ANY:
        return finding
    return replace(finding, advice=replace(finding.advice, priority=Priority.MEDIUM))


def _minor(reports: Sequence[tuple[Report, tuple[Finding, ...]]]) -> set[str]:
    """Return the rules whose findings together win less than 5 % of the run, all shares known.

    Together: a fault that many short kernels share is worth an hour as well.
    """
    saved: dict[str, float] = {}
    for report, findings in reports:
        for finding in findings:
            known = report.share is not None and not (finding.broken or finding.whole_run)
            left = 1 / finding.value(report.share or 0.0) if known else 0.0
            saved[finding.rule.id] = saved.get(finding.rule.id, 0.0) + 1 - left
    return {rule for rule, share in saved.items() if share < _NOTICEABLE}


def _lowered(finding: Finding, report: Report) -> Finding:
    """Return *finding* as a low one, for its kernel takes too little of the run."""
    if report.share is None or finding.priority is Priority.LOW:
        return finding
    share = Evidence(label="share of the run", value=report.share, unit="share", source="derived")
    advice = replace(
        finding.advice,
        message=f"{finding.advice.message} The kernel takes {show_share(report.share)} of the run.",
        evidence=(*finding.advice.evidence, share),
        priority=Priority.LOW,
    )
    return replace(finding, advice=advice)
