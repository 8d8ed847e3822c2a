"""A sick driver can neither hang nor crash the program that asks."""

from __future__ import annotations

import json
import sys
import time

import pytest

from gpuadvise.advisor.backends.probe import Probe, ask_all
from gpuadvise.advisor.backends.probe_child import main


def test_every_probe_answers_with_a_report(moods) -> None:
    driver, plain, live, identity = ask_all(tuple(Probe))
    assert [each.problem for each in (driver, plain, live, identity)] == [None] * 4
    assert driver.answer["cuda_version"] == "13.0"
    assert plain.answer["gpus"][0]["memory_bus_bits"] == 6016
    assert plain.answer["gpus"][0]["telemetry"] is None
    assert live.answer["gpus"][0]["telemetry"]["power_watts"] == 76.5
    assert identity.answer["gpus"][0]["memory_bus_bits"] is None


def test_who_answered_in_time_is_heard_after_another_hung(moods) -> None:
    moods("hang")
    nvml, driver = ask_all((Probe.NVML, Probe.DRIVER), patience=6.0)
    assert nvml.problem is not None
    assert driver.answer["cuda_version"] == "13.0"


def test_two_hanging_drivers_share_the_time_limit(moods) -> None:
    moods("hang", "hang")
    start = time.monotonic()
    outcomes = ask_all((Probe.NVML, Probe.DRIVER), patience=3.0)
    assert time.monotonic() - start < 5.5
    assert all("did not answer within 3 s" in str(each.problem) for each in outcomes)


def test_a_hanging_driver_is_left_after_the_time_limit(moods) -> None:
    moods(nvml_moods="hang")
    start = time.monotonic()
    (outcome,) = ask_all((Probe.NVML,), patience=0.5)
    assert time.monotonic() - start < 5
    assert outcome.problem == "NVML did not answer within 0.5 s and was left alone."


def test_a_crashing_driver_is_one_sentence_and_the_other_answers(moods) -> None:
    moods(cuda_moods="crash")
    nvml, driver = ask_all((Probe.NVML, Probe.DRIVER))
    assert driver.problem == "The CUDA driver crashed when asked (signal 11)."
    assert nvml.answer["gpus"][0]["name"] == "NVIDIA H200"


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("print('{not json')", "could not be asked: no answer."),
        ("import sys; sys.exit('no module of that name')", "no module of that name."),
        ("", "no answer."),
    ],
)
def test_an_unusable_answer_is_one_sentence(script: str, problem: str) -> None:
    (outcome,) = ask_all((Probe.DRIVER,), python=(sys.executable, "-c", script))
    assert outcome.answer is None
    assert outcome.problem is not None
    assert outcome.problem.startswith("The CUDA driver could not be asked: ")
    assert outcome.problem.endswith(problem)


def test_a_child_that_cannot_be_killed_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuadvise.advisor.backends import probe

    monkeypatch.setattr(probe, "_FAREWELL_SECONDS", 0.2)
    # A grandchild keeps the pipe open, as a process stuck in the kernel would.
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(20)'])"
    start = time.monotonic()
    (outcome,) = ask_all((Probe.NVML,), patience=0.5, python=(sys.executable, "-c", script))
    assert time.monotonic() - start < 15
    assert outcome.problem is not None


@pytest.mark.parametrize("probe", Probe)
def test_the_child_prints_one_json_value(moods, capsys, probe: Probe) -> None:
    main(probe)
    assert json.loads(capsys.readouterr().out)["problem"] is None
