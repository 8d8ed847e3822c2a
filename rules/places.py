"""One fault that both a profile and the source of a kernel show is one finding: gain and line."""

from __future__ import annotations

from dataclasses import replace
from os.path import basename
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.counted_lines import LineCount
from gpuadvise.advisor.facts.limiter import TooLittleWork
from gpuadvise.advisor.prose import and_list, inert, quoted
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import Advice, Evidence, Location
from gpuadvise.rules.model import Family, Priority, Topic
from gpuadvise.rules.report import RuleLine, priority_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from gpuadvise.advisor.facts.bag import Facts
    from gpuadvise.advisor.facts.counted_lines import CountedLine
    from gpuadvise.rules.model import Rule

HARDLY = number(
    0.03,
    "instructions of a line that are next to nothing",
    "share of those that a launch executed",
    "our judgement: without them all the kernel takes as much less at most",
)
_GOES_ON = number(
    3, "lines of one expression, at most", "lines", "our judgement: what a formatter folds"
)
# Other lines, and different repairs, that a message has room for.
_MOST_OTHERS, _MOST_REPAIRS = 3, 2


def measured_and_placed(
    lines: Sequence[RuleLine], passed: Collection[Rule], facts: Facts
) -> list[RuleLine]:
    """Return *lines* with each fault that was measured and seen in the source as one.

    The measured advice keeps its number, gain and priority, and gets the line and the repair of
    the source. What a source shows and a rule that looked at the profile *passed* is a low finding.
    Where the profile counts by line, measured advice names the line that takes most; other advice
    about code with line information is at the kernel's first line.
    """
    profile = facts.profile
    if profile is not None and profile.lines:
        lines = [_at_counted_line(line, profile.lines) for line in lines]
    measured: dict[str, list[RuleLine]] = {}
    for line in lines:
        if not is_of_source(line):
            measured.setdefault(line.rule.id, []).append(line)
    alone = {fault for fault, of_fault in measured.items() if len(of_fault) == 1}
    seen: dict[str, list[RuleLine]] = {}
    for line in lines:
        if is_of_source(line):
            seen.setdefault(_fault(line.rule, alone), []).append(line)
    if not seen:
        return [_at_definition(line, facts) for line in lines]
    joined: list[RuleLine] = []
    for line in lines:
        rule = line.rule
        fault = _fault(rule, alone) if is_of_source(line) else rule.id
        if fault in alone and fault in seen:
            if line is measured[fault][0]:
                joined.append(_joined(line, seen[fault]))
        elif fault in seen and rule in passed and "profile" in rule.parameters:
            joined.append(disproved(line, facts))
        else:
            joined.append(_hardly_executed(line, facts) if is_of_source(line) else line)
    return [_at_definition(line, facts) for line in joined]


def _fault(rule: Rule, measured: Collection[str]) -> str:
    """Return the rule that finds in a profile what *rule* sees in a source, where that one speaks."""
    of_profile = rule.measured_as
    return of_profile if of_profile in measured and of_profile is not None else rule.id


def _at_definition(line: RuleLine, facts: Facts) -> RuleLine:
    """Return advice about a kernel at the first line of its code, where it has no better place."""
    advice = line.outcome
    at = facts.compiled.defined_at if facts.compiled else None
    if not isinstance(advice, Advice) or at is None or _has_place(line) or facts.kernel is None:
        return line
    where = Location(file=at[0], line=at[1], kernel=facts.kernel)
    return RuleLine(rule=line.rule, outcome=advice.but(location=where))


def is_at_its_line(advice: Advice) -> bool:
    """Return whether what *advice* says was seen or counted at its line; else the kernel begins there, if it has one."""
    if advice.location is None or advice.location.line is None:
        return False
    return any(
        item.label == "source" or item.label.startswith(_COUNTED) for item in advice.evidence
    )


def _has_place(line: RuleLine) -> bool:
    where = line.outcome.location if isinstance(line.outcome, Advice) else None
    return where is not None and where.line is not None


def is_of_source(line: RuleLine) -> bool:
    """Return whether *line* says what a reader of sources saw, and not what was counted there."""
    return _has_place(line) and not _is_counted(line)


def _is_counted(line: RuleLine) -> bool:
    evidence = line.outcome.evidence if isinstance(line.outcome, Advice) else ()
    return any(item.label.startswith(_COUNTED) for item in evidence)


_COUNTED = "share of line "
# What the counts of a report say of a kind of advice, and how that is called.
_COUNTS = {
    Family.COALESCING: LineCount.SECTORS,
    Family.BANKS: LineCount.PASSES,
    Family.SPILLS: LineCount.LOCAL,
    Family.WIDTH: LineCount.WAITS,
    Family.REUSE: LineCount.WAITS,
    Family.LATENCY: LineCount.WAITS,
    Family.ATOMICS: LineCount.WAITS,
}
_WORDS = {
    LineCount.WAITS: "of the waits",
    LineCount.SECTORS: "of the sectors beyond those that are needed",
    LineCount.PASSES: "of the passes beyond those that are needed",
    LineCount.LOCAL: "of the sectors of local memory",
    LineCount.DOUBLES: "of the instructions in double precision",
    LineCount.DIVISIONS: "of the divisions",
}


def _at_counted_line(
    line: RuleLine, counts: Mapping[LineCount, tuple[CountedLine, ...]]
) -> RuleLine:
    """Return measured advice at the line that takes most of what it is about."""
    advice, family = line.outcome, line.rule.family
    count = line.rule.line_count or (_COUNTS.get(family) if family else None)
    if not isinstance(advice, Advice) or _has_place(line) or count is None or count not in counts:
        return line
    lines = counts[count]
    shares = [f"{inert(each.file)}:{each.line}, {show_share(each.share)}" for each in lines]
    words = f"{'; '.join(shares)} {_WORDS[count]}."
    kernel = advice.location.kernel if advice.location else None
    counted = Evidence(
        label=f"{_COUNTED}{lines[0].line}", value=lines[0].share, unit="share", source="profile"
    )
    outcome = replace(
        advice,
        message=f"{advice.message} {words}",
        evidence=(*advice.evidence, counted),
        location=Location(file=lines[0].file, line=lines[0].line, kernel=kernel),
    )
    return RuleLine(rule=line.rule, outcome=outcome)


def _joined(measured: RuleLine, seen: Sequence[RuleLine]) -> RuleLine:
    """Return the *measured* advice at the places where the source shows its fault."""
    advice = measured.outcome
    places = [line.outcome for line in seen if isinstance(line.outcome, Advice)]
    assert isinstance(advice, Advice)
    at = advice.location.line if advice.location else None
    places.sort(key=lambda place: place.location is None or place.location.line != at)
    first = places[0]
    lines = sorted({place.location.line or 0 for place in places if place.location})
    others = [line for line in lines if first.location and line != first.location.line]
    named = [str(line) for line in others[:_MOST_OTHERS]]
    named += [f"{len(others) - _MOST_OTHERS} more"] if len(others) > _MOST_OTHERS else []
    noun = "line" if len(others) == 1 else "lines"
    also = f" The same stands in {noun} {and_list(named)}." if named else ""
    repairs = tuple(dict.fromkeys(place.action for place in places))
    where = first.location
    assert where is not None
    kernel = advice.location.kernel if advice.location else where.kernel
    return RuleLine(
        rule=measured.rule,
        outcome=replace(
            advice,
            message=f"{advice.message}{_words_there(first, advice.message)}{also}",
            action=advice.action
            if measured.rule.family is Family.GRID
            else " ".join(repairs[:_MOST_REPAIRS]),
            evidence=(*advice.evidence, *(item for place in places for item in place.evidence)),
            location=replace(where, kernel=kernel),
        ),
    )


def _words_there(advice: Advice, said: str) -> str:
    """Return what stands at the place of *advice*, unless *said* has it; answers name the place itself beside it."""
    words = next((str(item.value) for item in advice.evidence if item.label == "source"), "")
    return "" if words and words in said else f" In the source: {quoted(words)}."


def _hardly_executed(line: RuleLine, facts: Facts) -> RuleLine:
    """Return what a source shows of its instructions as a low finding, where the profile counts hardly any there.

    An expression may go on over the next lines; where nothing at all is counted, it may stand elsewhere.
    """
    advice, rule = line.outcome, line.rule
    if not isinstance(advice, Advice) or advice.location is None or facts.profile is None:
        return line
    if rule.topic is not Topic.INSTRUCTIONS or rule.broken or advice.broken:
        return line
    first, file = advice.location.line or 0, basename(advice.location.file or "")
    share = sum(facts.profile.executed.get((file, first + step), 0.0) for step in range(_GOES_ON))
    if not 0 < share < HARDLY or priority_of(rule, advice) is Priority.LOW:
        return line
    words = f"{advice.message} The profiled launch executed {show_share(share)} of its instructions there."
    return RuleLine(rule=rule, outcome=replace(advice, message=words, priority=Priority.LOW))


def disproved(line: RuleLine, facts: Facts) -> RuleLine:
    """Return what a source shows as a low finding, where the launch that was profiled loses nothing by it."""
    advice = line.outcome
    if not isinstance(advice, Advice) or not _has_place(line):
        return line
    if priority_of(line.rule, advice) is Priority.LOW or line.rule.broken or advice.broken:
        return line
    if isinstance(facts.limiter, TooLittleWork):
        words = f"{advice.message} The profiled launch, whose grid is too small, does not show what that costs."
        outcome = replace(advice, message=words, priority=Priority.MEDIUM)
        return RuleLine(rule=line.rule, outcome=outcome)
    words = f"{advice.message} As it runs now, the profiled launch loses little or nothing by it."
    return RuleLine(rule=line.rule, outcome=replace(advice, message=words, priority=Priority.LOW))
