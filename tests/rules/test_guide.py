"""What must hold for every rule; a new rule needs no edit here."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.reader import described
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.rules import guide
from gpuadvise.rules.engine import judge
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.model import Advice, Kind, Passed, Skipped
from gpuadvise.rules.source_only import SOURCE_ONLY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.rules.model import Description, Outcome, Rule

FOLDER = Path(guide.__file__).parent
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
# Articles and joins that no sentence of ours may contain.
BAD_PROSE = re.compile(
    r"\band and\b|\bor or\b|, , |\.\.|\s\s|\bNone\b|\bnan\b|\{|\}|, and and| ,| \.(?=\s|$)"
)


def outcomes(rule: Rule, given: Description) -> list[Outcome]:
    return list(judge(rule, described(dict(given), from_catalogue).facts))


def firing(rule: Rule) -> Iterator[Description]:
    yield rule.examples.fires
    if rule.examples.edges:
        yield rule.examples.edges[0]


def quiet(rule: Rule) -> Iterator[Description]:
    yield rule.examples.quiet
    if rule.examples.edges:
        yield rule.examples.edges[1]


def advice(rule: Rule) -> Iterator[Advice]:
    for given in firing(rule):
        found = outcomes(rule, given)
        assert found, given
        for outcome in found:
            assert isinstance(outcome, Advice), (given, outcome)
            yield outcome


def test_the_list_is_the_folder() -> None:
    files = {path.stem.replace("_", "-") for path in FOLDER.glob("*.py")} - {"--init--"}
    assert sorted(rule.id for rule in RULES) == sorted([*files, *(r.id for r in SOURCE_ONLY)])


@each_rule
def test_the_id_is_the_file_in_kebab_case(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.id)
    if rule not in SOURCE_ONLY:
        assert Path(inspect.getfile(rule.check)).stem == rule.id.replace("-", "_")  # type: ignore[arg-type]


@each_rule
def test_every_parameter_is_a_fact_with_the_same_type(rule: Rule) -> None:
    facts = {name: str(kind) for name, kind in Facts.__annotations__.items()}
    for name, parameter in inspect.signature(rule.check).parameters.items():
        wanted = str(parameter.annotation).removesuffix(" | None")
        assert facts[name].removesuffix(" | None") == wanted, name


@each_rule
def test_the_words_of_the_rule(rule: Rule) -> None:
    assert inspect.getdoc(rule.check)
    assert rule.title[0].isupper()
    assert not rule.title.endswith(".")
    for sentence in (rule.why, rule.when):
        assert sentence.endswith(".")
        assert sentence[0].isupper()
        assert not BAD_PROSE.search(sentence)
    assert rule.kinds
    assert all(isinstance(kind, Kind) for kind in rule.kinds)


@each_rule
def test_citations_and_thresholds_name_their_source(rule: Rule) -> None:
    assert rule.citations
    for citation in rule.citations:
        assert citation.document
        assert citation.section
        assert citation.url.startswith("https://")
    for threshold in rule.thresholds:
        assert threshold.name
        assert threshold.source


@each_rule
def test_numbers_that_decide_are_shown_at_both_edges(rule: Rule) -> None:
    assert rule.examples.edges or not rule.thresholds


@each_rule
def test_the_firing_examples_fire(rule: Rule) -> None:
    assert list(advice(rule))


@each_rule
def test_the_quiet_examples_stay_quiet(rule: Rule) -> None:
    for given in quiet(rule):
        assert outcomes(rule, given) == [Passed()], given


@each_rule
def test_messages_and_actions_are_sentences_with_numbers(rule: Rule) -> None:
    for found in advice(rule):
        for text in (found.message, found.action):
            assert (
                text[0].isupper() or text.startswith(("__", "-", "`")) or not text[0].isalpha()
            ), text
            assert text.endswith((".", ";", ")")), text
            assert not BAD_PROSE.search(text), text
        assert re.search(r"\d", found.message), found.message
        assert found.evidence
        assert all(item.source for item in found.evidence)


@each_rule
def test_gains_are_bounds_with_a_formula(rule: Rule) -> None:
    for found in advice(rule):
        if found.gain:
            assert found.gain.upper_bound >= 1
            assert found.gain.how


@each_rule
def test_without_its_facts_a_rule_says_how_to_supply_them(rule: Rule) -> None:
    assert rule.needs or rule.either
    assert set(rule.either) <= set(rule.parameters) - set(rule.needs)
    [outcome] = judge(rule, Facts())
    assert isinstance(outcome, Skipped)
    assert [item.fact for item in outcome.missing] == [*rule.needs, *rule.either]
