"""What holds of every command in every form: how many, names, objects, errors, ids."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

RECORDED = Path(__file__).parent / "recorded"

# A question of each command that has formats, and one of the same that cannot be answered.
ASKED = {
    "device": ("--from ../boxes/h200-busy.json --all --telemetry", "--gpu nope"),
    "gpus": ("h100 h200", "nope"),
    "doctor": ("--from ../boxes/h200-busy.json", "--from missing.xml"),
    "fleet": ("../boxes", "--device 0"),
    "measure": (None, "nope"),
    "compat": ("mixed.fatbin --gpu h100", "missing.so --gpu h100"),
    "kernels": ("two.fatbin", "missing.cubin"),
    "diff": ("old.log new.log --gpu h100", "old.log missing.log"),
    "advise": ("kernel.toml", "missing.ncu-rep"),
    "occupancy": ("--regs 64 --block 256 --gpu h100", "--regs x --block 256"),
    "whatif": (None, "missing.cu"),
    "roofline": ("--gpu h200 --flops 1TFLOP --bytes 1GB", "--flops x --bytes 1GB"),
    "latency": ("--gpu h200", "--gpu h200 --warps x"),
    "lint": ("../../advisor/source/cases/synchronizing-reads.py", "missing.cu"),
    "bandwidth": ("--gpu h200 --read 1GB --write 1GB --time 1ms", "--read 1GB --time nope"),
    "access": ("--gpu h200 --word 4 --stride 2", "--word x"),
    "banks": ("--word 4 --stride 32", "--stride x"),
    "timeline": ("pageable.trace.json", "missing.json"),
    "overlap": ("--gpu h200 --h2d 256MiB --kernel 4ms", "--gpu h200 --h2d 3 --kernel 4ms"),
    "scaling": ("--parallel 95% --processors 132", "--parallel x --processors 132"),
    "explain": ("occupancy", "no-such-word"),
    "rules": ("uncoalesced-access", "no-such-rule"),
}
# Questions with more than one row, for commands that say how many.
SEVERAL = {
    "kernels": "two.fatbin libsmall.so",
    "diff": "old.log new.log --gpu h100",
    "advise": "kernel.toml",
    "timeline": "pageable.trace.json",
}
JUDGING = {
    "advise": "kernel.toml",
    "lint": ASKED["lint"][0],
    "kernels": "spilling.cubin --advise --gpu h200",
}


@pytest.fixture(autouse=True)
def _in_the_recorded_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(RECORDED)


def _asked(cli: Any, command: str, line: str, form: str) -> str:
    out: str = cli(command, *shlex.split(line), "--format", form).out
    return out


def _commands(cli: Any) -> dict[str, set[str]]:
    """Return the options of each command that has formats."""
    listed = json.loads(cli("help", "--json").out)["commands"]
    options = {
        command["name"]: {name for option in command["options"] for name in option["names"]}
        for command in listed
    }
    return {name: names for name, names in options.items() if {"--format", "--get"} <= names}


def test_every_command_is_asked(cli) -> None:
    commands = _commands(cli)
    assert set(ASKED) == set(commands)
    assert set(SEVERAL) == {name for name, options in commands.items() if "--limit" in options}


@pytest.mark.parametrize("command", [name for name, (asked, _) in ASKED.items() if asked])
def test_lines_of_json_are_objects_that_hold_objects(command: str, cli) -> None:
    line = ASKED[command][0]
    assert line
    rows = [json.loads(row) for row in _asked(cli, command, line, "ndjson").splitlines()]
    assert rows
    for row in rows:
        assert isinstance(row, dict)
        for name, value in row.items():
            outer, dot, inner = name.partition(".")
            assert not dot or row[outer][inner] == value


@pytest.mark.parametrize(("command", "line"), [(name, bad) for name, (_, bad) in ASKED.items()])
def test_an_error_is_json_where_json_is_asked_for(command: str, line: str, cli) -> None:
    ran = cli(command, *shlex.split(line), "--json")
    assert ran.code in (2, 3)
    assert ran.out == ""
    error = json.loads(ran.err.splitlines()[-1])["error"]
    assert set(error) == {"code", "message", "hint", "option", "nearest"}
    assert error["code"] == ran.code
    assert error["message"]


@pytest.mark.parametrize(("command", "line"), SEVERAL.items())
def test_one_name_says_how_many_in_every_format(command: str, line: str, cli) -> None:
    def count(form: str, *more: str) -> int:
        out: str = cli(command, *shlex.split(line), *more, "--format", form).out
        if form == "json":
            answer = json.loads(out)
            return len(answer["findings"] if command == "advise" else answer["result"]["kernels"])
        if form == "csv":
            return len(list(csv.DictReader(io.StringIO(out))))
        return len(out.splitlines())

    for form in ("json", "csv", "ndjson"):
        assert count(form) > 1
        assert count(form, "--limit", "1") == 1
    assert "more" in cli(command, *shlex.split(line), "--limit", "1").out
    runs = ("diff", "pageable.trace.json", "pinned.trace.json", "--limit", "1", "--json")
    assert len(json.loads(cli(*runs).out)["result"]["kernels"]) == 1


@pytest.mark.parametrize(("command", "line"), JUDGING.items())
def test_a_finding_has_one_id_in_every_format(command: str, line: str, cli) -> None:
    findings = json.loads(_asked(cli, command, line, "json"))["findings"]
    ids = [finding["id"] for finding in findings]
    assert ids
    assert all(each.startswith(f"{f['rule']}-") for each, f in zip(ids, findings, strict=True))
    rows = [json.loads(row) for row in _asked(cli, command, line, "ndjson").splitlines()]
    cells = list(csv.DictReader(io.StringIO(_asked(cli, command, line, "csv"))))
    assert sorted(row["id"] for row in rows) == sorted(row["id"] for row in cells)
    assert set(ids) == {row["id"] for row in rows}
    assert list(cells[0])[-1] == "id"  # scripts count columns
