"""The CUDA driver through the real bindings, on an imaginary driver."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gpuadvise.advisor.backends import driver, driver_library
from gpuadvise.advisor.catalogue import find
from gpuadvise.advisor.driver_limits import LimitDifference, differences, driver_limits, with_driver


@pytest.fixture(params=["cuda-python", "library"])
def moods(moods, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    """Ask the imaginary driver both ways: through cuda-python, and where that is not installed."""
    if request.param == "library":
        monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    return moods


def test_both_ways_tell_the_same(moods) -> None:
    moods(cuda_moods="two,linked")
    assert driver._told_by(driver.LoadedDriver()) == driver.report()


def test_cuda_python_goes_before_the_library(stub_folder) -> None:
    code = (
        "from gpuadvise.advisor.backends import driver, driver_library\n"
        "driver_library.load = None\n"
        "print(driver.report().gpus[0].name)"
    )
    env = {**os.environ, "LD_LIBRARY_PATH": str(stub_folder)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert (done.stdout, done.returncode) == ("NVIDIA H200\n", 0)


def test_an_attribute_that_cuda_python_does_not_know_is_unknown_alone(
    moods, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(driver.ATTRIBUTES, "imaginary", 99_999)
    (gpu,) = driver.report().gpus
    assert "does not know the attribute" in gpu.reasons["imaginary"]
    assert gpu.attributes["multiprocessor_count"] == 132


def test_attributes_have_the_drivers_names_and_units(moods) -> None:
    report = driver.report()
    assert (report.problem, report.cuda_version) == (None, "13.0")
    (gpu,) = report.gpus
    assert (gpu.name, gpu.cuda_index) == ("NVIDIA H200", 0)
    assert gpu.uuid == "GPU-00000000-0000-0000-0000-000000000001"
    assert gpu.pci_bus_id == "0000:06:00.0"
    assert gpu.memory_bytes == 150_109_880_320
    assert gpu.attributes["memory_clock_rate"] == 3_201_000
    assert gpu.attributes["max_shared_memory_per_block_optin"] == 232_448
    assert gpu.reasons["max_pitch"] == "this driver does not know the attribute"
    assert "max" not in gpu.reasons


def test_each_fact_fails_alone(moods) -> None:
    moods(cuda_moods="nameless")
    (gpu,) = driver.report().gpus
    assert gpu.name is None
    assert "Unknown Error" in gpu.reasons["name"]
    assert gpu.uuid is not None


def test_a_driver_without_gpus_is_no_problem(moods) -> None:
    moods(cuda_moods="nodevice")
    report = driver.report()
    assert (report.problem, report.gpus, report.cuda_version) == (None, (), "13.0")


@pytest.mark.parametrize(
    ("mood", "words"),
    [("mismatch", "different versions"), ("odd", "CUDA_ERROR_INVALID_CONTEXT")],
)
def test_a_driver_that_does_not_start_is_one_sentence(moods, mood: str, words: str) -> None:
    moods(cuda_moods=mood)
    problem = driver.report().problem
    assert problem is not None
    assert problem.startswith("The CUDA driver does not start: ")
    assert words in problem


def test_attribute_numbers_are_those_of_the_bindings() -> None:
    from cuda.bindings.driver import CUdevice_attribute

    for name, number in driver.ATTRIBUTES.items():
        assert int(getattr(CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name.upper()}")) == number


@pytest.fixture
def without_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide cuda-python."""
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)


def test_a_library_that_cannot_be_loaded_is_one_sentence(
    without_bindings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_library, "LIBRARY", "libnowhere.so.1")
    problem = driver.report().problem
    assert problem is not None
    assert problem.startswith("The CUDA driver's library cannot be loaded: ")


def test_a_function_that_the_driver_lacks_is_one_sentence(
    without_bindings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_library, "LIBRARY", "libc.so.6")
    problem = driver.report().problem
    assert problem == (
        "The CUDA driver does not start: the driver has no function cuDriverGetVersion."
    )


def test_peers_and_their_atomics(moods) -> None:
    moods(cuda_moods="two,linked")
    first, second = driver.report().gpus
    assert [(peer.cuda_index, peer.access, peer.atomics) for peer in first.peers] == [
        (1, True, True)
    ]
    assert second.peers[0].cuda_index == 0
    moods(cuda_moods="two")
    assert driver.report().gpus[0].peers[0].atomics is False


def test_a_missing_library_is_one_sentence() -> None:
    code = "from gpuadvise.advisor.backends import driver; print(driver.report().problem)"
    env = {**os.environ, "LD_LIBRARY_PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0
    assert done.stdout.startswith(("The CUDA ", "None"))
    assert done.stdout.count("\n") == 1


def test_the_h200_model_agrees_with_its_driver(moods) -> None:
    attributes = driver.report().gpus[0].attributes
    limits = find("h200").limits
    assert differences(limits, attributes) == ()
    assert with_driver(limits, attributes) == limits
    assert len(driver_limits(attributes)) == 13


def test_a_disagreement_is_named_with_both_numbers() -> None:
    limits = find("h200").limits
    attributes = {"max_blocks_per_multiprocessor": 16, "warp_size": 0}
    found = differences(limits, attributes)
    assert found == (LimitDifference(field="max_blocks_per_sm", model=32, driver=16),)
    assert with_driver(limits, attributes).max_blocks_per_sm == 16
