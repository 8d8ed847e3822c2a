"""From places in source files to advice, for the rules whose evidence is source code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import quoted
from gpuadvise.rules.advice import Advice, Evidence, Location
from gpuadvise.rules.model import Examples, Kind, Priority, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeAlias

    from gpuadvise.advisor.facts.code import Observation
    from gpuadvise.rules.advice import Citation, Verdict
    from gpuadvise.rules.model import Check, Description, Topic

    # From an observation to what is said of it and what to do.
    Words: TypeAlias = Callable[[Observation], tuple[str, str]]


def advised(
    observations: Iterable[Observation], fault: str, words: Words, extra: tuple[Evidence, ...] = ()
) -> tuple[Advice, ...]:
    """Return one piece of advice per place where *fault* (a rule's id) was seen.

    *words* gives message and action; what stands at the place precedes the message.
    """
    return tuple(_advice(seen, words, extra) for seen in _of(observations, fault))


def source_rule(
    *,
    id: str,
    title: str,
    topic: Topic,
    priority: Priority,
    why: str,
    when: str,
    citations: tuple[Citation, ...],
    seen: str,
    file: str = "blur.cu",
    detail: Mapping[str, str] | None = None,
    action: str | None = None,
    check: Check | None = None,
    quiet: Description | None = None,
    recommendation: bool = False,
    correctness: bool = False,
    broken: bool = False,
    folds_into: str | None = None,
    measured_as: str | None = None,
) -> Rule:
    """Return a rule whose evidence is a place in a source and nothing else.

    *seen* in *file* is such a place. What looks for it words each finding; a place that somebody wrote
    into a description gets *when* and *action*, else the title. *check* and *quiet* are of a rule that
    also looks at how the source was compiled.
    """

    def each_place(observations: tuple[Observation, ...]) -> Verdict:
        """Advise at each place that the source reader marked."""
        return advised(observations, id, lambda _: (when, action or f"{title}."))

    example = place(id, seen, file) | ({} if detail is None else {"detail": detail})
    return Rule(
        id=id,
        title=title,
        topic=topic,
        priority=priority,
        kinds=(Kind.SOURCE,),
        why=why,
        when=when,
        citations=citations,
        check=check or each_place,
        examples=Examples(
            fires={"observations": [example]}, quiet=quiet or {"observations": [place(file=file)]}
        ),
        recommendation=recommendation,
        correctness=correctness,
        broken=broken,
        folds_into=folds_into,
        measured_as=measured_as,
    )


def place(
    fault: str = "another-fault", seen: str = "x", file: str = "blur.cu"
) -> dict[str, object]:
    """Return a place in a source where *fault* was seen, as an example describes it."""
    return {"fault": fault, "file": file, "line": 12, "column": 9, "seen": seen}


def seen_in_source(rule: Rule, observations: Iterable[Observation]) -> tuple[Advice, ...]:
    """Return the advice of a *rule* on other facts at the places where a source shows its fault.

    Rules that take observations judge them themselves: for them there is none here.
    """
    if takes_observations(rule):
        return ()
    return advised(observations, rule.id, lambda _: (rule.when, f"{rule.title}."))


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
        priority=Priority.LOW if seen.minor else None,
    )
