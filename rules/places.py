"""One fault that both a profile and the source of a kernel show is one finding: gain and line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.rules.model import Advice, Priority
from gpuadvise.rules.report import RuleLine, priority_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gpuadvise.rules.model import Rule

# Other lines, and different repairs, that a message has room for.
_MOST_OTHERS, _MOST_REPAIRS = 3, 2


def measured_and_placed(lines: Sequence[RuleLine], passed: Collection[Rule]) -> list[RuleLine]:
    """Return *lines* with each fault that was measured and seen in the source as one.

    The measured advice keeps its number, gain and priority, and gets the line and the repair of
    the source. What a source shows and a rule that looked at the profile *passed* is a low finding.
    """
    seen: dict[Rule, list[RuleLine]] = {}
    measured: dict[Rule, list[RuleLine]] = {}
    for line in lines:
        kind = seen if _has_place(line) else measured
        kind.setdefault(line.rule, []).append(line)
    if not seen:
        return list(lines)
    joined: list[RuleLine] = []
    for line in lines:
        rule = line.rule
        if rule in measured and rule in seen and len(measured[rule]) == 1:
            if line is measured[rule][0]:
                joined.append(_joined(line, seen[rule]))
        elif rule in seen and rule in passed and "profile" in rule.parameters:
            joined.append(_disproved(line))
        else:
            joined.append(line)
    return joined


def _has_place(line: RuleLine) -> bool:
    where = line.outcome.location if isinstance(line.outcome, Advice) else None
    return where is not None and where.line is not None


def _joined(measured: RuleLine, seen: Sequence[RuleLine]) -> RuleLine:
    """Return the *measured* advice at the places where the source shows its fault."""
    advice = measured.outcome
    places = [line.outcome for line in seen if isinstance(line.outcome, Advice)]
    assert isinstance(advice, Advice)
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
            message=f"{advice.message} {_words_there(first)}{also}",
            action=" ".join(repairs[:_MOST_REPAIRS]),
            evidence=(*advice.evidence, *(item for place in places for item in place.evidence)),
            location=replace(where, kernel=kernel),
        ),
    )


def _words_there(advice: Advice) -> str:
    """Return what stands at the place of *advice*: answers name the place itself beside it."""
    words = next((str(item.value) for item in advice.evidence if item.label == "source"), "")
    return f"In the source: {quoted(words)}."


def _disproved(line: RuleLine) -> RuleLine:
    """Return what a source shows as a low finding: the launch that was profiled loses nothing by it."""
    advice = line.outcome
    if not isinstance(advice, Advice) or not _has_place(line):
        return line
    if priority_of(line.rule, advice) is Priority.LOW or line.rule.broken or advice.broken:
        return line
    words = f"{advice.message} The profiled launch loses nothing by it."
    return RuleLine(rule=line.rule, outcome=replace(advice, message=words, priority=Priority.LOW))
