"""Steps of a run, by marks or by kernels."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import traces
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.timelines.intervals import Cover, IntervalLog
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.steps import (
    RepeatedRanges,
    StepCovers,
    StepMarks,
    StepSource,
    StepTimes,
    steps_between,
)
from gpuadvise.advisor.timelines.timeline import timelines_of

if TYPE_CHECKING:
    from pathlib import Path

    from gpuadvise.advisor.timelines.timeline import Timeline


def line_of(path: Path, events: list[dict[str, Any]]) -> Timeline:
    path.write_text(traces.kineto(events))
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    return line


def marked(number: int, ts: float, dur: float, category: str) -> dict[str, Any]:
    return traces.event(category, f"ProfilerStep#{number}", ts, dur, {"device": 0})


LOOP = [traces.kernel(1000 * at + 100, 600 + 200 * (at == 2), "step") for at in range(4)]


def test_the_profilers_marks_are_steps(tmp_path: Path) -> None:
    marks = [marked(7 + at, 1000 * at, 1000, "user_annotation") for at in range(4)]
    steps = line_of(tmp_path / "trace", LOOP + marks).steps
    assert steps is not None
    assert steps.source is StepSource.PROFILER
    assert [step.number for step in steps.steps] == [7, 8, 9, 10]
    assert [step.computing_ns for step in steps.steps] == [600_000, 600_000, 800_000, 600_000]
    assert [step.idle_ns for step in steps.steps] == [400_000, 400_000, 200_000, 400_000]
    assert (steps.median_ns, steps.slowest.number) == (1_000_000, 7)


def test_the_gpus_own_marks_go_before_the_hosts(tmp_path: Path) -> None:
    ahead = [marked(at, 10 * at, 10, "user_annotation") for at in range(4)]
    behind = [marked(at, 1000 * at + 100, 800, "gpu_user_annotation") for at in range(4)]
    steps = line_of(tmp_path / "trace", LOOP + ahead + behind).steps
    assert steps is not None
    assert [step.start_ns for step in steps.steps] == [0, 1_000_000, 2_000_000, 3_000_000]
    assert steps.shortest_ns == 800_000  # the last one, without the time until another begins


def test_the_slowest_step_has_a_reason(tmp_path: Path) -> None:
    at, events = 0, []
    for number, work in enumerate((600, 600, 900, 600)):
        events += [traces.kernel(at, work), marked(number, at, work, "gpu_user_annotation")]
        at += work + 100
    steps = line_of(tmp_path / "trace", events).steps
    assert steps is not None
    assert (steps.slowest.number, steps.slowest_for) == (2, ("computing", 300_000))


def test_too_few_marks_tell_no_steps(tmp_path: Path) -> None:
    marks = [marked(at, 1000 * at, 1000, "user_annotation") for at in range(2)]
    assert line_of(tmp_path / "trace", LOOP * 2 + marks).steps is None


def test_a_kernel_that_comes_once_in_each_step_tells_them(tmp_path: Path) -> None:
    events = []
    for at in range(6):
        events += [traces.kernel(1000 * at, 100, "first"), traces.kernel(1000 * at + 300, 50)]
        events += [traces.kernel(1000 * at + 500, 50), traces.copy(1000 * at + 700, 100, 1 << 20)]
    steps = line_of(tmp_path / "trace", events).steps
    assert steps is not None
    assert steps.source is StepSource.KERNELS
    assert [step.length_ns for step in steps.steps] == [1_000_000] * 5
    assert {step.copies_ns for step in steps.steps} == {100_000}
    alone = [traces.kernel(1000 * at, 100, "first") for at in range(6)]
    assert line_of(tmp_path / "alone", alone).steps is None
    uneven = [traces.kernel(at**4, 1, name) for at in range(2, 9) for name in ("a", "b")]
    assert line_of(tmp_path / "uneven", uneven).steps is None


def a_pass(begin: int, layers: int) -> list[dict[str, Any]]:
    """Return the kernels of one forward pass from *begin*: an embedding, layers of 1 ms, a head."""
    events = [traces.kernel(begin, 100, "embedding")]
    for layer in range(layers):
        start = begin + 200 + 1000 * layer
        events += [traces.kernel(start, 300, "norm"), traces.kernel(start + 400, 500, "gemm")]
    return [*events, traces.kernel(begin + 200 + 1000 * layers, 300, "head")]


def test_layers_of_a_pass_are_no_steps(tmp_path: Path) -> None:
    assert line_of(tmp_path / "one", a_pass(0, 24)).steps is None
    events = [event for at in range(5) for event in a_pass(13_000 * at, 12)]
    steps = line_of(tmp_path / "five", events).steps
    assert steps is not None
    assert [step.length_ns for step in steps.steps] == [13_000_000] * 4


def test_ranges_of_one_name_are_steps_whatever_their_number() -> None:
    ranges = RepeatedRanges()
    for at in range(5):
        ranges.add(f"step {at}", 1, 100 * at, 100 * at + 90)
        ranges.add("load", 1, 100 * at, 100 * at + 40)
        ranges.add("nested", 1, 0, 1000 + at)
    assert ranges.steps() == [(100 * at, 100 * at + 90) for at in range(5)]


def test_numbers_of_steps_stand_in_order_of_time() -> None:
    times = StepTimes()
    times.add(2, 50, 60)
    times.add(1, 80, 90)
    times.add(2, 40, 55)
    assert (times.numbers, times.bounds) == ([2, 1], [40, 80, 90])


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 200)), min_size=1, max_size=40),
    st.lists(st.integers(1, 300), min_size=4, max_size=12),
)
def test_parts_of_steps_add_up(works: list[tuple[int, int]], lengths: list[int]) -> None:
    bounds = [0]
    for length in lengths:
        bounds.append(bounds[-1] + length)
    compute, other = IntervalLog(), IntervalLog()
    for number, (start, length) in enumerate(works):
        (compute if number % 2 else other).add(start, start + length)
    covers = StepCovers(
        computing=Cover([compute]), kernels=Cover([compute, other]), busy=Cover([compute, other])
    )
    marks = StepMarks(bounds=bounds, numbers=range(len(lengths)), source=StepSource.RANGES)
    steps = steps_between(marks, covers.between(bounds), 0)
    assert steps is not None
    busy = {time for start, length in works for time in range(start, start + length)}
    for step, (begin, end) in zip(steps.steps, pairwise(bounds), strict=True):
        parts = (step.computing_ns, step.communication_ns, step.copies_ns, step.idle_ns)
        assert sum(parts) == step.length_ns == end - begin
        assert step.idle_ns == sum(time not in busy for time in range(begin, end))
