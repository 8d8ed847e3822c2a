"""Files that are none, streams, and words of rules that examples do not reach."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.backends import description_file
from gpuadvise.cli.advise.answer import gain_words
from gpuadvise.rules.expectation import EXPONENTS, GainExponents
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.guide.execution import partial_warp
from gpuadvise.rules.model import Advice, Gain, GainKind
from gpuadvise.rules.report import Finding
from gpuadvise.rules.select import rule_named

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def advised(cli, description: dict[str, object], tmp_path: Path) -> dict[str, dict[str, str]]:
    path = tmp_path / "k.json"
    path.write_text(json.dumps(description))
    ran = cli("advise", "k.json", "--format", "json")
    assert ran.code == 0, ran.err
    return {finding["rule"]: finding for finding in json.loads(ran.out)["findings"]}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("k.toml", b"\xff\xfe", '"k.toml": line 1 is not UTF-8.'),
        ("k.json", b'{"block": 1,\n"name": "\xff"}', '"k.json": line 2 is not UTF-8.'),
        ("k.json", b"", "k.json is empty."),
        ("k.json", b'{"block": "\\ud800"}', 'k.json:1:11: block: "\\ud800" is not a size'),
    ],
)
def test_files_that_cannot_be_used(
    name: str, content: bytes, message: str, cli, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    ran = cli("advise", name)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {message}")


def test_a_folder_is_no_file(cli, tmp_path: Path) -> None:
    (tmp_path / "k.toml").mkdir()
    (tmp_path / "k.json").mkdir()
    for name in ("k.toml", "k.json"):
        ran = cli("advise", name)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == f'error: "{name}" cannot be read: Is a directory.\n'
    ran = cli("advise", "--ncu", ".")
    assert (ran.code, ran.out) == (2, "")


def test_a_document_that_is_too_large(cli, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(description_file, "LARGEST_DOCUMENT", 10)
    (tmp_path / "k.toml").write_text("[[kernel]]\nblock = 32\n")
    ran = cli("advise", "k.toml")
    assert ran.code == 2
    assert "hint: Write one kernel per line (NDJSON): that has no limit." in ran.err


def test_a_line_that_never_ends(cli, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(description_file, "LARGEST_LINE", 100)
    (tmp_path / "k.ndjson").write_text('{"block": 32}\n' + "x" * 500)
    ran = cli("advise", "k.ndjson", "--gpu", "h200", "--format", "ndjson")
    assert ran.code == 2
    assert "k.ndjson: a line is longer than 100 bytes." in ran.err


@pytest.mark.parametrize("name", ["k.ndjson", "k.jsonl"])
def test_a_first_line_that_is_none_does_not_stop_the_rest(name: str, cli, tmp_path: Path) -> None:
    (tmp_path / name).write_text('{"blok": 32}\n\n{"block": 33, "gpu": "h200"}\n')
    ran = cli("advise", name, "--format", "ndjson", "--select", "partial-warp")
    assert ran.code == 2
    assert ran.err.startswith(f'note: {name}:1:10: blok: "blok" is not a key of this table.')
    assert ran.out.count("\n") == 1


def test_a_line_that_is_not_utf_8_is_told_and_the_rest_answered(cli, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = b'{"block": 100, "name": "a"}\n{"block": 100, "name": "\xff"}\n{"block": 100, "name": "c"}\n'
    (tmp_path / "k.ndjson").write_bytes(lines)
    ran = cli(
        "advise", "k.ndjson", "--gpu", "h200", "--format", "ndjson", "--select", "partial-warp"
    )
    assert ran.code == 2
    assert "k.ndjson:2: the line is not UTF-8." in ran.err
    assert [json.loads(line)["kernel"] for line in ran.out.splitlines()] == ["a", "c"]


@pytest.mark.parametrize("form", ["text", "ndjson"])
def test_lines_without_any_kernel(form: str, cli, tmp_path: Path) -> None:
    (tmp_path / "k.ndjson").write_text("\n  \n")
    ran = cli("advise", "k.ndjson", "--format", form)
    assert (ran.code, ran.out) == (2, "")
    assert "k.ndjson: no kernel is described.\n" in ran.err


def test_a_long_name_is_cut_before_the_title_and_whole_with_all(cli, tmp_path: Path) -> None:
    name = "void reduce<" + "float, " * 20 + "4>"
    (tmp_path / "k.toml").write_text(
        f'defaults = {{ gpu = "h200", block = 33 }}\nkernel = [{{ name = "{name}" }}, {{ }}]\n'
    )
    ran = cli("advise", "k.toml", "--select", "partial-warp")
    title = "Make the block a multiple of 32 threads  [partial-warp]"
    assert f"\n1. MEDIUM  void reduce<…>: {title}\n" in ran.out
    assert "   The same for another kernel" in ran.out
    whole = cli("advise", "k.toml", "--select", "partial-warp", "--all").out
    assert name in whole


def test_a_launch_that_failed_under_the_profiler_is_not_judged(cli, tmp_path: Path) -> None:
    columns = {
        "ID": ("", "0"),
        "Kernel Name": ("", "diffuse(float *, int)"),
        "CC": ("", "9.0"),
        "gpu__time_duration.sum": ("ms", "0"),
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": ("%", "0"),
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": ("%", "0"),
    }
    rows = (columns, *zip(*columns.values(), strict=True))
    page = "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows)
    (tmp_path / "raw.csv").write_text(page)
    ran = cli("advise", "raw.csv")
    assert ran.code == 0
    assert "nothing to judge" in ran.out
    assert "took no time" in ran.out


def test_a_launch_that_took_no_time_on_a_details_page(cli, tmp_path) -> None:
    """The page of a launch that failed writes its duration and rates as "nan"."""
    text = '"ID","Kernel Name","Block Size","Grid Size","Section Name","Metric Name",'
    text += '"Metric Unit","Metric Value"\n'
    launch = '"0","k","(0, 0, 0)","(0, 0, 0)","GPU Speed Of Light Throughput"'
    text += f'{launch},"Duration","ns","nan"\n{launch},"DRAM Throughput","%","nan"\n'
    (tmp_path / "details.csv").write_text(text)
    ran = cli("advise", "details.csv")
    assert ran.code == 0
    assert "nothing to judge" in ran.out
    assert "took no time" in ran.out


def test_a_profile_from_stdin(cli, monkeypatch) -> None:
    text = '"ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Value"\n'
    text += '"0","k","(33, 1, 1)","(1000, 1, 1)","x","1"\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    ran = cli("advise", "--ncu", "-", "--select", "partial-warp", "--format", "json")
    assert [f["location"]["kernel"] for f in json.loads(ran.out)["findings"]] == ["k"]


def test_a_rule_that_breaks_is_seen_and_ends_with_3(cli, monkeypatch) -> None:
    def broken(*facts: object, **named: object) -> None:
        raise ZeroDivisionError("by zero")

    rule = partial_warp.RULE
    monkeypatch.setattr(rule.check, "__code__", broken.__code__)
    given = ("advise", "--block", "33", "--gpu", "h200")
    ran = cli(*given)
    assert ran.code == 3
    assert "The rule partial-warp broke: ZeroDivisionError: by zero" in ran.out
    assert "tiny-blocks" in ran.out
    document = json.loads(cli(*given, "--format", "json").out)
    assert document["result"]["failures"] == [
        {"rule": "partial-warp", "error": "ZeroDivisionError: by zero"}
    ]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"block": 33}\n')))
    ran = cli("advise", "-", "--gpu", "h200", "--format", "ndjson", "--fail-on", "medium")
    assert ran.code == 3
    assert "note: The rule partial-warp broke" in ran.err


CASES = [
    ({"environment": {"CUDA_VISIBLE_DEVICES": "1"}, "devices": ["h200", "h200"]},
     "device-visibility", "CUDA_VISIBLE_DEVICES shows 1 of 2 GPUs to the program."),
    ({"environment": {}, "devices": ["h200", "t4"]},
     "device-visibility", "The 2 GPUs are not alike and CUDA_DEVICE_ORDER is unset"),
    ({"telemetry": {"row_remap_failed": True}}, "ecc-errors", "could not be replaced."),
    ({"telemetry": {"ecc_enabled": True, "ecc_enabled_after_reboot": False}},
     "ecc-errors", "ECC is on now and will be off after 1 reboot."),
    ({"compiled": {"stack": 64}}, "register-spills", "A stack frame of 64 bytes per thread: spilled"),
    ({"compiled": {"spill_stores": 8, "spills_exact": False}}, "register-spills", "up to 8 bytes"),
    ({"scaling": {"parallel": 1, "processors": 4, "target": 10}},
     "sequential-remainder", "4 processors give 4x, and without limit is the most."),
    ({"scaling": {"parallel": 0.5, "processors": 4, "target": 3, "grows": True}},
     "sequential-remainder", "a problem that grows with the machine up by 2.5x."),
    ({"gpu": "jetson-agx-orin-64", "work": {"flops": 1e13, "bytes": "1GB", "dtype": "int8"}},
     "compute-bound", "the int8 units"),
    ({"gpu": "h200", "accesses": [{"name": "a", "word": 4, "indices": list(range(0, 3200, 100))}]},
     "uncoalesced-access", "4-byte words gathered by index"),
    ({"gpu": "h200", "accesses": [{"name": "s", "space": "shared", "word": 4, "indices": [0, 32]}]},
     "bank-conflicts", "2-way bank conflict"),
    ({"allocations": {"per_iteration": 1, "iterations": 9, "stream_ordered": True,
                      "pool_keeps_memory": False}}, "repeated-allocations", "1 allocation in each"),
    ({"offload": {"host_time": "1ms", "kernel_time": "2ms", "transfer_time": "1ms"}},
     "unprofitable-offload", "together 3 ms; the host needs 1 ms."),
    ({"telemetry": {"compute_mode": "prohibited"}}, "restricted-compute-mode", "0 processes may"),
    ({"gpu": "h200", "code": ["compute_80"], "environment": {"CUDA_CACHE_DISABLE": "1"}},
     "startup-jit", "at every start, as CUDA_CACHE_DISABLE=1 is set."),
]  # fmt: skip


@pytest.mark.parametrize(("given", "rule", "words"), CASES, ids=[case[2][:40] for case in CASES])
def test_words_for_the_rarer_cases(given, rule: str, words: str, cli, tmp_path: Path) -> None:
    found = advised(cli, {"gpu": "h200", **given}, tmp_path)
    assert words in found[rule]["message"]
    assert found[rule]["action"].endswith(".")


def won(kind: GainKind, bound: float, **more: Any) -> Finding:
    gain = Gain(kind=kind, upper_bound=bound, how="132 SMs")
    advice = Advice(message="Seen.", action="Do.", evidence=(), gain=gain)
    return Finding(rule=rule_named(RULES, "bank-conflicts"), advice=advice, **more)


@pytest.mark.parametrize(
    ("kind", "bound", "more", "words"),
    [
        (GainKind.KERNEL_TIME, 63.9, {}, "up to 63.9x faster."),
        (GainKind.KERNEL_TIME, 4, {"share": 0.5}, "up to 4x faster, the run up to 1.6x."),
        (GainKind.KERNEL_TIME, 964, {}, "nothing that the profile counts bounds it."),
        (GainKind.RUN_TIME, 964, {}, "nothing that the recording counts bounds it."),
        (GainKind.RUN_TIME, 1.5, {"share": 0.5}, "the run up to 1.5x faster."),
        (GainKind.RESIDENT_WARPS, 2, {"share": 0.5}, "up to 2x the resident warps."),
        (GainKind.COPY_TIME, 2, {"counted": True}, "copies up to 2x faster."),
        (
            GainKind.KERNEL_TIME,
            4,
            {"counted": True},
            "about 2.9x (2.0x to 4.0x) for this kernel; at most 4x.",
        ),
        (
            GainKind.KERNEL_THROUGHPUT,
            4,
            {"counted": True, "share": 0.5},
            "about 2.9x (2.0x to 4.0x) for this kernel, 1.49x for the run; at most 4x.",
        ),
        (
            GainKind.KERNEL_TIME,
            1000,
            {"counted": True},
            "about 200x (32x to 1,000x) for this kernel; nothing that the profile counts bounds it.",
        ),
    ],
)
def test_a_gain_in_words(
    kind: GainKind,
    bound: float,
    more: dict[str, Any],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numbers = GainExponents(low=0.5, median=0.77, high=1)
    monkeypatch.setitem(EXPONENTS, "bank-conflicts", numbers)
    assert gain_words(won(kind, bound, **more)) == words


@given(st.sampled_from(GainKind), st.floats(1, 1e4), st.booleans())
def test_a_gain_of_any_kind_has_words(kind: GainKind, bound: float, counted: bool) -> None:
    words = gain_words(won(kind, bound, counted=counted))
    assert words.endswith(".")
    assert "{}" not in words


def test_a_type_without_a_peak_is_no_evidence(cli, tmp_path: Path) -> None:
    work = {"flops": 1e12, "bytes": "1GB", "dtype": "int64"}
    assert advised(cli, {"gpu": "h200", "work": work}, tmp_path) == {}


def test_a_narrower_name_of_a_type(cli, tmp_path: Path) -> None:
    work = {"flops": 1e9, "bytes": "12GB", "dtype": "float"}
    assert "memory-bound" in advised(cli, {"gpu": "h200", "work": work}, tmp_path)
    work["dtype"] = "fp16_tensor"
    found = advised(cli, {"gpu": "h200", "work": work}, tmp_path)
    assert "peak (fp16_tensor)" in found["memory-bound"]["message"]


def test_a_file_without_kernels_is_no_clean_bill(cli) -> None:
    ran = cli("advise", sys.executable)
    assert (ran.code, ran.out) == (2, "")
    assert "no kernel to advise on" in ran.err


def chain_of(**other: object) -> dict[str, object]:
    chain = {"array": "64MB", "bytes": "600MB", "most_bytes": "256MB", "time": "150us", "longest": "60us"}  # fmt: skip
    return {"gpu": "h200", "pass_chain": {"kernels": ["a(int *)", "b", "c", "d"], **chain, **other}}


def test_a_described_chain_of_passes_is_joined_and_says_what_all_may_win(
    cli, tmp_path: Path
) -> None:
    found = advised(cli, chain_of(), tmp_path)["unfused-pass"]
    assert "4 launches in a row" in found["message"]
    text = cli("advise", "k.json", "--select", "unfused-pass").out
    assert "Gain: these launches together up to 2.5x faster." in text
    still = advised(cli, chain_of(most_bytes="0"), tmp_path)["unfused-pass"]
    assert still["gain"]["upper_bound"] == pytest.approx(2.5)  # type: ignore[index]


def test_a_chain_of_no_kernels_is_none(cli, tmp_path: Path) -> None:
    (tmp_path / "k.json").write_text(json.dumps(chain_of(kernels=[])))
    ran = cli("advise", "k.json")
    assert ran.code == 2
    assert "A chain has 2 kernels or more." in ran.err
