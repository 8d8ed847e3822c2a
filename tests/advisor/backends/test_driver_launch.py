"""The driver asked about a launch: a real child process, and a small driver of our own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuadvise.advisor.backends.driver_launch import DriverLaunch, kernel_text
from gpuadvise.advisor.backends.live_launch import driver_launch
from gpuadvise.advisor.gpu import Identity
from gpuadvise.advisor.occupancy.launch import Launch

FIRST = Identity(cuda_index=0)
LAUNCH = Launch(threads=256, registers=32)


def test_blocks_without_clusters(moods) -> None:
    assert driver_launch(FIRST, LAUNCH) == DriverLaunch(registers=32, blocks_per_sm=8)


def test_clusters_and_the_largest(moods) -> None:
    launch = replace(LAUNCH, cluster_dim=(2, 2, 1))
    expected = DriverLaunch(registers=32, blocks_per_sm=8, clusters=264, largest_cluster=8)
    assert driver_launch(FIRST, launch) == expected
    moods(cuda_moods="lumpy")
    assert driver_launch(FIRST, launch).clusters == 220


def test_a_cluster_that_is_too_large_is_no_failure(moods) -> None:
    launch = replace(LAUNCH, cluster_dim=(16, 1, 1))
    assert driver_launch(FIRST, launch).clusters == 0
    allowed = driver_launch(FIRST, replace(launch, nonportable_cluster=True))
    assert (allowed.clusters, allowed.largest_cluster) == (66, 16)


def test_memory_beyond_what_a_block_can_have(moods) -> None:
    most = driver_launch(FIRST, replace(LAUNCH, dynamic_shared=232_448))
    more = driver_launch(FIRST, replace(LAUNCH, dynamic_shared=232_449))
    assert (most.blocks_per_sm, more.blocks_per_sm) == (1, 0)


@pytest.mark.parametrize("registers", [1, 16, 33, 64, 250, 255])
def test_the_kernel_is_charged_as_asked(moods, registers: int) -> None:
    found = driver_launch(FIRST, replace(LAUNCH, registers=registers))
    assert found.registers == min(-(-registers // 8) * 8, 255)


def test_a_compiler_that_takes_other_registers_is_told(moods) -> None:
    moods(cuda_moods="greedy")
    assert driver_launch(FIRST, LAUNCH).registers == 200


@pytest.mark.parametrize(
    ("mood", "problem"),
    [
        ("nojit", "The CUDA driver cannot be asked: error 218."),
        ("nodevice", "cannot be asked"),
        ("mismatch", "different versions"),
        ("crash", "crashed when asked"),
        ("garbage", "could not be asked"),
    ],
)
def test_a_sick_driver_is_a_problem_in_words(moods, mood: str, problem: str) -> None:
    moods(cuda_moods=mood)
    found = driver_launch(FIRST, LAUNCH)
    assert found.blocks_per_sm is None
    assert problem in (found.problem or "")


def test_a_gpu_that_the_driver_does_not_show(moods) -> None:
    other = Identity(uuid="GPU-00000000-0000-0000-0000-00000000dead")
    assert "does not show this GPU" in (driver_launch(other, LAUNCH).problem or "")


def test_the_text_takes_what_is_asked() -> None:
    text = kernel_text(3, 40, 128, 2).decode()
    assert text.endswith("}\n\0")
    assert text.count("ld.volatile.global.f32") == text.count("st.volatile.global.f32") == 3
    assert ".maxnreg 40" in text
    assert "memory[128]" in text
    assert "barrier.sync 1;" in text
    assert "barrier.sync 2;" not in text
    assert "memory" not in kernel_text(1, 16, 0, 0).decode()
