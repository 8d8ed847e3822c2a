"""Which drivers are asked before the command line is read."""

from __future__ import annotations

import pytest

from gpuadvise.advisor.backends import probe
from gpuadvise.advisor.backends.probe import Probe
from gpuadvise.cli.device.one_field import FIELDS, answered
from gpuadvise.cli.head_start import nvml_knows, start_drivers

BOTH = (Probe.DRIVER, Probe.NVML)


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("device", BOTH),
        ("device --get name", (Probe.NVML_IDENTITY,)),
        ("device --get pci_bus_id", (Probe.NVML,)),
        ("device --get=name --get uuid", (Probe.NVML,)),
        ("device --get name --get sm_count", BOTH),
        ("device --telemetry --get telemetry.power_watts", (Probe.NVML_LIVE,)),
        ("device --get telemetry.power_watts", (Probe.NVML_LIVE,)),
        ("device --all --telemetry", (Probe.DRIVER, Probe.NVML_LIVE)),
        ("doctor", (Probe.DRIVER, Probe.NVML_LIVE)),
        ("device --gpu h200 --get name", None),
        ("device --cc=9.0", None),
        ("doctor --from box.json", None),
        ("occupancy --regs 32", None),
        ("", None),
    ],
)
def test_the_command_line_tells_whom_to_ask(
    line: str, asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list = []
    monkeypatch.setattr(probe, "ask_ahead", started.append)
    start_drivers(line.split())
    assert started == ([] if asked is None else [asked])


def test_fields_that_the_driver_tells_first_need_it() -> None:
    assert nvml_knows(["name"])
    assert not nvml_knows(["memory_bytes"])
    assert not nvml_knows(["cuda_index"])
    assert not nvml_knows([])


def test_one_field_asks_nvml_alone(cli, moods, monkeypatch: pytest.MonkeyPatch) -> None:
    moods("", "hang")
    monkeypatch.setattr(probe, "PATIENCE_SECONDS", 1.0)
    assert cli("device", "--get", "name").out == "NVIDIA H200\n"
    assert cli("device", "--device", "0", "--get", "pci_bus_id").out == "00000000:06:00.0\n"
    power = cli("device", "--telemetry", "--get", "telemetry.power_watts")
    assert power.out == "76.5\n"
    assert cli("device", "--get", "telemetry.power_watts").out == "76.5\n"


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("mood", ["", "two", "two,lost", "unheard", "mig", "latin1", "unloaded"])
def test_the_short_way_answers_as_the_command_does(
    cli, moods, monkeypatch: pytest.MonkeyPatch, field: str, mood: str
) -> None:
    moods(mood, "two" if "two" in mood else "slice" if mood == "mig" else "")
    short = answered(["device", "--get", field])
    monkeypatch.setattr("gpuadvise.cli.device.one_field.answered", lambda args: None)
    if short is not None:
        assert cli("device", "--get", field).out == short
    if mood in ("", "two"):
        assert short is not None
    if mood == "unloaded":
        assert short is None


def test_what_is_not_plain_is_left_to_the_command(moods) -> None:
    for line in ("device", "device --get sm_count", "device --get name --get uuid", ""):
        assert answered(line.split()) is None
