"""``gpuadvise device``: from the catalogue, from a recording, and without any GPU."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import fields
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.advisor.backends import driver_presence
from gpuadvise.advisor.device import Device
from gpuadvise.advisor.gpu import Identity
from gpuadvise.advisor.limits import Limits
from gpuadvise.advisor.telemetry import Telemetry
from gpuadvise.cli.schema import bundled

BOXES = Path(__file__).parent / "boxes"


@pytest.fixture(autouse=True)
def no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_presence, "_UNIX", ())


@pytest.fixture
def valid():
    return Draft202012Validator(json.loads(bundled("device"))).validate


def answer(cli, *args: str, code: int = 0) -> dict:
    ran = cli("device", *args, "--format", "json")
    assert ran.code == code, ran.err
    return json.loads(ran.out)


CONTRACT = (
    "name", "compute_capability", "sm_count", "memory_bytes", "memory_bandwidth",
    "registers_per_sm", "shared_memory_per_sm", "shared_memory_per_block_optin",
    "max_threads_per_sm", "max_blocks_per_sm", "l2_bytes", "async_engines",
)  # fmt: skip


@pytest.mark.parametrize("args", [["--gpu", "h200"], ["--cc", "9.0"], ["--gpu", "gtx1060"]])
def test_the_catalogue_answers_with_a_source_or_a_reason_for_each_field(cli, valid, args) -> None:
    document = answer(cli, *args)
    valid(document)
    result = document["result"]
    for name in CONTRACT:
        if name != "name":
            where = "reasons" if result[name] is None else "sources"
            assert result[where].get(name), name
    for name, value in result.items():
        if value is None and name in {*Device.__slots__, *Limits.__slots__}:
            assert result["reasons"][name], name


def test_h200_of_the_catalogue(cli) -> None:
    result = answer(cli, "--gpu", "NVIDIA H200")["result"]
    assert {name: result[name] for name in CONTRACT if name != "name"} == {
        "compute_capability": "9.0",
        "sm_count": 132,
        "memory_bytes": 141 << 30,
        "memory_bandwidth": 4_814_304_000_000.0,
        "registers_per_sm": 65_536,
        "shared_memory_per_sm": 233_472,
        "shared_memory_per_block_optin": 232_448,
        "max_threads_per_sm": 2048,
        "max_blocks_per_sm": 32,
        "l2_bytes": 62_914_560,
        "async_engines": 3,
    }


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("sm_count", "132"),
        ("memory_bandwidth", "4814304000000.0"),
        ("compute_capability", "9.0"),
        ("telemetry", "null"),
        ("max_block_dim.2", "64"),
        ("sources.registers_per_sm", "catalogue: capability 9.0"),
    ],
)
def test_one_bare_value(cli, field: str, text: str) -> None:
    ran = cli("device", "--gpu", "h200", "--get", field)
    assert (ran.code, ran.out, ran.err) == (0, f"{text}\n", "")


def test_a_machine_without_a_gpu_is_no_h100(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = cli("device", "--format", "json")
    assert (ran.code, ran.out) == (3, "")
    assert "no GPU that answers" in ran.err
    monkeypatch.setenv("GPUADVISE_GPU", "l4")
    assert json.loads(cli("device", "--format", "json").out)["result"]["name"] == "NVIDIA L4"


def test_all_gpus_of_a_machine_without_one(cli, valid) -> None:
    document = answer(cli, "--all", "--telemetry", code=3)
    valid(document)
    assert document["device"] is None
    assert document["result"]["devices"] == []
    ran = cli("device", "--all")
    assert (ran.code, ran.out) == (3, "No NVIDIA driver is loaded on this machine.\n")
    table = cli("device", "--all", "--format", "csv")
    assert (table.code, table.out) == (3, "")


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["--gpu", "h100", "--cc", "9.0"], 2, "two devices"),
        (["--all", "--gpu", "h100"], 2, "--all and --gpu"),
        (["--all", "--device", "0"], 2, "--all and --device"),
        (["--telemetry", "--gpu", "h100"], 2, "needs a live GPU"),
        (["--telemetry", "--cc", "90"], 2, "needs a live GPU"),
        (["--gpu", "nosuch9999"], 2, "--gpu"),
        (["--device", "x"], 2, "--device"),
        (["--device", "0"], 3, "No NVIDIA driver"),
        (["--from", "/nonexistent"], 2, "--from"),
        (["--gpu", "h100", "--format", "sarif"], 2, "--format"),
        (["--gpu", "h100", "--get", "nope"], 2, "--get"),
    ],
)
def test_mistakes(cli, args: list[str], code: int, words: str) -> None:
    ran = cli("device", *args)
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err.splitlines()[0]


def test_text_of_a_catalogue_gpu_has_a_source_on_each_line(cli) -> None:
    first, *lines = cli("device", "--gpu", "v100").out.splitlines()
    assert first.endswith("(compute capability 7.0, catalogue)")
    facts = [line for line in lines if line.startswith(("SMs", "Memory", "Registers", "Peak"))]
    assert len(facts) >= 6
    assert all("catalogue: " in line or "derived: " in line for line in facts)


def test_the_schema_knows_every_field(cli) -> None:
    schema = json.loads(bundled("device"))
    gpu = schema["$defs"]["gpu"]["properties"].keys()
    own = {field.name for kind in (Limits, Identity) for field in fields(kind)}
    renamed = {"id": "catalogue_id", "capability": "compute_capability"}
    own |= {renamed.get(field.name, field.name) for field in fields(Device)} - {"limits"}
    assert gpu == own | {"capability_variant", "features", "topology", "telemetry"}
    telemetry = schema["$defs"]["telemetry"]["properties"].keys()
    assert telemetry == {field.name for field in fields(Telemetry)}


def test_csv_has_one_line_per_gpu_without_nested_values(cli) -> None:
    rows = list(csv.DictReader(io.StringIO(cli("device", "--gpu", "h200", "--format", "csv").out)))
    assert len(rows) == 1
    assert (rows[0]["sm_count"], rows[0]["peaks.fp32"]) == ("132", "67000000000000.0")
    assert "sources" not in rows[0]


def test_text_of_a_capability(cli, golden) -> None:
    golden("device-cc-7.5.txt", cli("device", "--cc", "7.5").out)


def test_lines_of_json_have_objects_beside_the_fields_by_dot(cli) -> None:
    box = str(BOXES / "h200-busy.json")
    row = json.loads(cli("device", "--from", box, "--all", "--format", "ndjson").out)
    for outer in ("peaks", "telemetry", "features"):
        assert row[outer]
        assert all(row[f"{outer}.{inner}"] == value for inner, value in row[outer].items())
    header = cli("device", "--from", box, "--all", "--format", "csv").out.partition("\n")[0]
    assert not {"peaks", "telemetry", "features"} & {*header.split(",")}
