"""Saved devices whose numbers no GPU has: refused by name, or answered quickly like any other."""

from __future__ import annotations

import json
import re
import time
from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.catalogue import find
from gpuadvise.advisor.device import Device
from gpuadvise.advisor.gpu import Gpu, Identity, Machine
from gpuadvise.advisor.limits import Limits
from gpuadvise.advisor.snapshot import RANGES, machine_record

if TYPE_CHECKING:
    from pathlib import Path

BOX = {
    "schema": "gpuadvise.device/1",
    "result": machine_record(Machine(gpus=(Gpu(device=find("h200"), identity=Identity(index=0)),))),
}
CALLS = (
    ("occupancy", "--regs", "32", "--block", "256", "--smem", "1K"),
    ("advise", "--regs", "72", "--block", "100", "--smem", "9K", "--grid", "96"),
)


def saved(folder: Path, **changed: object) -> str:
    box = json.loads(json.dumps(BOX))
    box["result"]["devices"][0] |= changed
    path = folder / "box.json"
    path.write_text(json.dumps(box))
    return str(path)


def of_its_kind(name: str, number: float) -> object:
    old = BOX["result"]["devices"][0][name]
    if isinstance(old, list):
        return [number] * len(old)
    return {"fp32": number} if isinstance(old, dict) else number


def test_every_number_of_a_device_has_a_range() -> None:
    whole = (*fields(Device), *fields(Limits))
    numbers = {field.name for field in whole if re.search(r"\b(int|float)\b", str(field.type))}
    assert numbers == RANGES.keys()


LISTED = sorted(name for name in RANGES if BOX["result"]["devices"][0][name] != [])


@pytest.mark.parametrize("name", LISTED)
def test_each_number_has_a_range_and_the_edges_are_answered_at_once(
    name: str, cli, tmp_path: Path
) -> None:
    least, most = RANGES[name]
    for number in (least - 1, most * 2 + 1, -(2**31)):
        for call in CALLS:
            ran = cli(*call, "--from", saved(tmp_path, **{name: of_its_kind(name, int(number))}))
            assert ran.code == 2, (name, number)
            assert name in ran.err, (name, number, ran.err)
    for number in (least, least + 1, 3, 7, most):
        for call in CALLS:
            value = of_its_kind(name, int(number))
            began = time.process_time()
            ran = cli(*call, "--from", saved(tmp_path, **{name: value}))
            assert ran.code in (0, 2), (name, number, ran.err)
            assert time.process_time() - began < 2, (name, number)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("power_limit_watts", 10**400),
        ("sm_count", 10**400),
        ("memory_bandwidth", float("inf")),
        ("peaks", {"fp32": 1e300}),
        ("shared_memory_configs", [1024] * 65),
        ("registers_per_block", 2**20),
        ("shared_memory_per_sm", 1024),
    ],
)
def test_what_no_gpu_has_is_refused_with_the_name_of_the_field(
    name: str, value: object, cli, tmp_path: Path
) -> None:
    for call in (*CALLS, ("doctor",), ("device",)):
        ran = cli(*call, "--from", saved(tmp_path, **{name: value}))
        assert ran.code == 2
        assert name in ran.err


@pytest.mark.parametrize(
    "field", ["memory_used_bytes", "temperature_celsius", "power_watts", "ecc_corrected"]
)
def test_a_reading_that_no_counter_holds_is_refused(field: str, cli, tmp_path: Path) -> None:
    for number in (10**400, 2**63, float("inf"), 1e300):
        if field == "power_watts" and number == 2**63:
            continue
        ran = cli("doctor", "--from", saved(tmp_path, telemetry={field: number}))
        assert ran.code == 2
        assert f"telemetry.{field}" in ran.err


@pytest.mark.parametrize("schema", ["gpuadvise.device/2", "gpuadvise.compat/1", 7])
def test_an_answer_of_another_command_or_version_is_no_saved_device(
    schema: object, cli, tmp_path: Path
) -> None:
    path = tmp_path / "box.json"
    path.write_text(json.dumps({**BOX, "schema": schema}))
    ran = cli("doctor", "--from", str(path))
    assert ran.code == 2
    assert "gpuadvise.device/1" in ran.err


def test_broken_json_is_called_so_with_its_line(cli, tmp_path: Path) -> None:
    path = tmp_path / "box.json"
    path.write_text('{"result": {\n"sources": "nvidia-smi",\n"devices": [')
    ran = cli("device", "--from", str(path))
    assert ran.code == 2
    assert "broken JSON" in ran.err
    assert "line 3" in ran.err


@pytest.mark.parametrize(
    ("tag", "text"), [("gpu_temp", "9" * 400 + " C"), ("power_draw", "9" * 310 + " W")]
)
def test_a_counter_of_hundreds_of_digits_in_xml_is_refused_by_its_name(
    tag: str, text: str, cli, tmp_path: Path
) -> None:
    folder = "temperature" if tag == "gpu_temp" else "gpu_power_readings"
    path = tmp_path / "box.xml"
    path.write_text(
        "<nvidia_smi_log><gpu><product_name>NVIDIA H200</product_name>"
        f"<{folder}><{tag}>{text}</{tag}></{folder}></gpu></nvidia_smi_log>"
    )
    for call in (("doctor",), ("device", "--all", "--telemetry", "--format", "json")):
        ran = cli(*call, "--from", str(path))
        assert ran.code == 2
        assert tag in ran.err
