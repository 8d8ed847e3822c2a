"""What a run of the rules amounts to: findings in order, and what could not be judged."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING
from zlib import crc32  # hashlib would load OpenSSL

from gpuadvise.advisor.facts.bag import HOW
from gpuadvise.advisor.facts.library_kernels import base_name
from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import Advice, Confidence, Failed, GainKind, Location, Missing
from gpuadvise.rules.expectation import OF_A_KERNEL, OTHER_RULES, expected_gain, in_run
from gpuadvise.rules.model import Category, Kind, Priority

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.application import Offload
    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.advisor.facts.counters import CounterGroup
    from gpuadvise.advisor.facts.limiter import Limiter
    from gpuadvise.rules.advice import Outcome, Undecided
    from gpuadvise.rules.after_repair import JointGain, NextLimit, Repair
    from gpuadvise.rules.expectation import Expectation
    from gpuadvise.rules.model import Rule

# Gains of these are times of the same kernel or run, and compare.
_TIMES = frozenset(
    {GainKind.RUN_TIME, GainKind.KERNEL_TIME, GainKind.KERNEL_THROUGHPUT, GainKind.GLOBAL_TRAFFIC}
)
# Evidence that states a fault, and evidence that measures what a fault does.
_STATED = frozenset({"NVML", "kernel log", "environment"})
_OF_STATES = frozenset({Kind.DEVICE, Kind.NVML, Kind.BINARY})
_MEASURED = frozenset({"profile", "timeline"})
# What a change is taken to win where its bound is no time: the guide's classes in order.
_CLASS_WORTH = {Priority.HIGH: 2.0, Priority.MEDIUM: 1.25, Priority.LOW: 1.05}
NEAR = number(1.1, "gains that count as equal", "factor", "our judgement", LaunchSet.RECORDED)
_STEP = math.log(NEAR)


def lacks(rule: Rule, known: Collection[str]) -> bool:
    """Return whether *rule* cannot be evaluated with the facts named *known*."""
    either = rule.either
    return not rule.required.issubset(known) or bool(
        either and not any(name in known for name in either)
    )


# Kernels of one file are described alike: a handful of sets of facts.
@lru_cache(maxsize=64)
def able_and_lacking(
    rules: tuple[Rule, ...], known: frozenset[str]
) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """Return those of *rules* that the facts named *known* suffice for, and the others."""
    able = tuple(rule for rule in rules if not lacks(rule, known))
    return able, tuple(rule for rule in rules if lacks(rule, known))


def missing(rule: Rule, known: Collection[str]) -> tuple[Missing, ...]:
    """Return what *rule* lacks, in the order of its parameters, then its alternatives."""
    either = () if any(name in known for name in rule.either) else rule.either
    return _missing(tuple(name for name in rule.needs if name not in known), either)


@lru_cache(maxsize=64)  # as above
def _all_missing(
    rules: tuple[Rule, ...], known: frozenset[str]
) -> tuple[tuple[Rule, tuple[Missing, ...]], ...]:
    return tuple((rule, missing(rule, known)) for rule in rules)


@lru_cache(maxsize=256)
def undecided_values(verdict: Undecided) -> tuple[Missing, ...]:
    """Return the values that *verdict* names, each with one sentence on how to supply them."""
    fact = verdict.values[0].partition(".")[0] if verdict.values else ""
    how = verdict.why or HOW.get(fact, "")
    inner = [f"`{name.partition('.')[2]}`" for name in verdict.values if "." in name]
    needed = f"Needs {and_list(inner)}: {how}" if inner else how
    ended = needed if needed.endswith(".") else f"{needed}."
    return tuple(Missing(fact=name, how=ended) for name in verdict.values)


@cache
def _missing(needed: tuple[str, ...], either: tuple[str, ...]) -> tuple[Missing, ...]:
    each_needed = (Missing(fact=name, how=HOW[name]) for name in needed)
    one_of = (Missing(fact=name, how=HOW[name], alternative=True) for name in either)
    return (*each_needed, *one_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleLine:
    """One rule and what came of it."""

    rule: Rule
    outcome: Outcome


def priority_of(rule: Rule, advice: Advice) -> Priority:
    """Return the priority of *rule*, or that of *advice*; advice on how to work is a note."""
    return Priority.LOW if rule.process else advice.priority or rule.priority


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledShape:
    """What tells launches of one kernel apart: the report that holds them, and their sizes."""

    file: str | None = None
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    ids: tuple[int, ...] = ()  # the launches' numbers in the file


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One piece of advice and the rule that gave it."""

    rule: Rule
    advice: Advice
    launches: int = 1  # of the kernel, in this shape
    shape: ProfiledShape | None = None
    worse_than: float | None = None  # the bound that a baseline had for it
    counted: bool = False  # units, or bytes or operations in a time, bound its gain
    share: float | None = None  # of the run, or of all that was profiled, that its launches take
    seconds: float | None = None  # of one launch

    @property
    def message(self) -> str:
        """What was seen, and in one sentence why it matters, where that is not said already."""
        said, why = self.advice.message, self.rule.why
        return said if self.advice.reasoned or why in said else f"{said} {why}"

    @property
    def priority(self) -> Priority:
        """The rule's priority, or this case's own; advice on how to work is a note."""
        return priority_of(self.rule, self.advice)

    @property
    def broken(self) -> bool:
        """Whether the program is wrong or fails, and not merely slow."""
        return self.rule.broken or self.advice.broken

    @property
    def category(self) -> Category:
        """What it is about: of what fails, correctness, whatever the rule."""
        return Category.CORRECTNESS if self.broken else self.rule.category

    @property
    def confidence(self) -> Confidence:
        """How sure it is: this case's own, the rule's, or by what the finding rests on."""
        stated = self.advice.confidence or self.rule.confidence
        if stated is not None:
            return stated
        if self.broken or _OF_STATES.issuperset(self.rule.kinds):
            return Confidence.CERTAIN
        sources = [item.source for item in self.advice.evidence]
        if not _STATED.isdisjoint(sources):
            return Confidence.CERTAIN
        if self.priority is Priority.LOW and self.rule.priority is not Priority.LOW:
            return Confidence.POSSIBLE  # what makes it low is doubt whether it matters here
        place = self.advice.location
        in_source = place is not None and place.line is not None
        measured = in_source or not _MEASURED.isdisjoint(sources)
        return Confidence.LIKELY if measured else Confidence.POSSIBLE

    @property
    def whole_run(self) -> bool:
        """Whether it is about the whole run or the machine, and not about one kernel."""
        if self.rule.kinds == (Kind.NVML,):
            return True
        return self.advice.gain is not None and self.advice.gain.kind == GainKind.RUN_TIME

    @property
    def expectation(self) -> Expectation | None:
        """What the advice is likely to win of what its gain is of; None where nothing tells."""
        return expected_gain(
            self.rule.names, self.advice.gain, counted=self.counted, seconds=self.seconds
        )

    @property
    def bound_of_run(self) -> float | None:
        """The most that it wins of the run, where that or the kernel's share is known."""
        gain = self.advice.gain
        if gain is None or gain.kind == GainKind.RUN_TIME:
            return gain.upper_bound if gain else None
        if self.share is None or gain.kind not in OF_A_KERNEL:
            return None
        return in_run(max(1.0, gain.upper_bound), self.share)

    @property
    def expectation_of_run(self) -> Expectation | None:
        """What it is likely to win of the run, where the kernel's share is known."""
        gain = self.advice.gain
        if gain is None or gain.kind == GainKind.RUN_TIME:
            return self.expectation
        if self.share is None or (likely := self.expectation) is None:
            return None
        return likely.of_run(self.share)

    def value(self, share: float) -> float:
        """Return how many times faster the run is likely to be, where the kernel takes *share* of it.

        Gains of other kinds than time count as what the guide's class of the rule promises, and of times
        of which no more is known, a power of the bound.
        """
        gain = self.advice.gain
        worth = _CLASS_WORTH[self.rule.priority]
        if gain is not None and gain.upper_bound > 1:
            if expected := self.expectation:
                worth = expected.expected
            elif gain.kind in _TIMES:
                worth = gain.upper_bound**OTHER_RULES.median
            else:
                worth = min(gain.upper_bound, worth)
        return in_run(worth, 1.0 if self.whole_run else share)

    def rank(self, share: float = 1.0) -> tuple[bool, bool, bool, int, int, float]:
        """Return what findings are sorted by, the first to take first.

        What is wrong; then what is loud; then the gain in the run, in steps of a tenth, between
        which the guide's class decides.
        """
        value = self.value(share)
        return (
            not self.broken,
            self.rule.process,
            self.priority is Priority.LOW,
            -int(math.log(value) / _STEP + 1e-9),
            self.rule.priority.rank,
            -value,
        )

    @property
    def file(self) -> str | None:
        """The file that it is about: its own place, or the report of its launches."""
        place = self.advice.location
        return (place and place.file) or (self.shape.file if self.shape else None)

    @property
    def id(self) -> str:
        """What it is known by from one answer to the next."""
        place = self.advice.location
        return finding_id(
            self.rule.id, place.file if place else None, place.kernel if place else None
        )

    @property
    def bound(self) -> float:
        """The factor that the advice can win at most; 1 where it names none."""
        return self.advice.gain.upper_bound if self.advice.gain else 1.0

    @property
    def usual_bound(self) -> float:
        """The factor that the advice can win at most with numbers of as many bits; 1 where it names none."""
        return self.advice.gain.usual_bound if self.advice.gain else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything a renderer may know about one kernel."""

    kernel: str | None
    device: Device | None
    lines: tuple[RuleLine, ...]  # of the rules that were evaluated
    skipped: tuple[Rule, ...]  # those that lacked a fact
    known: frozenset[str]  # the facts there were
    seconds: float | None = None  # of one launch, as profiled or given
    limiter: Limiter | None = None
    offload: Offload | None = None
    launches: int = 1  # that this report stands for
    run_seconds: float | None = None  # of the whole run
    # Rules that had their facts but not the values in them that decide, with those values.
    undecided: tuple[tuple[Rule, tuple[Missing, ...]], ...] = ()
    uncounted: bool = False  # its profile is a page without counts of requests to memory
    blind_to_sectors: bool = (
        False  # its profile neither counts sectors nor has rules that judged them
    )
    missing_counters: tuple[CounterGroup, ...] = ()  # that its profile lacks
    counted: bool = False  # its units, or bytes or operations in a time, bound what it can win
    # How busy the units of its profile are, by name, where all were counted and a finding is loud.
    units: Mapping[str, float] = field(default_factory=dict)
    shape: ProfiledShape | None = None
    measured_seconds: float | None = None  # of all its launches, where each was measured
    idle_share: float | None = None  # of a recorded run, in which its GPU does nothing

    @property
    def total_seconds(self) -> float | None:
        """The time of all its launches; None unknown."""
        if self.measured_seconds is not None:
            return self.measured_seconds
        return None if self.seconds is None else self.seconds * self.launches

    @property
    def share(self) -> float | None:
        """The part of the whole run that its launches take, where both times are known."""
        total = self.total_seconds
        return min(1.0, total / self.run_seconds) if total and self.run_seconds else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The advice, most urgent first."""
        share = self.share
        return tuple(
            Finding(
                rule=line.rule,
                advice=line.outcome,
                launches=self.launches,
                shape=self.shape,
                counted=self.counted,
                share=share,
                seconds=self.seconds,
            )
            for line in self.lines
            if isinstance(line.outcome, Advice)
        )

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What the loud findings on the kernel's own time ask for, the first to take first."""
        asked = [
            (finding, likely)
            for finding in self.findings
            if finding.priority is not Priority.LOW
            and not finding.whole_run
            and (likely := finding.expectation) is not None
        ]
        if not asked:
            return ()
        from gpuadvise.rules.after_repair import Repair  # only a counted kernel has any

        return tuple(
            Repair(
                rule=finding.rule.id,
                family=finding.rule.family,
                likely=likely,
                bound=finding.usual_bound,
                relief=finding.advice.relief or {},
                most=finding.bound,
            )
            for finding, likely in asked
        )

    @property
    def next_limit(self) -> NextLimit | None:
        """What limits the kernel after the first of its repairs; None without one, or without its units."""
        if not (repairs := self.repairs):
            return None
        from gpuadvise.rules.after_repair import next_limit

        return next_limit(repairs[0], self.units)

    @property
    def together(self) -> JointGain | None:
        """What the loud findings on the kernel's own time win together; None below two."""
        if not (repairs := self.repairs):
            return None
        from gpuadvise.rules.after_repair import together

        return together(repairs, self.units)

    @property
    def not_evaluated(self) -> tuple[tuple[Rule, tuple[Missing, ...]], ...]:
        """The rules that lacked a fact or a value, with what it is and how to supply it."""
        return (*self.undecided, *_all_missing(self.skipped, self.known))

    @property
    def failures(self) -> tuple[tuple[Rule, str], ...]:
        """The rules that broke, with the reason."""
        return tuple(
            (line.rule, line.outcome.error)
            for line in self.lines
            if isinstance(line.outcome, Failed)
        )


def of_file(report: Report, facts: Facts) -> Report:
    """Return *report* with the file whose code it judged: as the place, and as the source of numbers.

    Reports on what was profiled, described or typed stay as they are.
    """
    file = facts.compiled.file if facts.compiled and facts.profile is None else None
    if file is None:
        return report
    lines = tuple(
        replace(line, outcome=_read_from(file, line.outcome, facts))
        if isinstance(line.outcome, Advice)
        else line
        for line in report.lines
    )
    return replace(report, lines=lines)


def _read_from(file: str, advice: Advice, facts: Facts) -> Advice:
    """Return *advice* with *file* for what was read from it, and for where it is."""
    evidence = tuple(
        replace(item, source=_source(item.label, file, facts)) if item.source == "you" else item
        for item in advice.evidence
    )
    place = advice.location or Location(kernel=facts.kernel)
    return replace(
        advice, evidence=evidence, location=place if place.file else replace(place, file=file)
    )


# What the launch decides, and no code: typed, in the code's launch bounds, or assumed.
_OF_THE_LAUNCH = ("threads per block", "block", "grid", "dynamic shared")


def _source(label: str, file: str, facts: Facts) -> str:
    """Return where the number behind *label* comes from."""
    launch, bounds = facts.launch, facts.launch_bounds
    if launch is None or not any(word in label for word in _OF_THE_LAUNCH):
        return file
    if launch.assumed_threads:
        return "assumed"
    return file if bounds and bounds.threads == launch.threads else "you"


def in_order(
    advised: Iterable[RuleLine], *, counted: bool = False, seconds: float | None = None
) -> tuple[RuleLine, ...]:
    """Return the lines of *advised*, each with advice on a launch of *seconds*, what to take first before the others."""
    lines = tuple(advised)
    if len(lines) < 2:
        return lines
    return tuple(sorted(lines, key=lambda line: _rank(line, counted=counted, seconds=seconds)))


def _rank(
    line: RuleLine, *, counted: bool, seconds: float | None
) -> tuple[bool, bool, bool, int, int, float]:
    assert isinstance(line.outcome, Advice)
    finding = Finding(rule=line.rule, advice=line.outcome, counted=counted, seconds=seconds)
    return finding.rank()


def finding_id(rule: str, file: str | None, kernel: str | None) -> str:
    """Return what a finding is known by from one answer to the next, whatever its line and numbers.

    Two findings of one rule about one kernel, at other places of its source, share it.
    """
    return f"{rule}-{_checksum(file, kernel)}"


@lru_cache(maxsize=64)  # one after the other, all findings of a kernel ask
def _checksum(file: str | None, kernel: str | None) -> str:
    name = base_name(kernel) if kernel else ""
    last = (file or "").replace("\\", "/").rpartition("/")[2]
    key = f"{last}\0{name}".encode(errors="replace")
    return f"{crc32(key):08x}"
