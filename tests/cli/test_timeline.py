"""``gpuadvise timeline``, and what other commands make of a timeline."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import recordings
import traces
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from report_file import ReportFile

from gpuadvise.advisor.timelines.intervals import Cover, IntervalLog
from gpuadvise.cli.schema import bundled
from gpuadvise.cli.timeline.lanes import covered

if TYPE_CHECKING:
    from typing import Any

VALID = {
    name: Draft202012Validator(json.loads(bundled(name))).validate
    for name in ("timeline", "overlap", "diff", "advise")
}
# A made-up run: a copy in, two kernels with a wait between them, a copy back.
EVENTS = [
    traces.copy(0, 2400, 16 << 20),
    traces.kernel(2400, 600),
    traces.call(2900, 110, "cudaStreamSynchronize"),
    traces.kernel(3040, 600),
    traces.copy(3640, 310, 16 << 20, name="Memcpy DtoH (Device -> Pinned)"),
]


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "trace.json"
    path.write_text(traces.kineto(EVENTS))
    return str(path)


def pinned(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return *events* with every copy out of pinned memory."""
    return [
        {**one, "name": one["name"].replace("Pageable", "Pinned"), "dur": min(one["dur"], 600)}
        for one in events
    ]


def result(cli, *args: str) -> dict[str, Any]:
    ran = cli("timeline", *args, "--format", "json")
    assert ran.code == 0, ran.err
    answer = json.loads(ran.out)
    VALID["timeline"](answer)
    return answer["result"]


def test_the_parts_sum_to_the_span(cli, trace: str) -> None:
    found = result(cli, trace)
    assert found["span_seconds"] == pytest.approx(3950e-6)
    assert found["kernel_seconds"] == pytest.approx(1200e-6)
    assert found["copy_seconds"] == pytest.approx(2710e-6)
    assert found["idle_seconds"] == pytest.approx(40e-6)
    assert found["busy_seconds"] + found["idle_seconds"] == pytest.approx(found["span_seconds"])
    assert [idle["cause"] for idle in found["idle"]] == ["synchronization"]
    assert found["synchronizations"][0]["name"] == "cudaStreamSynchronize"
    assert found["launches"]["kernels"] == 2
    assert found["others"] == []


def test_kernels_have_the_models_occupancy(cli, trace: str) -> None:
    (kernel,) = result(cli, trace)["kernels"]
    assert (kernel["occupancy"], kernel["calls"], kernel["waves"]) == (1.0, 2, 0.25)
    assert kernel["reported_occupancy"] == 0.25
    assert kernel["limiters"] == ["warps", "registers"]


def test_pageable_copies_stand_first_among_the_changes(cli, trace: str) -> None:
    changes = result(cli, trace)["what_if"]
    assert changes[0]["change"] == "pin-memory"
    assert changes[0]["speedup"] == pytest.approx(3950 / (3950 - changes[0]["saved_seconds"] * 1e6))
    assert cli("timeline", trace, "--get", "what_if.0.change").out == "pin-memory\n"


def test_the_screen_says_where_the_time_went(cli, trace: str) -> None:
    out = cli("timeline", trace).out
    for text in ("NVIDIA H200", "PyTorch", "68.6 %", "host to device", "pageable", "1 call of"):
        assert text in out
    assert len(out.splitlines()) <= 30


@pytest.mark.parametrize("form", ["csv", "ndjson", "markdown"])
def test_every_form_lists_the_kernels(cli, trace: str, form: str) -> None:
    ran = cli("timeline", trace, "--format", form)
    assert ran.code == 0
    assert "add" in ran.out
    if form == "csv":
        (row,) = csv.DictReader(io.StringIO(ran.out))
        assert float(row["seconds"]) == pytest.approx(1200e-6)


def test_lanes_are_drawn_as_wide_as_the_terminal(
    cli, trace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = cli("timeline", trace, "--show").out.splitlines()
    (kernels,) = [line for line in lines if line.startswith("kernels    .")]
    assert len(kernels) == 80
    assert set(kernels.removeprefix("kernels    ")) <= set("#=-.")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("gpuadvise.cli.emit.import_module", lambda name: _Shown())
    cli("timeline", trace, "--show")
    assert max(map(len, _Shown.drawing.splitlines())) == 60


class _Shown:
    """Stands for the terminal: keeps the drawing."""

    drawing = ""

    def show(self, blocks: Any, **how: Any) -> None:
        from gpuadvise.cli.blocks import Drawing

        (_Shown.drawing,) = [block.lines(60) for block in blocks if isinstance(block, Drawing)]


@given(
    st.lists(st.tuples(st.integers(0, 999), st.integers(0, 999)), max_size=30),
    st.integers(1, 200),
)
def test_a_lane_covers_as_much_as_its_intervals(pairs: list[tuple[int, int]], width: int) -> None:
    intervals = Cover([IntervalLog((min(pair), max(pair)) for pair in pairs)])
    shares = covered(intervals, 0, 1000, width)
    assert len(shares) == width
    total = sum(end - start for start, end in intervals)
    assert sum(shares) * 1000 / width == pytest.approx(total, abs=1e-6)


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_picture_file(cli, trace: str, tmp_path: Path, suffix: str) -> None:
    picture = tmp_path / f"lanes.{suffix}"
    assert cli("timeline", trace, "--plot", str(picture)).code == 0
    assert (b"<?xml" if suffix == "svg" else b"\x89PNG") in picture.read_bytes()[:200]


def test_pictures_that_cannot_be(cli, trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = cli("timeline", trace, "--plot", "x.txt")
    assert (ran.code, ran.out) == (2, "")
    assert "--plot" in ran.err
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert cli("timeline", trace, "--plot", "x.png").code == 3


def test_the_slowest_rank_stands_first(cli, tmp_path: Path) -> None:
    for rank, length in enumerate((600, 900)):
        info = {"distributedInfo": {"rank": rank, "world_size": 2}}
        text = traces.kineto([traces.kernel(0, 100), traces.kernel(500, length)], **info)
        (tmp_path / f"rank{rank}.json").write_text(text)
    found = result(cli, str(tmp_path))
    assert found["span_seconds"] == pytest.approx(1400e-6)
    assert [other["span_seconds"] for other in found["others"]] == [pytest.approx(1100e-6)]
    assert "2 timelines" in cli("timeline", str(tmp_path)).out


def test_the_gpu_may_be_named_where_the_file_does_not(cli, tmp_path: Path) -> None:
    path = tmp_path / "nameless.json"
    path.write_text(traces.kineto(EVENTS, deviceProperties=[]))
    ran = cli("timeline", str(path), "--format", "json")
    assert "give --gpu NAME" in ran.err
    assert json.loads(ran.out)["result"]["kernels"][0]["occupancy"] is None
    assert result(cli, str(path), "--gpu", "h200")["kernels"][0]["occupancy"] == 1.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("{}", "is not a timeline"),
        ('{"schemaVersion": 1, "traceEvents": []}', "no work of a GPU"),
    ],
)
def test_what_is_no_timeline(cli, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text)
    ran = cli("timeline", str(path))
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_two_standard_inputs_and_bad_numbers(cli, trace: str) -> None:
    assert cli("timeline", "-", "-").code == 2
    assert "--limit" in cli("timeline", trace, "--limit", "x").err


def test_a_pipe_is_read(trace: str) -> None:
    whole = Path(trace).read_bytes()
    for data in (whole, gzip.compress(whole)):
        for command in ("timeline", "advise"):
            done = subprocess.run(
                [sys.executable, "-m", "gpuadvise", command, "-"], input=data, capture_output=True
            )
            assert (done.returncode, done.stderr) == (0, b"")
            assert b"pinned" in done.stdout


def test_staging_is_predicted_from_a_timeline(cli, tmp_path: Path) -> None:
    path = tmp_path / "pinned.json"
    path.write_text(traces.kineto(pinned(EVENTS)))
    ran = cli("overlap", "--from-timeline", str(path), "--format", "json")
    answer = json.loads(ran.out)
    VALID["overlap"](answer)
    traced = answer["result"]["traced"]
    assert traced["passes"] == 1
    assert traced["kernel_seconds"] == pytest.approx(1200e-6)
    assert not traced["pageable"]
    assert answer["result"]["best"] < answer["result"]["sequential"]
    assert answer["input"]["h2d_bytes"] == 16 << 20
    text = cli("overlap", "--from-timeline", str(path)).out
    assert "overlapped     0 %" in text


def test_a_cut_recording_does_not_pass_the_gate_of_overlap(cli, tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    whole = traces.kineto(pinned(EVENTS))
    path.write_text(whole[: whole.rindex('"ph"')])
    ran = cli("overlap", "--from-timeline", str(path), "--fail-under", "1%")
    assert ran.code == 3
    assert "note: The file ends early" in ran.err
    assert cli("overlap", "--from-timeline", str(path), "--fail-under", "100%").code == 1
    ran = cli("overlap", "--from-timeline", str(path))
    assert (ran.code, "note: The file ends early" in ran.err) == (0, True)


def test_a_cut_recording_does_not_pass_the_gate_of_advise(cli, tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    whole = traces.kineto(pinned(EVENTS))
    path.write_text(whole[: whole.rindex('"ph"')])
    words = ("--fail-on", "high", "--ignore", "transfers,idle-gaps")
    ran = cli("advise", str(path), *words, "--json")
    left = json.loads(ran.out)["result"]["not_judged"]
    assert ran.code == 3
    assert cli("advise", str(path)).code == 0
    assert left[0] == {
        "path": str(path),
        "reason": "The file ends early: what it holds up to there was read.",
    }


@pytest.mark.parametrize(
    "words",
    [("timeline", "--fail-under", "1%"), ("overlap", "--fail-under", "1%", "--from-timeline")],
)
def test_a_folder_with_a_trace_that_cannot_be_read_passes_no_gate(
    words: tuple[str, ...], cli, tmp_path: Path
) -> None:
    whole = traces.kineto(pinned(EVENTS))
    (tmp_path / "a.json").write_text(whole)
    assert cli(*words, str(tmp_path)).code == 0
    (tmp_path / "b.json").write_text('{"traceEvents": [')
    ran = cli(*words, str(tmp_path))
    assert ran.code == 3
    assert 'note: Left out of the folder: "b.json"' in ran.err


def test_a_staged_run_has_nothing_more_to_win(cli, tmp_path: Path) -> None:
    path = tmp_path / "staged.json"
    pinned_copy, late = "Memcpy HtoD (Pinned -> Device)", 1000
    events = [traces.copy(i * 1000, 990, 50 << 20, pinned_copy) for i in range(4)]
    events += [traces.kernel(late + i * 1000, 990) for i in range(4)]
    path.write_text(traces.kineto(events))
    out = cli("overlap", "--from-timeline", str(path)).out
    assert "Worth it" in out  # a quarter of the copies still stands alone
    events = [traces.copy(i * 1000, 990, 50 << 20, pinned_copy) for i in range(40)]
    events += [traces.kernel(i * 1000, 990) for i in range(40)]
    path.write_text(traces.kineto(events))
    out = cli("overlap", "--from-timeline", str(path)).out
    assert out.startswith("Nothing more to win: 100 % of what could overlap already does.")
    assert "Needed:" not in out
    assert cli("overlap", "--from-timeline", str(path), "--get", "worthwhile").out == "false\n"
    assert "copy while kernels run" not in cli("timeline", str(path)).out


def test_what_a_kernel_can_win_is_said_on_a_condition_and_by_timeline_alone(
    cli, tmp_path: Path
) -> None:
    path = tmp_path / "kernels.json"
    path.write_text(traces.kineto([traces.kernel(i * 1000, 800) for i in range(40)]))
    spent = "80.4 % of 39.8 ms are kernels."
    won = f"{spent} What could win most: a faster kernel, at most 5.1x if it took no time."
    assert cli("timeline", str(path)).out.startswith(f"{won}\n")
    advised = cli("advise", str(path)).out
    assert f"\n{spent}\n" in advised
    assert "What could win most" not in advised


def test_a_kernel_that_is_nearly_the_whole_run_has_no_bound(cli, tmp_path: Path) -> None:
    path = tmp_path / "kernels.json"
    path.write_text(traces.kineto([traces.kernel(i * 1000, 999.5) for i in range(40)]))
    out = cli("timeline", str(path)).out
    spent = "100 % of 40 ms are kernels."
    assert out.startswith(f"{spent} What could win most: a faster kernel, 100 % of the run.\n")
    assert "no bound  a faster kernel" in out
    assert cli("timeline", str(path), "--get", "what_if.0.speedup").out == "null\n"


def test_a_bare_array_of_events_is_a_timeline(cli, tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    path.write_text(json.dumps(pinned(EVENTS)))
    assert cli("timeline", str(path)).code == 0
    advised = cli("advise", str(path))
    assert (advised.code, "This run" in advised.out) == (0, True)


def test_of_no_known_gpu_there_is_no_link(cli, tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    path.write_text(json.dumps(EVENTS))
    assert cli("timeline", str(path), "--get", "what_if").out.count("pin-memory") == 0
    named = cli("timeline", str(path), "--gpu", "h200", "--get", "what_if").out
    assert "pin-memory" in named
    assert "pageable-transfers" not in cli("advise", str(path)).out


def test_kernel_names_are_short_in_a_list_and_whole_in_data(cli, tmp_path: Path) -> None:
    name = f"void cutlass::Kernel2<{'x' * 100}, {'y' * 100}>(Params)"
    path = tmp_path / "trace.json"
    path.write_text(traces.kineto([traces.kernel(0, 10, name)]))
    for format in ("text", "markdown"):
        out = cli("timeline", str(path), "--format", format).out
        assert "void cutlass::Kernel2" in out
        assert "y" * 100 not in out
    for format in ("json", "csv", "ndjson"):
        assert "y" * 100 in cli("timeline", str(path), "--format", format).out


def test_pageable_copies_are_predicted_as_pinned(cli, trace: str) -> None:
    out = cli("overlap", "--from-timeline", trace).out
    assert "The copies were of pageable memory; the prediction is for pinned memory." in out


def test_staging_needs_copies_and_no_second_description(cli, tmp_path: Path, trace: str) -> None:
    path = tmp_path / "kernels.json"
    path.write_text(traces.kineto([traces.kernel(0, 10)]))
    assert "are missing" in cli("overlap", "--from-timeline", str(path)).err
    ran = cli("overlap", "--from-timeline", trace, "--kernel", "1ms", "--h2d", "1MB")
    assert (ran.code, "--h2d and --kernel" in ran.err) == (2, True)
    assert "--kernel is missing" in cli("overlap", "--h2d", "1MB").err


def test_two_runs_are_compared(cli, trace: str, tmp_path: Path) -> None:
    slow = tmp_path / "slow.json"
    events = [*EVENTS, traces.kernel(5000, 4000, name="new"), traces.kernel(9000, 900)]
    slow.write_text(traces.kineto(events))
    ran = cli("diff", trace, str(slow), "--format", "json", "--all", "--fail-on-regression")
    answer = json.loads(ran.out)
    VALID["diff"](answer)
    assert ran.code == 1
    found = answer["result"]
    assert found["regression"]
    assert {one["name"]: one["status"] for one in found["kernels"]} == {
        "new": "new",
        "add": "more calls",
    }
    assert found["whole"]["new"]["span_seconds"] == pytest.approx(9900e-6)
    assert "2.51x as long" in cli("diff", trace, str(slow)).out
    assert "::error title=More calls::" in cli("diff", trace, str(slow), "--format", "github").out
    back = cli("diff", str(slow), trace, "--fail-on-regression")
    assert (back.code, "2.51x as fast" in back.out) == (0, True)


def compared(cli, old: Path, new: Path, *args: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the result of ``diff``."""
    ran = cli("diff", str(old), str(new), "--format", "json", "--all", *args)
    answer = json.loads(ran.out)
    VALID["diff"](answer)
    return ran.code, answer["result"]


def statuses(result: dict[str, Any]) -> dict[str, str]:
    return {kernel["name"]: kernel["status"] for kernel in result["kernels"]}


@pytest.mark.parametrize(
    ("old", "new", "status", "code"),
    [
        ([100] * 4, [100] * 2, "fewer calls", 0),
        ([100] * 2, [100] * 4, "more calls", 1),
        ([100] * 4, [300] * 2, "slower", 1),  # each call is, though there are fewer
        ([300] * 2, [100] * 4, "faster", 0),
        ([100, 100, 100, 100], [100, 100, 100, 900], "slower", 1),  # the median is the same
        ([100] * 4, [100] * 4, "unchanged", 0),
    ],
)
def test_calls_and_the_time_of_a_call_are_told_apart(
    cli, tmp_path: Path, old: list[int], new: list[int], status: str, code: int
) -> None:
    paths = tmp_path / "old.json", tmp_path / "new.json"
    for path, times in zip(paths, (old, new), strict=True):
        end = traces.kernel(9000, 1, name="end")  # so that the span is the same
        events = [traces.kernel(at * 1000, time) for at, time in enumerate(times)]
        path.write_text(traces.kineto([*events, end]))
    ran, result = compared(cli, *paths, "--fail-on-regression")
    assert (ran, statuses(result)["add"]) == (code, status)


def test_part_of_a_run_passes_no_gate(cli, trace: str, tmp_path: Path) -> None:
    cut = tmp_path / "cut.json"
    text = Path(trace).read_text()
    cut.write_text(text[: text.rindex("{")])
    ran = cli("diff", trace, str(cut), "--fail-on-regression")
    assert (ran.code, "The file ends early" in ran.err, "cut.json" in ran.err) == (3, True, True)
    assert cli("diff", trace, str(cut)).code == 0
    slow = tmp_path / "slow.json"
    slow.write_text(traces.kineto([*EVENTS, traces.kernel(9000, 900)]))
    assert cli("diff", str(cut), str(slow), "--fail-on-regression").code == 1


def test_totals_are_those_of_timeline(cli, tmp_path: Path) -> None:
    path = tmp_path / "side-by-side.json"
    both = [traces.kernel(0, 100), traces.kernel(50, 100, name="other")]
    path.write_text(traces.kineto(both))
    whole = compared(cli, path, path)[1]["whole"]["new"]
    timeline = result(cli, str(path))
    assert whole["kernel_seconds"] == timeline["kernel_seconds"] == pytest.approx(150e-6)
    assert whole["copy_seconds"] == timeline["copy_seconds"] == 0


def test_sums_over_ranks_are_held_against_all_spans(cli, tmp_path: Path) -> None:
    for name, time in (("old", 1000), ("new", 1020)):
        (tmp_path / name).mkdir()
        for rank in range(4):
            events = [traces.kernel(0, time), traces.kernel(9000, 1000, name="end")]
            (tmp_path / name / f"{rank}.json").write_text(traces.kineto(events))
    found = compared(cli, tmp_path / "old", tmp_path / "new")[1]
    assert found["whole"]["new"]["kernel_seconds"] == pytest.approx(2020e-6)
    assert statuses(found) == {"add": "unchanged", "end": "unchanged"}
    out = cli("diff", str(tmp_path / "old"), str(tmp_path / "new"), "--all").out
    assert "Kernels of all 4 GPUs, the largest change first" in out
    assert "longest GPU" in out
    alone = cli("diff", str(tmp_path / "old"), str(tmp_path / "new" / "0.json"), "--all").out
    assert "Kernels of all GPUs (4 → 1)" in alone


def test_names_of_kernels_are_short_in_lists_and_whole_in_data(cli, tmp_path: Path) -> None:
    paths = tmp_path / "old.json", tmp_path / "new.json"
    name = "k" * 100 + "_end"
    for path, time in zip(paths, (100, 300), strict=True):
        path.write_text(traces.kineto([traces.kernel(0, time, name=name)]))
    for form in ("json", "csv", "ndjson"):
        assert name in cli("diff", *map(str, paths), "--format", form).out
    listed = cli("diff", *map(str, paths)).out
    assert name not in listed
    assert "kkk_end" in listed


def test_a_run_beside_itself_has_not_changed(cli, trace: str) -> None:
    ran = cli("diff", trace, trace, "--fail-on-regression", "--format", "json")
    assert (ran.code, json.loads(ran.out)["result"]["kernels"]) == (0, [])


def test_a_run_is_not_compared_with_a_build(cli, trace: str, tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text("ptxas info    : 0 bytes gmem\n")
    assert "is a recorded run" in cli("diff", trace, str(log)).err
    assert "leave out --block" in cli("diff", trace, trace, "--block", "32").err


def test_advice_joins_a_described_kernel_with_its_share(cli, trace: str, tmp_path: Path) -> None:
    described = tmp_path / "kernel.toml"
    described.write_text('[[kernel]]\nname = "add"\ngpu = "h200"\nregs = 72\nblock = 32\n')
    ran = cli("advise", trace, str(described), "--format", "json", "--all")
    answer = json.loads(ran.out)
    VALID["advise"](answer)
    (tiny,) = [one for one in answer["findings"] if one["rule"] == "tiny-blocks"]
    share = next(item for item in tiny["evidence"] if item["label"] == "share of the run")
    assert share["value"] == pytest.approx(1200 / 3950)
    assert tiny["gain"]["kind"] == "run time"
    assert tiny["gain"]["upper_bound"] == pytest.approx(1 / (1 - share["value"] / 2))


def test_advice_on_a_run(cli, trace: str) -> None:
    ran = cli("advise", trace, "--format", "json", "--fail-on", "high")
    answer = json.loads(ran.out)
    assert ran.code == 1
    (first, *_) = answer["findings"]
    assert first["rule"] == "pageable-transfers"
    assert first["gain"]["kind"] == "run time"
    assert {item["source"] for item in first["evidence"]} >= {"timeline"}
    assert cli("advise", trace).out.startswith("1 run and 1 kernel: 1 high")
    whole = cli(
        "advise", trace, "--select", "pageable-transfers", "--format", "markdown", "--why"
    ).out
    assert "span / (span - " in whole


def report(seconds: float, registers: int, share: float) -> bytes:
    """Return a report of Nsight Compute with two launches of one kernel."""
    file = ReportFile()
    for _ in range(2):
        file.launch(
            {
                "gpu__time_duration.sum": seconds * 1e9,
                "launch__registers_per_thread": registers,
                "sm__maximum_warps_per_active_cycle_pct": share,
            }
        )
    return file.bytes


def test_two_kernel_reports_are_compared(cli, tmp_path: Path, trace: str) -> None:
    old, new = tmp_path / "old.ncu-rep", tmp_path / "new"
    old.write_bytes(report(3e-3, 32, 100.0))
    new.write_bytes(report(5e-3, 72, 37.5))
    ran = cli("diff", str(old), str(new), "--format", "json", "--fail-on-regression")
    answer = json.loads(ran.out)
    VALID["diff"](answer)
    (kernel,) = answer["result"]["kernels"]
    assert (ran.code, kernel["status"]) == (1, "slower")
    assert (kernel["old"]["registers"], kernel["new"]["registers"]) == (32, 72)
    assert (kernel["old"]["occupancy"], kernel["new"]["occupancy"]) == (1.0, 0.375)
    assert (kernel["new"]["calls"], kernel["new"]["seconds"]) == (2, pytest.approx(10e-3))
    assert answer["result"]["whole"]["new"]["span_seconds"] is None
    out = cli("diff", str(old), str(new)).out
    assert out.startswith("The kernels took 6 ms and now 10 ms, 1.67x as long")
    assert "cannot be compared" in cli("diff", str(old), trace).err


def test_reports_without_a_common_kernel_are_no_speedup(cli, tmp_path: Path) -> None:
    old, new = tmp_path / "old.ncu-rep", tmp_path / "new.ncu-rep"
    for path, kernel, time in ((old, "first", 3e6), (new, "second", 1e6)):
        file = ReportFile()
        file.launch({"gpu__time_duration.sum": time}, kernel=(kernel, kernel, kernel))
        path.write_bytes(file.bytes)
    ran = cli("diff", str(old), str(new))
    assert "; no kernel is in both; of 2 kernels 1 new and 1 removed." in ran.out
    assert "as fast" not in ran.out
    assert cli("diff", str(old), str(new), "--fail-on-regression").code == 2


TRUTH = Path(__file__).parents[1] / "truth" / "recorded"


def unpacked(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_bytes(lzma.decompress((TRUTH / f"{name}.xz").read_bytes()))
    return path


def slowed(page: Path, factor: float) -> Path:
    """Write the raw page *page* with times *factor* times as long beside it."""
    with page.open(newline="") as file:
        rows = list(csv.reader(file))
    column = rows[0].index("gpu__time_duration.sum")
    for row in rows[2:]:
        row[column] = str(float(row[column]) * factor)
    path = page.with_name("slow.csv")
    with path.open("w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    return path


def test_pages_of_a_profiler_are_runs_with_times(cli, tmp_path: Path) -> None:
    raw = unpacked(tmp_path, "textbook.raw.csv")
    slow = slowed(raw, 10)
    code, found = compared(cli, raw, slow, "--fail-on-regression")
    assert (code, found["counts"]["slower"]) == (1, 14)
    assert found["counts"]["unchanged"] == 4  # together less than 1 % of the whole, each
    for other in (unpacked(tmp_path, f"textbook.{end}") for end in ("details.csv", "ncu-rep")):
        code, found = compared(cli, other, raw, "--fail-on-regression")
        assert (code, found["counts"]["unchanged"]) == (0, 18), other
        assert compared(cli, other, slow, "--fail-on-regression")[0] == 1


def test_a_page_with_shortened_names_is_not_held_against_a_report(cli, tmp_path: Path) -> None:
    paths = [str(unpacked(tmp_path, f"cub.{end}")) for end in ("ncu-rep", "raw.csv")]
    ran = cli("diff", *paths)
    assert (ran.code, "a page shortens names" in ran.err) == (2, True)


def test_a_gate_without_times_has_not_passed(cli, tmp_path: Path) -> None:
    page = tmp_path / "page.csv"
    page.write_text(
        '"ID","Kernel Name","Block Size","Grid Size","CC","launch__registers_per_thread"\n'
        '"","","","","","register/thread"\n"0","add","(32, 1, 1)","(1, 1, 1)","9.0","32"\n'
    )
    ran = cli("diff", str(page), str(page), "--fail-on-regression")
    assert (ran.code, "has no time for every launch of 1 kernel" in ran.err) == (3, True)
    assert cli("diff", str(page), str(page)).code == 0


def test_files_of_a_folder_keep_their_names(cli, tmp_path: Path) -> None:
    for rank in range(2):
        (tmp_path / f"rank{rank}.json").write_text(traces.kineto([traces.kernel(0, 10 + rank)]))
    text = cli("timeline", str(tmp_path)).out
    assert "rank0.json" in text
    assert "rank1.json" in text
    found = json.loads(cli("timeline", str(tmp_path), "--json").out)["result"]
    assert found["file"] == str(tmp_path / "rank1.json")
    assert found["others"][0]["file"] == str(tmp_path / "rank0.json")


@pytest.mark.parametrize(
    ("memories", "named", "said"),
    [
        (("Pageable", "Pageable"), True, None),
        (("Pinned", "Pinned"), False, "(assumed: 2 copy engines)"),
        (("Pageable", "Pageable"), False, "(assumed: PCIe 4 x16 and 2 copy engines)"),
        (("Pinned", "Pageable"), False, "(assumed: PCIe 4 x16 and 2 copy engines)"),
        (("Pageable",), False, "(assumed: PCIe 4 x16)"),
    ],
)
def test_a_prediction_says_what_it_assumes(
    memories: tuple[str, ...], named: bool, said: str | None, cli, tmp_path: Path
) -> None:
    ways = ("HtoD ({} -> Device)", "DtoH (Device -> {})")
    events = [
        traces.copy(4000 * at, 800, 16 << 20, f"Memcpy {way.format(memory)}")
        for at, (way, memory) in enumerate(zip(ways, memories, strict=False))
    ]
    path = tmp_path / "trace.json"
    gpus = {} if named else {"deviceProperties": []}
    path.write_text(traces.kineto([*events, traces.kernel(900, 3000)], **gpus))
    text = cli("timeline", str(path)).out
    assert "staged" in text
    assert ("assumed" in text) == (said is not None)
    assert said is None or said in text
    record = json.loads(cli("timeline", str(path), "--format", "json").out)
    assert bool(record["result"]["overlap"]["assumed"]) == (said is not None)


@pytest.mark.parametrize(
    ("memories", "source"),
    [
        (("Pinned", "Pinned"), "  the rates of this timeline\n"),
        (("Pinned", "Pageable"), "  the rates of this timeline, else derived: PCIe 5 x16"),
        (("Pageable", "Pageable"), "  derived: PCIe 5 x16"),
    ],
)
def test_rates_that_were_not_traced_are_not_said_to_be(
    memories: tuple[str, str], source: str, cli, tmp_path: Path
) -> None:
    path = tmp_path / "trace.json"
    events = [
        traces.copy(0, 800, 16 << 20, f"Memcpy HtoD ({memories[0]} -> Device)"),
        traces.kernel(900, 3000),
        traces.copy(4000, 800, 16 << 20, f"Memcpy DtoH (Device -> {memories[1]})"),
    ]
    path.write_text(traces.kineto(events))
    assert source in cli("overlap", "--from-timeline", str(path)).out


def test_jax_says_the_occupancy_that_it_recorded(cli, tmp_path: Path) -> None:
    details = (
        "regs:168 static_shared:0 dynamic_shared:213220 grid:2,66,1 block:384,1,1 occ_pct:18.75"
    )
    events = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "Stream #1"}},
        {
            "ph": "X", "name": "gemm", "pid": 1, "tid": 2, "ts": 1, "dur": 5,
            "args": {"kernel_details": details, "hlo_module": "f"},
        },
    ]  # fmt: skip
    path = tmp_path / "run.trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    ran = cli("timeline", str(path))
    assert "18.8 %" in ran.out
    assert "so what limits occupancy, and the rate of the link, are not known" in ran.err
    assert "shared memory" in cli("timeline", str(path), "--gpu", "h200").out


def test_runs_are_named_where_there_are_several(cli, tmp_path: Path) -> None:
    gaps = [traces.kernel(10_000 * at, 300, device=gpu) for at in range(5) for gpu in (0, 1)]
    path = tmp_path / "two.json"
    path.write_text(traces.kineto(gaps))
    text = cli("advise", str(path)).out
    assert "GPU 0: Keep the GPU at work" in text
    assert "GPU 1: Keep the GPU at work" in text
    lines = [line for line in text.splitlines() if line.startswith("Limit: ")]
    assert len(lines) == len(set(lines))
    again = tmp_path / "again.json"
    again.write_text(traces.kineto(gaps[::2]))
    text = cli("advise", str(path), str(again)).out
    assert "two.json, GPU 0: Keep" in text
    assert "again.json, GPU 0: Keep" in text
    alone = cli("advise", str(again)).out
    assert "GPU 0: Keep" not in alone
    assert "Keep the GPU at work" in alone


def test_a_baseline_that_names_no_runs_excuses_their_findings(cli, tmp_path: Path) -> None:
    gaps = [traces.kernel(10_000 * at, 100, device=gpu) for at in range(5) for gpu in (0, 1)]
    path, saved, bare = tmp_path / "two.json", tmp_path / "saved.json", tmp_path / "bare.json"
    path.write_text(traces.kineto(gaps))
    answer = json.loads(cli("advise", str(path), "--format", "json").out)
    saved.write_text(json.dumps(answer))
    named = [row for row in answer["findings"] if row["location"]]
    assert {row["location"]["kernel"] for row in named} == {"GPU 0", "GPU 1"}
    for row in named:
        row["location"]["kernel"] = None
    bare.write_text(json.dumps(answer))
    for baseline in (saved, bare):
        assert cli("advise", str(path), "--fail-on", "low", "--baseline", str(baseline)).code == 0
    answer["findings"] = []
    bare.write_text(json.dumps(answer))
    assert cli("advise", str(path), "--fail-on", "low", "--baseline", str(bare)).code == 1


def test_overlap_says_which_of_several_timelines_it_is_about(cli, tmp_path: Path) -> None:
    for rank, time in enumerate((600, 900, 700)):
        info = {"distributedInfo": {"rank": rank, "world_size": 3}}
        events = [traces.copy(0, time, 16 << 20), traces.kernel(2000, 500)]
        (tmp_path / f"{rank}.json").write_text(traces.kineto(events, **info))
    said = cli("overlap", "--from-timeline", str(tmp_path)).err
    assert "Of 3 timelines this is rank 1, GPU 0, whose copies took longest." in said
    assert "timelines" not in cli("overlap", "--from-timeline", str(tmp_path / "1.json")).err


def test_a_kernel_has_the_largest_share_that_it_takes_of_a_gpu(cli, tmp_path: Path) -> None:
    times = [(0, 0, 200), (0, 800, 200), (1, 0, 300), (1, 700, 300)]
    trace, described = tmp_path / "two.json", tmp_path / "kernel.toml"
    trace.write_text(traces.kineto([traces.kernel(ts, dur, device=gpu) for gpu, ts, dur in times]))
    described.write_text('[[kernel]]\nname = "add"\ngpu = "h200"\nregs = 72\nblock = 32\n')
    ran = cli("advise", str(trace), str(described), "--format", "json", "--all")
    tiny = [row for row in json.loads(ran.out)["findings"] if row["rule"] == "tiny-blocks"]
    evidence = [item for row in tiny for item in row["evidence"]]
    shares = [item["value"] for item in evidence if item["label"] == "share of the run"]
    assert shares == [pytest.approx(0.6)]


def test_notes_on_a_folder_name_the_file(cli, tmp_path: Path) -> None:
    whole = traces.kineto([traces.kernel(10 * at, 5) for at in range(40)])
    for rank in range(34):
        (tmp_path / f"rank{rank}.json").write_text(whole)
    (tmp_path / "rank7.json").write_text(whole[: len(whole) // 2])
    ran = cli("timeline", str(tmp_path))
    assert '"rank7.json": The file ends early' in ran.err
    assert 'The first event left out of "rank7.json" is number' in ran.err
    assert "2 more timelines: --format json has all." in ran.out
    assert '"rank7.json": The file ends early' in cli("advise", str(tmp_path)).err


def stepped(path: Path, steps: int, work: int) -> str:
    """Write a run of *steps* marked steps of *work* us and 100 us of the host's own."""
    events = []
    for at in range(steps):
        begin = at * (work + 100)
        events += [traces.kernel(begin, work), traces.call(begin, 5)]
        mark = {"device": 0}
        events.append(traces.event("gpu_user_annotation", f"ProfilerStep#{at}", begin, work, mark))
    path.write_text(traces.kineto(events))
    return str(path)


def test_steps_are_shown_with_the_slowest_and_why(cli, tmp_path: Path) -> None:
    events, at = [], 0
    for number, work in enumerate((500, 500, 900, 500)):
        mark = traces.event(
            "gpu_user_annotation", f"ProfilerStep#{number}", at, work, {"device": 0}
        )
        events += [traces.kernel(at, work), mark]
        at += work + 100
    path = tmp_path / "trace.json"
    path.write_text(traces.kineto(events))
    text = cli("timeline", str(path)).out
    assert "median of 4" in text
    assert "slowest: 2" in text
    assert "the slowest has 400 us more of kernels." in text
    steps = json.loads(cli("timeline", str(path), "--format", "json").out)["result"]["steps"]
    assert (steps["source"], steps["count"], steps["slowest"]) == ("profiler", 4, 2)
    assert steps["median_seconds"] == pytest.approx(600e-6)


def test_two_runs_are_compared_by_their_middle_step(cli, tmp_path: Path) -> None:
    few, many = stepped(tmp_path / "few.json", 4, 500), stepped(tmp_path / "many.json", 6, 500)
    ran = cli("diff", few, many)
    assert "a step took 600 us and now 600 us" in ran.out
    slower = stepped(tmp_path / "slower.json", 4, 560)
    assert cli("diff", few, slower, "--fail-on-regression", "--slower", "5%").code == 1
    whole = json.loads(cli("diff", few, many, "--format", "json").out)["result"]["whole"]
    assert whole["old"]["step_seconds"] == whole["new"]["step_seconds"]


def test_what_kept_the_gpu_waiting_is_named(cli, tmp_path: Path) -> None:
    frame = traces.event("python_function", "/home/me/data.py(41): collate_fn", 100, 9000, {})
    events = [traces.kernel(0, 100), traces.kernel(10_000, 100), frame]
    path = tmp_path / "trace.json"
    path.write_text(traces.kineto(events))
    text = cli("timeline", str(path)).out
    assert "collate_fn, data.py:41" in text
    assert "/home/me" not in text
    assert "with_stack=True" not in text
    answer = json.loads(cli("timeline", str(path), "--format", "json").out)["result"]
    assert answer["idle_in"] == [
        {
            "culprit": "collate_fn",
            "seconds": pytest.approx(9e-3),
            "share": pytest.approx(9 / 10.1),
            "file": "data.py",
            "line": 41,
            "function": "collate_fn",
        }
    ]
    (gap,) = answer["gaps"]
    assert gap["culprit"] == {
        "name": "collate_fn",
        "kind": "frame",
        "file": "data.py",
        "line": 41,
        "function": "collate_fn",
    }


def test_what_holds_the_gpu_up_is_summed_over_gaps(cli, tmp_path: Path) -> None:
    """The first gap is the shortest: in the sum the longest comes first."""
    events = [traces.kernel(at, 100) for at in (0, 1_000, 10_000, 20_000)]
    events += [
        traces.event("python_function", name, at, length, {})
        for name, at, length in (
            ("data.py(3): shuffle", 100, 900),
            ("data.py(41): collate_fn", 1_100, 8_900),
            ("data.py(41): collate_fn", 10_100, 9_900),
        )
    ]
    (tmp_path / "t.json").write_text(traces.kineto(events))
    longest, other = result(cli, str(tmp_path / "t.json"))["idle_in"]
    assert (longest["culprit"], longest["line"]) == ("collate_fn", 41)
    assert longest["seconds"] == pytest.approx(18.8e-3)
    assert (other["culprit"], other["line"]) == ("shuffle", 3)


def test_without_stacks_it_is_said_how_to_have_lines(cli, tmp_path: Path) -> None:
    for idle_us, said in ((10_000, True), (5, False)):
        events = [traces.kernel(0, 100), traces.kernel(100 + idle_us, 100)]
        (tmp_path / "t.json").write_text(traces.kineto(events))
        text = cli("timeline", str(tmp_path / "t.json")).out
        assert ("record with profile(with_stack=True), which names them" in text) is said


def test_a_frameworks_work_between_operators_is_no_work_of_the_host(cli, tmp_path: Path) -> None:
    """Ten gaps of 0.3 ms between operators, and one of 2 ms in which the host works."""
    starts = [*(350 * at for at in range(11)), 5_500]
    events = [traces.kernel(start, 50) for start in starts]
    events += [traces.call(start - 10, 5) for start in starts[1:]]
    (tmp_path / "t.json").write_text(traces.kineto(events))
    (idle,) = (
        line
        for line in cli("timeline", str(tmp_path / "t.json")).out.splitlines()
        if line.startswith("idle  ")
    )
    assert "between operators 53." in idle
    assert "host work 35." in idle


def test_start_up_is_said_and_left_out(cli, tmp_path: Path) -> None:
    events = [traces.kernel(0, 1000), traces.kernel(2_000_000, 1000)]
    events.append(traces.call(1000, 1_999_000, "cudaStreamCreateWithFlags"))
    path = tmp_path / "trace.json"
    path.write_text(traces.kineto(events))
    text = cli("timeline", str(path)).out
    assert "100 % of the 2 ms that are judged are kernels. 2 s more, of the 2 s from" in text
    assert "first work to its last, are start-up, which is left out: record after" in text
    account = json.loads(cli("timeline", str(path), "--format", "json").out)["result"]["account"]
    assert account["start_up_seconds"] == pytest.approx(1.999)
    assert account["steady_seconds"] == pytest.approx(0.002)


def test_a_start_that_takes_longest_is_said_first(cli, tmp_path: Path) -> None:
    events = [traces.event("cuda_runtime", "cudaMalloc", 0, 190_000, {})]
    events += [traces.kernel(195_000 + 2_000 * at, 1_900, "add") for at in range(3)]
    (tmp_path / "t.json").write_text(traces.kineto(events))
    said = cli("timeline", str(tmp_path / "t.json")).out.splitlines()[0]
    assert said.startswith(
        "94.6 % of 200.9 ms recorded go to what a program does once, cudaMalloc more than anything else. Then "
    )


@pytest.mark.parametrize(
    ("prepares_ms", "said"),
    [
        (0, "57 % of 4 s the GPU is idle, mostly while the host works."),
        (
            6_000,
            "60 % of 10 s recorded the host works on its own before the GPU's first work or behind its last. "
            "In between 57 % of 4 s the GPU is idle, mostly while the host works.",
        ),
    ],
)
def test_the_first_sentence_says_what_the_host_does_where_that_takes_the_time(
    cli, tmp_path: Path, prepares_ms: int, said: str
) -> None:
    begin = 1000 * prepares_ms
    events = [traces.kernel(begin + 200_000 * at, 80_000) for at in range(20)]
    events[-1]["dur"] = 200_000
    calls = [traces.call(begin + 200_000 * at - 20, 10) for at in range(1, 20)]
    first = [traces.call(0, 50, "cudaGetDeviceProperties")] if prepares_ms else []
    path = tmp_path / "trace.json"
    path.write_text(traces.kineto([*first, *calls, *events]))
    assert cli("timeline", str(path)).out.startswith(said)


def test_the_first_sentence_names_the_kernel_that_is_most_of_the_run(cli, tmp_path: Path) -> None:
    events = [traces.kernel(i * 1000, 900, "heavy" if i % 10 else "light") for i in range(40)]
    path = tmp_path / "trace.json"
    path.write_text(traces.kineto(events))
    said = "90.2 % of 39.9 ms are kernels, 81.2 % heavy."
    assert cli("timeline", str(path)).out.startswith(said)


def test_the_first_line_names_the_largest_change_of_all_ranks(cli, tmp_path: Path) -> None:
    folder = recordings.unpack(tmp_path, ("ranks",)) / "ranks" / "uneven_ranks"
    out = cli("timeline", str(folder)).out
    (said,) = (line for line in out.splitlines() if "What could win most" in line)
    assert "What could win most on rank 1, GPU 0: multiply matrices in TF32 or 16 bits" in said
    largest = max(
        one["gain"]["upper_bound"]
        for one in json.loads(cli("advise", str(folder), "--format", "json").out)["findings"]
    )
    assert f"at most {largest:.3g}x." in said
    assert "give all ranks the same work" in out


def test_a_bound_that_says_nothing_is_said_in_the_words_of_advise(cli, tmp_path: Path) -> None:
    path = recordings.unpack(tmp_path, ("torch",)) / "torch" / "small_copies.json.gz"
    out = cli("timeline", str(path)).out
    beyond = "nothing that the recording counts bounds it."
    assert f"What could win most: merge small copies; {beyond}\n" in out
    assert "no bound  merge small copies" in out
    assert beyond in cli("advise", str(path)).out


def test_that_little_ran_is_said_of_copies_of_which_nothing_else_is(cli, tmp_path: Path) -> None:
    path = recordings.unpack(tmp_path, ("jax",)) / "jax" / "small_copies.trace.json.gz"
    little = "Too little ran to judge a run by: record more of it."
    for command in ("timeline", "advise"):
        assert little in cli(command, str(path)).out
        assert little not in cli(command, str(path), "--gpu", "h200").out


@pytest.mark.parametrize(("first", "advises"), [(0, True), (20, False)])
def test_a_warm_up_is_advised_where_there_was_none(
    cli, tmp_path: Path, first: int, *, advises: bool
) -> None:
    """Four steps, in the first of which the GPU waits for 50 ms."""
    events, begin = [], 0
    for at in range(4):
        gap = 50_000 if at == 0 else 100
        length = 2_000 + gap
        events += [
            traces.kernel(begin, 1_000, "a"),
            traces.kernel(begin + 1_000 + gap, 1_000, "b"),
            traces.event("user_annotation", f"ProfilerStep#{first + at}", begin, length, {}),
        ]
        begin += length
    path = tmp_path / "trace.json"
    path.write_text(traces.kineto(events))
    said = cli("timeline", str(path)).out.splitlines()[0]
    assert "are start-up, which is left out" in said
    assert ("record after a warm-up" in said) is advises
