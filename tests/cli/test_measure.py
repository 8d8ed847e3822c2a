"""``measure`` on a simulated GPU, and what it says where there is none."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
from jsonschema import Draft202012Validator
from simulated_gpu import PEER_RATE, STAGED_RATE, SimulatedGpu

from gpuadvise.advisor.backends import choose
from gpuadvise.advisor.backends.choose import Choice, Depth
from gpuadvise.advisor.backends.measure import calls
from gpuadvise.advisor.catalogue import find
from gpuadvise.advisor.device import Origin
from gpuadvise.advisor.gpu import Gpu, Identity
from gpuadvise.advisor.telemetry import Process, ProcessKind, Telemetry
from gpuadvise.advisor.transfers.links import link_model_from_json
from gpuadvise.cli.devices import cuda_ordinal, live_gpu
from gpuadvise.cli.measure import command
from gpuadvise.cli.schema import bundled

CHOOSE = "gpuadvise.advisor.backends.choose.choose"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> SimulatedGpu:
    simulated = SimulatedGpu(gpus=2)
    monkeypatch.setattr(calls, "driver", lambda: simulated)
    still = SimpleNamespace(perf_counter=simulated.now)  # the simulated host takes no time
    for module in ("timing", "peers"):
        monkeypatch.setattr(f"gpuadvise.advisor.backends.measure.{module}.time", still)
    for module in ("session", "peers"):
        monkeypatch.setattr(
            f"gpuadvise.advisor.backends.measure.{module}.driver", lambda: simulated
        )
    device = find("h200-sxm")
    live = Choice(device=device, gpu=Gpu(device=device, identity=Identity(cuda_index=0)))
    monkeypatch.setattr(CHOOSE, lambda **given: live)
    return simulated


@pytest.mark.parametrize("subject", command.SUBJECTS)
def test_every_subject_answers_in_its_schema(cli, gpu, subject: str) -> None:
    ran = cli("measure", subject, "--quick", "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    Draft202012Validator(json.loads(bundled("measure"))).validate(document)
    assert document["result"]["partial"] is False
    assert document["input"] == {"subject": subject, "quick": True, "word": None, "save": False}


@pytest.mark.parametrize("subject", command.SUBJECTS)
def test_every_subject_speaks(cli, gpu, subject: str) -> None:
    ran = cli("measure", subject, "--quick")
    assert ran.code == 0
    assert ran.out.startswith("Measured on NVIDIA H200")
    assert "nan" not in ran.out


def test_a_measurement_holds_a_calibration(cli, gpu) -> None:
    result = json.loads(cli("measure", "copies", "--quick", "--format", "json").out)["result"]
    assert link_model_from_json(result["calibration"]).source == "measured on Simulated GPU"


def test_overlap_is_set_beside_its_prediction(cli, gpu) -> None:
    result = json.loads(cli("measure", "overlap", "--quick", "--format", "json").out)["result"]
    assert result["median_error"] < 0.05
    assert {best["mix"] for best in result["best"]} == {"balanced", "small"}


def test_rows_are_csv(cli, gpu) -> None:
    lines = cli("measure", "kernel-rate", "--quick", "--format", "csv").out.splitlines()
    assert lines[0].startswith("dtype,instruction,operations,seconds")
    assert [line.split(",")[:2] for line in lines[1:4]] == [
        ["fp32", "fma"],
        ["fp64", "fma"],
        ["fp16_tensor", "wgmma"],
    ]
    assert len(lines) == 9


def test_words_of_one_size(cli, gpu) -> None:
    ran = cli("measure", "bandwidth", "--word", "16", "--quick", "--format", "json")
    rows = json.loads(ran.out)["result"]["rows"]
    assert [(row["move"], row["word"]) for row in rows] == [
        ("load", 16),
        ("store", 16),
        ("copy", 16),
    ]
    assert rows[2]["moved"] == 2 * rows[0]["moved"]
    for line in ("bandwidth --word 12", "copies --word 16"):
        assert "--word takes 4, 8 or 16" in cli("measure", *line.split()).err


def test_copies_between_gpus(cli, gpu) -> None:
    rows = json.loads(cli("measure", "p2p", "--quick", "--format", "json").out)["result"]["rows"]
    ways = [(row["from"], row["to"], row["both_ways"], row["peer_access"]) for row in rows]
    one_way = [(0, 1, False), (1, 0, False), (0, 1, True)]
    assert ways == [(*way, access) for access in (False, True) for way in one_way]
    assert rows[0]["rate"] == pytest.approx(STAGED_RATE, rel=0.01)
    assert rows[3]["rate"] == pytest.approx(PEER_RATE, rel=0.05)
    assert rows[5]["rate"] == pytest.approx(2 * PEER_RATE, rel=0.1)
    assert (rows[0]["expected"], rows[3]["expected"]) == (None, pytest.approx(450e9 * 0.88))
    assert gpu.live == 0


def test_gpus_without_a_link_are_held_against_pcie(cli, gpu) -> None:
    gpu.linked = False
    rows = json.loads(cli("measure", "p2p", "--quick", "--format", "json").out)["result"]["rows"]
    assert rows[3]["expected"] == pytest.approx(55.4e9, rel=0.01)


def test_gpus_that_cannot_reach_each_other_are_measured_without(cli, gpu) -> None:
    gpu.reachable = False
    out = cli("measure", "p2p", "--quick", "--format", "csv").out
    assert len(out.splitlines()) == 1 + 3


def test_one_gpu_has_nobody_to_copy_to(cli, gpu) -> None:
    gpu.gpus = 1
    ran = cli("measure", "p2p")
    assert (ran.code, ran.out) == (3, "")
    assert "need two of them; programs started here see 1" in ran.err


def test_what_is_saved_is_used_and_said(cli, gpu, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("GPUADVISE_CALIBRATIONS", str(tmp_path / "new" / "kept.json"))
    for subject in ("copies", "bandwidth", "kernel-rate"):
        ran = cli("measure", subject, "--quick", "--save")
        assert ran.code == 0
        assert "Saved for this GPU in " in ran.err
    here = live(0)
    here = here._replace(device=replace(here.device, origin=Origin.LIVE))
    monkeypatch.setattr(choose, "choose", lambda **given: here)
    work = ("overlap", "--h2d", "64MiB", "--kernel", "1ms")
    roof = ("roofline", "--flops", "1TFLOP", "--bytes", "1GB", "--dtype", "bf16")
    for line in (work, ("bandwidth",), roof):
        assert "Uses what was measured on this GPU on 20" in cli(*line).err
        assert cli(*line, "--calibration", "none").err == ""
    assert "measured on Simulated GPU" in cli(*work).out
    theirs = cli(*roof, "--calibration", "none", "--get", "peak").out
    assert cli(*roof, "--get", "peak").out != theirs


def test_what_no_command_uses_is_not_saved(cli, gpu) -> None:
    ran = cli("measure", "access", "--save")
    assert (ran.code, ran.out) == (2, "")
    assert "measures nothing that other commands use" in ran.err


def test_a_fault_midway_is_said_and_leaves_exit_3(cli, gpu) -> None:
    gpu.before_call = lambda call, name: "CUDA_ERROR_LAUNCH_FAILED" if call > 400 else None
    ran = cli("measure", "copies", "--format", "json")
    result = json.loads(ran.out)["result"]
    assert ran.code == 3
    assert result["partial"] is True
    assert "CUDA_ERROR_LAUNCH_FAILED" in result["stopped"]
    assert result["calibration"] is None


def test_an_overlap_that_breaks_is_compared_with_the_defaults(cli, gpu) -> None:
    gpu.before_call = lambda call, name: "CUDA_ERROR_LAUNCH_FAILED" if call > 4000 else None
    ran = cli("measure", "overlap", "--quick")
    assert ran.code == 3
    assert "Only part of it: " in ran.out


def test_an_interruption_keeps_the_rows_and_leaves_exit_130(cli, gpu) -> None:
    calls_left = iter(range(10_000))

    def once(call: int, name: str) -> None:
        if call > 400 and next(calls_left) == 0:
            raise KeyboardInterrupt

    gpu.before_call = once
    ran = cli("measure", "copies", "--format", "json")
    assert ran.code == 130
    assert json.loads(ran.out)["result"]["stopped"] == "Interrupted."


def test_an_interruption_before_anything_says_nothing(cli, gpu) -> None:
    def at_the_first_copy(call: int, name: str) -> None:
        if name == "cuMemcpyHtoDAsync":
            raise KeyboardInterrupt

    gpu.before_call = at_the_first_copy
    ran = cli("measure", "copies")
    assert (ran.code, ran.out) == (130, "")


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [("fault", 3, "CUDA_ERROR_LAUNCH_FAILED"), ("interrupt", 130, "Interrupted.")],
)
def test_rows_outlive_a_calibration_that_breaks(cli, gpu, end: str, code: int, said: str) -> None:
    def in_the_calibration(call: int, name: str) -> str | None:
        if name != "cuLaunchKernel":  # copies launch nothing, calibrating them does
            return None
        if end == "interrupt":
            raise KeyboardInterrupt
        return "CUDA_ERROR_LAUNCH_FAILED"

    gpu.before_call = in_the_calibration
    ran = cli("measure", "copies", "--quick", "--format", "json")
    result = json.loads(ran.out)["result"]
    assert ran.code == code
    assert (result["partial"], result["calibration"]) == (True, None)
    assert said in result["stopped"]
    assert result["rows"]
    assert gpu.live == 0


@pytest.mark.parametrize("subject", ["copies", "overlap"])
def test_a_full_device_is_said(cli, gpu, subject: str) -> None:
    gpu.used = gpu.memory - 1000
    ran = cli("measure", subject, "--quick")
    assert (ran.code, ran.out) == (3, "")
    assert "Nothing was measured: 1000 B of device memory are free." in ran.err


def test_what_does_not_fit_is_counted(cli, gpu) -> None:
    gpu.used = gpu.memory - (32 << 20)
    ran = cli("measure", "copies", "--quick", "--format", "csv")
    assert ran.err == "note: 6 measurements left out: they need more free device memory.\n"
    assert len(ran.out.splitlines()) == 1 + 4 * 6


def test_quick_calibrates_quickly(cli, gpu) -> None:
    copied = []
    gpu.before_call = lambda call, name: copied.append(gpu.used)
    cli("measure", "overlap", "--quick")
    assert max(copied) < 160 << 20  # two buffers of 64 MiB, not of what fits


def live(cuda_index: int | None, pids: tuple[int, ...] = ()) -> Choice:
    device = find("h200-sxm")
    telemetry = Telemetry(
        processes=tuple(Process(pid=pid, kind=ProcessKind.COMPUTE) for pid in pids)
    )
    gpu = Gpu(device=device, identity=Identity(cuda_index=cuda_index), telemetry=telemetry)
    return Choice(device=device, gpu=gpu)


def test_the_gpu_that_was_asked_for_is_measured(cli, gpu, monkeypatch) -> None:
    opened, taken = [], gpu._cuDeviceGet
    given = {}

    def chosen(**options: object) -> Choice:
        given.update(options)
        return live(3)

    monkeypatch.setattr(CHOOSE, chosen)
    monkeypatch.setattr(
        SimulatedGpu, "_cuDeviceGet", lambda self, ordinal: opened.append(ordinal) or taken(ordinal)
    )
    assert cli("measure", "kernel-rate", "--quick", "--device", "5").code == 0
    assert opened == [3]
    # Only from that depth on is the CUDA driver asked for its numbers.
    assert (given["device"], given["depth"]) == ("5", Depth.TELEMETRY)


def test_a_gpu_that_cuda_does_not_see_is_not_measured(cli, gpu, monkeypatch) -> None:
    monkeypatch.setattr(CHOOSE, lambda **given: live(None))
    ran = cli("measure", "copies", "--quick")
    assert (ran.code, ran.out, gpu.calls) == (3, "", 0)
    assert "CUDA programs started here cannot use NVIDIA H200" in ran.err


def test_other_users_of_the_gpu_are_said(cli, gpu, monkeypatch) -> None:
    monkeypatch.setattr(CHOOSE, lambda **given: live(0, (os.getpid(), 1, 2)))
    ran = cli("measure", "kernel-rate", "--quick")
    assert ran.err == "note: 2 other processes used the GPU.\n"


def test_no_subject_is_one_sentence(cli) -> None:
    ran = cli("measure")
    assert (ran.code, ran.out) == (2, "")
    assert "Missing argument 'SUBJECT'.\n" in ran.err


def test_an_unknown_subject(cli) -> None:
    ran = cli("measure", "heat")
    assert (ran.code, ran.out) == (2, "")
    assert "Measure copies, access, bandwidth, overlap, kernel-rate or p2p." in ran.err


def test_no_live_gpu_is_exit_3_with_a_way_out(cli, monkeypatch) -> None:
    monkeypatch.setattr(CHOOSE, lambda **given: Choice(device=find("h200-sxm")))
    ran = cli("measure", "copies")
    assert (ran.code, ran.out) == (3, "")
    assert "needs a live GPU" in ran.err


# The stub numbers its two GPUs the other way round for CUDA.
@pytest.mark.parametrize(("asked", "ordinal"), [(None, 0), ("0", 1), ("1", 0)])
def test_cudas_number_of_a_live_gpu_is_known(moods, asked: str | None, ordinal: int) -> None:
    moods("two", "two")
    assert cuda_ordinal(live_gpu(asked)) == ordinal
