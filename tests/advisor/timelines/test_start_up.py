"""What a program does once: a compiler at work, and first calls of which no event tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import traces

from gpuadvise.advisor.timelines.gaps import GapCause
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.start_up import first_calls
from gpuadvise.advisor.timelines.timeline import timelines_of

if TYPE_CHECKING:
    from pathlib import Path

    from gpuadvise.advisor.timelines.timeline import Timeline

_MS = 1_000_000


def line_of(path: Path, events: list[dict[str, Any]]) -> Timeline:
    path.write_text(traces.kineto(events))
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    return line


def calls(gaps_ms: list[int], *, work_ms: int = 10) -> list[dict[str, Any]]:
    """Return kernels of *work_ms*, one before each of the gaps and one behind the last."""
    events, time = [], 0
    for gap in [*gaps_ms, 0]:
        events.append(traces.kernel(time, work_ms * 1000))
        time += (work_ms + gap) * 1000
    return events


def test_the_first_calls_of_a_script_are_its_start(tmp_path: Path) -> None:
    line = line_of(tmp_path / "trace", calls([400, 900, 2, 3, 2, 3, 2, 2, 3]))
    assert line.account.start_up_ns == 1300 * _MS
    assert line.account.idle_of(GapCause.HOST_WORK) == 17 * _MS
    assert (line.long_host_gaps.gaps, line.long_host_gaps.total_ns) == (7, 17 * _MS)


@pytest.mark.parametrize(
    "gaps_ms",
    [
        [400, 300, 350, 300, 350],  # as long as what comes later
        [90, 2, 2, 2, 2],  # too short to be a compiler
        [2, 2, 2, 2, 900],  # far into the run
    ],
)
def test_what_comes_again_or_late_is_the_hosts_work(tmp_path: Path, gaps_ms: list[int]) -> None:
    line = line_of(tmp_path / "trace", calls(gaps_ms))
    assert line.account.start_up_ns == 0
    assert line.account.idle_of(GapCause.HOST_WORK) == sum(gaps_ms) * _MS


def test_a_loader_that_starts_its_workers_is_no_start_of_the_program(tmp_path: Path) -> None:
    loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    asked = traces.event("user_annotation", loader, 11_000, 395_000, {})
    line = line_of(tmp_path / "trace", [*calls([400, 2, 2, 2, 2]), asked])
    assert line.account.start_up_ns == 0


@pytest.mark.parametrize(
    ("category", "name", "starts"),
    [
        ("cpu_op", "Torch-Compiled Region: 0/0", True),
        ("cpu_op", "entire_frame_compile (dynamo_timed)", True),
        ("python_function", "torch/_inductor/scheduler.py(1200): codegen", True),
        ("python_function", "triton/compiler/compiler.py(220): compile", True),
        ("python_function", "torch/_dynamo/eval_frame.py(400): _fn", False),
        ("python_function", "train.py(20): evaluate", False),
    ],
)
def test_a_compiler_at_work_is_known_by_name(
    tmp_path: Path, category: str, name: str, *, starts: bool
) -> None:
    gaps = [2, 2, 2, 200, 2, 2]
    outer = traces.event(category, name, 46_500, 199_000, {})
    inner = traces.event("cpu_op", "aten::empty", 47_000, 198_000, {})
    line = line_of(tmp_path / "trace", [*calls(gaps), outer, inner])
    assert line.account.start_up_ns == (200 * _MS if starts else 0)


def test_first_calls_of_nothing_are_none() -> None:
    assert first_calls([], 5) == []


def test_waiting_less_wins_nothing_of_a_start(tmp_path: Path) -> None:
    """A launch of 1 s between kernels, each of which is waited for."""
    starts = [0, 110_000, *(1_300_000 + 110_000 * at for at in range(10))]
    events = [traces.kernel(at, 100_000) for at in starts]
    events += [traces.call(at, 100_000, "cudaDeviceSynchronize") for at in starts]
    events += [traces.call(at - 10, 5) for at in starts]
    events.append(traces.call(210_000, 1_089_000))
    line = line_of(tmp_path / "trace", events)
    assert line.account.start_up_ns == pytest.approx(1090 * _MS, rel=0.01)
    between = 10 * 10 * _MS
    assert 0 < line.saved_without_waits_ns <= between
