"""Facts in, one line per rule out: evaluated, skipped with the missing fact, or failed.

Between the rules and the report stands the weighing: what cannot lift the kernel's limit is left
out, gains are bounded by what the limit leaves, and findings of one fact become one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.facts.bag import known_facts
from gpuadvise.advisor.facts.counters import missing_counters
from gpuadvise.advisor.facts.library_kernels import converts_layout, library_of
from gpuadvise.advisor.facts.limiter import AtRoof, TooLittleWork, UnknownLimiter, unread_units
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import (
    PASSED,
    Advice,
    Failed,
    GainKind,
    Location,
    Passed,
    Skipped,
    Undecided,
)
from gpuadvise.rules.gain_bounds import (
    NOTABLE,
    WORTHWHILE,
    admits,
    bounded,
    bounded_by_start,
    bounded_by_times,
)
from gpuadvise.rules.model import Family, Priority, Topic
from gpuadvise.rules.observed import seen_in_source, takes_observations
from gpuadvise.rules.occupancy_words import grid_brings_few
from gpuadvise.rules.places import disproved, is_of_source, measured_and_placed
from gpuadvise.rules.report import (
    Report,
    RuleLine,
    able_and_lacking,
    in_order,
    lacks,
    missing,
    priority_of,
    undecided_values,
)
from gpuadvise.rules.traced import in_recording, in_span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.rules.advice import Missing, Outcome, Verdict
    from gpuadvise.rules.model import Conflict, Rule


def reconciled(lines: Sequence[RuleLine]) -> list[RuleLine]:
    """Return *lines* with conflicting findings merged, and those of one fact made one."""
    result = _after_failures(lines)
    if len(lines) < 2:
        return result
    advised = tuple(dict.fromkeys(line.rule for line in result if isinstance(line.outcome, Advice)))
    for first, conflict in _conflicts(advised):
        result = _merged(result, first, conflict)
    for head in _heads(advised):
        result = _folded(result, head)
    silencers = _silencers(advised)
    speaking = [
        line
        for line in result
        if not silencers.isdisjoint(line.rule.names) and _loud(line) and not _of_a_place(line)
    ]
    voices: dict[str, list[RuleLine]] = {}
    for line in speaking:
        for name in line.rule.names:
            voices.setdefault(name, []).append(line)
    return [line for line in result if not _explained(line, _louder(line, voices))]


def _louder(line: RuleLine, voices: Mapping[str, list[RuleLine]]) -> list[RuleLine]:
    """Return the loud findings of other rules, by their names, that can explain what *line* sees."""
    return [
        one
        for name in line.rule.silenced_by
        for one in voices.get(name, ())
        if one.rule is not line.rule
    ]


@lru_cache(maxsize=256)  # the same few rules speak up kernel after kernel
def _conflicts(advised: tuple[Rule, ...]) -> list[tuple[str, Conflict]]:
    """Return the rules among *advised* that another contradicts, each with that conflict."""
    ids = {rule.id for rule in advised}
    return [
        (rule.id, conflict)
        for rule in advised
        for conflict in rule.conflicts_with
        if conflict.rule in ids
    ]


@lru_cache(maxsize=256)
def _silencers(advised: tuple[Rule, ...]) -> frozenset[str]:
    """Return the names of the rules that can explain what one of *advised* sees."""
    return frozenset(name for rule in advised for name in rule.silenced_by)


@lru_cache(maxsize=256)
def _heads(advised: tuple[Rule, ...]) -> list[str]:
    """Return the rules into which several of *advised* fold in the end, themselves counted."""
    counts = Counter(map(_head, advised))
    return [head for head, members in counts.items() if members > 1]


def _head(rule: Rule) -> str:
    return rule.heads[-1] if rule.heads else rule.id


_LEFT = number(
    1.25,
    "gain beyond a louder finding's that is a fault of its own",
    "factor",
    "our judgement",
    LaunchSet.RECORDED,
)
# What can be a fault of its own beside the one that explains it: bytes that are read again and again are
# still read in whole sectors.
_SECOND_FAULTS = (Family.LATENCY, Family.COALESCING, Family.REUSE)


def _explained(line: RuleLine, louder: Sequence[RuleLine]) -> bool:
    """Return whether *louder* findings say all that *line* says.

    A wait that would win clearly more than one of them can is a second fault.
    """
    if not louder or not isinstance(line.outcome, Advice) or line.outcome.separate:
        return False
    own = _bound(line)
    if line.rule.family not in _SECOND_FAULTS or own is None:
        return True
    bounds = map(_bound, louder)
    return any(bound is None or own < _LEFT * bound for bound in bounds)


def _bound(line: RuleLine) -> float | None:
    gain = line.outcome.gain if isinstance(line.outcome, Advice) else None
    return gain.usual_bound if gain else None


def _after_failures(lines: Sequence[RuleLine]) -> list[RuleLine]:
    """Return *lines* without advice on how to tune a launch that fails."""
    if not any(map(_fails, lines)):
        return list(lines)
    return [
        line
        for line in lines
        if line.rule.family not in (Family.RESIDENCY, Family.GRID)
        or not _tunes(line)
        or _of_a_place(line)
    ]


def _fails(line: RuleLine) -> bool:
    """Return whether *line* says that the launch fails."""
    rule, outcome = line.rule, line.outcome
    return (
        isinstance(outcome, Advice)
        and not rule.launch_may_work
        and (outcome.broken or (rule.broken and rule.topic is Topic.EXECUTION))
        and not _of_a_place(line)
    )


def _of_a_place(line: RuleLine) -> bool:
    """Return whether *line* speaks of one place of a source, which may be another launch's."""
    where = line.outcome.location if isinstance(line.outcome, Advice) else None
    return where is not None and where.line is not None and not takes_observations(line.rule)


def _loud(line: RuleLine) -> bool:
    return isinstance(line.outcome, Advice) and (
        priority_of(line.rule, line.outcome) is not Priority.LOW
    )


def _tunes(line: RuleLine) -> bool:
    return isinstance(line.outcome, Advice) and not line.outcome.broken


def _folded(lines: list[RuleLine], head: str) -> list[RuleLine]:
    """Return *lines* with all advice that folds into *head* in its first, the others as its evidence.

    What the first rule says of other places, or other copies, stays.
    """
    members = [
        line
        for line in lines
        if _head(line.rule) == head and _tunes(line) and not _of_a_place(line)
    ]
    if len(members) < 2:
        return lines
    members.sort(key=lambda line: (not _loud(line), len(line.rule.heads)))
    foremost = members[0]
    followers = [line for line in members if line.rule is not foremost.rule]
    if not followers:
        return lines
    first = foremost.outcome
    assert isinstance(first, Advice)
    rest = [line.outcome for line in followers if isinstance(line.outcome, Advice)]
    evidence = [item for advice in rest for item in advice.evidence]
    joined = replace(
        first,
        evidence=tuple(dict.fromkeys((*first.evidence, *evidence))),
        also=tuple(dict.fromkeys((*first.also, *(line.rule.id for line in followers)))),
    )
    if foremost.rule.family is Family.COPIES:
        joined = _in_turn(joined, followers)
    line = RuleLine(rule=foremost.rule, outcome=joined)
    folded = set(map(id, followers))
    return [line if member is foremost else member for member in lines if id(member) not in folded]


# Bounded by a run without any copies, which the steps of another finding do not reach.
_WITHOUT_COPIES = frozenset({"transfer-bound-run"})


def _in_turn(head: Advice, followers: Sequence[RuleLine]) -> Advice:
    """Return *head* with the steps of *others* after its own: pinned copies first, then overlap."""
    actions, gains = {head.action: None}, [head.gain]
    for line in followers:
        assert isinstance(line.outcome, Advice)
        if line.outcome.action not in actions:
            actions[f"Next ({line.rule.id}): {line.outcome.action}"] = None
        if line.rule.id not in _WITHOUT_COPIES:
            gains.append(line.outcome.gain)
    whole = [gain for gain in gains if gain is not None and gain.kind == GainKind.RUN_TIME]
    gain = max(whole, key=lambda gain: gain.upper_bound, default=head.gain)
    return replace(head, action=" ".join(actions), gain=gain)


def _merged(lines: list[RuleLine], first: str, conflict: Conflict) -> list[RuleLine]:
    second = next(line for line in lines if _is_advice(line, conflict.rule))
    kept = [
        line
        for line in lines
        if line is not second and not (conflict.implied and _is_advice(line, conflict.implied))
    ]
    index = next(i for i, line in enumerate(kept) if _is_advice(line, first))
    kept[index] = _joined(kept[index], second, conflict.decide)
    return kept


def _is_advice(line: RuleLine, rule: str) -> bool:
    return line.rule.id == rule and isinstance(line.outcome, Advice)


def _joined(line: RuleLine, second: RuleLine, decide: str) -> RuleLine:
    mine, theirs = line.outcome, second.outcome
    assert isinstance(mine, Advice)
    assert isinstance(theirs, Advice)
    merged = replace(
        mine,
        message=f"{mine.message} At the same time ({second.rule.id}): {theirs.message}",
        action=f"{mine.action} Or: {theirs.action} {decide}",
        evidence=mine.evidence
        + tuple(item for item in theirs.evidence if item not in mine.evidence),
    )
    return RuleLine(rule=line.rule, outcome=merged)


def run(rules: Iterable[Rule], facts: Facts) -> Report:
    """Return what *rules* say about *facts*: findings in order, and what was not evaluated."""
    known = known_facts(facts)
    names = frozenset(known)
    rules = tuple(rules)
    able, skipped = able_and_lacking(rules, names)
    advised = _seen_in_source(rules, facts)
    seen = {line.rule.id for line in advised}
    skipped = tuple(rule for rule in skipped if rule.id not in seen) if seen else skipped
    verdict_of = _verdict
    if facts.profile is not None and facts.profile.missing:
        from gpuadvise.rules.missing_counters import settled  # recordings seldom lack any

        verdict_of = partial(settled, judged=_verdict)
    silent: list[RuleLine] = []
    undecided: list[tuple[Rule, tuple[Missing, ...]]] = []
    for rule in able:
        verdict = verdict_of(rule, known)
        if verdict is PASSED:  # the commonest by far
            silent.append(_passed(rule))
            continue
        for outcome in _outcomes(verdict, facts.kernel):
            if isinstance(outcome, Skipped):
                undecided.append((rule, outcome.missing))
                continue
            weighed: Outcome = outcome
            if isinstance(outcome, Advice):
                weighed = _weighed(rule, outcome, facts)
                brief = facts.brief_run or False
                weighed = in_span(weighed, facts.run_share, rule.priority, brief=brief)
                weighed = _to_the_caller(rule, weighed, facts.kernel)
                if facts.timeline is not None:
                    weighed = in_recording(weighed, facts.timeline)
            lines = advised if isinstance(weighed, Advice) else silent
            lines.append(
                _passed(rule) if weighed is PASSED else RuleLine(rule=rule, outcome=weighed)
            )
    findings = reconciled(advised)
    if _has_lines(facts):
        passed = {line.rule for line in silent if line.outcome is PASSED}
        findings = measured_and_placed(findings, passed, facts)
    counted = _is_counted(facts)
    return Report(
        kernel=facts.kernel,
        device=facts.device,
        lines=(*in_order(findings, counted=counted, seconds=_seconds(facts)), *silent),
        skipped=skipped,
        known=names,
        seconds=_seconds(facts),
        limiter=facts.limiter,
        offload=facts.offload,
        launches=facts.launches or 1,
        run_seconds=facts.run_seconds,
        undecided=tuple(undecided),
        uncounted=facts.profile is not None and facts.profile.is_without_counts,
        blind_to_sectors=_is_blind(facts.profile),
        missing_counters=missing_counters(facts.profile),
        counted=counted,
        units=_units(findings, facts.profile),
        idle_share=_idle_share(facts.timeline),
    )


def _units(lines: Sequence[RuleLine], profile: KernelProfile | None) -> Mapping[str, float]:
    """Return how busy the units of *profile* are, where a loud finding asks what it leaves of them."""
    if profile is None or unread_units(profile) or not any(map(_loud, lines)):
        return {}
    return profile.unit_shares


def _is_counted(facts: Facts) -> bool:
    """Return whether units of a profile, or bytes or operations in a time, bound what the kernel can win."""
    if facts.profile is not None:
        return facts.limiter is not None and not isinstance(facts.limiter, UnknownLimiter)
    return facts.traffic is not None or bool(facts.work and facts.work.seconds)


def _has_lines(facts: Facts) -> bool:
    """Return whether anything tells lines of the source."""
    counted = facts.profile is not None and facts.profile.lines
    defined = facts.compiled is not None and facts.compiled.defined_at
    return bool(facts.observations or counted or defined)


def _idle_share(run: TracedRun | None) -> float | None:
    if run is None or not run.span_seconds:
        return None
    return max(0.0, 1 - run.busy_seconds / run.span_seconds)


def _is_blind(profile: KernelProfile | None) -> bool:
    """Return whether nothing in a profile tells how many sectors of global accesses are needed."""
    return profile is not None and profile.global_sectors is None and not profile.rules


def _seen_in_source(rules: Sequence[Rule], facts: Facts) -> list[RuleLine]:
    """Return a line for each place where a source shows the fault of a rule on other facts."""
    if not facts.observations:
        return []
    return [
        RuleLine(rule=rule, outcome=_placed(advice, facts.kernel))
        for rule in rules
        for advice in seen_in_source(rule, facts.observations)
    ]


@cache  # the commonest line of all
def _passed(rule: Rule) -> RuleLine:
    return RuleLine(rule=rule, outcome=PASSED)


# What these win is time between host and device, of which a kernel's limit says nothing.
_BESIDE_THE_KERNEL = (None, Family.COPIES)


def _weighed(rule: Rule, outcome: Advice, facts: Facts) -> Outcome:
    """Return *outcome* as far as the kernel's limit leaves it something to win."""
    if rule.broken or outcome.broken:
        return outcome
    if rule.family in _BESIDE_THE_KERNEL:
        outcome = bounded_by_start(outcome, rule, _seconds(facts))
        return _low_if(outcome, _wins_less_than(outcome, NOTABLE))
    if facts.profile is not None:
        return _under_profile(rule, outcome, facts)
    return _under_times(rule, outcome, facts)


def _under_profile(rule: Rule, outcome: Advice, facts: Facts) -> Outcome:
    assert rule.family is not None
    if facts.limiter is not None:
        if not admits(facts.limiter, rule.family, facts.profile):
            seen = RuleLine(rule=rule, outcome=outcome)
            if isinstance(facts.limiter, TooLittleWork) and is_of_source(seen):
                return disproved(seen, facts).outcome  # a larger grid may be limited by it
            return PASSED
        if isinstance(facts.limiter, UnknownLimiter) and facts.limiter.unread:
            return _low_if(outcome, True)  # whether it lifts the limit, the missing counters tell
        if outcome.location is not None and outcome.location.line is not None:
            return outcome  # how much of the kernel's time one line takes, no profile tells
        outcome = bounded(
            outcome,
            rule,
            facts.profile,
            other_kernel=_runs_another(rule, facts),
            few_warps=facts.profile is not None and grid_brings_few(facts.profile),
        )
        outcome = bounded_by_start(outcome, rule, _seconds(facts))
        if _wins_less_than(outcome, NOTABLE):
            return PASSED
    return _low_if(outcome, _wins_less_than(outcome, WORTHWHILE))


def _runs_another(rule: Rule, facts: Facts) -> bool:
    """Return whether the repair is another call of a library, which then runs another kernel."""
    library = library_of(facts.kernel) if facts.kernel else None
    return library is not None and (library.by_call or rule.family is Family.GRID)


def _under_times(rule: Rule, outcome: Advice, facts: Facts) -> Outcome:
    """Return *outcome* bounded by what bytes or operations in a time leave; low beside another roof."""
    assert rule.family is not None
    of_a_line = outcome.location is not None and outcome.location.line is not None
    weighed = outcome if of_a_line else bounded_by_times(outcome, rule, facts)
    weighed = bounded_by_start(weighed, rule, _seconds(facts))
    if weighed is not outcome and _wins_less_than(weighed, NOTABLE):
        return PASSED
    beside = isinstance(facts.limiter, AtRoof) and not admits(facts.limiter, rule.family)
    return _low_if(weighed, beside or _wins_less_than(weighed, WORTHWHILE))


def _wins_less_than(advice: Advice, least: float) -> bool:
    return advice.gain is not None and advice.gain.usual_bound < least


def _low_if(advice: Advice, low: bool) -> Advice:
    return advice.but(priority=Priority.LOW) if low else advice


# What these change is the caller's: precision, and copies.
_OF_THE_CALLER = (Family.PRODUCTS, Family.COPIES, Family.ROOFLINE)


def _to_the_caller(rule: Rule, outcome: Outcome, kernel: str | None) -> Outcome:
    """Return *outcome* with what the caller of a library's kernel can change, before what its author can.

    What only the author can change is low: of 60 such findings on raw pages of kernels of PyTorch, CUB,
    CuPy and XLA in six labelled sets of launches, readers would have spent an hour on none.
    """
    if not isinstance(outcome, Advice) or kernel is None or rule.family is None:
        return outcome
    if rule.family in _OF_THE_CALLER or rule.caller_side:
        return outcome
    library = library_of(kernel)
    if library is None:
        return outcome
    first = (
        f"This is a kernel of {library.name}, so change what it is called with: {library.levers}."
    )
    told = replace(outcome, action=f"{first} In code of your own: {outcome.action}")
    if converts_layout(
        kernel
    ):  # in the right layout the call runs none, which no bound of this one tells
        told = replace(told, gain=None)
    return _low_if(told, rule.author_only and not library.by_call)


def judge(rule: Rule, facts: Facts) -> tuple[Outcome, ...]:
    """Return the outcomes of one rule; a rule that breaks becomes Failed, never an exception."""
    known = known_facts(facts)
    if lacks(rule, known):
        return (Skipped(missing=missing(rule, known)),)
    return tuple(_outcomes(_verdict(rule, known), facts.kernel))


def _seconds(facts: Facts) -> float | None:
    for timed in (facts.profile, facts.traffic, facts.work):
        if timed and timed.seconds:
            return timed.seconds
    return None


_ALL_CLEAR = (PASSED,)


def _verdict(rule: Rule, known: Mapping[str, Any]) -> Verdict | Failed:
    """Return what *rule* says; PASSED itself where it found nothing wrong."""
    try:
        return rule.check(*map(known.get, rule.parameters))
    except (Exception, SystemExit) as error:  # a broken rule must not silence the others
        return Failed(error=f"{type(error).__name__}: {error}")


def _outcomes(verdict: Verdict | Failed, kernel: str | None) -> Sequence[Outcome]:
    """Return what a *verdict* on *kernel* amounts to, one outcome or one per place."""
    if isinstance(verdict, Advice):
        return (_placed(verdict, kernel),)
    if isinstance(verdict, Passed) or verdict == ():
        return _ALL_CLEAR
    if isinstance(verdict, Failed):
        return (verdict,)
    if isinstance(verdict, Undecided):
        return (Skipped(missing=undecided_values(verdict)),)
    if not _is_valid_answer(verdict):
        return (Failed(error="check() answered neither Advice, a tuple of them nor PASSED"),)
    return [_placed(each, kernel) if isinstance(each, Advice) else PASSED for each in verdict]


def _is_valid_answer(answer: object) -> bool:
    """Return whether a rule answered what it may: a user's own is checked by nobody else."""
    return isinstance(answer, tuple) and all(isinstance(each, Advice | Passed) for each in answer)


def _placed(advice: Advice, kernel: str | None) -> Advice:
    if kernel is None or advice.location is not None:
        return advice
    return advice.but(location=_place(kernel))


@lru_cache(maxsize=8)
def _place(kernel: str) -> Location:
    return Location(kernel=kernel)
