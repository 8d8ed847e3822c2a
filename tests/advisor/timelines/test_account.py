"""The account of a span: what comes once, what waits cost, and that nothing is counted twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import traces
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.timelines.account import Account
from gpuadvise.advisor.timelines.evidence import traced_run
from gpuadvise.advisor.timelines.gaps import GapCause, IdleTime
from gpuadvise.advisor.timelines.intervals import Cover, IntervalLog, Intervals
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.replay import Replay
from gpuadvise.advisor.timelines.timeline import timelines_of
from gpuadvise.advisor.transfers.links import default_link_model

if TYPE_CHECKING:
    from pathlib import Path

    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.timelines.timeline import Timeline


def line_of(path: Path, events: list[dict[str, Any]]) -> Timeline:
    path.write_text(traces.kineto(events))
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    return line


def run_of(line: Timeline) -> TracedRun:
    return traced_run(line, default_link_model(line.device))


def test_parts_that_are_not_the_span_are_refused() -> None:
    idle = (IdleTime(cause=GapCause.LAUNCH, gaps=1, total_ns=40),)
    parts = {"computing_ns": 30, "communication_ns": 10, "copies_ns": 15, "memsets_ns": 5}
    account = Account(span_ns=100, idle=idle, **parts)
    assert (account.busy_ns, account.idle_ns, account.steady_ns) == (60, 40, 100)
    with pytest.raises(ValueError, match="not its span"):
        Account(span_ns=101, idle=idle, **parts)


def test_each_kind_of_work_is_counted_once(tmp_path: Path) -> None:
    account = line_of(
        tmp_path / "trace",
        [
            traces.kernel(0, 100),
            traces.kernel(50, 100, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", stream=2),
            traces.copy(120, 50, 1 << 10, stream=3),
            traces.event("gpu_memset", "Memset (Device)", 160, 40, {"device": 0, "bytes": 4}),
        ],
    ).account
    assert (account.computing_ns, account.communication_ns) == (100_000, 50_000)
    assert (account.copies_ns, account.memsets_ns, account.idle_ns) == (20_000, 30_000, 0)


def test_one_long_launch_is_the_start_and_not_launches(tmp_path: Path) -> None:
    at, kernels, launches = 0.0, [], []
    for number in range(500):
        if number == 250:
            launches.append(traces.call(at, 1_300_000))
            at += 1_300_000
        else:
            launches.append(traces.call(at - 100, 5))
        kernels.append(traces.kernel(at, 180))
        at += 180
    line = line_of(tmp_path / "trace", kernels + launches)
    assert line.account.start_up_ns == 1_300_000_000
    run = run_of(line)
    assert not run.launch_bound
    assert run.span_seconds == pytest.approx(0.09)
    assert run.start_up_seconds == pytest.approx(1.3)


def test_libraries_loaded_around_a_call_that_comes_once_are_the_start_too(tmp_path: Path) -> None:
    events = [traces.kernel(0, 100), traces.kernel(50_000, 100)]
    events += [traces.call(1000, 20_000, "cudaStreamCreateWithFlags")]
    assert line_of(tmp_path / "trace", events).account.start_up_ns == 49_900_000
    longer = [traces.kernel(0, 100), traces.kernel(90_000, 100), events[2]]
    assert line_of(tmp_path / "longer", longer).account.start_up_ns == 20_000_000
    short = [*events[:2], traces.call(1000, 4_900, "cudaStreamCreateWithFlags")]
    assert line_of(tmp_path / "short", short).account.start_up_ns == 0


@pytest.mark.parametrize(("last", "started"), [(3, True), (8, False)])
def test_allocations_of_the_first_third_fill_a_pool(
    last: int, started: bool, tmp_path: Path
) -> None:
    events = [traces.kernel(1000 * at, 500) for at in range(12)]
    events += [traces.call(1000 * at + 500, 500, "cudaMalloc") for at in range(last)]
    account = line_of(tmp_path / "trace", events).account
    assert account.idle_of(GapCause.START_UP) == (500_000 * last if started else 0)
    assert account.idle_of(GapCause.ALLOCATION) == (0 if started else 500_000 * last)


@pytest.mark.parametrize(("frees", "again"), [(0, False), (9, False), (10, True)])
def test_memory_that_is_kept_is_allocated_once(frees: int, again: bool, tmp_path: Path) -> None:
    """A pool that grows through the run has most of it still at the end."""
    events = [traces.kernel(1000 * at, 500) for at in range(40)]
    events += [traces.call(1000 * at + 500, 400, "cudaMalloc") for at in range(20)]
    events += [traces.call(1000 * at + 510, 10, "cudaFreeAsync") for at in range(20, 20 + frees)]
    account = line_of(tmp_path / "trace", events).account
    assert (account.idle_of(GapCause.ALLOCATION) > 0) is again
    assert (account.idle_of(GapCause.START_UP) > 0) is not again


def test_calls_that_are_often_slow_are_no_start(tmp_path: Path) -> None:
    events = [traces.kernel(10_000 * at, 1000) for at in range(30)]
    events += [traces.call(10_000 * at, 5) for at in range(30)]
    events += [traces.call(10_000 * at + 1000, 9000) for at in range(10)]
    line = line_of(tmp_path / "trace", events)
    assert line.account.start_up_ns == 0
    assert line.account.idle_of(GapCause.LAUNCH) >= 89_900_000


def test_the_profilers_own_events_and_loaded_code_stand_apart(tmp_path: Path) -> None:
    def overhead(name: str) -> list[dict[str, Any]]:
        held = traces.event("overhead", name, 100, 900, {})
        return [traces.kernel(0, 100), traces.kernel(1000, 100), held]

    for name, cause in (
        ("Activity Buffer Request", GapCause.PROFILER),
        ("Lazy Function Loading", GapCause.MODULE_LOAD),
        ("Command Buffer Full", GapCause.HOST_WORK),
    ):
        account = line_of(tmp_path / "trace", overhead(name)).account
        assert account.idle_of(cause) == 900_000


def test_waits_do_not_hide_the_hosts_own_work(tmp_path: Path) -> None:
    """A product of 2.67 ms, a wait, and 5.3 ms of the host's own work: 19 and 20 times."""
    bounds = []
    for steps in (20, 21):
        events, at = [], 0.0
        for _ in range(steps):
            events += [traces.kernel(at, 2670), traces.call(at - 20, 10)]
            events.append(traces.call(at, 2671, "cudaDeviceSynchronize"))
            at += 2670 + 5300
        line = line_of(tmp_path / "trace", events)
        run = run_of(line)
        assert run.host_bound
        assert run.host_idle_seconds == pytest.approx(5.3e-3 * (steps - 1))
        waiting = run.bound(run.lost_to_waits)
        assert waiting == pytest.approx(1.49, abs=0.04)
        bounds.append(run.bound_without_host_gaps)
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-3)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50), st.integers(0, 30)), min_size=2))
def test_a_replay_is_what_running_the_queue_again_tells(steps: list[tuple[int, int, int]]) -> None:
    """Steps of (host's own time, time of the kernel, time for which the host waits after it)."""
    host = free = 0
    submitted, work, waits = [], IntervalLog(), IntervalLog()
    for own, length, waiting in steps:
        host += own
        start = max(host, free)
        free = start + length
        submitted.append((host, length))
        work.add(start, free)
        waits.add(host, host + waiting)
        host += waiting
    begin = submitted[0][0]
    removed = free_again = 0
    for (host_at, length), (_, _, waiting) in zip(submitted, steps, strict=True):
        free_again = max(host_at - removed, free_again) + length
        removed += waiting
    replay = Replay(Cover([waits]))
    replay.begin(begin)
    end = None
    for block in Cover([work]).blocks():
        gaps = Intervals(block.ends[:-1], block.starts[1:])
        if end is not None:
            gaps.starts.insert(0, end)
            gaps.ends.insert(0, block.starts[0])
        replay.add(gaps)
        end = block.ends[-1]
    assert replay.saved_ns == free - free_again
