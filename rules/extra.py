"""Rules of the user's own: modules in a folder, or an installed package's entry point.

They are Python and run as such, so they are loaded only when they are asked for.
"""

from __future__ import annotations

import difflib
import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, inert, quoted
from gpuadvise.rules.advice import Citation
from gpuadvise.rules.model import Conflict, Examples, Kind, Priority, Rule, Threshold, Topic
from gpuadvise.rules.relations import RelationError, related

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

GROUP = "gpuadvise.rules"
_KEBAB = "[a-z0-9]+(-[a-z0-9]+)*"


def with_own(rules: Sequence[Rule], sources: Iterable[str]) -> tuple[Rule, ...]:
    """Return *rules* and those of every folder or entry point in *sources*; raises BadInput."""
    every, places = list(rules), {}
    for source in sources:
        for place, rule in _from(source):
            if any(rule.id == known.id for known in every):
                raise BadInput(f"{place}: there is already a rule {quoted(rule.id)}.")
            every.append(rule)
            places[rule.id] = place
    if not places:
        return tuple(rules)
    try:
        return related(every)
    except RelationError as error:
        raise BadInput(f"{places[error.rule]}: {error.what}") from None


def _from(source: str) -> list[tuple[str, Rule]]:
    """Return the rules of *source*, each with the place that messages name."""
    folder = Path(source)
    if folder.is_dir():
        files = sorted(file for file in folder.glob("*.py") if not file.name.startswith("_"))
        if not files:
            raise BadInput(f"{inert(source)} holds no rule: no file that ends in .py.")
        return [(inert(str(file)), _rule_in(file)) for file in files]
    return [(inert(source), rule) for rule in _installed(source)]


def _rule_in(file: Path) -> Rule:
    spec = importlib.util.spec_from_file_location(f"gpuadvise_own_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever the module raises is about that file
        raise BadInput(
            f"{inert(str(file))} cannot be loaded: {type(error).__name__}: {error}."
        ) from None
    return _checked(getattr(module, "RULE", None), inert(str(file)))


def _installed(name: str) -> list[Rule]:
    from importlib.metadata import entry_points

    chosen = [point for point in entry_points(group=GROUP) if point.name == name]
    if not chosen:
        raise BadInput(
            f"--rules: {quoted(name)} is neither a folder nor an entry point.",
            hint=f"A package announces its rules in the group {GROUP}.",
        )
    try:
        rules = chosen[0].load()
    except (Exception, SystemExit) as error:  # as above: about that package
        raise BadInput(
            f"The entry point {quoted(name)} cannot be loaded: {type(error).__name__}: {error}."
        ) from None
    listed = rules if isinstance(rules, list | tuple) else [rules]
    return [_checked(rule, inert(name)) for rule in listed]


def _checked(rule: object, place: str) -> Rule:
    if not isinstance(rule, Rule):
        raise BadInput(f"{place} has no RULE made by gpuadvise.rules.model.Rule.")
    for name, sound in _SOUND.items():
        if not sound(getattr(rule, name)):
            raise BadInput(f"{place}: {name} of its RULE cannot be used.", hint=_EXAMPLE)
    from gpuadvise.advisor.facts.bag import Facts

    known = Facts.__annotations__
    strange = [name for name in (*rule.parameters, *rule.either) if name not in known]
    if strange:
        raise BadInput(
            f"{place}: check() asks for {quoted(strange[0])}, which is not a fact.",
            hint=_hint(strange[0], [*known]),
        )
    return rule


def _hint(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name[:60], known, n=3, cutoff=0.6)
    if near:
        return f"Did you mean {and_list(near, 'or')}?"
    return "docs/adding-a-rule.md lists the facts."


def _text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _all(kind: type) -> Callable[[object], bool]:
    def sound(value: object) -> bool:
        return isinstance(value, tuple) and all(isinstance(item, kind) for item in value)

    return sound


def _cited(value: object) -> bool:
    return bool(value) and _all(Citation)(value)


# What the rest relies on: nothing checks the types of a user's module before it runs.
_EXAMPLE = "docs/adding-a-rule.md shows a rule from top to bottom."
_SOUND: dict[str, Callable[[object], bool]] = {
    "id": lambda value: _text(value) and re.fullmatch(_KEBAB, str(value)) is not None,
    "title": _text,
    "topic": lambda value: isinstance(value, Topic),
    "priority": lambda value: isinstance(value, Priority),
    "kinds": _all(Kind),
    "why": _text,
    "when": _text,
    "citations": _cited,
    "thresholds": _all(Threshold),
    "either": _all(str),
    "folds_into": lambda value: value is None or _text(value),
    "silenced_by": _all(str),
    "conflicts_with": _all(Conflict),
    "examples": lambda value: isinstance(value, Examples),
}
