"""Which numbers decide a rule, read off the code that it runs."""

from __future__ import annotations

import dis
from dataclasses import fields, is_dataclass
from functools import cached_property
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.kernel_profile import KernelProfile
from gpuadvise.advisor.facts.limiter import limiter_of
from gpuadvise.advisor.facts.timeline import TracedRun
from gpuadvise.advisor.thresholds import Row, row
from gpuadvise.rules.source import CUDA_RULES, PYTHON_RULES, cuda_check, python_check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.rules.model import Rule, Threshold

_MODELS = (KernelProfile, TracedRun)  # facts with judgements of their own


def numbers_of(rule: Rule) -> tuple[Row, ...]:
    """Return what decides *rule*: what it declares, then each number that its check comes to.

    The numbers that tell the limiter count where the rule asks for it, and those of what looks for
    its fault in sources.
    """
    declared = [_declared(threshold) for threshold in rule.thresholds]
    roots = [
        rule.check,
        *([limiter_of] if "limiter" in rule.parameters else []),
        *([cuda_check(rule.id).faults] if rule.id in CUDA_RULES else []),
        *([python_check(rule.id).faults] if rule.id in PYTHON_RULES else []),
    ]
    seen: set[object] = set()
    found = [entry for root in roots for entry in _reached(root, seen)]
    return tuple(dict.fromkeys((*declared, *found)))


def _declared(threshold: Threshold) -> Row:
    return Row(
        name=threshold.name,
        value=threshold.value,
        unit=threshold.unit,
        source=threshold.source,
        launches=None,
    )


def _reached(function: object, seen: set[object]) -> Iterator[Row]:
    """Yield the numbers that *function*, and what it calls of the product, names."""
    function = getattr(function, "__wrapped__", function)
    if not isinstance(function, FunctionType) or function in seen:
        return
    seen.add(function)
    for value in _named(function.__code__, function.__globals__):
        for item in _items(value):
            known = row(item)
            if known is not None:
                yield known
            else:
                yield from _reached(item, seen)


def _items(value: object) -> Iterator[object]:
    """Yield *value*, or what a table of numbers, functions or records holds."""
    if isinstance(value, tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _items(item)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _items(getattr(value, field.name))
    else:
        yield value


def _named(code: CodeType, known: dict[str, object]) -> Iterator[object]:
    """Yield what *code* names, in its order: globals, and attributes that judge a fact."""
    for instruction in dis.get_instructions(code):
        name = instruction.argval
        if instruction.opname == "LOAD_GLOBAL":
            yield known.get(name)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            for model in _MODELS:
                member = vars(model).get(name)
                yield _getter(member)
        elif isinstance(name, CodeType):
            yield from _named(name, known)


def _getter(member: object) -> object:
    """Return the function behind a property, whether its value is kept or not."""
    if isinstance(member, cached_property):
        return member.func
    return member.fget if isinstance(member, property) else member
