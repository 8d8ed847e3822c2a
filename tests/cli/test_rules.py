"""``gpuadvise rules``: the list, and one explained."""

from __future__ import annotations

import csv
import io
import json

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.cli.completion import priorities, rule_ids, selections
from gpuadvise.cli.schema import bundled
from gpuadvise.rules.guide import RULES


@pytest.fixture
def valid():
    return Draft202012Validator(json.loads(bundled("rules"))).validate


# Of three topics and priorities, with and without a star of the guide.
SHOWN = ("unprofiled-workload", "uncoalesced-access", "partial-warp", "low-occupancy", "hot-device")


def test_the_list(cli, golden) -> None:
    ran = cli("rules", *(word for rule in SHOWN for word in ("--select", rule)))
    assert (ran.code, ran.err) == (0, "")
    golden("rules.text", ran.out)


def test_the_list_without_a_selection_has_every_rule(cli) -> None:
    ran = cli("rules")
    assert ran.out.startswith(f"{len(RULES)} rules")
    assert all(f" {rule.id} " in ran.out for rule in RULES)


def test_the_eighteen_recommendations_of_the_guide_are_all_there(cli, valid) -> None:
    document = json.loads(cli("rules", "--format", "json").out)
    valid(document)
    starred = [rule for rule in document["result"]["rules"] if rule["recommendation"]]
    assert len(starred) == 18


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_explains_itself(rule, cli, valid) -> None:
    ran = cli("rules", rule.id, "--format", "json")
    assert ran.code == 0
    document = json.loads(ran.out)
    valid(document)
    assert document["result"]["examples"]["fires"]["findings"]
    assert document["result"]["examples"]["quiet"]["findings"] == []


@pytest.mark.parametrize("name", ["uncoalesced-access", "unprofiled-workload"])
@pytest.mark.parametrize("form", ["text", "markdown"])
def test_the_page_of_a_rule(name: str, form: str, cli, golden) -> None:
    golden(f"rules-{name}.{form}", cli("rules", name, "--format", form).out)


def test_selection_and_rows(cli) -> None:
    rows = list(csv.DictReader(io.StringIO(cli("rules", "--select", "high", "-f", "csv").out)))
    assert {row["priority"] for row in rows} == {"high"}
    assert cli("rules", "--get", "rules.0.rule").out == "unprofiled-workload\n"


def test_an_unknown_rule(cli) -> None:
    ran = cli("rules", "uncoalesced-acces")
    assert (ran.code, ran.out) == (2, "")
    assert "Did you mean uncoalesced-access?" in ran.err


@pytest.mark.parametrize(
    ("complete", "begun", "wanted"),
    [
        (rule_ids, "partial", ["partial-warp"]),
        (selections, "me", ["medium", "measurement", "memory", "memory-bound"]),
        (priorities, "m", ["medium"]),
        (
            priorities,
            "correctness:",
            [f"correctness:{level}" for level in ("high", "medium", "low")],
        ),
    ],
)
def test_the_shell_completes_rules_topics_and_priorities(complete, begun: str, wanted) -> None:
    assert complete(begun) == wanted


def test_a_term_is_no_rule_but_is_explained(cli) -> None:
    ran = cli("rules", "wave")
    assert (ran.code, ran.out) == (2, "")
    assert 'hint: A term: gpuadvise explain "wave".' in ran.err
    assert "explain" not in cli("rules", "no-such-rule").err
