"""From places in source files to advice, for the rules whose evidence is source code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import quoted
from gpuadvise.rules.model import Advice, Evidence, Location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    from gpuadvise.advisor.facts.code import Observation
    from gpuadvise.rules.model import Rule

    # From an observation to what is said of it and what to do.
    Words: TypeAlias = Callable[[Observation], tuple[str, str]]


def advised(
    observations: Iterable[Observation], fault: str, words: Words, extra: tuple[Evidence, ...] = ()
) -> tuple[Advice, ...]:
    """Return one piece of advice per place where *fault* (a rule's id) was seen.

    *words* gives message and action; what stands at the place precedes the message.
    """
    return tuple(_advice(seen, words, extra) for seen in _of(observations, fault))


def seen_in_source(rule: Rule, observations: Iterable[Observation]) -> tuple[Advice, ...]:
    """Return the advice of a *rule* on other facts at the places where a source shows its fault.

    Rules that take observations judge them themselves: for them there is none here.
    """
    if takes_observations(rule):
        return ()
    return advised(observations, rule.id, lambda _: (f"{rule.why} {rule.when}", f"{rule.title}."))


def takes_observations(rule: Rule) -> bool:
    """Return whether *rule* itself looks at what a reader of sources saw."""
    return "observations" in rule.parameters


def _of(observations: Iterable[Observation], fault: str) -> Iterator[Observation]:
    return (seen for seen in observations if seen.fault == fault)


def _advice(seen: Observation, words: Words, extra: tuple[Evidence, ...]) -> Advice:
    message, action = words(seen)
    message, action = seen.message or message, seen.action or action
    text = Evidence(label="source", value=seen.seen, unit="", source=f"{seen.file}:{seen.line}")
    return Advice(
        message=f"{quoted(seen.seen)}: {message}",
        action=action,
        evidence=(text, *extra),
        location=Location(file=seen.file, line=seen.line, column=seen.column, kernel=seen.kernel),
        reasoned=seen.message is not None,
    )
