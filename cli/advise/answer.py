"""Reports as an answer: the JSON contract, one row per finding, and the extra formats."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.facts.bag import OF_MACHINE
from gpuadvise.advisor.facts.counters import CounterGroup
from gpuadvise.advisor.facts.limit_words import limit_object, limit_sentence, unit_words
from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import and_list, inert, plural
from gpuadvise.advisor.quantity import show_bytes, show_number, show_seconds, show_share
from gpuadvise.advisor.short_names import shortened
from gpuadvise.cli import not_judged
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.blocks import Block, Heading, Line, Tone, left_out
from gpuadvise.cli.devices import device_block, device_line
from gpuadvise.cli.exits import Exit, exit_of
from gpuadvise.cli.findings import finding_object, order_note, shape_object, together_object
from gpuadvise.cli.render import reviews
from gpuadvise.cli.schemas import columns_of
from gpuadvise.cli.unbounded import BEYOND_USE
from gpuadvise.rules.coverage import Coverage, coverage_of, nothing_found, wanted_profile
from gpuadvise.rules.expectation import Expectation, at_length, exponents_of
from gpuadvise.rules.judge import count_at_or_above, met_note, shares
from gpuadvise.rules.model import Gain, GainKind, Location, Priority, Rule
from gpuadvise.rules.places import is_at_its_line
from gpuadvise.rules.report import Finding, ProfiledShape, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from gpuadvise.advisor.binaries.model import Damage
    from gpuadvise.advisor.facts.application import Offload
    from gpuadvise.advisor.facts.kernel_profile import ProfilerRule
    from gpuadvise.rules.after_repair import NextLimit
    from gpuadvise.rules.fail_on import FailOn


@dataclass(frozen=True, kw_only=True)
class AdviceReports:
    """Everything that one call found; *findings* are new ones, ranked over all kernels.

    *damage* is what of the files could not be read or judged; *unread*, what of recorded runs.
    """

    rules: tuple[Rule, ...]
    reports: Sequence[Report]
    findings: tuple[Finding, ...]
    beside: float = 0.0  # seconds of profiled kernels that were left out
    damage: Sequence[Damage] = ()
    unread: Sequence[Damage] = ()
    everything: bool = False
    why: bool = False  # how each gain was worked out
    with_profiler_rules: bool = False
    profiler_rules: tuple[tuple[str | None, ProfilerRule], ...] = ()
    run_verdicts: Callable[[], Sequence[str]] = list
    limit: int | None = None  # findings to show; 0: all; None: as many as the format usually has
    hot: tuple[str, ...] = ()  # kernels worth a profile, those that take most time first

    @cached_property
    def counts(self) -> dict[str, int]:
        """Findings by priority."""
        priorities = [finding.priority for finding in self.findings if not finding.rule.process]
        return {str(priority): priorities.count(priority) for priority in Priority}

    def most(self, usual: int | None) -> int | None:
        """Return how many findings to show where the format has *usual*ly so many; None: all."""
        return usual if self.limit is None else self.limit or None

    @property
    def run(self) -> str:
        """What shares of the time are of, in words."""
        known = any(report.share is not None for report in self.reports)
        return "the run" if known else "all that was profiled"

    @property
    def known(self) -> int:
        """How many findings the baseline has already; notes that hold for every kernel are told once."""
        left_out = [f for report in self.reports for f in report.findings if not f.rule.process]
        return len(left_out) - sum(not finding.rule.process for finding in self.findings)

    def difference(self, kernel: str | None, shape: ProfiledShape | None) -> str:
        """Return what tells launches of *kernel* in this *shape* from its others, for behind its name."""
        return self._shapes[kernel].difference(shape) if shape and kernel in self._shapes else ""

    @cached_property
    def _shapes(self) -> dict[str | None, _Shapes]:
        shapes: dict[str | None, _Shapes] = {}
        for report in self.reports:
            if report.shape is not None:
                shapes.setdefault(report.kernel, _Shapes()).add(report.shape)
        return shapes

    @property
    def device(self) -> dict[str, Any] | None:
        """The GPU of the answer, where all reports are about one."""
        devices = {report.device.name: report.device for report in self.reports if report.device}
        return device_block(*devices.values()) if len(devices) == 1 else None

    @cached_property
    def failures(self) -> list[tuple[str, str]]:
        """Rules that broke, each with its reason, once."""
        broken = ((rule.id, error) for report in self.reports for rule, error in report.failures)
        return list(dict.fromkeys(broken))

    @cached_property
    def coverage(self) -> Coverage:
        """What the rules could judge of any kernel, and what they lacked."""
        return coverage_of(self.reports)


def answer(
    advised: AdviceReports,
    inputs: Mapping[str, Any],
    limit: FailOn | None,
    notes: Sequence[str],
    *,
    source: str | None,
) -> Answer:
    """Return the answer of ``advise``; *source* is the file that described the kernels."""
    shown = advised.findings[: advised.most(None)]
    findings = [finding_object(finding) for finding in shown]
    # Advice on how to work is about no place: a code review has no line for it.
    told_apart = [
        entry
        for finding, entry in zip(shown, _told_apart(advised, findings), strict=True)
        if not finding.rule.process
    ]
    # A finding may be missing for what files should hold and do not.
    lacks_evidence = advised.unread or any(each.missing_counters for each in advised.reports)
    return Answer(
        command="advise",
        device=advised.device,
        input=inputs,
        result=_result(advised),
        rows=[finding_row(finding) for finding in advised.findings[: advised.most(None)]],
        columns=lambda: columns_of("advise"),
        findings=_told_once(advised, findings),
        not_evaluated=list(advised.coverage.lacking),
        blocks=lambda: tuple(blocks(advised)),
        notes=[*notes, *_counters_note(advised.reports)],
        documents=reviews.documents(lambda: told_apart, advised.rules, source),
        failed=met_note(advised.findings, limit),
        exit=exit_code(
            advised.failures,
            advised.findings,
            limit,
            damaged=bool(advised.damage or (limit is not None and lacks_evidence)),
        ),
    )


def _told_once(
    advised: AdviceReports, findings: Sequence[dict[str, Any]]
) -> Sequence[dict[str, Any]]:
    """Return *findings* with those about several ranks of a program once, and the ranks they hold for."""
    if not _has_ranks(advised):
        return findings
    entries = {id(each): entry for each, entry in zip(advised.findings, findings, strict=False)}
    groups = _alike(list(advised.findings[: len(findings)]), of_ranks=True, runs_alone=True)
    return [
        {**entries[id(group[0])], "ranks": [kernel_of(each) for each in group]}
        if group[0].whole_run
        else entries[id(group[0])]
        for group in groups
    ]


def kernel_of(finding: Finding) -> str | None:
    """Return the kernel, or the run, that *finding* is about, where it has a name."""
    place = finding.advice.location
    return place.kernel if place else None


def _has_ranks(advised: AdviceReports) -> bool:
    return any("ranks" in report.known for report in advised.reports)


# What is counted beside units.
_COUNTED = {
    CounterGroup.MEMORY: "the memory system as a whole",
    CounterGroup.OCCUPANCY: "active warps",
    CounterGroup.INSTRUCTIONS: "executed instructions",
    CounterGroup.TIME: "time and clocks",
}


def _counters_note(reports: Sequence[Report]) -> list[str]:
    """Return which counters the recordings lack, why that may be, and what to do."""
    lacking = [report for report in reports if report.missing_counters]
    if not lacking:
        return []
    groups = dict.fromkeys(group for report in lacking for group in report.missing_counters)
    words = and_list([_COUNTED.get(group) or unit_words(group) for group in groups])
    where = f" of {len(lacking):,} of {len(reports):,} kernels" if len(reports) > 1 else ""
    return [
        f"Counters{where} are missing or hold no number (NaN): {words}. Nothing here rests on them. "
        "The version of Nsight Compute may not fit the GPU or the driver, another program (a profiler, DCGM) may "
        "have used the counters, or this user may not read them. Record it again with another version, with "
        "nothing else that profiles, and with --set full."
    ]


def _told_apart(
    advised: AdviceReports, findings: Sequence[dict[str, Any]]
) -> Sequence[dict[str, Any]]:
    """Return *findings* with what tells kernels of one name apart before the message: a list shows no shapes."""
    told = []
    for finding, entry in zip(advised.findings, findings, strict=False):  # a --limit cuts
        place = entry["location"]
        label = advised.difference(kernel_of(finding), finding.shape).strip() if place else ""
        told.append({**entry, "message": f"{label} {entry['message']}"} if label else entry)
    return told


def exit_code(
    failures: Collection[tuple[str, str]],
    findings: Iterable[Finding],
    limit: FailOn | None,
    *,
    damaged: bool = False,
) -> Exit:
    """Return 3 when a rule broke, 1 when a finding meets *limit*, 3 where the input is *damaged*, else 0.

    A gate that a finding would have to meet, of which the counters are missing, is no whole answer.
    """
    if failures:
        return Exit.UNAVAILABLE
    return exit_of(count_at_or_above(findings, limit), in_part=damaged)


def _result(advised: AdviceReports) -> dict[str, Any]:
    parts = shares(advised.reports, advised.beside)
    result = {
        "kernels": [
            {
                **named_fields(report, "name=kernel device=device.name"),
                "findings": len(report.findings),
                "not_evaluated": len(report.not_evaluated),
                **named_fields(report, "launches seconds=total_seconds"),
                "share": part,
                "limit": limit_object(report.limiter),
                "missing_counters": list(report.missing_counters),
                "offload": report.offload and named_fields(report.offload, _OFFLOAD),
                "shape": shape_object(report.shape),
                "together": together_object(report),
                "then": _then_object(report.next_limit),
            }
            for report, part in zip(advised.reports, parts, strict=True)
        ],
        **advised.counts,
        "note": order_note(advised.findings),
        "failures": [{"rule": rule, "error": error} for rule, error in advised.failures],
        "not_judged": not_judged.records(not_judged.of_damage((*advised.damage, *advised.unread))),
    }
    if advised.with_profiler_rules:
        named = "rule=name message estimated_speedup_percent=estimated_speedup"
        result["profiler_rules"] = [
            {"kernel": kernel, **named_fields(rule, named)}
            for kernel, rule in advised.profiler_rules
        ]
    return result


_OFFLOAD = "host_seconds device_seconds factor break_even_bytes"


def _then_object(then: NextLimit | None) -> dict[str, Any] | None:
    """Return what limits a kernel after the first of its repairs, as JSON values."""
    if then is None:
        return None
    return {
        **named_fields(then, "after=rule limit=name unit busy"),
        "text": f"{_then_words(then)}.",
    }


def _offload_line(offload: Offload) -> str:
    """Return whether the GPU pays for its copies, against the host."""
    device, host = show_seconds(offload.device_seconds), show_seconds(offload.host_seconds)
    both = f"{device} with its copies, {host} on the host"
    if offload.factor is None or offload.factor <= 1:
        return f"Offload: the host is not slower: {both}."
    most = offload.break_even_bytes
    until = f", up to {show_bytes(most)} to copy" if most is not None else ""
    return f"Offload: the GPU pays, {offload.factor:.3g}x: {both}{until}."


_NO_SHAPE = ProfiledShape()


def _size(size: tuple[int, int, int] | None) -> str | None:
    """Return a grid or a block as it is typed: 96, 64x64."""
    if size is None:
        return None
    kept = max((axis for axis, length in enumerate(size, 1) if length != 1), default=1)
    return "x".join(map(str, size[:kept]))


def finding_row(finding: Finding) -> dict[str, Any]:
    """Return *finding* as one row of CSV or NDJSON; field by field, for there may be ten thousands."""
    rule, advice, shape = finding.rule, finding.advice, finding.shape or _NO_SHAPE
    gain, place = advice.gain, advice.location
    likely, of_run = finding.expectation, finding.expectation_of_run
    return {
        "kernel": place and place.kernel,
        "rule": rule.id,
        "topic": str(rule.topic),
        "priority": str(finding.priority),
        "title": rule.title,
        "message": finding.message,
        "action": advice.action,
        "gain": gain and gain.upper_bound,
        "gain_kind": gain and str(gain.kind),
        "file": finding.file,
        "line": place and place.line,
        "section": rule.citations[0].section,
        "grid": _size(shape.grid),
        "block": _size(shape.block),
        "category": str(finding.category),
        "confidence": str(finding.confidence),
        "gain_expected": likely and likely.expected,
        "gain_low": likely and likely.low,
        "gain_high": likely and likely.high,
        "gain_expected_of_run": of_run and of_run.expected,
        "gain_of_run": finding.bound_of_run,
        "id": finding.id,
    }


# Findings that the short text shows; the guide asks to take them from the top anyway.
TOP = 5
_TONES = {Priority.HIGH: Tone.BAD, Priority.MEDIUM: Tone.POOR, Priority.LOW: Tone.PLAIN}
_INDENT = 3
# Names up to here stand before the title; instances of templates would push it out of sight.
_SHORT = 60


def blocks(advised: AdviceReports) -> Iterator[Block]:
    """Yield the text: a headline, the findings from the top, and what could not be judged."""
    findings = advised.findings
    yield Line(_headline(advised), Tone.STRONG)
    verdicts = advised.run_verdicts()
    yield from map(Line, verdicts if advised.everything else verdicts[:TOP])
    yield from (Line(_offload_line(report.offload)) for report in advised.reports if report.offload)
    yield from _limits(advised)
    advice = tuple(finding for finding in findings if not finding.rule.process)
    groups = _groups(advised, advice)
    shown = tuple(finding for group in groups for finding in group)
    names = dict(zip(map(id, shown), _kernels(advised, shown), strict=True))
    told: dict[tuple[str, str], int] = {}
    for number, group in enumerate(groups, 1):
        first = group[0]
        before = told.setdefault((first.rule.id, first.advice.action), number)
        action = first.advice.action if before == number else f"As in {before}."
        yield from _finding(number, first, names[id(first)], advised.run, action, why=advised.why)
        if len(group) > 1:
            same = list(dict.fromkeys(_other(each, names[id(each)]) for each in group[1:]))
            yield Line(f"The same for {and_list(same)}.", indent=_INDENT)
    yield from _afterwards(advised, shown)
    notes = findings[len(advice) :]
    for finding in notes if advised.everything else notes[:1]:
        yield from _note(finding)
    yield from _footer(advised, hidden=advice[len(shown) :])
    if advised.with_profiler_rules:
        yield from _profiler(advised)


def _groups(advised: AdviceReports, advice: Sequence[Finding]) -> list[list[Finding]]:
    """Return the findings that a text shows, those in one group that are told as one.

    Ranks of one program are told together, however many: of other findings the first are taken.
    """
    if advised.everything:
        return [[finding] for finding in advice]
    most = advised.most(TOP)
    if _has_ranks(advised):
        return _alike(advice, of_ranks=True)[:most]
    return _alike(advice[:most])


_NUMBER = re.compile(r"\d[\d,.]*")


def _alike(
    findings: Sequence[Finding], *, of_ranks: bool = False, runs_alone: bool = False
) -> list[list[Finding]]:
    """Return *findings* in groups that ask for the same but for numbers.

    A place in a source has lines and repairs of its own, and a run is a program of its own unless
    it is one *of_ranks*. With *runs_alone* those of kernels stay by themselves.
    """
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        own = (
            is_at_its_line(finding.advice)
            or finding.worse_than
            or (finding.whole_run and not of_ranks)
            or (runs_alone and not finding.whole_run)
        )
        action = _NUMBER.sub("#", finding.advice.action)
        key = id(finding) if own else (finding.rule.id, finding.priority, action)
        groups.setdefault(key, []).append(finding)
    return list(groups.values())


def _other(finding: Finding, kernel: str | None) -> str:
    """Return the kernel of a finding that is told with another one, and what it can win."""
    gain = finding.advice.gain
    if gain is None or not 1 < gain.upper_bound <= BEYOND_USE:
        return kernel or "another kernel"
    likely = finding.expectation
    about = f"about {_factor(likely.expected)}, " if likely else ""
    return f"{kernel or 'another kernel'} ({about}at most {show_number(gain.upper_bound)}x)"


def _limits(advised: AdviceReports) -> Iterator[Block]:
    """Yield what limits each kernel, those that take the most time first."""
    parts = shares(advised.reports, advised.beside)
    names = _shortened(advised, [report.kernel or "kernel" for report in advised.reports])
    limited = sorted(
        (
            entry
            for entry in zip(advised.reports, parts, names, strict=True)
            if entry[0].limiter is not None
        ),
        key=lambda entry: -(entry[1] or 0.0),
    )
    many = len(advised.reports) > 1
    whose: dict[str, list[str]] = {}
    for report, part, name in limited if advised.everything else limited[:TOP]:
        label = f"{name}{advised.difference(report.kernel, report.shape)}"
        share = f", {show_share(part)} of the time" if part is not None else ""
        of = whose.setdefault(limit_sentence(report.limiter), [])
        of += [f"{label}{_times(report.launches, ' ')}{share}"] if many else []
    for sentence, labels in whose.items():  # several GPUs run the same kernels
        names = list(dict.fromkeys(labels))
        yield Line(f"Limit: {'; '.join(names)}: {sentence}" if names else f"Limit: {sentence}")


def _headline(advised: AdviceReports) -> str:
    counts = [f"{count} {word}" for word, count in advised.counts.items() if count]
    verdict = and_list(counts)
    if not counts and advised.known:
        verdict = f"nothing new, {plural(advised.known, 'finding')} in the baseline"
    elif not counts:
        verdict = nothing_found(advised.reports, advised.coverage)
    ranks = [each.priority.rank for each in advised.findings if not each.rule.process]
    if ranks != sorted(ranks):
        nearly = "" if _in_strict_order(advised.findings) else ", nearly equal ones by priority"
        verdict = f"{verdict}, ordered by what they can win{nearly}"
    if len(advised.reports) == 1:
        report = advised.reports[0]
        if report.device and report.known <= OF_MACHINE:
            return f"The machine with {device_line(report.device)}: {verdict}"
        if _is_of_file(report):
            names = _files_of(report) or ["This file"]
            return f"{plural(len(names), 'file') if len(names) > 1 else names[0]}: {verdict}"
        on = f" on {device_line(report.device)}" if report.device else ""
        subject = "This run" if _is_run(report) else report.kernel or "This kernel"
        return f"{subject}{on}: {verdict}"
    runs = sum(map(_is_run, advised.reports))
    of_files = [report for report in advised.reports if _is_of_file(report)]
    of_sources = sum(max(1, len(_files_of(report))) for report in of_files)
    kernels = sum("ranks" not in report.known for report in advised.reports) - runs - len(of_files)
    nouns = ((runs, "run"), (kernels, "kernel"), (of_sources, "file"))
    return f"{and_list([plural(count, noun) for count, noun in nouns if count])}: {verdict}"


def _in_strict_order(findings: Sequence[Finding]) -> bool:
    """Return whether none of the *findings* wins more of what was profiled than one before it, by their numbers."""
    gaining = [each for each in findings if each.expectation and each.share and not each.broken]
    values = [round(each.value(each.share or 0.0), 2) for each in gaining]
    return values == sorted(values, reverse=True)


def _is_run(report: Report) -> bool:
    return "timeline" in report.known


def _is_of_file(report: Report) -> bool:
    """Return whether *report* is about what a source shows of no kernel: a script, or a host's part."""
    return report.kernel is None and "observations" in report.known and "launch" not in report.known


def _files_of(report: Report) -> list[str]:
    """Return the sources that the findings of *report* lie in, in the order of the findings."""
    places = (finding.advice.location for finding in report.findings)
    return list(dict.fromkeys(inert(place.file) for place in places if place and place.file))


def _kernels(advised: AdviceReports, findings: Sequence[Finding]) -> list[str | None]:
    """Return the kernel that each finding is about; None where all are about one."""
    if len(advised.reports) == 1:
        return [None] * len(findings)
    names = _shortened(advised, [kernel_of(finding) or "" for finding in findings])
    return [
        f"{name}{advised.difference(kernel_of(finding), finding.shape)}" or None
        for name, finding in zip(names, findings, strict=True)
    ]


def _shortened(advised: AdviceReports, names: Sequence[str]) -> Sequence[str]:
    return names if advised.everything else shortened(names, _SHORT)


class _Shapes:
    """In what the profiled shapes of one kernel differ."""

    def __init__(self) -> None:
        self.grids: set[object] = set()
        self.blocks: set[object] = set()
        self.files: set[str] = set()
        self.alike: Counter[object] = Counter()  # in all but the launches' numbers

    def add(self, shape: ProfiledShape) -> None:
        """Count *shape* among them."""
        self.grids.add(shape.grid)
        self.blocks.add(shape.block)
        self.files.add(shape.file or "")
        self.alike[shape.grid, shape.block, shape.file] += 1

    def difference(self, shape: ProfiledShape) -> str:
        """Return what tells *shape* from the others, in brackets; nothing where it is the only one."""
        parts = []
        if len(self.grids) > 1 and shape.grid:
            parts.append(f"grid {_size(shape.grid)}")
        if len(self.blocks) > 1 and shape.block:
            parts.append(f"block {_size(shape.block)}")
        if len(self.files) > 1 and shape.file:
            names = set(map(os.path.basename, self.files))
            whole = len(names) < len(self.files)  # of several folders
            parts.append(inert(shape.file if whole else os.path.basename(shape.file)))
        if self.alike[shape.grid, shape.block, shape.file] > 1 and shape.ids:
            noun = "launch" if len(shape.ids) == 1 else "launches"
            parts.append(f"{noun} {and_list([*map(str, shape.ids)], most=_MOST_IDS)}")
        return f" ({', '.join(parts)})" if parts else ""


# Numbers of launches that a name has room for.
_MOST_IDS = 3


_UNCOUNTED = (
    "A details page counts no requests to memory: atomics, local memory and narrow loads show less in it, and "
    "gains are bounded less closely. Give the report itself (report.ncu-rep), or its raw page "
    "(ncu --import report.ncu-rep --csv --page raw)."
)
_UNCOUNTED_REPORT = (
    "The report counts no requests to memory: atomics, local memory and narrow loads show less in it, and "
    "gains are bounded less closely. Record with ncu --set full -o report ./app."
)
# What a gain of each kind is called where no more than its bound is known; of others, that times its name.
_AT_MOST = {
    GainKind.RUN_TIME: "the run up to {}x faster",
    GainKind.KERNEL_TIME: "up to {}x faster",
    GainKind.KERNEL_THROUGHPUT: "up to {}x faster",
    GainKind.PAIR_TIME: "both launches together up to {}x faster",
    GainKind.CHAIN_TIME: "these launches together up to {}x faster",
    GainKind.STEP_TIME: "this step up to {}x faster",
    GainKind.COPY_TIME: "copies up to {}x faster",
    GainKind.ARITHMETIC_TIME: "arithmetic up to {}x faster",
    GainKind.SHARED_MEMORY_TIME: "accesses to shared memory up to {}x faster",
    GainKind.CONSTANT_TIME: "constant reads up to {}x faster",
    GainKind.GLOBAL_TRAFFIC: "up to {}x less global memory traffic",
    GainKind.LINK_TRAFFIC: "up to {}x less traffic on the link",
    GainKind.LOADS_AND_STORES: "up to {}x fewer load and store instructions",
    GainKind.BLOCK_STARTS: "up to {}x fewer block starts",
}


def gain_words(finding: Finding, run: str = "the run") -> str:
    """Return what *finding* wins, as a sentence: what is likely where that is known, and the most.

    *run* is what a known share of the time is of.
    """
    gain, likely, of_run = finding.advice.gain, finding.expectation, finding.expectation_of_run
    assert gain is not None
    if likely is None:
        return f"{_at_most(gain, finding.bound_of_run, run)}."
    if gain.kind == GainKind.RUN_TIME:
        words = f"{expectation_words(likely)} for the run"
    else:
        words = f"{expectation_words(likely)} for this kernel"
        words += f", {_factor(of_run.expected)} for {run}" if of_run else ""
    most = _most(gain.usual_bound, gain.kind)
    if gain.same_precision is not None:
        most += f", and {show_number(gain.upper_bound)}x with fewer bits"
    return f"{words}; {most}."


def expectation_words(likely: Expectation) -> str:
    """Return a likely gain with its range: ``about 3.1x (2.2x to 4x)``."""
    return f"about {_factor(likely.expected)} ({_factor(likely.low)} to {_factor(likely.high, down=True)})"


def _most(bound: float, kind: GainKind = GainKind.KERNEL_TIME) -> str:
    return _unbounded(kind) if bound > BEYOND_USE else f"at most {show_number(bound)}x"


def _unbounded(kind: GainKind) -> str:
    evidence = "recording" if kind == GainKind.RUN_TIME else "profile"
    return f"nothing that the {evidence} counts bounds it"


def _at_most(gain: Gain, of_run: float | None, run: str) -> str:
    if gain.upper_bound > BEYOND_USE:
        return _unbounded(gain.kind)
    pattern = _AT_MOST.get(gain.kind, f"up to {{}}x the {gain.kind}")
    words = pattern.format(show_number(gain.upper_bound))
    if of_run is None or gain.kind == GainKind.RUN_TIME:
        return words
    return f"{words}, {run} up to {_factor(of_run)}"


def _factor(gain: float, *, down: bool = False) -> str:
    """Return a likely factor with the two digits that it has; of near 1 the second decimal tells.

    *down* rounds it off, so that what lies below a bound is not printed above it.
    """
    digits = 0 if gain >= 10 else 1 if gain >= 1.5 else 2
    if gain >= 100:
        digits = 1 - math.floor(math.log10(gain))
    cut = math.floor(gain * 10**digits + 1e-9) / 10**digits if down else round(gain, digits)
    return f"{cut:,.{max(0, digits)}f}x"


def _why(finding: Finding) -> str:
    """Return how the gain of *finding* was worked out, as a sentence."""
    gain = finding.advice.gain
    assert gain is not None
    words = f"the most: {gain.how}"
    if finding.expectation is not None:
        numbers = at_length(exponents_of(*finding.rule.names), finding.seconds)
        of = (
            f"{plural(numbers.repairs, 'measured repair')} of this fault, and with less weight those of others"
            if numbers.repairs
            else "measured repairs of other faults, for none of this one was measured"
        )
        words += f"; likely: that to the power of {numbers.median:.2g}, by {of}"
    return f"{words}."


def _finding(
    number: int, finding: Finding, kernel: str | None, run: str, action: str, *, why: bool
) -> Iterator[Block]:
    """Yield one finding; *action* is what to do, in words that no finding above has."""
    rule, advice = finding.rule, finding.advice
    place = source_place(advice.location)
    if is_at_its_line(advice) and not (advice.gain or finding.launches > 1):
        kernel = None  # the line says which
    long = kernel is not None and len(kernel) > _SHORT
    name = f"{place}: " if place else ""
    name += f"{kernel}: " if kernel and not long else ""
    yield Line("")
    yield Line(
        f"{number}. {finding.priority.upper()}  {name}{rule.title}  [{rule.id}]{_times(finding.launches)}",
        _TONES[finding.priority],
    )
    if long:
        yield Line(f"in {kernel}", indent=_INDENT)
    yield Line(finding.message, indent=_INDENT)
    yield Line(f"Do: {action}", indent=_INDENT)
    if advice.gain and advice.gain.upper_bound > 1:
        yield Line(f"Gain: {gain_words(finding, run)}", indent=_INDENT)
        if why:
            yield Line(f"Why: {_why(finding)}", indent=_INDENT)
    if finding.worse_than:
        yield Line(
            f"Worse than in the baseline: at most {show_number(finding.worse_than)}x there.",
            indent=_INDENT,
        )
    if advice.also:
        yield Line(f"Also says so: {and_list(list(advice.also))}.", Tone.FAINT, _INDENT)
    source = rule.citations[0]
    differs = (
        f" (the guide's class: {rule.priority})" if rule.priority is not finding.priority else ""
    )
    yield Line(f"Source: {source.document}, {source.section}{differs}", Tone.FAINT, _INDENT)


def source_place(location: Location | None) -> str:
    """Return a place in a source as lint writes it, ``train.py:7:10``; nothing where there is no line."""
    if location is None or location.line is None:
        return ""
    parts = (inert(location.file or ""), location.line, location.column)
    return ":".join(str(part) for part in parts if part)


def _afterwards(advised: AdviceReports, shown: Sequence[Finding]) -> Iterator[Block]:
    """Yield a line per kernel: what limits it after the first repair, and what all of them win together.

    Of many kernels, for those of which several findings are *shown*.
    """
    likely = (finding for finding in shown if finding.expectation is not None)
    places = Counter((kernel_of(finding), finding.shape) for finding in likely)
    least = 2 if len(advised.reports) > 1 else 1
    told = [
        (report, words)
        for report in advised.reports
        if places[report.kernel, report.shape] >= least and (words := _afterwards_words(report))
    ]
    if told:
        yield Line("")
    names = _shortened(advised, [report.kernel or "kernel" for report, _ in told])
    for (report, words), name in zip(told, names, strict=True):
        label = f"{inert(name)}{advised.difference(report.kernel, report.shape)}: "
        yield Line(f"Then: {label if len(advised.reports) > 1 else ''}{words}.")


def _afterwards_words(report: Report) -> str:
    then, joint = report.next_limit, report.together
    parts = [_then_words(then)] if then else []
    if joint is not None:
        who = "both findings" if joint.findings == 2 else f"all {joint.findings} findings"
        likely = expectation_words(joint.expected)
        parts.append(f"{who} together {likely}, {_most(joint.upper_bound)}")
    return "; ".join(parts)


def _then_words(then: NextLimit) -> str:
    """Return what limits after a repair: ``device memory limits, about 74 % busy``."""
    words, busy = unit_words(then.unit), f"about {show_share(round(then.busy, 2))} busy"
    if then.at_roof:
        return f"{words} {'limit' if ' and ' in words else 'limits'}, {busy}"
    return f"what warps wait for limits, with {words} {busy}"


def _times(launches: int, space: str = "  ") -> str:
    return f"{space}x {launches:,} launches" if launches > 1 else ""


def _note(finding: Finding) -> Iterator[Block]:
    yield Line("")
    yield Line(f"Note: {finding.rule.title}  [{finding.rule.id}]", Tone.STRONG)
    yield Line(finding.message, indent=_INDENT)
    yield Line(f"Do: {finding.advice.action}", indent=_INDENT)


def _footer(advised: AdviceReports, hidden: Sequence[Finding]) -> Iterator[Block]:
    yield Line("")
    if note := order_note(advised.findings):
        yield Line(note)
    yield from left_out(len(hidden), "finding", "--all shows them", tone=Tone.PLAIN)
    if advised.known and advised.findings:
        yield Line(f"{plural(advised.known, 'finding')} of the baseline left out.")
    for rule, error in advised.failures:
        yield Line(f"The rule {rule} broke: {error}", Tone.BAD)
    uncounted = [report for report in advised.reports if report.uncounted]
    if uncounted:
        # Of a report of Nsight Compute, and not of a page of one.
        whole = all(".ncu-rep" in ((each.shape and each.shape.file) or "") for each in uncounted)
        yield Line(_UNCOUNTED_REPORT if whole else _UNCOUNTED, Tone.FAINT)
    yield from _lacking(
        advised.reports, advised.coverage, advised.hot, everything=advised.everything
    )


def _lacking(
    reports: Sequence[Report], coverage: Coverage, hot: Sequence[str], *, everything: bool
) -> Iterator[Block]:
    """Yield which rules lacked evidence, and the command that lets most of them judge."""
    lacking = coverage.lacking
    if not lacking:
        return
    if not everything:
        # Without a finding the headline has the numbers.
        counted = f"{coverage.words}: " if any(report.findings for report in reports) else ""
        yield Line(f"{counted}--all lists what each rule needs.", Tone.FAINT)
        if command := wanted_profile(reports, coverage, hot):
            yield Line(command, Tone.FAINT)
        return
    unlocked: dict[str, list[str]] = {}
    for entry in lacking:
        unlocked.setdefault(str(entry["how"]), []).append(str(entry["rule"]))
    yield Heading("Not judged")
    for how, rules in sorted(unlocked.items(), key=lambda item: -len(item[1])):
        yield Line(how)
        yield Line(f"For {and_list(rules)}.", Tone.FAINT, _INDENT)
    yield Line("")
    yield Line("`gpuadvise rules ID` shows a description with which a rule works.", Tone.FAINT)


def _profiler(advised: AdviceReports) -> Iterator[Block]:
    yield Heading("The profiler's own rules, in its words")
    if not advised.profiler_rules:
        yield Line("There are none: reports and details pages hold them, raw pages do not.")
    for kernel, rule in advised.profiler_rules:
        share = rule.estimated_speedup
        bound = f" (its estimate: {share:g} %)" if share else ""
        yield Line(f"{kernel or 'kernel'}: {rule.name}: {rule.message}{bound}")
