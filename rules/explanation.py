"""One rule explained: its words, and its examples run through it now."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.reader import described
from gpuadvise.rules.engine import run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.rules.model import Description, Rule
    from gpuadvise.rules.report import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A kernel description as text, and what the rule says of it; () when it stays quiet."""

    description: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A rule with its examples computed: one that fires, one that does not, and the edges."""

    rule: Rule
    fires: Shown
    quiet: Shown
    edges: tuple[Shown, Shown] | None


def explain(rule: Rule) -> Explanation:
    """Return *rule* with its examples run through the engine."""
    edges = rule.examples.edges
    return Explanation(
        rule=rule,
        fires=_shown(rule, rule.examples.fires),
        quiet=_shown(rule, rule.examples.quiet),
        edges=(_shown(rule, edges[0]), _shown(rule, edges[1])) if edges else None,
    )


def _shown(rule: Rule, options: Description) -> Shown:
    facts = described(dict(options), from_catalogue).facts
    return Shown(description=as_toml(options), findings=run([rule], facts).findings)


def as_toml(options: Description) -> str:
    """Return a kernel description as the lines of ``kernel.toml`` below ``[[kernel]]``."""
    return "\n".join(f"{key} = {_value(value)}" for key, value in options.items())


def _value(value: object) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(k)} = {_value(v)}' for k, v in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(_value(item) for item in value)}]"
    # Numbers, texts and truth values are written alike in JSON and TOML.
    return json.dumps(value, ensure_ascii=False)


def _key(key: str) -> str:
    return key if key.replace("_", "").replace("-", "").isalnum() else json.dumps(key)


def needs_of(rule: Rule, how: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the facts that *rule* cannot do without, each with how to supply it."""
    return [(name, how[name]) for name in (*rule.needs, *rule.either)]
