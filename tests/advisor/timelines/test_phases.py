"""What phases of a step, prompts and tokens, and replays of graphs take, by the launches of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import recordings
import traces

from gpuadvise.advisor.timelines.case import timelines_in
from gpuadvise.advisor.timelines.phases import OptimizerWork, Phase, PhasePart, optimizer_work

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from gpuadvise.advisor.timelines.timeline import Timeline

MAIN, AUTOGRAD = 100, 101


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Timeline]:
    folder = recordings.unpack(tmp_path_factory.mktemp("phases"), ("loops", "inference"))
    return {
        case: recordings.line_of(path)
        for kind in ("loops", "inference")
        for case, path in recordings.cases(folder / kind).items()
    }


def test_prompts_and_tokens_of_a_language_model(lines: dict[str, Timeline]) -> None:
    """Three calls of generate() for 4 prompts of 1,024 tokens, with 12 new tokens each."""
    inference = lines["generate"].inference
    assert inference is not None
    assert (inference.prefill_passes, inference.prompt_tokens) == (3, 3 * 4 * 1024)
    # The pass of the prompts makes the first of the new tokens.
    assert (inference.decode_passes, inference.batch) == (3 * 11, 4)
    seconds = (inference.prefill_ns + inference.decode_ns) / 1e9
    assert seconds == pytest.approx(lines["generate"].span_seconds, rel=0.02)
    rate = inference.tokens_per_second
    assert rate == pytest.approx(4 * 33 / (inference.decode_ns / 1e9))


def test_tokens_that_are_graphs(lines: dict[str, Timeline]) -> None:
    """Three prompts, each with 12 replays of a graph of 71 kernels behind it."""
    line = lines["generate_graph"]
    (graph,) = line.graphs
    assert (graph.replays, graph.kernels) == (36, 71)
    assert graph.replays * graph.kernels + line.launches.kernel_launches == line.launches.kernels
    inference = line.inference
    assert inference is not None
    assert (inference.prefill_passes, inference.decode_passes) == (3, 36)
    assert (inference.batch, inference.tokens_per_second) == (None, None)
    # A step without the profiler takes 8.27 ms, and the GPU is busy for nearly all of it.
    assert inference.decode_ns / 3e9 + inference.prefill_ns / 3e9 == pytest.approx(8.3e-3, rel=0.1)


@pytest.mark.parametrize(
    "case",
    ["checkpoint_seldom", "checkpoint_each_second_step", "resize_on_gpu", "resize_on_host"],
)
def test_phases_of_training_add_up_to_the_computing_of_a_step(
    case: str, lines: dict[str, Timeline]
) -> None:
    steps = lines[case].steps
    assert steps is not None
    for step in steps.steps:
        by_phase = {one.phase: one for one in step.phases}
        assert list(by_phase) == [Phase.FORWARD, Phase.BACKWARD, Phase.OPTIMIZER]
        assert sum(one.kernel_ns for one in step.phases) == pytest.approx(
            step.computing_ns, rel=0.01
        )
        # Two products for each of the forward pass.
        assert 1.5 < by_phase[Phase.BACKWARD].kernel_ns / by_phase[Phase.FORWARD].kernel_ns < 2.5
        assert all(one.kernel_ns <= one.length_ns <= step.length_ns for one in step.phases)


def test_replays_of_a_compiled_model(lines: dict[str, Timeline]) -> None:
    (graph,) = lines["decode_graph"].graphs
    assert (graph.replays, graph.kernels) == (5, 54)
    assert lines["decode_eager"].graphs == ()
    assert lines["decode_eager"].inference is None  # tokens alone, without a prompt


def _step(number: int, *, gpu: int = 0) -> list[dict[str, Any]]:
    """Return a step of training: forward, backward on a thread of its own, and the optimizer."""
    at, first = 1000 * number, 10 * number
    events = [
        traces.event("user_annotation", f"ProfilerStep#{number}", at, 900, {}),
        traces.event("user_annotation", "Optimizer.step#SGD.step", at + 300, 100, {}),
    ]
    for place, thread in ((0, MAIN), (150, AUTOGRAD), (310, MAIN)):
        first += 1
        launch = traces.call(at + place, 5, correlation=first)
        events += [
            {**launch, "tid": thread},
            traces.kernel(at + place + 20, 100, correlation=first, device=gpu),
        ]
    return [{**one, "tid": MAIN} if one["cat"] == "user_annotation" else one for one in events]


def _line(tmp_path: Path, events: list[dict[str, Any]]) -> Timeline:
    path = tmp_path / "trace.json"
    path.write_text(traces.kineto(events))
    return next(iter(timelines_in(str(path), None))).timeline


def test_a_launch_has_the_phase_of_its_thread_and_time(tmp_path: Path) -> None:
    steps = _line(tmp_path, [one for number in range(4) for one in _step(number)]).steps
    assert steps is not None
    assert [(one.phase, one.kernel_ns) for one in steps.median_phases] == [
        (Phase.FORWARD, 100_000),
        (Phase.BACKWARD, 100_000),
        (Phase.OPTIMIZER, 100_000),
    ]


def test_phases_of_several_gpus_are_not_told(tmp_path: Path) -> None:
    events = [one for number in range(4) for one in _step(number, gpu=number % 2)]
    steps = _line(tmp_path, events).steps
    assert steps is None or steps.median_phases == ()


def test_without_a_backward_pass_there_are_no_phases(tmp_path: Path) -> None:
    events = [one for number in range(4) for one in _step(number)]
    alone = [{**one, "tid": MAIN} if one["cat"] == "cuda_runtime" else one for one in events]
    steps = _line(tmp_path, alone).steps
    assert steps is not None
    assert steps.median_phases == ()


def test_the_optimizer_has_as_many_kernels_as_its_steps_launch(
    lines: dict[str, Timeline],
) -> None:
    alone, fused = lines["adamw_loop"].optimizer, lines["adamw_fused"].optimizer
    assert alone is not None
    assert fused is not None
    assert (alone.steps, alone.kernels) == (2, 2 * 384)
    assert (fused.steps, fused.kernels) == (2, 2 * 3)
    assert alone.length_ns > 30 * fused.length_ns
    assert alone.length_ns / 1e9 < lines["adamw_loop"].span_seconds


def test_an_optimizer_that_computes_the_loss_is_not_told_apart() -> None:
    def part(phase: Phase, at: int) -> PhasePart:
        return PhasePart(phase=phase, start_ns=at, end_ns=at + 5, kernels=200, kernel_ns=5)

    usual = [part(Phase.FORWARD, 0), part(Phase.BACKWARD, 10), part(Phase.OPTIMIZER, 20)]
    again = [part(Phase.FORWARD, 30), part(Phase.BACKWARD, 40), part(Phase.OPTIMIZER, 50)]
    closure = [part(Phase.OPTIMIZER, 30), part(Phase.BACKWARD, 40), part(Phase.OPTIMIZER, 50)]
    assert optimizer_work(usual + again, 0) == OptimizerWork(steps=2, kernels=400, length_ns=10)
    # What belongs to the program's start is left out.
    assert optimizer_work(usual + again, 30) == OptimizerWork(steps=1, kernels=200, length_ns=5)
    assert optimizer_work(usual + closure, 0) is None
    assert optimizer_work([], 0) is None
