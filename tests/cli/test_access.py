"""``gpuadvise access``."""

from __future__ import annotations

import io
import json
import sys

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.cli.schema import bundled

VALID = Draft202012Validator(json.loads(bundled("access"))).validate


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("coalesced", []),
        ("misaligned", ["--offset", "1", "--show"]),
        ("stride", ["--stride", "2", "--show"]),
        ("struct", ["--word", "12", "--show"]),
        ("faulting", ["--word", "8", "--offset", "4B"]),
        ("rows", ["--row-threads", "16", "--pitch", "4100B", "--show"]),
        ("indices", ["--indices", "0,5,9,1024", "--show"]),
        ("scattered", ["--stride", "33", "--show"]),
        ("far", ["--word", "64", "--stride", "320B", "--show"]),
        ("straddling", ["--word", "64", "--offset", "96B", "--stride", "448B", "--show"]),
        ("sweep", ["--sweep", "stride"]),
    ],
)
def test_pages(name: str, args: list[str], cli, golden) -> None:
    ran = cli("access", "--cc", "9.0", *args)
    assert (ran.code, ran.err) == (0, "")
    golden(f"access-{name}.text", ran.out)
    VALID(json.loads(cli("access", "--cc", "9.0", *args, "--format", "json").out))


@pytest.mark.parametrize(
    ("args", "field", "value"),
    [
        (["--offset", "1"], "sectors", "5"),
        (["--stride", "2"], "efficiency", "0.5"),
        (["--stride", "8"], "efficiency", "0.125"),
        (["--stride", "32B"], "efficiency", "0.125"),
        (["--threads", "8"], "sectors", "1"),
        (["--mask", "0xff"], "sectors", "1"),
        (["--mask", "0xff", "--threads", "4"], "bytes_used", "16"),
        (["--align", "4", "--word", "16"], "instructions", "4"),
    ],
)
def test_one_value(cli, args: list[str], field: str, value: str) -> None:
    assert cli("access", "--cc", "9.0", *args, "--get", field).out == f"{value}\n"


def test_older_capabilities_have_other_rules(cli) -> None:
    moved = [
        cli("access", "--cc", cc, "--offset", "1", *path, "--get", "bytes_moved").out.strip()
        for cc, *path in (["1.0"], ["1.3"], ["2.0"], ["2.0", "--path", "l2"], ["9.0"])
    ]
    assert moved == ["1024", "224", "256", "160", "160"]


# 32 lanes in rows of 16: two rows of 64 bytes per warp. With 4004 bytes between rows, one row in
# eight starts on a sector (2 sectors), the others straddle one more (3).
@pytest.mark.parametrize(
    ("args", "sectors", "pitch"),
    [
        (["--row-threads", "16", "--pitch", "1001"], 2 * (2 + 7 * 3) / 8, 4032),
        (["--row-threads", "16", "--pitch", "1000"], 4, 4000),
        (["--row-threads", "16", "--pitch", "1000", "--offset", "1"], 6, 4000),
        (["--pitch", "1001"], 4 + 7 / 8, 4032),
        (["--pitch", "1001", "--threads", "8"], 1 + 7 / 8, 4032),
        (["--cc", "2.0", "--pitch", "1001"], 4 * (1 + 31 / 32), 4096),
        (["--cc", "1.0", "--pitch", "1024"], 4, 4096),
    ],
)
def test_all_rows(cli, args: list[str], sectors: float, pitch: int) -> None:
    where = [] if "--cc" in args else ["--cc", "9.0"]
    ran = cli("access", *where, *args, "--get", "row_sectors", "--get", "padded_pitch")
    assert [float(line) for line in ran.out.split()] == [sectors, pitch]


@pytest.mark.parametrize("args", [["--pitch", "0"], ["--pitch", "9", "--row-threads", "5"], []])
def test_rows_that_say_nothing_of_other_warps(cli, args: list[str]) -> None:
    assert cli("access", "--cc", "9.0", *args, "--get", "row_sectors").out == "null\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--row-threads", "16"], "--row-threads needs --pitch"),
        (["--indices", "1", "--offset", "1"], "leave out --offset and --pitch"),
        (["--indices", "1", "--pitch", "8"], "leave out --offset and --pitch"),
        (["--indices", "1", "--sweep", "offset"], "leave out --offset and --pitch"),
        (["--align", "16"], "Elements 4 bytes apart cannot all be aligned to 16"),
        (["--indices", "1", "--align", "8"], "Elements 4 bytes apart cannot all be aligned to 8"),
        (["--mask", "1\u0663"], "is not a lane mask"),
    ],
)
def test_contradictions(cli, args: list[str], message: str) -> None:
    ran = cli("access", "--cc", "9.0", *args)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


@pytest.mark.parametrize(
    ("stride", "efficiency"), [("-1", "1.0"), ("-2", "0.5"), ("-12B", "0.333")]
)
def test_lanes_may_go_backwards(cli, stride: str, efficiency: str) -> None:
    line = ("access", "--gpu", "h200", "--get", "efficiency", "--get", "sectors", "--stride")
    backwards, forwards = cli(*line, stride), cli(*line, stride.removeprefix("-"))
    assert backwards.code == 0
    assert backwards.out == forwards.out
    assert backwards.out.startswith(efficiency)
    starts = ("access", "--gpu", "h200", "--get", "input.starts", "--stride", stride)
    assert cli(*starts).out.rstrip().endswith(",0]")


def test_the_picture_of_several_warps_is_of_the_first(cli) -> None:
    listed = ",".join(str(index) for index in range(64))
    out = cli("access", "--cc", "9.0", "--indices", listed, "--show").out
    assert "Bytes of each 128-byte line, first of 2 warps\n" in out


def test_an_aligned_slot_of_a_smaller_element(cli) -> None:
    args = ["--word", "12", "--stride", "16B", "--align", "16", "--get", "remedies.0.name"]
    assert cli("access", "--cc", "9.0", *args).out == "structure-of-arrays\n"


def test_a_sweep_as_rows(cli) -> None:
    lines = cli("access", "--cc", "9.0", "--sweep", "offset", "--format", "csv").out.splitlines()
    assert lines[0].startswith("offset,sectors,")
    assert [line.split(",")[1] for line in lines[1:]] == ["4", *(["5"] * 7 + ["4"]) * 4]


def test_many_warps_from_stdin(cli, monkeypatch) -> None:
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n".join(b"%d" % i for i in range(0, 140, 2))))
    )
    ran = cli("access", "--cc", "9.0", "--indices", "-", "--format", "ndjson")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert [row["warp"] for row in rows] == [0, 1, 2]
    assert [row["sectors"] for row in rows] == [8, 8, 2]


def test_many_warps_in_words(cli) -> None:
    ran = cli("access", "--cc", "9.0", "--indices", ",".join(map(str, range(64))))
    assert "warps         2" in ran.out


def test_a_threshold(cli) -> None:
    assert cli("access", "--cc", "9.0", "--stride", "2", "--fail-under", "80%").code == 1
    assert cli("access", "--cc", "9.0", "--stride", "1", "--fail-under", "80%").code == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--word", "0"], "--word"),
        (["--word", "x"], "--word"),
        (["--stride", "--1"], "--stride"),
        (["--stride", "1KB"], "--stride"),
        (["--threads", "33"], "--threads"),
        (["--mask", "0"], "not a lane mask"),
        (["--mask", "0x1ffffffff"], "not a lane mask"),
        (["--mask", "zz"], "not a lane mask"),
        (["--mask", "0x100", "--threads", "4"], "leaves no active lane"),
        (["--align", "3"], "alignment"),
        (["--indices", ""], "the list is empty"),
        (["--indices", "1,x"], "--indices"),
        (["--indices", "1", "--stride", "2"], "leave out --stride"),
        (["--path", "l3"], "--path"),
        (["--path", "l1"], "has no l1 path"),
        (["--sweep", "word"], "--sweep"),
        (["--sweep", "stride", "--fail-under", "50%"], "judges one access, not a --sweep"),
        (["--offset", "9999999999999999999"], "--offset"),
        (["--stride", "1099511627776", "--word", "16"], "address space"),
    ],
)
def test_mistakes(cli, args: list[str], said: str) -> None:
    ran = cli("access", "--cc", "9.0", *args)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
