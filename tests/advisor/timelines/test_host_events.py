"""What kept a GPU waiting, by the names and lines that a recording holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import traces
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.timelines.host_events import EventKind, HostEvents, Loader
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.timeline import timelines_of

if TYPE_CHECKING:
    from pathlib import Path

    from gpuadvise.advisor.timelines.host_events import Culprit

MS = 1_000_000


def culprit_of(*events: tuple[EventKind, str, int, int]) -> Culprit | None:
    """Return the culprit of a gap of 10 ms among *events* of (kind, name, begin, end) in ms."""
    log = HostEvents()
    for kind, name, start, end in events:
        log.add(kind, name, start * MS, end * MS, 1)
    (culprit,) = log.culprits([(10 * MS, 20 * MS)])
    return culprit


def test_the_innermost_event_over_most_of_a_gap_is_named() -> None:
    culprit = culprit_of(
        (EventKind.ANNOTATION, "epoch", 0, 100),
        (EventKind.OPERATOR, "aten::copy_", 9, 18),
        (EventKind.OPERATOR, "aten::add", 10, 14),  # less than a half
    )
    assert culprit is not None
    assert (culprit.name, culprit.kind, culprit.file) == ("aten::copy_", EventKind.OPERATOR, None)


def test_what_does_not_fill_a_gap_is_not_to_blame() -> None:
    assert culprit_of((EventKind.OPERATOR, "aten::add", 10, 14)) is None
    assert culprit_of((EventKind.OPERATOR, "aten::add", 30, 40)) is None
    assert culprit_of((EventKind.ANNOTATION, "ProfilerStep#3", 0, 100)) is None


@pytest.mark.parametrize(
    ("kind", "name", "named"),
    [
        (EventKind.RANGE, "training", False),
        (EventKind.ANNOTATION, "training", False),
        (EventKind.OPERATOR, "manual_conv", False),  # as JAX records what a program names
        (EventKind.OPERATOR, "aten::conv2d", True),
        (EventKind.OPERATOR, "CompiledFunctionBackward", True),
        (EventKind.FRAME, "train.py(96): train", True),
    ],
)
def test_a_range_around_nearly_all_of_the_gpus_work_names_no_part_of_it(
    kind: EventKind, name: str, named: bool
) -> None:
    log = HostEvents()
    log.add(kind, name, 1 * MS, 95 * MS, 1)
    (around,) = log.culprits([(10 * MS, 20 * MS)], work=(0, 100 * MS))
    (within,) = log.culprits([(10 * MS, 20 * MS)], work=(0, 110 * MS))
    assert (around is not None) == named
    assert within is not None


def test_short_events_are_not_kept() -> None:
    log = HostEvents()
    log.add(EventKind.OPERATOR, "aten::add", 0, 299_999, 1)
    assert not len(log)


def test_the_line_is_that_of_the_program_not_of_its_libraries() -> None:
    culprit = culprit_of(
        (EventKind.FRAME, "/home/somebody/secret/train.py(96): train", 0, 50),
        (EventKind.FRAME, "torch/utils/data/dataloader.py(630): __next__", 9, 21),
        (EventKind.FRAME, "queue.py(171): get", 9, 20),
        (
            EventKind.ANNOTATION,
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            8,
            22,
        ),
    )
    assert culprit is not None
    assert (culprit.name, culprit.file, culprit.line) == ("get", "train.py", 96)
    assert (culprit.function, culprit.loader) == ("train", Loader.WORKERS)


def test_of_a_library_the_function_that_the_program_called_is_named() -> None:
    frames = (
        (EventKind.FRAME, "train.py(25): main", 0, 50),
        (EventKind.FRAME, "torch/utils/_contextlib.py(120): decorate_context", 8, 22),
        (EventKind.FRAME, "torch/serialization.py(943): save", 9, 21),
        (EventKind.FRAME, "torch/serialization.py(767): _open_zipfile_writer", 9, 20),
        (EventKind.FRAME, "torch/serialization.py(792): __init__", 10, 20),
        (EventKind.FRAME, "<built-in method write_record of PyTorchFileWriter object>", 10, 19),
    )
    culprit = culprit_of(*frames)
    assert culprit is not None
    assert (culprit.name, culprit.function, culprit.line) == ("save", "main", 25)
    culprit = culprit_of(*frames[:-1], (EventKind.OPERATOR, "aten::copy_", 10, 20))
    assert culprit is not None
    assert culprit.name == "aten::copy_"


@pytest.mark.parametrize(
    ("frame", "file"),
    [
        ("data.py(41): collate_fn", "data.py"),
        ("project/data.py(41): collate_fn", "data.py"),
        ("C:\\Users\\somebody\\data.py(41): collate_fn", "data.py"),
        ("$data.py:41 collate_fn", "data.py"),
        ("$dispatch.py:81 apply_primitive", None),
        ("numpy/_core/fromnumeric.py(41): mean", None),
        ("/usr/lib/python3.11/site-packages/mine/data.py(41): f", None),
        ("<built-in function len>", None),
    ],
)
def test_frames_of_libraries_are_known(frame: str, file: str | None) -> None:
    culprit = culprit_of((EventKind.FRAME, frame, 10, 20))
    assert culprit is not None
    assert culprit.file == file
    assert "somebody" not in f"{culprit.name} {culprit.file}"


def test_names_are_shown_without_folders_and_addresses() -> None:
    method = "<built-in method run_backward of torch._C._EngineBase object at 0x7f424df34800>"
    for name, shown in (
        (method, "run_backward"),
        ("<built-in function zoom_shift>", "zoom_shift"),
        ("load /home/somebody/data/train.bin", "load train.bin"),
        ("evil\x1b[2J", "evil\\x1b[2J"),
    ):
        culprit = culprit_of((EventKind.OPERATOR, name, 10, 20))
        assert culprit is not None
        assert culprit.name == shown


def test_many_calls_of_one_function_are_named_where_they_fill_a_gap_together() -> None:
    """A loader without workers reads sample by sample: none of the calls is half of the gap."""
    samples = [(EventKind.FRAME, "data.py(41): __getitem__", 10 + at, 11 + at) for at in range(8)]
    decoding = [(EventKind.FRAME, "PIL/Image.py(2300): resize", 10 + at, 11 + at) for at in (1, 3)]
    culprit = culprit_of(
        (EventKind.FRAME, "train.py(96): step", 0, 50),
        (EventKind.FRAME, "torch/utils/data/_utils/fetch.py(49): fetch", 10, 20),
        *samples,
        *decoding,
    )
    assert culprit is not None
    assert (culprit.name, culprit.function) == ("__getitem__", "__getitem__")
    assert (culprit.file, culprit.line) == ("data.py", 41)


def test_calls_within_each_other_are_counted_once() -> None:
    nested = [(EventKind.FRAME, "tree.py(7): walk", 10 + at, 14) for at in range(3)]
    assert culprit_of(*nested) is None


def test_threads_that_gave_the_gpu_no_work_do_not_count() -> None:
    log = HostEvents()
    log.called_from("main")
    log.add(EventKind.OPERATOR, "mine", 0, 30 * MS, "main")
    log.add(EventKind.OPERATOR, "another's", 10 * MS, 20 * MS, "other")
    (culprit,) = log.culprits([(10 * MS, 20 * MS)])
    assert culprit is not None
    assert culprit.name == "mine"
    strange = HostEvents()
    strange.called_from("a thread that is named otherwise among the events")
    strange.add(EventKind.OPERATOR, "mine", 0, 30 * MS, "main")
    assert strange.culprits([(10 * MS, 20 * MS)])[0] is not None


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(1, 100)), max_size=30),
    st.lists(st.integers(1, 20), min_size=1, max_size=20),
)
def test_culprits_are_those_that_looking_at_all_events_finds(
    events: list[tuple[int, int]], steps: list[int]
) -> None:
    log, gaps, at = HostEvents(), [], 0
    for length in steps:
        gaps.append((at * MS, (at + length) * MS))
        at += length + 1
    spans = [(begin * MS, (begin + length) * MS) for begin, length in events]
    for number, (start, end) in enumerate(spans):
        log.add(EventKind.OPERATOR, f"op{number}", start, end, 1)
    for (start, end), culprit in zip(gaps, log.culprits(gaps), strict=True):
        covering = [
            (stop - begin, number)
            for number, (begin, stop) in enumerate(spans)
            if 2 * (min(stop, end) - max(begin, start)) >= end - start
        ]
        expected = min(covering, default=None)
        assert (culprit and culprit.name) == (expected and f"op{expected[1]}")


def host(category: str, name: str, ts: float, dur: float) -> dict[str, Any]:
    return traces.event(category, name, ts, dur, {})


def test_a_trace_tells_the_line_that_kept_the_gpu_waiting(tmp_path: Path) -> None:
    events = [traces.kernel(10_000 * at, 1000) for at in range(3)]
    events += [traces.call(10_000 * at, 5) for at in range(3)]
    for at in range(2):
        begin = 10_000 * at + 1000
        events += [
            host("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, 8900),
            host("python_function", "train.py(12): main", begin, 8950),
            host("python_function", "/home/somebody/data.py(41): collate_fn", begin, 8800),
            host("cpu_op", "aten::stack", begin, 100),
        ]  # fmt: skip
    path = tmp_path / "trace.json"
    path.write_text(traces.kineto(events))
    (recording,) = read_recordings(str(path))
    (line,) = timelines_of(recording)
    assert line.has_stacks
    for gap in line.gaps:
        assert gap.culprit is not None
        assert (gap.culprit.name, gap.culprit.line) == ("collate_fn", 41)
        assert (gap.culprit.file, gap.culprit.loader) == ("data.py", Loader.ITSELF)
