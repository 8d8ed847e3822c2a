"""Numbers that decide: each has a row, stands once, and is shown with the rules that it decides."""

from __future__ import annotations

import ast
import copy
import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gpuadvise.rules
from gpuadvise.advisor.facts import (
    kernel_profile,
    limit_words,
    limiter,
    load_width,
    local_memory,
    sectors,
    timeline,
)
from gpuadvise.advisor.thresholds import LaunchSet, Row, number, row
from gpuadvise.rules.deciding import numbers_of
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.model import Threshold

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

FOLDER = Path(gpuadvise.rules.__file__).parent
JUDGING = (limiter, limit_words, load_width, local_memory, sectors, kernel_profile, timeline)
# What no measurement or judgement could change: nothing, one, a half, a pair, and what a GB is.
PLAIN = {-1, 0, 1, 2, 0.5, 1e9}
# Sizes of hardware and formats of numbers.
FIXED = {
    "_INSTRUCTION",  # products of one tensor instruction
    "_HALF_RATE",
    "_SCHEDULERS",
    "_SPECIAL_FUNCTIONS",
    "_LONGEST_NAME",  # letters of a kernel's in a line for ncu
    "_DEEPEST",  # names that are followed, so that a search ends
    "_HALF_PERCENT",
    "_STEP",  # in logarithms: of NEAR
    "_MOST_OTHERS",  # lines, repairs, callers and bytes that a sentence has room for
    "_MOST_CALLERS",
    "_SHOWN",
    "_MOST_REPAIRS",
    "_MOST_PROFILED",  # kernels that a command has room for
}


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages([str(FOLDER)], "gpuadvise.rules."):
        yield importlib.import_module(found.name)
    yield from JUDGING


EVERY_MODULE = sorted(modules(), key=lambda module: module.__name__)
each_module = pytest.mark.parametrize("module", EVERY_MODULE, ids=lambda module: module.__name__)


def tree(module: ModuleType) -> ast.Module:
    assert module.__file__ is not None
    return ast.parse(Path(module.__file__).read_text(encoding="utf-8"))


def bare(value: object) -> bool:
    if isinstance(value, tuple):  # of whole numbers it is a set of sizes or versions
        return any(isinstance(item, float) and bare(item) for item in value)
    return isinstance(value, float | int) and not isinstance(value, bool) and row(value) is None


@each_module
def test_a_number_that_a_module_names_has_a_row(module: ModuleType) -> None:
    for statement in tree(module).body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        for target in targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name) and bare(getattr(module, name.id)):
                    assert name.id in FIXED, f"{name.id} of {module.__name__} has no row"


def compared(side: ast.expr) -> Iterator[ast.AST]:
    """Yield the parts of one side of a comparison, without the digits that it is rounded to."""
    yield side
    if isinstance(side, ast.Call) and ast.unparse(side.func) == "round":
        yield from compared(side.args[0])
    else:
        for part in ast.iter_child_nodes(side):
            if isinstance(part, ast.expr):
                yield from compared(part)


@each_module
def test_a_number_that_is_compared_with_has_a_name(module: ModuleType) -> None:
    for node in ast.walk(tree(module)):
        if not isinstance(node, ast.Compare):
            continue
        for side in (node.left, *node.comparators):
            for part in compared(side):
                value = part.value if isinstance(part, ast.Constant) else None
                if isinstance(value, float | int) and not isinstance(value, bool):
                    assert value in PLAIN, f"{module.__name__}:{part.lineno}: {ast.unparse(node)}"


def test_one_name_says_one_number() -> None:
    rows = {known for rule in RULES for known in numbers_of(rule)}
    assert len(rows) > 150
    by_name: dict[str, Row] = {}
    for known in rows:
        other = by_name.setdefault(known.name, known)
        assert (other.value, other.unit) == (known.value, known.unit), known.name


def test_every_row_says_what_it_is_and_where_it_comes_from() -> None:
    for rule in RULES:
        for known in numbers_of(rule):
            assert known.name
            assert known.source
            assert not known.source.endswith(".")


def test_a_rule_shows_the_numbers_of_all_that_it_calls() -> None:
    names = {
        known.name for rule in RULES if rule.id == "narrow-loads" for known in numbers_of(rule)
    }
    assert {"loads and stores", "in a queue", "unit at its roof"} <= names
    operations = next(rule for rule in RULES if rule.id == "library-available")
    assert "bytes read per byte written" in {known.name for known in numbers_of(operations)}
    traced = next(rule for rule in RULES if rule.id == "launch-bound")
    assert "idle between launches" in {known.name for known in numbers_of(traced)}


def test_a_rule_shows_the_numbers_of_what_looks_at_sources() -> None:
    by_id = {rule.id: {known.name for known in numbers_of(rule)} for rule in RULES}
    assert "statements that predicates carry, at most" in by_id["divergent-branches"]
    assert "iterations of a short loop, at most" in by_id["rolled-loops"]
    assert "names that lead to a number of threads, at most" in by_id["partial-warp"]


def test_what_a_rule_declares_comes_first() -> None:
    partial = next(rule for rule in RULES if rule.id == "partial-warp")
    assert numbers_of(partial)[0].name == partial.thresholds[0].name == "warp size"
    assert isinstance(partial.thresholds[0], Threshold)


def test_a_number_is_a_number_and_its_copy_a_plain_one() -> None:
    half, eight = number(0.5, "half", "", "us", LaunchSet.RECORDED), number(8, "eight", "", "us")
    assert half * 2 == 1
    assert f"{half:g} {eight}" == "0.5 8"
    known = row(half)
    assert known is not None
    assert (known.name, known.value, known.launches) == ("half", 0.5, LaunchSet.RECORDED)
    assert type(copy.deepcopy(half)) is float
    assert type(copy.deepcopy(eight)) is int
    assert row(0.5) is None
