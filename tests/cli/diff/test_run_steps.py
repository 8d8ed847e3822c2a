"""``diff`` of two recorded runs whose steps differ: all of them, some, one, or their number."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import traces

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

GATE = ("--slower", "5%", "--fail-on-regression")
FAST, STALL = 2_000, 102_000  # us


def run(
    path: Path, lengths: Sequence[int], *, kernels: int = 8, once: int = 0, marked: bool = True
) -> str:
    """Write a run with steps of *lengths* us, of 1.6 ms in *kernels* kernels and the host's own time.

    *once* kernels of the same name come before the first step.
    """
    events = [traces.kernel(-20 * (at + 1), 10) for at in range(once)]
    begin = 0
    for number, length in enumerate(lengths):
        each = 1_600 // kernels
        events += [traces.kernel(begin + at * each, each) for at in range(kernels)]
        if marked:
            name = f"ProfilerStep#{number}"
            events.append(traces.event("user_annotation", name, begin, length - 1, {}))
        begin += length
    events.append(traces.copy(begin - 10, 10, 1 << 10))  # the last step ends with it
    path.write_text(traces.kineto(events))
    return str(path)


def every(count: int, nth: int, stall: int = STALL) -> list[int]:
    """Return the lengths of *count* steps, every *nth* of which stalls."""
    return [stall if at % nth == nth - 1 else FAST for at in range(count)]


@pytest.mark.parametrize("nth", [2, 4])
def test_stalls_in_some_steps_fail_the_gate(cli, tmp_path: Path, nth: int) -> None:
    old = run(tmp_path / "old.json", [FAST] * 8)
    new = run(tmp_path / "new.json", every(8, nth))
    ran = cli("diff", old, new, *GATE)
    assert ran.code == 1
    slow = 8 // nth
    assert (
        f"Steps became slower in the mean: {slow} of 8 took 100 ms longer than the middle one, "
        "with 100 ms more of idle time (step"
    ) in ran.err
    assert "the middle step took 2 ms and now 2 ms; in the mean a step took 2 ms and now" in ran.out
    annotated = cli("diff", old, new, "--format", "github").out
    assert f"::error title=Slower steps::Steps became slower in the mean: {slow} of 8" in annotated
    result = json.loads(cli("diff", old, new, "--format", "json").out)["result"]
    assert result["regression"] is True
    whole = result["whole"]
    mean = (sum(every(8, nth)) / 8) / 1e6
    assert whole["new"]["step_mean_seconds"] == pytest.approx(mean, rel=1e-3)
    assert (whole["old"]["step_count"], whole["new"]["step_count"]) == (8, 8)


ONE = [FAST, FAST, FAST, STALL, FAST, FAST, FAST, FAST]


def test_one_slow_step_fails_no_gate_and_is_said(cli, tmp_path: Path) -> None:
    old, new = run(tmp_path / "old.json", [FAST] * 8), run(tmp_path / "new.json", ONE)
    ran = cli("diff", old, new, *GATE)
    assert ran.code == 0
    assert 'new.json": of its steps 1 of 8 took 100 ms longer than the middle one' in ran.err
    assert "One slow step alone fails no gate" in ran.err
    assert cli("diff", new, new, *GATE).err == ""


def test_a_slow_step_of_the_old_run_hides_stalls_with_a_word(cli, tmp_path: Path) -> None:
    old, new = run(tmp_path / "old.json", ONE), run(tmp_path / "new.json", every(8, 4, 30_000))
    ran = cli("diff", old, new, *GATE)
    assert ran.code == 0
    assert 'old.json": of its steps 1 of 8 took 100 ms longer' in ran.err
    assert "without it the new run's steps would be slower in the mean" in ran.err


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (every(8, 4), every(8, 4), 0),
        (every(9, 4), [STALL, *every(8, 4)], 0),  # one slow step more by where the recording began
        (every(8, 4, 50_000), every(8, 4), 1),  # as many, and each takes longer
        (every(8, 4), every(8, 2), 1),  # twice as many
        (every(8, 4), every(80, 4), 0),
        (every(80, 4), every(8, 2), 1),
        ([FAST] * 8, [FAST * 1.04] * 8, 0),
        ([FAST] * 8, [FAST * 1.06] * 8, 1),
        ([FAST] * 8, [FAST, FAST * 1.2] * 4, 1),
        ([FAST] * 3, [FAST, FAST * 1.5, FAST], 0),
    ],
)
def test_slow_steps_count_by_how_many_come(
    cli, tmp_path: Path, old: list[int], new: list[int], code: int
) -> None:
    paths = run(tmp_path / "old.json", old), run(tmp_path / "new.json", new)
    assert cli("diff", *paths, *GATE).code == code


@pytest.mark.parametrize("counts", [(8, 9), (9, 8), (8, 16), (16, 8)])
@pytest.mark.parametrize("once", [0, 20])
def test_more_steps_are_no_more_calls(
    cli, tmp_path: Path, counts: Sequence[int], once: int
) -> None:
    old, new = (
        run(tmp_path / f"{name}.json", [FAST] * count, once=once)
        for name, count in zip(("old", "new"), counts, strict=True)
    )
    ran = cli("diff", old, new, *GATE, "--format", "json")
    assert ran.code == 0
    counted = json.loads(ran.out)["result"]["counts"]
    assert counted["unchanged"] == 1


@pytest.mark.parametrize("steps", [(8, 8), (8, 9)])
def test_more_calls_in_each_step_are(cli, tmp_path: Path, steps: Sequence[int]) -> None:
    """Kernels of the same length, half as many again in each step."""
    old = run(tmp_path / "old.json", [FAST] * steps[0], kernels=8)
    longer = []
    for at in range(steps[1]):
        begin = 3_000 * at
        longer += [traces.kernel(begin + 200 * one, 200) for one in range(13)]
        longer.append(traces.event("user_annotation", f"ProfilerStep#{at}", begin, 2_990, {}))
    path = tmp_path / "new.json"
    path.write_text(traces.kineto(longer))
    result = json.loads(cli("diff", old, str(path), "--format", "json").out)["result"]
    assert result["counts"]["more calls"] == 1


def test_steps_that_no_one_marks_may_be_layers(cli, tmp_path: Path) -> None:
    old, new = (run(tmp_path / f"{n}.json", [FAST] * n, marked=False) for n in (8, 9))
    assert cli("diff", old, new, *GATE).code == 1
