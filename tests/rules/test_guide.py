"""What must hold for every rule; a new rule needs no edit here."""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gpuadvise.advisor.description.devices import from_catalogue
from gpuadvise.advisor.description.reader import described
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.advisor.thresholds import row
from gpuadvise.rules import guide
from gpuadvise.rules.deciding import numbers_of
from gpuadvise.rules.engine import judge, run
from gpuadvise.rules.guide import RULES, from_modules, rule_of
from gpuadvise.rules.guide.catalogue import entries, entry_of, rule_from
from gpuadvise.rules.model import Advice, Failed, Kind, Passed, Skipped
from gpuadvise.rules.source import CUDA_RULES, PYTHON_RULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpuadvise.rules.model import Description, Outcome, Rule

FOLDER = Path(guide.__file__).parent
MOST_LINES = 200  # of a file that holds a rule
IMPOSSIBLE = next(rule for rule in RULES if rule.id == "impossible-launch")
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
# Articles and joins that no sentence of ours may contain.
BAD_PROSE = re.compile(
    r"\band and\b|\bor or\b|, , |(?<!\.)\.\.(?!\.)|\s\s|\bNone\b|\bnan\b|\{|\}|, and and| ,| \.(?=\s|$)"
)


def test_the_catalogue_holds_what_the_modules_declare() -> None:
    declared = {module: entry_of(rule) for module, rule in from_modules().items()}
    assert entries() == json.loads(json.dumps(declared)), "run python docs/generate.py"


@each_rule
def test_a_rule_out_of_the_catalogue_is_the_one_of_its_module(rule: Rule) -> None:
    assert rule.module is not None
    whole = import_module(rule.module).RULE
    for field in fields(whole):
        if field.name not in ("module", "heads"):
            assert getattr(rule, field.name) == getattr(whole, field.name), field.name


def test_a_rule_without_an_entry_is_read_from_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuadvise.rules.guide.catalogue.entries", dict)
    rule = guide._rule_in.__wrapped__("execution.tiny_blocks")
    assert (rule.id, rule.module) == ("tiny-blocks", None)


def test_a_rule_has_only_its_fields() -> None:
    rule = rule_from(
        entries()["execution.tiny_blocks"], "gpuadvise.rules.guide.execution.tiny_blocks"
    )
    with pytest.raises(AttributeError, match="a rule has no 'colour'"):
        _ = rule.colour  # type: ignore[attr-defined]
    assert rule.why


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


SOURCES = [
    path for path in sorted((FOLDER.parent / "source").glob("*/*.py")) if path.stem[0] != "_"
]


def rules_in(paths: list[Path]) -> list[str]:
    """The ids, by their names, of the files that hold a rule."""
    holding = (path for path in paths if "\nRULE = " in path.read_text(encoding="utf-8"))
    return [path.stem.replace("_", "-") for path in holding]


def test_the_list_is_the_folders() -> None:
    listed = [*FOLDER.glob("*/*.py"), *SOURCES]
    assert sorted(rule.id for rule in RULES) == sorted(rules_in(listed))
    assert all(rule_of(rule.id) is rule for rule in RULES)
    for path in FOLDER.glob("*/[!_]*.py"):
        topic = rule_of(path.stem.replace("_", "-")).topic
        assert path.parent.name == topic.replace("-", "_"), path.stem
    for folder, ids in (("cuda", CUDA_RULES), ("python", PYTHON_RULES)):
        files = [path.stem.replace("_", "-") for path in SOURCES if path.parent.name == folder]
        assert sorted(ids) == files


@each_rule
def test_the_id_is_in_kebab_case(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.id)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_source_rule_is_one_short_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert rule_of(path.stem.replace("_", "-"))


@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob("*/[!_]*.py")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_a_rule_is_a_short_file(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MOST_LINES


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
def test_citations_name_their_source(rule: Rule) -> None:
    assert rule.citations
    for citation in rule.citations:
        assert citation.document
        assert citation.section
        assert citation.url.startswith("https://")


def _numbers_in(rule: Rule) -> set[str]:
    """Return the names of the numbers that *rule* declares itself, or in its module."""
    text = Path(inspect.getfile(rule.check)).read_text(encoding="utf-8")  # type: ignore[arg-type]
    values = inspect.getmodule(rule.check).__dict__.items()
    own = {known.name for name, value in values if f"\n{name} = " in text and (known := row(value))}
    return own | {threshold.name for threshold in rule.thresholds}


@each_rule
def test_numbers_that_decide_are_shown_at_both_edges(rule: Rule) -> None:
    own = [known for known in numbers_of(rule) if known.name in _numbers_in(rule)]
    assert rule.examples.edges or not own, own


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
        placed = found.location is not None and found.location.line is not None
        assert placed or rule.id in UNCOUNTED or re.search(r"\d", found.message), found.message
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


# What is so or not so, without a number that says how much.
UNCOUNTED = ("unsanitized-build", "debug-build")
# Keys whose absence says something: a default that the page of keys names, a part that is not
# there, a value that a complete table would have, or nothing where another value decides.
SAYS_SOMETHING = re.compile(
    r"(accesses\.(stride|offset|alignment)|transfers\.count|(dynamic_)?smem|carveout|cluster"
    r"|pipeline\.(streams|h2d)|timeline\..*|environment\..*|profile\.stalls\.long_scoreboard"
    r"|topology\.nvlinks\.to|sibling_nvlinks|traffic\.reported_rate)"
)
FAULTY = tomllib.loads((Path(__file__).parent / "corpus/faulty.toml").read_text(encoding="utf-8"))


def without_a_key(given: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Description]]:
    """Yield each key of *given*, of its tables and lists of tables, and *given* without it."""
    for key, value in given.items():
        yield path + key, {name: kept for name, kept in given.items() if name != key}
        tables = value if isinstance(value, list) else [value]
        if all(isinstance(table, dict) for table in tables):
            for inner in dict.fromkeys(name for table in tables for name in table):
                left = [{n: kept for n, kept in table.items() if n != inner} for table in tables]
                yield (
                    f"{path}{key}.{inner}",
                    {**given, key: left if isinstance(value, list) else left[0]},
                )


# Without its registers a block may have more threads than fit; a page names its busiest pipe, if it is busy.
# Without a count of atomics uncoalesced-access speaks of the sectors.
ENOUGH_WITHOUT = {
    "impossible-launch": {"regs"},
    "implicit-double": {"profile.pipes"},
    "scattered-atomics": {"profile.reductions", "profile.reductions.sectors"},
}


@each_rule
def test_what_is_not_known_is_no_all_clear(rule: Rule) -> None:
    """Without a value that shows the fault, the rule lacks it, or finds the fault all the same."""
    passed = []
    for given in (*firing(rule), *(case["kernel"] for case in FAULTY["case"])):
        if not any(isinstance(outcome, Advice) for outcome in outcomes(rule, given)):
            continue
        for key, rest in without_a_key(given):
            try:
                answers = outcomes(rule, rest)
            except BadInput:  # a table or a launch that needs the key
                continue
            assert not any(isinstance(outcome, Failed) for outcome in answers), key
            if all(isinstance(outcome, Passed) for outcome in answers):
                passed.append(key)
    unexplained = {key for key in passed if not SAYS_SOMETHING.fullmatch(key)}
    assert unexplained <= ENOUGH_WITHOUT.get(rule.id, set())


@pytest.mark.parametrize(
    ("given", "rule", "value"),
    [
        ({"telemetry": {"temperature_celsius": 89}}, "hot-device", "temperature_slowdown_celsius"),
        ({"telemetry": {"gpu_utilisation": 0.9}}, "throttled-clocks", "clock_event_reasons"),
        ({"gpu": "h200", "block": 1024}, "impossible-launch", "registers"),
        ({"gpu": "h200", "regs": 32, "block": 1024}, "lone-resident-block", "barriers_used"),
        ({"profile": {"time": "1ms"}}, "latency-bound", "compute_throughput"),
    ],
)
def test_a_rule_names_the_value_that_it_lacks(given: Description, rule: str, value: str) -> None:
    report = run(RULES, described(dict(given), from_catalogue).facts)
    [lacking] = [missing for one, missing in report.not_evaluated if one.id == rule]
    assert lacking[-1].fact.rpartition(".")[2] == value
    assert lacking[-1].how
    assert rule not in {line.rule.id for line in report.lines}


def test_registers_do_not_matter_where_any_number_fits() -> None:
    [outcome] = outcomes(IMPOSSIBLE, {"gpu": "h200", "block": 256})
    assert isinstance(outcome, Passed)
    [outcome] = outcomes(IMPOSSIBLE, {"gpu": "h200", "block": 1024, "launch_bounds": 1024})
    assert isinstance(outcome, Passed)
