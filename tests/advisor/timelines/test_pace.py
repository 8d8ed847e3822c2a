"""Work that a clock paces, and launches that a recording lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import traces

from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.timeline import timelines_of
from tests.support import exports

if TYPE_CHECKING:
    from pathlib import Path

    from gpuadvise.advisor.timelines.timeline import Timeline


def line_of(path: Path, events: list[dict[str, Any]]) -> Timeline:
    path.write_text(traces.kineto(events))
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    return line


def frames(period_us: float, count: int, late_us: int = 0) -> list[dict[str, Any]]:
    """Return kernels of 1 ms, every third of which comes later."""
    return [traces.kernel(period_us * at + late_us * (at % 3 == 0), 1000) for at in range(count)]


@pytest.mark.parametrize(
    ("period", "count", "late", "paced"),
    [
        (40_000, 60, 0, True),
        (40_000, 60, 1_000, True),
        (40_100, 60, 0, True),
        (33_367, 60, 0, True),  # television
        (43_000, 60, 0, False),  # no camera's rate: the host takes as long
        (40_000, 60, 20_000, False),
        (40_000, 40, 0, False),
    ],
)
def test_frames_come_at_the_rate_of_a_camera(
    tmp_path: Path, period: int, count: int, late: int, *, paced: bool
) -> None:
    line = line_of(tmp_path / "trace", frames(period, count, late))
    assert (line.frame_period_ns is not None) is paced


@pytest.mark.parametrize(("period_ms", "paced"), [(20, True), (23, False)])
def test_exports_tell_a_pace_too(tmp_path: Path, period_ms: int, *, paced: bool) -> None:
    kernel = exports.ROWS["CUPTI_ACTIVITY_KIND_KERNEL"][0]
    starts = [at * period_ms * 1_000_000 for at in range(60)]
    rows = {
        "CUPTI_ACTIVITY_KIND_KERNEL": [(start, start + 1_000_000, *kernel[2:]) for start in starts],
        "CUPTI_ACTIVITY_KIND_MEMCPY": [],
        "CUPTI_ACTIVITY_KIND_MEMSET": [],
    }
    (recording,) = read_recordings(str(exports.export(tmp_path / "report.sqlite", rows=rows)))
    (line,) = timelines_of(recording)
    assert line.frame_period_ns == (20_000_000 if paced else None)


@pytest.mark.parametrize(
    ("kernels", "graph", "lost"), [(20, False, 80), (20, True, 0), (95, False, 0)]
)
def test_launches_without_kernels_are_lost(
    tmp_path: Path, kernels: int, lost: int, *, graph: bool
) -> None:
    events = [traces.kernel(100 * at, 50) for at in range(kernels)]
    events += [traces.call(100 * at, 5) for at in range(100)]
    events += [traces.call(20_000, 5, "cudaGraphLaunch")] * graph
    assert line_of(tmp_path / "trace", events).launches.lost == lost
