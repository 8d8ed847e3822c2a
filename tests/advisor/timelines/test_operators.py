"""Operators: their work by hand, their kernels by their ids, the queue, memory and what could be one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import recordings
import traces
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.timelines.operator_work import OperatorCall, OperatorKind, work_of
from gpuadvise.advisor.timelines.operators import operators_in

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gpuadvise.advisor.timelines.operators import Operators

BF16 = "c10::BFloat16"


def call(name: str, *shapes: Sequence[int], dtype: str = BF16, values: Sequence[str] = ()) -> Any:
    return OperatorCall(
        name=f"aten::{name}",
        shapes=tuple(map(tuple, shapes)),
        dtypes=(dtype,) * len(shapes),
        values=tuple(values),
    )


@pytest.mark.parametrize(
    ("operator", "kind", "flops", "size"),
    [
        (call("mm", [3, 4], [4, 5]), OperatorKind.PRODUCT, 120, 2 * (12 + 20 + 15)),
        (call("addmm", [5], [3, 4], [4, 5]), OperatorKind.PRODUCT, 120, 2 * (12 + 20 + 15)),
        (call("bmm", [2, 3, 4], [2, 4, 5]), OperatorKind.PRODUCT, 240, 4 * (12 + 20 + 15)),
        (call("mm", [3, 4]), OperatorKind.PRODUCT, None, None),
        (
            # 8x8 with padding 1 and stride 2: 4x4 of 6 channels, each 3 * 9 products
            call(
                "cudnn_convolution", [1, 3, 8, 8], [6, 3, 3, 3], [], [], [],
                values=["", "", "[1, 1]", "[2, 2]", "[1, 1]"],
            ),
            OperatorKind.CONVOLUTION, 2 * 6 * 16 * 27, 2 * (192 + 162 + 96),
        ),
        (
            call(
                "convolution", [1, 3, 8, 8], [6, 3, 3, 3], [6], [], [], [],
                values=["", "", "", "[2, 2]", "[1, 1]", "[1, 1]"],
            ),
            OperatorKind.CONVOLUTION, 2 * 6 * 16 * 27, 2 * (192 + 162 + 96),
        ),
        (
            call(
                "convolution_backward", [1, 6, 4, 4], [1, 3, 8, 8], [6, 3, 3, 3],
                values=["[True, True, True]"],
            ),
            OperatorKind.CONVOLUTION, 2 * 2 * 6 * 16 * 27, 2 * (192 + 162 + 96),
        ),
        (
            call(
                "convolution_backward", [1, 6, 4, 4], [1, 3, 8, 8], [6, 3, 3, 3],
                values=["[False, True, True]"],
            ),
            OperatorKind.CONVOLUTION, 2 * 6 * 16 * 27, 2 * (192 + 162 + 96),
        ),
        (call("convolution", [1, 3, 8, 8]), OperatorKind.CONVOLUTION, None, None),
        (call("cudnn_convolution", [1, 3, 8, 8], [6, 3, 3, 3]), OperatorKind.CONVOLUTION, None, None),
        (
            call("_cudnn_attention_forward", *[[2, 4, 16, 8]] * 3),  # heads second
            OperatorKind.ATTENTION, 4 * 2 * 4 * 16 * 16 * 8, 2 * 4 * 1024,
        ),
        (
            call("_flash_attention_forward", [2, 16, 4, 8], *[[2, 32, 4, 8]] * 2),  # tokens second
            OperatorKind.ATTENTION, 4 * 2 * 4 * 16 * 32 * 8, 2 * (2 * 1024 + 2 * 2048),
        ),
        (
            call("_flash_attention_backward", *[[2, 16, 4, 8]] * 4),
            OperatorKind.ATTENTION, 2.5 * 4 * 2 * 4 * 16 * 16 * 8, 2 * 2 * 4 * 1024,
        ),
        (call("_flash_attention_forward", [2, 16]), OperatorKind.ATTENTION, None, None),
        (call("native_layer_norm", [8, 64], [], [64]), OperatorKind.NORM, None, 2 * 2 * 512),
        (call("_softmax", [8, 64]), OperatorKind.NORM, None, 2 * 2 * 512),
        (call("add", [8, 64], [64]), OperatorKind.ELEMENTWISE, None, 2 * (512 + 64 + 512)),
        (call("copy_", [8, 64], [8, 64]), OperatorKind.ELEMENTWISE, None, 2 * 1024),
        (call("fill_", [8, 64], []), OperatorKind.ELEMENTWISE, None, 2 * 512),
        (call("nonzero", [8, 64]), OperatorKind.OTHER, None, None),
    ],
)  # fmt: skip
def test_work_counted_by_hand(
    operator: OperatorCall, kind: OperatorKind, flops: float | None, size: float | None
) -> None:
    work = work_of(operator)
    assert (work.kind, work.flops, work.bytes) == (kind, flops, size)


@given(
    st.sampled_from(["mm", "convolution", "_softmax", "add", "_flash_attention_forward", "x"]),
    st.lists(st.lists(st.integers(0, 1 << 20), max_size=5), max_size=5),
    st.lists(st.text(max_size=12), max_size=5),
    st.sampled_from(["float", BF16, "c10::Nothing", ""]),
)
def test_any_shapes_are_counted_or_not(
    name: str, shapes: list[list[int]], values: list[str], dtype: str
) -> None:
    work = work_of(call(name, *shapes, dtype=dtype, values=values))
    assert work.flops is None or work.flops >= 0
    assert work.bytes is None or work.bytes >= 0


def operator(ts: float, number: int, name: str, *shapes: list[int]) -> dict[str, Any]:
    args = {
        "External id": number,
        "Input Dims": list(shapes),
        "Input type": ["float"] * len(shapes),
    }
    return traces.event("cpu_op", name, ts, 1, args)


def read(*events: dict[str, Any]) -> Operators:
    return operators_in(enumerate(events))


def test_kernels_belong_to_the_operator_that_launched_them() -> None:
    found = read(
        operator(0, 1, "aten::mm", [64, 64], [64, 64]),
        operator(5, 2, "aten::mm", [64, 64], [64, 64]),
        operator(6, 3, "aten::nothing"),
        traces.kernel(10, 4, "nvjet_sm90_ss", **{"External id": 2}),
        traces.kernel(20, 6, "splitKreduce", **{"External id": 2}),
        traces.kernel(30, 10, "nvjet_sm90_ss", **{"External id": 1}),
        traces.kernel(50, 10, "alone", **{"External id": 9}),
        traces.kernel(70, 10, "unnamed"),
    )
    (product,) = found.operators
    assert (product.calls, product.kernels, product.total_ns) == (2, 3, 20_000)
    assert product.tensor_share == pytest.approx(0.7)
    assert product.flop_rate == pytest.approx(2 * 2 * 64**3 / 20e-6)
    assert found.total_ns == 20_000


def test_the_queue_is_what_was_launched_and_has_not_begun() -> None:
    found = read(
        *[traces.call(10 * at, 2, correlation=at) for at in range(4)],
        traces.kernel(14, 1, correlation=0),  # launched at 2
        traces.kernel(40, 1, correlation=1),  # at 12
        traces.kernel(50, 1, correlation=2),  # at 22
        traces.kernel(60, 1, correlation=9),
    )
    assert found.queue is not None
    assert (found.queue.median_delay_ns, found.queue.longest_delay_ns) == (28_000, 28_000)
    assert found.queue.longest_queue == 2
    assert read(traces.kernel(0, 1)).queue is None


def test_a_full_queue_has_a_time() -> None:
    """1,024 launches that wait from 2 us to 500 us behind the last, when one after the other begins."""
    found = read(
        *[traces.call(at, 1, correlation=at) for at in range(1025)],
        *[traces.kernel(1500 + 10 * at, 5, correlation=at) for at in range(1025)],
    )
    assert found.queue is not None
    assert (found.queue.longest_queue, found.queue.full_ns) == (1025, 486_000)


def memory(ts: float, total: int) -> dict[str, Any]:
    event = traces.event("cpu_instant_event", "[memory]", ts, None, {"Device Type": 1})
    event["args"]["Total Allocated"] = total
    return event


@pytest.mark.parametrize(
    ("ends", "creep"),
    [([100, 110, 120, 130], 10), ([100, 110, 100, 110], None), ([100, 110], None), ([], None)],
)
def test_memory_that_steps_leave_behind(ends: list[int], creep: int | None) -> None:
    steps = [
        traces.event("user_annotation", f"ProfilerStep#{at}", 100 * at, 90, {}) for at in range(9)
    ]
    allocated = [
        event
        for at, end in enumerate(ends)
        for event in (memory(100 * at + 10, end + 50), memory(100 * at + 80, end))
    ]
    found = read(*steps, *allocated, memory(9_999, 7))
    assert found.creep_bytes == creep
    assert [step.end_bytes for step in found.memory] == ends
    assert [step.peak_bytes for step in found.memory] == [end + 50 for end in ends]


def test_neighbouring_passes_of_one_size_could_be_one() -> None:
    events = [
        operator(0, 1, "aten::mul", [1024, 1024], [1024, 1024]),
        operator(1, 2, "aten::add", [1024, 1024], [1024]),
        operator(2, 3, "aten::relu", [64]),  # of another size
        operator(3, 4, "aten::mm", [8, 8], [8, 8]),
        operator(4, 5, "aten::add", [8, 8]),
        *[traces.kernel(10 * at, 9, **{"External id": at}) for at in range(1, 6)],
    ]
    (found,) = read(*events).fusions
    assert (found.first, found.second, found.times) == ("aten::mul", "aten::add", 1)
    assert found.saved_bytes == 2 * 4 << 20
    apart = [event | {"ts": event["ts"] * 1000} for event in events]
    assert not read(*apart).fusions


@pytest.mark.parametrize(
    "damage",
    [{"args": 3}, {"ts": "x"}, {"name": 5}, {"dur": -1}, {"args": {"External id": "x"}}],
)
def test_events_that_are_not_readable_are_passed_over(damage: dict[str, Any]) -> None:
    for event in (operator(0, 1, "aten::mm", [4, 4], [4, 4]), traces.kernel(0, 1), memory(0, 1)):
        assert not read(event | damage).operators


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recordings.unpack(tmp_path_factory.mktemp("recordings"), ("loops",)) / "loops"


def test_recorded_attention(cli, folder: Path) -> None:
    answers = {
        name: json.loads(
            cli("timeline", str(folder / f"{name}.json.gz"), "--operators", "--json").out
        )["result"]["operators"]
        for name in ("attention_plain", "attention_fused", "losses_kept", "losses_detached")
    }
    plain, fused = answers["attention_plain"], answers["attention_fused"]
    kinds = {one["kind"] for one in plain["operators"]}
    assert {"product", "norm", "elementwise"} <= kinds
    assert fused["operators"][0]["kind"] == "attention"
    assert 0.3 < fused["operators"][0]["of_roof"] < 1
    assert fused["operators"][0]["tensor_share"] > 0.8
    # One forward and one backward pass of five steps: 2 + 5 products of 4 * 16 heads.
    flops = sum(one["flop_rate"] * one["seconds"] for one in fused["operators"] if one["flop_rate"])
    assert flops == pytest.approx(5 * 3.5 * 4 * 64 * 2048 * 2048 * 64)
    assert plain["fusions"][0]["second"] == "aten::div"
    assert answers["losses_kept"]["creep_bytes"] == pytest.approx(16 << 20, rel=0.01)
    assert answers["losses_detached"]["creep_bytes"] is None


def test_the_screen_of_operators(cli, folder: Path) -> None:
    out = cli("timeline", str(folder / "losses_kept.json.gz"), "--operators").out
    for words in ("Operators by time", "of the roof", "Launch queue", "Each step leaves 16 MiB"):
        assert words in out
    assert "Operators by time" not in cli("timeline", str(folder / "losses_kept.json.gz")).out
    out = cli("timeline", str(folder / "norm_eager.json.gz"), "--operators", "--limit", "2").out
    assert "Passes that could be one" in out
    assert "more operators" in out


def test_operators_need_a_file_of_pytorch(cli, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(traces.kineto([traces.kernel(0, 10)]))
    assert "No kernel names its operator" in cli("timeline", str(path), "--operators").out
    import exports

    exported = exports.export(tmp_path / "report.sqlite")
    done = cli("timeline", str(exported), "--operators")
    assert done.code == 2
    assert "PyTorch" in done.err
