from __future__ import annotations

import json
from importlib.resources import files

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.cli.app import COMMANDS
from gpuadvise.cli.schema import bundled, names

FINDING = {
    "rule": "partial-warp",
    "topic": "execution",
    "priority": "medium",
    "title": "t",
    "message": "m",
    "action": "a",
    "evidence": [{"label": "l", "value": 1, "unit": "threads", "source": "you"}],
    "gain": None,
    "location": None,
    "citation": {"document": "d", "section": "s", "url": None},
}


def test_shared_definitions_are_a_schema_and_judge_findings() -> None:
    common = json.loads((files("gpuadvise.cli.schemas") / "common.json").read_text())
    Draft202012Validator.check_schema(common)
    judge = Draft202012Validator({"$ref": "#/$defs/finding", "$defs": common["$defs"]})
    assert judge.is_valid(FINDING)
    assert not judge.is_valid({**FINDING, "priority": "urgent"})
    assert not judge.is_valid({**FINDING, "rule": "Partial Warp"})


@pytest.mark.parametrize("name", names())
def test_every_schema_is_one_and_stands_alone(name: str, cli) -> None:
    ran = cli("schema", name)
    assert ran.code == 0
    schema = json.loads(ran.out)
    Draft202012Validator.check_schema(schema)
    assert "common.json" not in ran.out
    assert schema["$id"] == f"gpuadvise:{name}/1"
    assert name in {entry.name for entry in COMMANDS}


# What they print is no answer of its own: a schema, a script.
WITHOUT = {"schema", "completion"}


@pytest.mark.parametrize("name", sorted({entry.name for entry in COMMANDS} - WITHOUT))
def test_every_command_has_a_schema(name: str) -> None:
    assert name in names(), f"describe its JSON answer in cli/schemas/{name}.json"


def test_the_names_are_listed(cli) -> None:
    assert cli("schema").out.split() == names()


def test_an_unknown_schema(cli) -> None:
    ran = cli("schema", "nope")
    assert (ran.code, ran.out) == (2, "")
    assert 'There is no schema "nope"' in ran.err


def test_shared_definitions_move_into_a_schema(monkeypatch) -> None:
    from gpuadvise.cli import schema

    texts = {"x": '{"$ref": "common.json#/$defs/share"}', "common": '{"$defs": {"share": {}}}'}
    monkeypatch.setattr(schema, "text_of", texts.__getitem__)
    assert json.loads(bundled("x")) == {"$ref": "#/$defs/share", "$defs": {"share": {}}}
