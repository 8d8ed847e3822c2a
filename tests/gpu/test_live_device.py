"""The real GPU of this machine against NVML, the driver, the catalogue and the model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from gpuadvise.advisor.backends.choose import Depth, choose
from gpuadvise.advisor.backends.live import driver_now, live_machine
from gpuadvise.advisor.catalogue import find, limits_of
from gpuadvise.advisor.device import Origin
from gpuadvise.advisor.driver_limits import differences
from gpuadvise.advisor.snapshot import machine_record, read_machine

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def machine():
    return live_machine(telemetry=True)


def test_every_gpu_answers_with_both_sources(machine) -> None:
    assert machine.problems == ()
    assert machine.gpus
    for gpu in machine.gpus:
        assert gpu.identity.uuid
        assert gpu.identity.pci_bus_id
        assert gpu.device.sources["name"] == "NVML"
        assert gpu.device.sources["sm_count"] == "driver attribute"
        assert gpu.telemetry is not None


def test_unknown_fields_have_reasons_and_known_ones_sources(machine) -> None:
    for gpu in machine.gpus:
        known, unknown = gpu.device.sources.keys(), gpu.device.reasons.keys()
        assert not known & unknown
        for name in ("sm_count", "memory_bytes", "memory_bandwidth", "l2_bytes", "async_engines"):
            assert name in known
        for name in gpu.telemetry.__slots__:
            if name != "reasons" and getattr(gpu.telemetry, name) is None:
                assert gpu.telemetry.reasons[name], name


def test_the_models_limits_equal_the_drivers(machine) -> None:
    report = driver_now()
    for cuda in report.gpus:
        gpu = next(one for one in machine.gpus if one.identity.uuid == cuda.uuid)
        assert differences(limits_of(gpu.device.capability)[0], cuda.attributes) == ()


def test_the_catalogue_agrees_with_the_live_device(machine) -> None:
    for gpu in machine.gpus:
        if gpu.device.id is None:
            continue
        listed = find(gpu.device.id)
        assert gpu.device.capability == listed.capability
        assert gpu.device.sm_count == listed.sm_count
        assert gpu.device.memory_bytes == pytest.approx(listed.memory_bytes, rel=0.1)
        assert gpu.device.memory_bandwidth == pytest.approx(listed.memory_bandwidth, rel=0.015)


def test_nvml_alone_chooses_the_same_gpu_with_the_same_numbers(machine) -> None:
    quick = choose(environ=os.environ).device
    full = choose(depth=Depth.FACTS, environ=os.environ).device
    assert quick.origin is full.origin is Origin.LIVE
    for name in ("name", "capability", "id", "sm_count"):
        assert getattr(quick, name) == getattr(full, name)


def test_the_answer_replays(machine) -> None:
    read = read_machine(json.loads(json.dumps({"result": machine_record(machine)})))
    for live, old in zip(machine.gpus, read.gpus, strict=True):
        assert replace(old, device=replace(old.device, origin=Origin.LIVE)) == live


ASKING = """
import os
from gpuadvise.advisor.backends.live import live_machine
machine = live_machine(telemetry=True)
pids = {p.pid for gpu in machine.gpus for p in gpu.telemetry.processes or ()}
assert machine.gpus and os.getpid() not in pids
"""


def test_asking_creates_no_context() -> None:
    # In a process of its own: other tests use the GPU in this one.
    subprocess.run([sys.executable, "-c", ASKING], check=True)


def test_a_hidden_gpu_still_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    for gpu in live_machine().gpus:
        assert gpu.identity.cuda_index is None
        assert "do not see this GPU" in gpu.device.notes[0]
    assert choose().device.origin is not Origin.LIVE


def test_the_command_prints_the_live_gpu(cli) -> None:
    ran = cli("device", "--telemetry", "--format", "json")
    assert ran.code == 0
    result = json.loads(ran.out)["result"]
    assert result["origin"] == "live"
    assert result["telemetry"]["memory_total_bytes"] > 0
    assert cli("device", "--device", result["uuid"], "--get", "uuid").out.strip() == result["uuid"]
    assert cli("device", "--device", "9999").code == 3
