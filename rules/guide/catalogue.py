"""What is known of a rule before its module is loaded: of some 200 rules an answer asks few.

``docs/generate.py`` writes ``catalogue.json`` from the rules' modules. A rule that is not in it yet is
read from its module.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, asdict, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuadvise.rules.model import (
    OF_THE_MODULE,
    Confidence,
    Conflict,
    Family,
    Kind,
    Priority,
    Rule,
    Topic,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FILE = Path(__file__).with_suffix(".json")
# Given by those who relate rules, or with the module.
_LEFT_OUT = (*OF_THE_MODULE, "heads", "module")
_HELD = tuple(field for field in fields(Rule) if field.name not in _LEFT_OUT)
_DEFAULTS = {field.name: field.default for field in _HELD if field.default is not MISSING}
_READ: dict[str, Callable[[Any], object]] = {
    "topic": Topic,
    "priority": Priority,
    "kinds": lambda kinds: tuple(map(Kind, kinds)),
    "family": Family,
    "confidence": Confidence,
    "conflicts_with": lambda conflicts: tuple(Conflict(**conflict) for conflict in conflicts),
    "required": frozenset,
}


@cache
def entries() -> Mapping[str, Mapping[str, Any]]:
    """Return what the catalogue holds of each rule, by the name of its module."""
    held: dict[str, dict[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))
    return held


def rule_from(entry: Mapping[str, Any], module: str) -> Rule:
    """Return the rule of *entry*, which loads *module* when more than that is asked of it."""
    rule = object.__new__(Rule)
    for name, value in _DEFAULTS.items():
        object.__setattr__(rule, name, value)
    for name, value in entry.items():
        read = _READ.get(name)
        if read is None:
            read = tuple if isinstance(value, list) else None
        object.__setattr__(rule, name, value if read is None else read(value))
    object.__setattr__(rule, "heads", ())
    object.__setattr__(rule, "module", module)
    return rule


def entry_of(rule: Rule) -> dict[str, object]:
    """Return what the catalogue holds of *rule*: what differs from the defaults."""
    held = {field.name: getattr(rule, field.name) for field in _HELD}
    return {
        name: _plain(value)
        for name, value in held.items()
        if name not in _DEFAULTS or value != _DEFAULTS[name]
    }


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [asdict(item) if isinstance(item, Conflict) else item for item in value]
    return sorted(value) if isinstance(value, frozenset) else value


def catalogue_file(rules: Mapping[str, Rule]) -> str:
    """Return the text of ``catalogue.json``, a line for each of *rules* by its module's name in the list."""
    lines = (
        f"{json.dumps(module)}: {json.dumps(entry_of(rule))}" for module, rule in rules.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"
