"""The GPU's time by module and by annotation: who launched, in which pass, and what nobody did."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import recordings
import traces
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.timelines.operators import operators_in
from gpuadvise.advisor.timelines.scopes import OUTSIDE, Questions, ScopeLog, ScopePaths

if TYPE_CHECKING:
    from pathlib import Path

    from gpuadvise.advisor.timelines.operators import Operators

AUTOGRAD = 8  # a thread


def read(*events: dict[str, Any]) -> Operators:
    return operators_in(enumerate(events))


def module(ts: float, dur: float, name: str) -> dict[str, Any]:
    return traces.event("python_function", f"nn.Module: {name}", ts, dur, {})


def operator(ts: float, dur: float, number: int, name: str = "aten::mm", **args: Any) -> Any:
    shapes = {"Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]}
    return traces.event("cpu_op", name, ts, dur, {"External id": number} | shapes | args)


def launch(ts: float, number: int, dur: float = 100, **args: Any) -> list[dict[str, Any]]:
    """Return the call and its kernel."""
    return [
        traces.call(ts, 1, correlation=number),
        traces.kernel(10_000 + 200 * number, dur, correlation=number, **args),
    ]


def on_autograd(*events: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        event | {"tid": AUTOGRAD} if event["cat"] in ("cpu_op", "cuda_runtime") else event
        for event in events
    ]


def step() -> list[dict[str, Any]]:
    """Return one step: a block of two layers, a loss outside of it, and their gradients."""
    return [
        module(0, 100, "Net_0"),
        module(10, 30, "Linear_0"),
        operator(12, 20, 1, "aten::linear", **{"Sequence number": 5, "Fwd thread id": 0}),
        operator(15, 10, 2, **{"Sequence number": 5, "Fwd thread id": 0}),
        *launch(16, 1, 100, **{"External id": 2}),
        module(50, 30, "Linear_1"),
        operator(52, 10, 3, **{"Sequence number": 6, "Fwd thread id": 0}),
        *launch(53, 2, 150, **{"External id": 3}),
        # Its number was given to the loss before anything took it.
        operator(90, 5, 4, "aten::view", **{"Sequence number": 7, "Fwd thread id": 0}),
        *launch(91, 3, 10, **{"External id": 4}),
        operator(110, 10, 5, "aten::mean", **{"Sequence number": 7, "Fwd thread id": 0}),
        *launch(111, 4, 20, **{"External id": 5}),
        *on_autograd(
            operator(200, 10, 11, "MeanBackward0", **{"Sequence number": 7, "Fwd thread id": 1}),
            *launch(202, 5, 30, **{"External id": 11}),
            operator(220, 20, 12, "MmBackward0", **{"Sequence number": 6, "Fwd thread id": 1}),
            operator(222, 10, 13),
            *launch(223, 6, 300, **{"External id": 13}),
            operator(240, 20, 14, "MmBackward0", **{"Sequence number": 5, "Fwd thread id": 1}),
            operator(242, 10, 15),
            *launch(243, 7, 200, **{"External id": 15}),
        ),
    ]


def test_kernels_count_to_the_innermost_module_and_gradients_to_the_one_of_their_forward_pass() -> (
    None
):
    times = read(*step()).modules
    assert times is not None
    assert [
        (one.path, one.total_ns, one.backward_ns, one.with_inner_ns) for one in times.modules
    ] == [
        (("Net_0", "Linear_1"), 450_000, 300_000, 450_000),
        (("Net_0", "Linear_0"), 300_000, 200_000, 300_000),
        (("Net_0",), 10_000, 0, 760_000),
    ]
    assert (times.outside_ns, times.total_ns) == (50_000, 810_000)
    assert times.backward_joined is True
    layer = times.modules[0]
    assert (layer.kernels, [one.call.name for one in layer.operators]) == (2, ["aten::mm"])
    assert layer.operators[0].calls == 2
    assert layer.flop_rate == pytest.approx(2 * 2 * 64**3 / 450e-6)
    assert layer.byte_rate == pytest.approx(2 * 3 * 4 * 64**2 / 450e-6)


def test_without_numbers_only_the_forward_pass_is_known() -> None:
    plain = [
        event
        | {
            "args": {
                key: value
                for key, value in event["args"].items()
                if key not in ("Sequence number", "Fwd thread id")
            },
            "name": f"autograd::engine::evaluate_function: {event['name']}"
            if event["tid"] == AUTOGRAD and event["cat"] == "cpu_op"
            else event["name"],
        }
        for event in step()
    ]
    times = read(*plain).modules
    assert times is not None
    assert times.backward_joined is False
    assert [one.total_ns for one in times.modules] == [150_000, 100_000, 10_000]
    assert times.outside_ns == 550_000


def test_inference_has_no_backward_pass() -> None:
    times = read(module(0, 100, "Net_0"), operator(10, 5, 1), *launch(11, 1)).modules
    assert times is not None
    assert times.backward_joined is None
    assert times.outside_ns == 0


def test_a_number_of_two_threads_says_nothing() -> None:
    other = operator(12, 5, 9, **{"Sequence number": 6, "Fwd thread id": 0})
    times = read(*step(), other | {"tid": 99}).modules
    assert times is not None
    assert {one.path: one.backward_ns for one in times.modules} == {
        ("Net_0", "Linear_1"): 0,
        ("Net_0", "Linear_0"): 200_000,
        ("Net_0",): 0,
    }


def test_scripted_modules_stand_in_the_arguments() -> None:
    within = "TOP(__torch__.Net)::forward.block0(Block)::forward.SELF(Block)::inner."
    found = read(operator(0, 20, 1, **{"Module Hierarchy": within}), *launch(5, 1)).modules
    assert found is not None
    assert [one.path for one in found.modules] == [("Net", "block0"), ("Net",)]
    empty = {"Module Hierarchy": ""}
    assert read(operator(0, 20, 1, **empty), *launch(5, 1)).modules is None


def test_traces_whose_kernels_have_the_number_of_their_launch_as_id() -> None:
    """An operator may have the same number by chance; the one around the launch is meant."""
    found = read(
        operator(0, 20, 1, "aten::outer"),
        operator(5, 10, 2, "aten::mm"),
        operator(30, 10, 7, "aten::relu"),
        *launch(6, 7, **{"External id": 7}),
        *launch(35, 8, **{"External id": 8}),
    )
    assert {one.call.name: one.kernels for one in found.operators} == {
        "aten::mm": 1,
        "aten::relu": 1,
    }
    assert [one.calls for one in found.operators] == [1, 1]


def annotation(ts: float, dur: float, name: str, tid: int = 7) -> dict[str, Any]:
    return traces.event("user_annotation", name, ts, dur, {}) | {"tid": tid}


def test_annotations_hold_what_is_launched_inside_of_them() -> None:
    found = read(
        annotation(0, 400, "ProfilerStep#3"),
        annotation(0, 120, "forward"),
        annotation(40, 50, "head"),
        annotation(190, 100, "backward"),
        *step(),
        annotation(239, 10, "nccl:all_reduce", tid=AUTOGRAD),
    ).annotations
    assert [(one.path, one.kernels, one.total_ns, one.own_ns) for one in found] == [
        (("backward",), 2, 330_000, 330_000),
        (("forward",), 4, 280_000, 130_000),
        (("nccl:all_reduce",), 1, 200_000, 200_000),
        (("forward", "head"), 1, 150_000, 150_000),
    ]
    assert read(*step()).annotations == ()


spans = st.tuples(st.integers(0, 60), st.integers(1, 40))


@given(st.lists(spans, max_size=12), st.lists(st.integers(0, 110), max_size=12))
def test_the_innermost_scope_is_the_last_that_was_opened_and_is_open(
    opened: list[tuple[int, int]], asked: list[int]
) -> None:
    log, questions = ScopeLog(ScopePaths()), Questions()
    nested: list[tuple[int, int, str]] = []
    for at, (start, length) in enumerate(sorted(opened, key=lambda span: (span[0], -span[1]))):
        end = start + length
        around = [one for one in nested if one[0] <= start < one[1]]
        # Calls of one thread nest: none ends behind the one that it was called in.
        end = min([end, *(one[1] for one in around)])
        nested.append((start, end, f"scope{at}"))
    for start, end, name in reversed(nested):
        log.open(1, start, end, name)
    for number, time in enumerate(asked):
        questions.add(1, time, number)
    found = {number: scope for number, _, _, scope, _ in log.innermost(questions)}
    for number, time in enumerate(asked):
        inside = [one for one in nested if one[0] <= time < one[1]]
        # Of two scopes with the same times either may be the inner one.
        told = log.paths.names(found[number])[-1:] if found[number] != OUTSIDE else ()
        innermost = [
            one[2] for one in inside if (one[0], -one[1]) == (inside[-1][0], -inside[-1][1])
        ]
        assert (told[0] in innermost) if inside else not told


@pytest.mark.parametrize("name", ["checkpoint_seldom", "loss_item_once", "loader_workers"])
def test_all_time_is_some_modules_or_nobodys(folder: Path, cli, name: str) -> None:
    done = cli("timeline", str(folder / f"{name}.json.gz"), "--operators", "--json", "--limit", "0")
    result = json.loads(done.out)["result"]
    told = result["operators"]
    own = sum(one["seconds"] for one in told["modules"])
    kernels = sum(one["seconds"] for one in result["kernels"])
    assert own + told["outside_modules_seconds"] == pytest.approx(kernels)
    (whole,) = (one for one in told["modules"] if len(one["path"]) == 1)
    assert whole["with_inner_seconds"] == pytest.approx(own)
    assert told["backward_in_modules"] is True
    for one in told["modules"]:
        assert sum(part["seconds"] for part in one["operators"]) == pytest.approx(one["seconds"])


def test_recorded_layers(folder: Path, cli) -> None:
    """Layers of one size: a gradient takes two products, that of the first layer one."""
    done = cli("timeline", str(folder / "checkpoint_seldom.json.gz"), "--operators", "--json")
    modules = json.loads(done.out)["result"]["operators"]["modules"]
    layers = {one["path"][-1]: one for one in modules if "Linear" in one["path"][-1]}
    assert len(layers) == 6
    for name, one in layers.items():
        backward = one["backward_seconds"] / one["seconds"]
        assert backward == pytest.approx(1 / 2 if name == "Linear_0" else 2 / 3, rel=0.05)
        assert 0.6 < one["of_roof"] < 0.9


def test_the_screen_of_modules(folder: Path, cli) -> None:
    out = cli("timeline", str(folder / "checkpoint_seldom.json.gz"), "--operators").out
    for words in (
        "Modules by time",
        "Sequential_0 > Linear_5",
        "2 more modules",
        "outside of modules",
        "Annotations by time",
        "Optimizer.step#SGD.step",
    ):
        assert words in out
    assert "Forward pass only" not in out
    out = cli("timeline", str(folder / "norm_eager.json.gz"), "--operators").out
    assert "record with with_stack=True" in out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recordings.unpack(tmp_path_factory.mktemp("recordings"), ("loops",)) / "loops"
