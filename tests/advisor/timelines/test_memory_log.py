"""Memory by step: what grows, what does not, and which allocations count."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest
import recordings
import traces

from gpuadvise.advisor.facts.step_memory import growth_of
from gpuadvise.advisor.timelines.activities import Recorder, Recording
from gpuadvise.advisor.timelines.chrome import ChromeTrace
from gpuadvise.advisor.timelines.evidence import run_facts
from gpuadvise.advisor.timelines.kineto import read_kineto
from gpuadvise.advisor.timelines.memory_log import MemoryLog
from gpuadvise.advisor.timelines.timeline import timelines_of

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20


@pytest.mark.parametrize(
    ("ends", "growth"),
    [
        ([100, 110, 120, 130, 140], 10),
        ([100, 110, 120], 10),  # three steps, as the usual schedule records
        ([100, 110, 121], 0),  # of so few the amounts must be one
        ([100, 106, 116, 130, 139], 9),  # batches vary
        ([100, 110, 110, 120, 130], 0),
        ([100, 110, 120, 130, 130, 140], 10),  # one of five
        ([100, 110, 120, 130, 140, 100], 0),  # a round of steps that gives all back
        ([100, 200, 201, 202, 203], 0),  # not alike
        ([50, 100, 100, 100, 100], 0),  # the first step makes the optimizer's state
        ([140, 130, 120, 110], 0),
        ([10**6, 10**6 + 10, 10**6 + 20, 10**6 + 30], 0),  # a hundred thousandth
        ([100, 110], 0),
        ([], 0),
    ],
)
def test_growth_of_nearly_every_step(ends: list[int], growth: int) -> None:
    assert growth_of(ends) == growth


def memory(ts: float, total: Any, gpu: Any = 0, kind: int = 1) -> dict[str, Any]:
    args = {"Device Id": gpu, "Device Type": kind, "Total Allocated": total}
    return traces.event("cpu_instant_event", "[memory]", ts, None, args) | {"ph": "i"}


def test_memory_of_a_step_is_its_peak_and_its_end() -> None:
    log = MemoryLog()
    for event in (
        memory(70, 30), memory(20, 50), memory(80, 40), memory(130, 45), memory(250, 99),
        memory(30, 10**9, kind=0), memory(75, 700, gpu=1), memory(76, "x"), memory(77, 5, gpu="x"),
        memory(78, -1), {"name": "[memory]", "args": 3}, memory("x", 3),
    ):  # fmt: skip
        log.add(event)
    steps = [("1", 0, 100_000), ("2", 100_000, 200_000)]
    assert [(one.step, one.peak_bytes, one.end_bytes) for one in log.by_step(steps, 0)] == [
        ("1", 50, 40),
        ("2", 45, 45),
    ]
    assert [one.end_bytes for one in log.by_step(steps, 1)] == [700]
    assert log.fullest == 1
    assert log.by_step(steps, 2) == log.by_step([], 0) == MemoryLog().by_step(steps, None) == ()


def recording(events: list[dict[str, Any]]) -> Recording:
    stream = io.BytesIO(traces.kineto(events).encode())
    made = Recording(recorder=Recorder.PYTORCH)
    trace = ChromeTrace(stream.read, made.skip)
    trace.start()
    return read_kineto(trace, made)


@pytest.mark.parametrize(("kept", "growth"), [(16 * MIB, 16 * MIB), (0, 0)])
def test_a_run_knows_what_its_steps_left_behind(kept: int, growth: int) -> None:
    events = [
        event
        for at in range(4)
        for event in (
            traces.event("user_annotation", f"ProfilerStep#{at}", 1000 * at, 900, {}),
            traces.call(1000 * at + 10, 5, correlation=at),
            traces.kernel(1000 * at + 20, 500, correlation=at),
            memory(1000 * at + 100, 800 * MIB),
            memory(1000 * at + 800, 100 * MIB + kept * at),
        )
    ]
    (line,) = timelines_of(recording(events))
    found = run_facts(line).step_memory
    assert found is not None
    assert (found.steps, found.growth_bytes) == (4, growth)
    assert found.allocated_bytes == 100 * MIB + 3 * kept
    without = [event for event in events if event["name"] != "[memory]"]
    (line,) = timelines_of(recording(without))
    assert run_facts(line).step_memory is None


@pytest.mark.parametrize(("name", "said"), [("losses_kept", True), ("losses_detached", False)])
def test_recorded_losses_that_are_kept(tmp_path: Path, cli, name: str, said: bool) -> None:
    folder = recordings.unpack(tmp_path, ("loops",)) / "loops"
    out = cli("advise", str(folder / f"{name}.json.gz")).out
    assert ("Each step leaves 16 MiB of the GPU's memory" in out) is said
    assert ("[growing-memory]" in out) is said
    assert ("full after 4,996 more steps" in out) is said
