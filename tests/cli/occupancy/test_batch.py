from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gpuadvise.cli.schema import bundled

BATCH = ("occupancy", "--batch")
SCHEMA = json.loads(bundled("occupancy"))
ANSWER = Draft202012Validator({"$ref": "#/$defs/answer", "$defs": SCHEMA["$defs"]})


@pytest.fixture
def saved(tmp_path):
    def write(content: str | bytes) -> str:
        path = tmp_path / "batch"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


def test_csv_in_and_out_keeps_columns_and_order(cli, saved) -> None:
    lines = 'kernel,regs,block,smem,cc\na,32,256,,9.0\n"b,c",72,16x16,16K,8.0\n\nd,255,1024,,12.0\n'
    ran = cli(*BATCH, saved(lines))
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert (ran.code, ran.err) == (0, "")
    assert [row["kernel"] for row in rows] == ["a", "b,c", "d"]
    assert [row["blocks_per_sm"] for row in rows] == ["8", "3", "0"]
    assert [row["launchable"] for row in rows] == ["true", "true", "false"]
    assert rows[1]["smem"] == "16K"
    assert rows[0]["limits.shared_memory"] == "228"
    assert "too many" in rows[2]["reason"]


def test_ndjson_lines_have_the_fields_of_the_result(cli, saved) -> None:
    lines = [
        {"id": [1], "regs": 32, "block": 256, "cc": "9.0"},
        {
            "id": [2],
            "regs": "64",
            "block": "16x16",
            "dynamic_smem": "100K",
            "gpu": "h100-sxm",
            "grid": 500,
        },
        {"id": [3], "regs": 64, "block": 256, "cc": 9.0, "no_opt_in": True, "smem": None},
    ]
    ran = cli(*BATCH, saved("\n".join(map(json.dumps, lines))))
    answers = [json.loads(line) for line in ran.out.splitlines()]
    assert (ran.code, ran.err) == (0, "")
    assert [answer["id"] for answer in answers] == [[1], [2], [3]]
    for answer in answers:
        ANSWER.validate(answer)
    assert answers[1]["waves"] == 500 / (132 * 2)
    assert answers[1]["needs_optin"] == 100 * 1024


def test_a_line_equals_the_answer_alone(cli, saved) -> None:
    one = ("--regs", "72", "--block", "100", "--dynamic-smem", "60K", "--barriers", "3")
    alone = json.loads(cli("occupancy", *one, "--cc", "9.0", "--format", "ndjson").out)
    line = {"regs": 72, "block": 100, "dynamic_smem": "60K", "barriers": 3, "cc": "9.0"}
    answer = json.loads(cli(*BATCH, saved(json.dumps(line))).out)
    assert {key: answer[key] for key in alone if key in answer} == {
        key: value for key, value in alone.items() if key in answer
    }


def test_bad_lines_are_reported_and_the_rest_is_answered(cli, saved) -> None:
    lines = 'regs,block,cc\n32,256,9.0\nabc,256,9.0\n32,256\n32,\xff,9.0\n32,256,"\n64,256,9.0\n,1,9.0\n'
    ran = cli(*BATCH, saved(lines.encode("latin-1")))
    assert ran.code == 2
    assert [row.split(",")[0] for row in ran.out.splitlines()] == ["regs", "32", "64"]
    reports = ran.err.splitlines()
    assert [report.split(":")[1] for report in reports] == [f" line {n}" for n in (3, 4, 5, 6, 8)]
    assert reports[0] == 'error: line 3: regs: "abc" is not a whole number from 1 to 65536.'
    assert reports[1] == "error: line 4: 2 fields where the header has 3."
    assert reports[2] == "error: line 5: The line is not UTF-8."


@pytest.mark.parametrize(
    "line",
    [
        "{bad", "[1]", '{"regs": 32}', '{"regs": true, "block": 256}', '{"regs": NaN, "block": 1}',
        '{"regs": 32, "block": [256, 0]}', '{"regs": 32, "block": 256, "gpu": "nope"}', "[" * 99_999,
        '{"regs": ' + "9" * 5000 + ', "block": 1}', '{"regs":32,"block":256,"gpu":"h100","cc":"9"}',
        '{"regs":32,"block":256,"x":"' + "x" * 70_000 + '"}',
    ],
)  # fmt: skip
def test_bad_json_lines(cli, saved, line: str) -> None:
    good = '{"regs": 32, "block": 256}'
    ran = cli(*BATCH, saved(f"{good}\n{line}\n{good}\n"), "--cc", "9.0")
    assert (ran.code, len(ran.out.splitlines())) == (2, 2)
    assert ran.err.startswith("error: line 2: ")
    assert len(ran.err) < 400


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("name,block\n1,2\n", "has no column regs"),
        ("regs,block,Regs\n1,2,3\n", "the same name"),
        (b"\xff\xfe\n", "line 1: The line is not UTF-8"),
        ("garbage", "has no column regs or block"),
        ("regz,block\n1,2\n", 'Column "regz" is kept, not read: did you mean regs?'),
        ("[" * 9 + "\n", "has no column regs or block"),
    ],
)
def test_a_useless_first_line_ends_it(cli, saved, content, said: str) -> None:
    ran = cli(*BATCH, saved(content))
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_files_that_cannot_be_read(cli, tmp_path) -> None:
    for path in (str(tmp_path), str(tmp_path / "none"), "\0"):
        ran = cli(*BATCH, path)
        assert (ran.code, ran.out) == (2, "")
        assert "--batch" in ran.err


def test_options_are_the_defaults_of_missing_columns(cli, saved) -> None:
    ran = cli(*BATCH, saved("regs,block,cc\n32,,\n32,128,8.6\n"), "--block", "256", "--cc", "9.0")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert [row["blocks_per_sm"] for row in rows] == ["8", "12"]


def test_an_answer_can_be_asked_again(cli, saved) -> None:
    first = cli(*BATCH, saved("regs,block,cc\n32,256,9.0\n")).out
    assert cli(*BATCH, saved(first)).out == first


def test_a_mark_and_line_ends_of_windows(cli, saved) -> None:
    ran = cli(*BATCH, saved("\ufeffRegs,Block\r\n32,256\r\n"), "--cc", "9.0")
    assert ran.out.splitlines()[1].startswith("32,256,8,64,")


def test_the_other_format_on_demand(cli, saved) -> None:
    path = saved("regs,block\n32,256\n")
    answer = json.loads(cli(*BATCH, path, "--cc", "9.0", "--format", "ndjson").out)
    assert (answer["regs"], answer["blocks_per_sm"]) == ("32", 8)
    path = saved('{"regs": 32, "block": 256, "tags": {"a": 1}}')
    row = next(csv.DictReader(io.StringIO(cli(*BATCH, path, "--cc", "9.0", "--format", "csv").out)))
    assert (row["tags"], row["blocks_per_sm"]) == ('{"a":1}', "8")


def test_waves_in_csv(cli, saved) -> None:
    ran = cli(*BATCH, saved("regs,block,grid\n32,256,1056\n32,256,\n"), "--gpu", "h100-sxm")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert [row["waves"] for row in rows] == ["1.0", ""]


def test_fail_under_counts_lines(cli, saved) -> None:
    path = saved("regs,block,cc\n32,256,9.0\n72,256,9.0\n")
    ran = cli(*BATCH, path, "--fail-under", "50%")
    assert (ran.code, len(ran.out.splitlines())) == (1, 3)
    assert "1 line below --fail-under 50 %" in ran.err
    assert cli(*BATCH, path, "--fail-under", "10%").code == 0


def test_standard_input_and_a_line_that_never_ends(cli, monkeypatch) -> None:
    lines = b"regs,block\n" + b"3" * 200_000 + b"\n32,256\n" + b"4" * 200_000
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    ran = cli(*BATCH, "-", "--cc", "9.0")
    assert (ran.code, len(ran.out.splitlines())) == (2, 2)
    assert [line.partition(": The")[0] for line in ran.err.splitlines()] == [
        "error: line 2",
        "error: line 4",
    ]


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="the system has no endless file")
def test_an_endless_first_line_ends_it(cli) -> None:
    ran = cli(*BATCH, "/dev/zero", "--cc", "9.0")
    assert (ran.code, ran.out) == (2, "")
    assert "line 1: The line is longer" in ran.err


def test_a_long_line_is_reported_once_and_its_tail_skipped(cli, saved) -> None:
    long = "32,256," + "x" * 200_000
    ran = cli(*BATCH, saved(f"regs,block,x\n{long}\n64,256,a\n{long}"), "--cc", "9.0")
    assert (ran.code, len(ran.out.splitlines())) == (2, 2)
    assert [line[:13] for line in ran.err.splitlines()] == ["error: line 2", "error: line 4"]


def test_a_flag_that_is_neither_true_nor_false(cli, saved) -> None:
    ran = cli(*BATCH, saved("regs,block,no_opt_in\n32,256,maybe\n"), "--cc", "9.0")
    assert ran.code == 2
    assert "neither true nor false" in ran.err


def test_an_empty_batch_says_so(cli, saved) -> None:
    ran = cli(*BATCH, saved("\n \n"))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: --batch had no line to answer.\n")


@pytest.mark.parametrize(
    "content",
    [
        "regs,block,dynamic_smen,kernel\n32,256,1K,a\n64,256,1K,b\n",
        '{"regs": 32, "block": 256, "dynamic_smen": 9, "kernel": "a"}\n' * 2,
    ],
)
def test_a_column_that_is_nearly_an_option_is_pointed_out_once(cli, saved, content: str) -> None:
    ran = cli(*BATCH, saved(content), "--cc", "9.0")
    assert ran.code == 0
    said = 'Column "dynamic_smen" is kept, not read: did you mean dynamic_smem?'
    assert ran.err == f"note: {said}\n"


def test_lines_name_their_devices(cli, saved) -> None:
    lines = "regs,block,gpu,cc\n32,256,a100,\n32,256,zzz4090,\n32,256,,13.0\n32,256,zzz4090,\n"
    ran = cli(*BATCH, saved(lines + "32,256,,13.0\n"))
    assert (ran.code, len(ran.out.splitlines())) == (2, 4)
    first, warned, again = ran.err.splitlines()
    assert first.startswith('error: line 3: --gpu: "zzz4090" is no GPU of the catalogue. Nearest: ')
    assert warned.startswith("note: Compute capability 13.0 is not known")
    assert again == first.replace("line 3", "line 5")


def test_whole_json_numbers_may_have_a_point(cli, saved) -> None:
    ran = cli(*BATCH, saved('{"regs": 32.0, "block": 2.56e2, "cc": 9.0}'))
    assert json.loads(ran.out)["occupancy"] == 1.0
    assert cli(*BATCH, saved('{"regs": 32.5, "block": 256, "cc": 9.0}')).code == 2
    assert cli(*BATCH, saved('{"regs": 1e999, "block": 256, "cc": 9.0}')).code == 2


def test_input_that_breaks_off_is_said(monkeypatch, cli) -> None:
    class Breaking(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            if self.tell():
                raise OSError(5, "Input/output error")
            return super().read1(size)

    broken = Breaking(b"regs,block\n32,256\n")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=broken))
    ran = cli(*BATCH, "-", "--cc", "9.0")
    assert (ran.code, len(ran.out.splitlines())) == (2, 2)
    assert ran.err == "error: --batch cannot be read further: Input/output error.\n"


def test_foreign_text_cannot_steer_a_terminal(cli, saved) -> None:
    ran = cli(*BATCH, saved("kernel,regs,block\n\x1b[31mk,32,256\n"), "--cc", "9.0")
    assert "\x1b" not in ran.out
    assert "\\x1b[31mk" in ran.out


def test_answers_come_before_the_input_ends(monkeypatch) -> None:
    command = [sys.executable, "-m", "gpuadvise", *BATCH, "-", "--cc", "9.0"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin
    assert child.stdout
    for number in range(3):
        child.stdin.write(f'{{"n": {number}, "regs": 32, "block": 256}}\n'.encode())
        child.stdin.flush()
        assert json.loads(child.stdout.readline())["n"] == number
    child.stdin.close()
    assert child.stdout.read() == b""
    assert child.wait(60) == 0
    child.stdout.close()


def test_memory_does_not_grow_with_the_input(tmp_path) -> None:
    peaks = []
    for count in (2_000, 40_000):
        path = tmp_path / f"{count}.csv"
        body = "".join(f"k{n},{n % 239 + 16},{n % 32 * 32 + 32},{n}\n" for n in range(count))
        path.write_text(f"name,regs,block,smem\n{body}")
        code = (
            "import resource,sys; from gpuadvise.cli.main import main; "
            f"main(['occupancy', '--batch', {str(path)!r}, '--cc', '9.0']); "
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
        )
        with open(os.devnull, "w") as nowhere:
            done = subprocess.run(
                [sys.executable, "-c", code], stdout=nowhere, stderr=-1, text=True
            )
        peaks.append(int(done.stderr))
    assert peaks[1] < peaks[0] + 16_000  # KiB: the caches, not the 40,000 lines


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(lines=st.lists(st.one_of(TEXT, st.just("32,256,9.0"), st.just('{"regs":1,"block":32}'))))
def test_any_lines_are_answered_or_reported(call, tmp_path_factory, lines: list[str]) -> None:
    path = tmp_path_factory.mktemp("batch") / "b.csv"
    path.write_text("\n".join(["regs,block,cc", *lines]), encoding="utf-8", newline="\n")
    said = call("occupancy", "--batch", str(path), "--cc", "9.0")
    assert "Traceback" not in said.err
    assert said.code in (0, 2)
    assert (said.code == 2) == bool(said.err)
    empty = "error: --batch had no line", "hint: Did what writes"
    assert all(line.startswith(("error: line ", *empty)) for line in said.err.splitlines())
