"""What graphs won of recorded programs, beside what is said of their launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import recordings
import traces

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.timelines.evidence import facts_of_timeline, traced_run
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.timeline import timelines_of
from gpuadvise.advisor.transfers.links import default_link_model
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.timelines.timeline import Timeline
    from gpuadvise.rules.model import Finding

LAUNCHES = 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recordings.unpack(tmp_path_factory.mktemp("graphs"), ("graphs",)) / "graphs"


def run_of(line: Timeline) -> TracedRun:
    return traced_run(line, default_link_model(line.device))


def launch_bound(line: Timeline) -> Finding | None:
    rules = tuple(rule for rule in RULES if rule.id == "launch-bound")
    found = [each for facts in facts_of_timeline(line) for each in run(rules, facts).findings]
    return found[0] if found else None


def made_up(path: Path, operators: int, streams: int = 1, kernel_us: float = 2) -> Timeline:
    """Return a run of one launch in 20 us, with *operators* for each, over *streams*."""
    events: list[dict[str, Any]] = []
    for at in range(LAUNCHES):
        begin = 20 * at
        events += [
            traces.event("cpu_op", f"aten::add_{number}", begin, 9, {"External id": at})
            for number in range(operators)
        ]
        events.append(traces.call(begin + 5, 3, correlation=at))
        events.append(traces.kernel(begin + 9, kernel_us, correlation=at, stream=7 + at % streams))
    path.write_text(traces.kineto(events))
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording, device=find("h200-sxm"))
    return line


def test_no_bound_is_below_what_a_graph_won(folder: Path) -> None:
    times = recordings.seconds(folder)
    compared = 0
    for case, path in recordings.cases(folder).items():
        found = launch_bound(recordings.line_of(path))
        if found is not None:
            assert found.bound >= times[case] / times[f"{case}_graph"], case
            compared += 1
    assert compared == 1


def test_nothing_is_said_where_a_graph_wins_nothing(folder: Path) -> None:
    times = recordings.seconds(folder)
    # Kernels that fill the GPU, and a convolution whose launches the profiler alone makes late.
    for case in ("add_two_512mb", "conv2d_one"):
        assert times[case] < 1.1 * times[f"{case}_graph"]
        assert times[case] < times[f"{case}_copied"]
        assert launch_bound(recordings.line_of(folder / f"{case}.json.gz")) is None


def test_launches_that_share_an_operator_cost_the_profiler_less(folder: Path) -> None:
    lstm = run_of(recordings.line_of(folder / "lstm_layer.json.gz"))
    convolution = run_of(recordings.line_of(folder / "conv2d_one.json.gz"))
    assert 2e-6 < lstm.launch_overhead_seconds < 2.4e-6  # 266 launches of 19 operators; 2.4 us each
    assert convolution.launch_overhead_seconds == pytest.approx(5e-6)


def test_where_operators_are_not_recorded_each_launch_counts_as_one(tmp_path: Path) -> None:
    run = run_of(made_up(tmp_path / "trace", operators=0))
    assert run.launch_overhead_seconds == pytest.approx(5e-6)
    assert run.recording_seconds == 0


def test_idle_time_that_is_the_profilers_own_is_no_launchs(tmp_path: Path) -> None:
    for operators, said in ((1, True), (4, True), (8, False)):
        line = made_up(tmp_path / "trace", operators)
        run = run_of(line)
        cost = LAUNCHES * (2.3e-6 + operators * 2e-6)
        assert run.recording_seconds == pytest.approx(cost, rel=0.01)
        assert (launch_bound(line) is not None) is said, operators


def test_a_graph_runs_streams_side_by_side_that_late_launches_kept_apart(tmp_path: Path) -> None:
    alone, both = (made_up(tmp_path / "trace", 1, streams) for streams in (1, 2))
    assert run_of(alone).in_turn_seconds == 0
    assert run_of(both).in_turn_seconds == pytest.approx(LAUNCHES * 2e-6 / 2)
    first, second = launch_bound(alone), launch_bound(both)
    assert first is not None
    assert second is not None
    assert second.bound > 1.5 * first.bound


def test_streams_that_ran_side_by_side_already_win_nothing_more(tmp_path: Path) -> None:
    line = made_up(tmp_path / "trace", 1, streams=2, kernel_us=40)
    assert run_of(line).in_turn_seconds < 0.02 * line.span_ns / 1e9
