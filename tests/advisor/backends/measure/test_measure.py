"""Measuring from end to end on a simulated GPU: rates come back, and everything is given back."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import simulated_gpu
from simulated_gpu import SimulatedGpu

from gpuadvise.advisor.backends.measure import calls
from gpuadvise.advisor.backends.measure.access import AccessKind, measure_access, patterns
from gpuadvise.advisor.backends.measure.calibrate import calibrated, issue_costs
from gpuadvise.advisor.backends.measure.copies import CopyKind, measure_copies, sizes
from gpuadvise.advisor.backends.measure.overlap import measure_overlap
from gpuadvise.advisor.backends.measure.rate import measure_rates
from gpuadvise.advisor.backends.measure.session import Session, collect
from gpuadvise.advisor.errors import Unavailable


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> SimulatedGpu:
    simulated = SimulatedGpu()
    monkeypatch.setattr(calls, "driver", lambda: simulated)
    monkeypatch.setattr("gpuadvise.advisor.backends.measure.session.driver", lambda: simulated)
    still = SimpleNamespace(perf_counter=simulated.now)  # the simulated host takes no time
    monkeypatch.setattr("gpuadvise.advisor.backends.measure.timing.time", still)
    return simulated


def test_copies_show_the_rates_of_the_link(gpu: SimulatedGpu) -> None:
    with Session() as session:
        copies = list(measure_copies(session))
        model = calibrated(session, copies)
    assert {copy.kind for copy in copies} == set(CopyKind)
    assert max(copy.bytes for copy in copies) == 64 << 20  # a quarter of the free memory
    assert model.h2d_rate == pytest.approx(simulated_gpu.H2D_RATE, rel=0.02)
    assert model.d2h_rate == pytest.approx(simulated_gpu.D2H_RATE, rel=0.02)
    assert model.copy_latency == pytest.approx(simulated_gpu.COPY_LATENCY, rel=0.05)
    assert model.kernel_latency == pytest.approx(simulated_gpu.KERNEL_LATENCY, rel=0.02)
    assert model.duplex_slowdown == pytest.approx(1, abs=0.3)
    assert model.source == "measured on Simulated GPU"
    assert (gpu.used, gpu.live) == (0, 0)


def test_quick_copies_take_fewer_sizes(gpu: SimulatedGpu) -> None:
    with Session() as session:
        quick = {copy.bytes for copy in measure_copies(session, quick=True)}
    assert quick == {1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20}
    assert sizes(quick=True, free_bytes=1 << 20) == (1 << 10, 16 << 10, 256 << 10)


@pytest.mark.parametrize("quick", [True, False])
def test_every_pattern_is_measured_once(gpu: SimulatedGpu, quick: bool) -> None:
    with Session() as session:
        accesses = list(measure_access(session, quick=quick))
    assert tuple(access.pattern for access in accesses) == patterns(quick=quick)
    assert {access.pattern.move for access in accesses} == set(AccessKind)
    unit = accesses[0]
    assert unit.rate == unit.moved / unit.seconds.median
    assert unit.moved % (4 * 2048) == 0
    assert gpu.used == 0


def test_rates_follow_from_operations_and_time(gpu: SimulatedGpu) -> None:
    with Session() as session:
        rates = {rate.dtype: rate for rate in measure_rates(session, quick=True)}
    assert {dtype for dtype, rate in rates.items() if rate.instruction == "fma"} == {"fp32", "fp64"}
    assert rates["fp64_tensor"].instruction == "mma"
    # 4 SMs, 4 blocks each, 2 warp groups of 4 instructions on 64 x 256 x 16 products, 512 rounds.
    assert rates["bf16_tensor"].operations == 16 * 512 * 2 * 4 * 2 * 64 * 256 * 16
    threads = 4 * 2048
    assert rates["fp32"].operations == threads * 1024 * 64 * 4 * 2
    seconds = simulated_gpu.KERNEL_LATENCY + 1024 * simulated_gpu.ROUND
    assert rates["fp32"].rate == pytest.approx(rates["fp32"].operations / seconds)


def test_staging_hides_copies_behind_the_kernel(gpu: SimulatedGpu) -> None:
    with Session() as session:
        stagings = list(measure_overlap(session, quick=True))
    balanced = {s.streams: s for s in stagings if s.mix.name == "balanced" and not s.mix.copy_back}
    assert set(balanced) == {1, 2, 4, 8, 16}
    parts = balanced[1].parts
    assert parts.kernel.median == pytest.approx(parts.h2d.median, rel=0.05)
    assert parts.d2h is None
    alone = parts.h2d.median + parts.kernel.median
    assert balanced[1].seconds.median == pytest.approx(alone, rel=0.01)
    assert balanced[8].seconds.median < 0.65 * alone
    assert any(s.parts.d2h for s in stagings if s.mix.copy_back)
    assert (gpu.used, gpu.live) == (0, 0)


def test_a_job_that_does_not_fit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    small = SimulatedGpu(memory=20 << 20)
    monkeypatch.setattr(calls, "driver", lambda: small)
    monkeypatch.setattr("gpuadvise.advisor.backends.measure.session.driver", lambda: small)
    with Session() as session:
        assert {s.mix.name for s in measure_overlap(session, quick=True)} == {"small"}


def test_the_host_pays_for_launches_and_copies(gpu: SimulatedGpu) -> None:
    with Session() as session:
        costs = issue_costs(session)
    assert 0 <= costs.launch < 1e-3
    assert 0 < costs.copy < 1e-3


def lost_at(gpu: SimulatedGpu, number: int, word: str = "CUDA_ERROR_LAUNCH_FAILED") -> None:
    gpu.before_call = lambda call, name: word if call >= number else None


def test_a_device_lost_midway_leaves_what_was_measured(gpu: SimulatedGpu) -> None:
    with Session() as session:
        before = gpu.calls
        first = next(iter(measure_copies(session)))
        one_copy = gpu.calls - before
    lost_at(gpu, gpu.calls + 2 * one_copy)
    told: list[object] = []
    with Session() as session:
        collected = collect(measure_copies(session), told.append)
    assert collected.partial
    assert collected.fault
    assert "CUDA_ERROR_LAUNCH_FAILED" in collected.fault
    assert list(collected.items) == told
    assert first.kind is collected.items[0].kind


def test_no_memory_at_all_is_an_error_with_a_way_out(gpu: SimulatedGpu) -> None:
    gpu.before_call = lambda call, name: (
        "CUDA_ERROR_OUT_OF_MEMORY" if name == "cuMemAlloc" else None
    )
    with (
        pytest.raises(Unavailable, match="cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY") as caught,
        Session() as session,
    ):
        collect(measure_copies(session), print)
    assert caught.value.hint == "Free device memory, or measure with --quick."
    assert gpu.live == 0


def test_an_interruption_keeps_what_was_measured(gpu: SimulatedGpu) -> None:
    def interrupted(call: int, name: str) -> None:
        if name == "cuMemcpyDtoDAsync":
            raise KeyboardInterrupt

    gpu.before_call = interrupted
    with Session() as session:
        collected = collect(measure_copies(session), lambda copy: None)
    assert (collected.interrupted, collected.partial, collected.fault) == (True, True, None)
    assert [copy.kind for copy in collected.items] == [
        CopyKind.PINNED_H2D, CopyKind.PINNED_D2H, CopyKind.PINNED_BOTH,
    ]  # fmt: skip
    assert (gpu.used, gpu.live) == (0, 0)


def test_without_a_driver_there_is_a_sentence() -> None:
    from pathlib import Path

    if Path("/dev/nvidiactl").exists():
        with Session() as session:
            assert session.properties().sm_count > 0
    else:
        with pytest.raises(Unavailable, match="no NVIDIA driver"), Session():
            pass
