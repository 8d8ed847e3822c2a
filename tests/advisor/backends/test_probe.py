"""A sick driver can neither hang nor crash the program that asks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from gpuadvise.advisor.backends.probe import Probe, ask_all
from gpuadvise.advisor.backends.probe_child import main

# Those that are asked about nothing in particular.
REPORTS = [probe for probe in Probe if probe is not Probe.LAUNCH]


def test_every_probe_answers_with_a_report(moods) -> None:
    driver, plain, live, identity = ask_all(REPORTS)
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


@pytest.mark.parametrize("probe", REPORTS)
def test_the_child_prints_one_json_value(moods, capsys, probe: Probe) -> None:
    main(probe)
    assert json.loads(capsys.readouterr().out)["problem"] is None


# A process with one thread and no driver loaded, as a command line is, forks its probes.
FORKING = """
import json, sys, time
from gpuadvise.advisor.backends import driver_presence, probe
from gpuadvise.advisor.backends.probe import Probe, ask_ahead, ask_all
driver_presence._UNIX = ("proc",)
class Never(probe.subprocess.Popen):
    def __init__(self, command, *args, **kinds):
        if command[0] == sys.executable: raise SystemExit("spawned")
        super().__init__(command, *args, **kinds)  # cuda-python asks ldconfig
probe.subprocess.Popen = Never
{body}
start = time.monotonic()
outcomes = ask_all((Probe.NVML, Probe.DRIVER), patience=1.5)
print(json.dumps([[o.problem, o.answer] for o in outcomes] + [time.monotonic() - start]))
"""


@pytest.fixture
def forked(moods, monkeypatch: pytest.MonkeyPatch):
    """Ask both drivers from a process that forks, in the moods that the environment has."""

    def ask(body: str = "") -> tuple[list, list, float]:
        done = subprocess.run(
            [sys.executable, "-c", FORKING.format(body=body)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return tuple(json.loads(done.stdout))

    return ask


@pytest.mark.parametrize("body", ["", "ask_ahead((Probe.DRIVER, Probe.NVML))"])
def test_a_fork_answers_as_a_new_python_does(forked, body: str) -> None:
    (why, nvml), (why_not, driver), _ = forked(body)
    assert (why, why_not) == (None, None)
    assert nvml["gpus"][0]["memory_bus_bits"] == 6016
    assert driver["gpus"][0]["attributes"]["multiprocessor_count"] == 132


def test_a_fork_that_hangs_is_left_after_the_time_limit(forked, moods) -> None:
    moods("hang", "")
    (problem, _), (_, driver), seconds = forked()
    assert problem == "NVML did not answer within 1.5 s and was left alone."
    assert driver["cuda_version"] == "13.0"
    assert seconds < 4


def test_a_fork_that_crashes_is_one_sentence(forked, moods) -> None:
    moods("", "crash")
    (_, nvml), (problem, _), _ = forked()
    assert problem == "The CUDA driver crashed when asked (signal 11)."
    assert nvml["gpus"][0]["name"] == "NVIDIA H200"


def test_what_a_library_prints_is_no_answer(forked, moods) -> None:
    moods("", "garbage")
    _, (problem, _), _ = forked()
    assert problem == "The CUDA driver could not be asked: no answer."


def test_a_fault_of_the_child_is_told_by_its_answer(forked) -> None:
    body = "import sys; sys.modules['gpuadvise.advisor.backends.nvml_report'] = None"
    (_, nvml), _, _ = forked(body)
    assert nvml["problem"].startswith("NVML could not be asked: ")


def test_who_asked_ahead_and_needs_no_answer_ends_the_children(moods) -> None:
    moods("hang", "hang")
    script = (
        "from gpuadvise.advisor.backends import driver_presence, probe\n"
        "driver_presence._UNIX = ('proc',)\n"
        "probe.ask_ahead(tuple(probe.Probe))\n"
        "print(*(child.pid for child in probe._ahead.values()))\n"
    )
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert time.monotonic() - start < 20
    deadline = time.monotonic() + 5
    while any(os.path.exists(f"/proc/{pid}") for pid in done.stdout.split()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_where_a_driver_or_a_thread_is_loaded_nothing_is_forked(moods) -> None:
    script = (
        "import threading\n"
        "from gpuadvise.advisor.backends import probe\n"
        "print(probe._can_fork())\n"
        "stop = threading.Event(); threading.Thread(target=stop.wait).start()\n"
        "print(probe._can_fork()); stop.set()\n"
        "import ctypes, time; time.sleep(0.2)\n"
        "ctypes.CDLL('libcuda.so.1'); print(probe._can_fork())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "False", "False"]


@pytest.mark.parametrize("body", ["", "ask_ahead((Probe.DRIVER, Probe.NVML))"])
def test_where_no_process_can_be_started_that_is_the_answer(forked, body: str) -> None:
    refuse = (
        "import errno, os\n"
        "def refuse(): raise BlockingIOError(errno.EAGAIN, 'Too many are there')\n"
        "os.fork = refuse\n"
    )
    (nvml, _), (driver, _), _ = forked(refuse + body)
    why = "could not be asked: no process can be started (Too many are there)."
    assert (nvml, driver) == (f"NVML {why}", f"The CUDA driver {why}")
