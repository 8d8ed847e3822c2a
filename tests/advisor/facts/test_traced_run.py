"""What a recorded run as a whole is held up by."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuadvise.advisor.facts.timeline import TracedRun

# Kernels of 20 us, and 400 us of Python between two of them.
EAGER = TracedRun(
    span_seconds=0.168,
    busy_seconds=0.008,
    kernels=400,
    launches=400,
    median_kernel_seconds=20e-6,
    launch_idle_seconds=0.16,
)


def test_kernels_that_wait_for_the_host_most_of_the_time_are_launch_bound() -> None:
    assert EAGER.launch_bound
    assert not EAGER.host_bound  # no single gap is long


def test_longer_kernels_with_some_idle_time_are_not() -> None:
    longer = replace(EAGER, busy_seconds=0.08, launch_idle_seconds=0.088)
    assert not longer.launch_bound
    assert replace(longer, median_kernel_seconds=4e-6).launch_bound


def test_waiting_for_other_ranks_is_no_work() -> None:
    few = replace(EAGER, kernels=52, busy_seconds=0.015)
    assert not few.is_a_test
    assert replace(few, exposed_communication_seconds=0.0148).is_a_test


def test_without_the_hosts_work_a_busy_gpu_has_its_work_queued() -> None:
    """What launches take until the host is ahead again goes too, where the rest is mostly the GPU's work."""
    busy = TracedRun(
        span_seconds=10.0,
        busy_seconds=2.0,
        host_idle_seconds=7.0,
        host_gaps=2,
        launch_idle_seconds=0.5,
    )
    assert busy.bound_without_host_gaps == pytest.approx(10 / 2.5)
    starved = replace(busy, busy_seconds=1.0)
    assert starved.bound_without_host_gaps == pytest.approx(10 / 3)
    late = replace(busy, launch_idle_seconds=5.0)  # no more than all of it goes
    assert late.bound_without_host_gaps == pytest.approx(10 / 2)


def test_copies_of_the_hosts_work_go_with_it_and_so_do_their_calls() -> None:
    run = TracedRun(
        span_seconds=10.0,
        busy_seconds=3.0,
        host_idle_seconds=6.0,
        host_gaps=2,
        host_copy_seconds=1.0,
        exposed_copy_seconds=2.0,
        copy_idle_seconds=0.4,
    )
    assert run.lost_to_host_work == pytest.approx(7.2)
    assert run.bound_without_host_gaps == pytest.approx(10 / 2.8)
