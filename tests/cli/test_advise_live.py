"""``advise`` about the state of a machine, from recorded ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

BOXES = Path(__file__).parent / "boxes"


def rules_in(text: str) -> set[str]:
    return {finding["rule"] for finding in json.loads(text)["findings"]}


def test_a_healthy_idle_machine(cli) -> None:
    ran = cli("advise", "--from", str(BOXES / "h200.json"), "--format", "json")
    assert ran.code == 0
    document = json.loads(ran.out)
    assert document["result"]["high"] == document["result"]["medium"] == 0


def test_a_busy_machine(cli) -> None:
    ran = cli("advise", "--from", str(BOXES / "h200-busy.json"), "--format", "json")
    assert ran.code == 0
    assert not {"degraded-link", "throttled-clocks"} & rules_in(ran.out)


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("persistence_mode", False, "persistence-mode-off"),
        ("ecc_uncorrected", 4, "ecc-errors"),
        ("compute_mode", "prohibited", "restricted-compute-mode"),
        ("pcie_lanes", 8, "degraded-link"),
    ],
)
def test_a_recorded_fault_is_found(
    field: str, value: object, rule: str, cli, tmp_path: Path
) -> None:
    document = json.loads((BOXES / "h200-busy.json").read_text())
    gpus = document["result"].get("devices") or [document["result"]]
    gpus[0]["telemetry"][field] = value
    gpus[0]["telemetry"]["gpu_utilisation"] = 0.9
    path = tmp_path / "box.json"
    path.write_text(json.dumps(document))
    assert rule in rules_in(cli("advise", "--from", str(path), "--format", "json").out)


def test_the_machines_driver_is_evidence(cli) -> None:
    box = str(BOXES / "h200.json")
    ran = cli("advise", "--from", box, "--code", "sm_80", "--format", "json")
    assert {"missing-device-code"} <= rules_in(ran.out)


def test_no_such_device(cli) -> None:
    ran = cli("advise", "--from", str(BOXES / "h200.json"), "--device", "7")
    assert ran.code == 3
    assert ran.out == ""


def test_the_state_of_the_machine_is_said_once(cli) -> None:
    report = str(Path(__file__).parents[1] / "advisor" / "profiles" / "recorded" / "hand_raw.csv")
    ran = cli(
        "advise", report, "--from", str(BOXES / "h200-busy.json"),
        "--total-time", "1s", "--format", "json",
    )  # fmt: skip
    findings = json.loads(ran.out)["findings"]
    # Its kernel takes little of the run, but the machine was busy all along.
    assert [f["priority"] for f in findings if f["rule"] == "busy-device"] == ["medium"]
