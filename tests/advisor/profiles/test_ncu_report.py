"""The reader of report files, on files that the tests write themselves, and against NVIDIA's."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_file import ReportFile, message, rule, sized

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.kernel_profile import ProfilerRule
from gpuadvise.advisor.profiles.ncu_report import (
    ReportedCode,
    ReportedLaunch,
    ReportedRange,
    ReportEntry,
    read_ncu_report,
)
from gpuadvise.advisor.profiles.signatures import is_ncu_report

METRICS: dict[str, float | str] = {
    "gpu__time_duration.sum": 181_344,
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": 13.298465,
    "launch__grid_size": 2**40,
    "device__attribute_display_name": "NVIDIA Something",
    "negative.ratio": -0.5,
}
# Reports on this machine, of any origin: they hold host names, so none is kept with the tests.
REPORTS = sorted(Path(os.environ.get("GPUADVISE_NCU_REPORTS", "/nowhere")).glob("*.ncu-rep"))


def entries(content: bytes, **kwargs: Any) -> list[ReportEntry]:
    return list(read_ncu_report(io.BytesIO(content), "x.ncu-rep", **kwargs))


def launches(content: bytes, **kwargs: Any) -> list[ReportedLaunch]:
    return [entry for entry in entries(content, **kwargs) if isinstance(entry, ReportedLaunch)]


def small_report() -> ReportFile:
    report = ReportFile()
    report.session(message((9, message((1, "/home/someone/app"), (4, "TOKEN=secret")))))
    report.code(77, b"\x7fELF code")
    said = rule("CPIStall", "See the @url:Guide:https://x.y/z#a@ and @section:A:B c@.", 4, 9.723)
    report.launch(METRICS, rules=(said, rule("Silent", "")), code=77)
    report.launch({**METRICS, "added.later": 3.5}, grid=(5, 6, 7), block=(1, 2, 3))
    report.range()
    report.session(b"")
    return report


def test_launches_metrics_rules_and_code() -> None:
    code, first, second, profiled_range = entries(small_report().bytes)
    assert code == ReportedCode(
        reference=77, capability=Capability(9, 0), cubin=b"\x7fELF code", ptx=None
    )
    assert first == ReportedLaunch(
        kernel="k(float *)",
        mangled="_Z1kPf",
        grid=(64, 1, 1),
        block=(256, 1, 1),
        code=77,
        metrics=METRICS,
        rules=(
            ProfilerRule(
                name="CPIStall",
                kind="OPT",
                message="See the Guide (https://x.y/z#a) and B c.",
                estimated_speedup=9.723,
            ),
        ),
    )
    assert isinstance(second, ReportedLaunch)
    assert second.metrics == {**METRICS, "added.later": 3.5}
    assert (second.grid, second.block, second.code) == ((5, 6, 7), (1, 2, 3), None)
    assert profiled_range == ReportedRange()


def test_nothing_of_the_machine_comes_out() -> None:
    shown = repr(entries(small_report().bytes))
    for secret in ("secret", "someone", "TOKEN"):
        assert secret not in shown


def test_metrics_per_instance_come_on_request() -> None:
    report = ReportFile()
    by_opcode = {"stalls": ((16, 3), (32, 4.5))}
    report.launch({"stalls": 7.5, "others": 1}, instances={**by_opcode, "others": ((1, 1),)})
    [plain] = launches(report.bytes)
    [detailed] = launches(report.bytes, instances=frozenset(["stalls"]))
    assert plain.instances == {}
    assert detailed.instances == by_opcode
    assert plain.metrics == detailed.metrics == {"stalls": 7.5, "others": 1}


def test_a_metric_without_a_value_is_not_known() -> None:
    unset = message((13, message((1, 0), (4, 0))))
    [launch] = launches(block(sized(unset), (2, 1), (4, message((1, "a"))), (5, len(unset) + 4)))
    assert isinstance(launch, ReportedLaunch)
    assert launch.metrics == {}
    assert (launch.kernel, launch.grid, launch.block) == ("", None, None)


@given(
    st.dictionaries(
        st.text(max_size=20).filter(lambda name: name.isprintable()),
        st.floats(allow_nan=False) | st.integers(0, 2**64 - 1) | st.text(max_size=30),
        max_size=300,
    )
)
def test_every_value_comes_back(metrics: dict[str, float | str]) -> None:
    report = ReportFile()
    report.launch(metrics)
    [launch] = launches(report.bytes)
    assert launch.metrics == metrics


def test_many_names_and_long_metrics() -> None:
    report = ReportFile()
    metrics: dict[str, float | str] = {f"metric {n}": float(n) for n in range(17_000)}
    report.launch(metrics, instances={"metric 5": tuple((n, n) for n in range(3000))})
    report.launch(dict(reversed(metrics.items())))
    first, second = launches(report.bytes)
    assert first.metrics == second.metrics == metrics


def test_launches_alike_in_all_but_some_values() -> None:
    kinds = (lambda n: n + 0.5, lambda n: n, lambda n: f"text {n}")
    metrics: dict[str, float | str] = {f"metric {n}": kinds[n // 7 % 3](n) for n in range(600)}
    changed = metrics | {"metric 8": 9, "metric 150": 1.25, "metric 160": "other", "metric 470": 1}
    report = ReportFile()
    for each in (metrics, changed, metrics, {"metric 300": 3.5}):
        report.launch(each)
    assert [launch.metrics for launch in launches(report.bytes)] == [
        metrics, changed, metrics, {"metric 300": 3.5}
    ]  # fmt: skip


def test_rows_without_a_name_are_left_out() -> None:
    number = (2, message((3, 2.5)))
    rows = message(*((13, message((1, name), number)) for name in (128, 129, 4000, 128)))
    overlong = b"\x6a\x0e\x08\x81\x00\x12\x09" + message((3, 7.5))  # 1, in two bytes
    names = message(*((1, f"metric {n}") for n in range(129)))
    payload = sized(rows + overlong)
    [launch] = launches(block(payload, (2, 1), (4, names), (5, len(payload))))
    assert launch.metrics == {"metric 128": 2.5, "metric 1": 7.5}


@pytest.mark.parametrize("content", [b"", b"NVR", b"hello\n", b"\x7fELF", b'"ID","Kernel Name"\n'])
def test_what_is_no_report(content: bytes) -> None:
    assert not is_ncu_report(content)
    with pytest.raises(BadInput) as caught:
        entries(content)
    assert caught.value.message == "x.ncu-rep: no report of Nsight Compute."


def test_another_version_is_refused() -> None:
    content = small_report().bytes
    assert is_ncu_report(content)
    other = content.replace(sized(message((1, 7))), sized(message((1, 8))), 1)
    with pytest.raises(BadInput, match="a report of version 8; only version 7 is known"):
        entries(other)


@pytest.mark.parametrize("rest", [8, 9, 20, 60, 100, 200])
def test_a_report_cut_short_is_refused(rest: int) -> None:
    content = small_report().bytes
    with pytest.raises(BadInput, match="damaged report"):
        entries(content[: len(content) - rest])


def block(payload: bytes, *fields: tuple[int, int | bytes]) -> bytes:
    return ReportFile().bytes + sized(message(*fields)) + payload


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (block(b"", (2, 1), (5, 2**40)), "it ends within a block"),
        (block(b"", (2, 2**60)), "too many entries"),
        (block(b"", (7, 1), (5, 2**62)), "it ends within a block"),
        (block(b"", (7, 2**24)), "an entry is larger than its block"),
        (block(b"\xff\xff\xff\xff", (2, 1), (5, 8)), "an entry of 4294967295 bytes"),
        (block(sized(b"x" * 20), (2, 1), (5, 10)), "an entry of 20 bytes"),
        (block(sized(b"\x6a\xff"), (2, 1), (5, 6)), "a message ends within a number"),
        (block(sized(b"\x6a\x10"), (2, 1), (5, 6)), "a field is larger than its message"),
        (block(sized(b"\x6b"), (2, 1), (5, 5)), "a field of kind 3"),
        (block(sized(b"\x80" * 11), (2, 1), (5, 15)), "a number is too long"),
        (block(sized(b"\x9a\x01\x02\x18\x00"), (2, 1), (5, 9)), "a number where a message"),
        (ReportFile().bytes + b"\xff\xff\xff\x7f", "it ends within a block"),
        (ReportFile().bytes + b"\x00", "it ends within a block"),
    ],
)
def test_hostile_reports_are_refused(content: bytes, why: str) -> None:
    with pytest.raises(BadInput) as caught:
        entries(content)
    assert f"a damaged report of Nsight Compute: {why}" in caught.value.message


@given(st.data())
def test_a_damaged_report_is_read_or_refused(data: st.DataObject) -> None:
    content = bytearray(small_report().bytes)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 6))] = data.draw(st.binary(max_size=6))
    try:
        entries(bytes(content), instances=frozenset(METRICS))
    except BadInput as error:
        assert error.message.startswith("x.ncu-rep: ")


def test_hostile_counts_are_bounded() -> None:
    table = message((1, "")) * (2**20 + 1)
    with pytest.raises(BadInput, match="too many strings"):
        entries(block(b"", (4, table)))
    report = ReportFile()
    report.launch({}, rules=(rule("r", "x"),) * (2**12 + 1))
    with pytest.raises(BadInput, match="too many rules"):
        entries(report.bytes)


def test_a_hostile_link_takes_no_time() -> None:
    report = ReportFile()
    text = "@url:" + ":http" * 100_000
    report.launch({}, rules=(rule("r", text),))
    [launch] = launches(report.bytes)
    assert launch.rules[0].message == text


@given(st.binary(max_size=200))
def test_any_bytes_behind_the_magic(noise: bytes) -> None:
    for content in (b"NVR\0" + noise, block(sized(noise), (2, 1), (5, len(noise) + 4))):
        try:
            entries(content, instances=frozenset(["x"]))
        except BadInput as error:
            assert error.message.startswith("x.ncu-rep: ")


def written(folder: Path) -> Path:
    path = folder / "small.ncu-rep"
    path.write_bytes(small_report().bytes)
    return path


@pytest.mark.parametrize("path", [None, *REPORTS], ids=lambda path: path.name if path else "own")
def test_nvidias_own_reader_says_the_same(path: Path | None, tmp_path: Path) -> None:
    oracle = pytest.importorskip("ncu_report")
    path = path or written(tmp_path)
    ours = launches(path.read_bytes())
    actions = [
        profiled.action_by_idx(index)
        for profiled in oracle.load_report(str(path))
        for index in range(profiled.num_actions())
        if profiled.action_by_idx(index).workload_type() == oracle.IAction.WorkloadType_KERNEL
    ]
    assert len(ours) == len(actions) > 0
    for launch, action in zip(ours, actions, strict=True):
        assert launch.kernel == action.name(action.NameBase_DEMANGLED)
        assert launch.mangled == action.name(action.NameBase_MANGLED)
        assert launch.metrics.keys() <= set(action.metric_names())
        assert len(launch.metrics) > 0.9 * len(action.metric_names())
        for name, stored in launch.metrics.items():
            theirs = action[name].value()
            assert stored == theirs or stored != stored, name
        said = [
            said["rule_identifier"]
            for said in action.rule_results_as_dicts()
            if said.get("rule_message", {}).get("message")
        ]
        assert [told.name for told in launch.rules] == said
