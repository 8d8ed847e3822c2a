from __future__ import annotations

import csv
import json
import shlex
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.advisor.binaries.model import Source
from gpuadvise.api.json_schema import COMMANDS as COMMANDS_WITH_ANSWERS
from gpuadvise.api.json_schema import declaration_of, fields_of
from gpuadvise.cli.app import COMMANDS
from gpuadvise.cli.schema import bundled, names
from gpuadvise.cli.schemas import columns_of

RECORDED = Path(__file__).parent / "recorded"

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


# What they print is no answer of its own: a schema, a script, a help, that of another command.
# They print what is no answer: text for people, code, another command's answer.
WITHOUT = {
    "schema",
    "completion",
    "help",
    "demo",
    "run",
    "baseline",
    "lsp",
    "mcp",
    "skill",
    "learn",
    "tui",
}


@pytest.mark.parametrize("name", sorted({entry.name for entry in COMMANDS} - WITHOUT))
def test_every_command_has_a_schema(name: str) -> None:
    assert name in names(), f"describe its JSON answer in cli/schemas/{name}.json"


@pytest.mark.parametrize("name", sorted({entry.name for entry in COMMANDS} - WITHOUT))
def test_recorded_command_lines_answer_by_the_schema(name: str, cli, monkeypatch) -> None:
    monkeypatch.chdir(RECORDED)
    rows = (RECORDED / "lines.txt").read_text(encoding="utf-8").splitlines()
    lines = [row for row in rows if row.startswith(f"{name} ") and row.endswith("--format json")]
    assert lines, f"record a line `{name} ... --format json` in tests/cli/recorded/lines.txt"
    judge = Draft202012Validator(json.loads(bundled(name)))
    for line in lines:
        ran = cli(*shlex.split(line))
        if ran.code in (0, 1):
            judge.validate(json.loads(ran.out))


@pytest.mark.parametrize(
    "name", [name for name in COMMANDS_WITH_ANSWERS if declaration_of(name).rows]
)
def test_recorded_rows_are_the_declared_ones(name: str, cli, monkeypatch) -> None:
    monkeypatch.chdir(RECORDED)
    schema = json.loads(bundled(name))
    judge = Draft202012Validator({"$ref": "#/$defs/row", "$defs": schema["$defs"]})
    known = [{field for field, _, _ in fields_of(row)} for row in declaration_of(name).rows]
    rows = (RECORDED / "lines.txt").read_text(encoding="utf-8").splitlines()
    for line in rows:
        words = shlex.split(line, comments=True)
        if words[:1] != [name] or words[-2:] not in (["--format", "csv"], ["--format", "ndjson"]):
            continue
        ran = cli(*words)
        if ran.code not in (0, 1):
            continue
        if words[-1] == "csv":
            head = next(csv.reader(ran.out.splitlines()))
            assert any(row.issuperset(head) for row in known), line
            rows = declaration_of(name).rows
            if len(rows) == 1:
                columns = rows[0].COLUMNS or columns_of(name)
                assert tuple(head[: len(columns)]) == columns, line
        else:
            for row in ran.out.splitlines():
                judge.validate(json.loads(row))


def test_the_schema_of_kernels_has_every_source() -> None:
    result = json.loads(bundled("kernels"))["properties"]["result"]
    kernel = result["properties"]["kernels"]["items"]
    assert set(kernel["properties"]["source"]["enum"]) == set(Source)


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
