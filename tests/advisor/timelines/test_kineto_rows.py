"""Events that are taken by their text say what they say when they are parsed."""

from __future__ import annotations

import gzip
import json
import random
from typing import TYPE_CHECKING, Any

import pytest
import recordings

from gpuadvise.advisor.timelines.case import timelines_in
from gpuadvise.advisor.timelines.kineto_rows import RepeatedEvents
from gpuadvise.advisor.timelines.launch_log import LaunchLog
from gpuadvise.cli.timeline.answer import timeline_record

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0, "warpSize": 32
    }
  ],
  "traceEvents": [
"""
KERNEL = """  {
    "ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 7,
    "ts": %.3f, "dur": %.3f,
    "args": {
      "External id": %d, "queued": 0, "device": 0, "context": 1, "stream": %d, "correlation": %d, "registers per thread": 32, "shared memory": 0, "grid": [264, 1, 1], "block": [256, 1, 1]%s
    }
  }"""
CALL = """  {
    "ph": "X", "cat": "cuda_runtime", "name": "%s", "pid": 1, "tid": 2,
    "ts": %.3f, "dur": %.3f,
    "args": {
      "External id": %d, "cbid": 211, "correlation": %d
    }
  }"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recordings.unpack(tmp_path_factory.mktemp("recordings"), ("loops", "ranks"))


def records(path: Path) -> list[dict[str, Any]]:
    return [timeline_record(case) | {"file": None} for case in timelines_in(str(path), None)]


@pytest.mark.parametrize(
    "case",
    ["loops/adamw_loop", "loops/decode_graph", "loops/resize_on_gpu", "ranks/ddp_ranks/rank1"],
)
def test_recorded_traces_say_the_same_in_any_layout(
    folder: Path, tmp_path: Path, case: str
) -> None:
    text = gzip.decompress((folder / f"{case}.json.gz").read_bytes())
    (tmp_path / "whole.json").write_bytes(text)
    (tmp_path / "compact.json").write_text(json.dumps(json.loads(text)))
    assert records(tmp_path / "whole.json") == records(tmp_path / "compact.json")


def made(number: int) -> str:
    """Return a trace of some thousand events, more than are looked at together."""
    draw = random.Random(number)
    events, time = [], 1_000.0
    for at in range(6_000):
        time += draw.choice([0.5, 3.25, 60.001])
        kind = draw.random()
        if kind < 0.6:
            name = draw.choice(["add", "mul", 'named \\"so\\"', "ncclDevKernel_AllReduce_f32"])
            more = draw.choice(["", "", f', "graph node id": {at}', ', "occupancy": {"a": 1}'])
            events.append(KERNEL % (name, time, draw.random() * 9, at, at % 2 + 7, at, more))
        else:
            name = draw.choice(["cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize"])
            events.append(CALL % (name, time, draw.random() * 90, at, at))
    return HEAD + ",\n".join(events) + '\n  ],\n  "traceName": "made"\n}\n'


@pytest.mark.parametrize("number", range(4))
def test_made_traces_say_the_same_in_any_layout(tmp_path: Path, number: int) -> None:
    text = made(number)
    (tmp_path / "whole.json").write_text(text)
    (tmp_path / "compact.json").write_text(json.dumps(json.loads(text)))
    whole, compact = records(tmp_path / "whole.json"), records(tmp_path / "compact.json")
    assert whole == compact
    assert whole[0]["launches"]["graph_kernels"] > 0
    assert whole[0]["communication"] is not None


def test_the_number_of_a_broken_event_counts_those_that_were_taken(tmp_path: Path) -> None:
    text = made(0).replace('"registers per thread": 32', '"registers per thread": ,', 5_000)
    events = text.count("\n  {\n")
    (tmp_path / "trace.json").write_text(
        made(0)[: -len('\n  ],\n  "traceName": "made"\n}\n')]
        + ',\n  {\n    "ph": "X", "cat": "kernel", "name": "add", "ts": nothing\n  }\n  ]\n}\n'
    )
    (case,) = timelines_in(str(tmp_path / "trace.json"), None)
    assert [one.event for one in case.timeline.skipped] == [events + 1]


def test_texts_that_never_come_again_are_soon_let_be() -> None:
    repeated = RepeatedEvents(LaunchLog())
    block = "".join(
        "\n" + KERNEL % (f"kernel{at}", at, 1, at, 7, at, "") for at in range(30_000)
    ).encode()
    assert repeated.take(block) == block
    assert repeated.take(block) is block


def test_the_first_events_teach_what_a_short_trace_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [KERNEL % (f"kernel{at % 9}", at * 10.0, 5.0, at, 7, at, "") for at in range(1_500)]
    path = tmp_path / "trace.json"
    path.write_text(HEAD + ",\n".join(events) + "\n  ]\n}\n")
    learned: list[bytes] = []
    learn = RepeatedEvents.learn
    monkeypatch.setattr(
        RepeatedEvents,
        "learn",
        lambda self, target, event, text: learned.append(text) or learn(self, target, event, text),
    )
    (case,) = timelines_in(str(path), None)
    assert sum(kernel.calls for kernel in case.timeline.kernels) == 1_500
    assert len(learned) < 100  # the others were never parsed
