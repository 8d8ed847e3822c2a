"""``gpuadvise banks``."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.cli.schema import bundled

VALID = Draft202012Validator(json.loads(bundled("banks"))).validate


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("column", ["--stride", "32"]),
        ("padded", ["--stride", "32", "--pad", "1"]),
        ("tile", ["--tile", "32x32", "--show"]),
        ("vectors", ["--tile", "64x8", "--word", "16"]),
        ("doubles", ["--stride", "2", "--word", "8", "--show"]),
        ("indices", ["--indices", "0,32,64,1", "--show"]),
        ("hopeless", ["--stride", "1", "--word", "128"]),
    ],
)
def test_pages(name: str, args: list[str], cli, golden) -> None:
    ran = cli("banks", "--cc", "9.0", *args)
    assert (ran.code, ran.err) == (0, "")
    golden(f"banks-{name}.text", ran.out)
    VALID(json.loads(cli("banks", "--cc", "9.0", *args, "--format", "json").out))


@pytest.mark.parametrize(
    ("args", "field", "value"),
    [
        (["--stride", "32"], "degree", "32"),
        (["--stride", "33"], "degree", "1"),
        (["--stride", "32"], "suggested_padding", "1"),
        (["--stride", "32", "--pad", "1"], "suggested_padding", "1"),
        (["--tile", "32x32"], "degree", "32"),
        (["--tile", "32x32", "--pad", "1"], "degree", "1"),
        (["--tile", "32x32", "--walk", "row"], "degree", "1"),
        (["--tile", "32x32", "--threads", "4"], "degree", "4"),
        (["--tile", "32x32", "--threads", "4"], "suggested_padding", "1"),
        (["--stride", "32", "--threads", "1"], "suggested_padding", "0"),
        (["--stride", "16", "--mask", "0x3"], "suggested_padding", "0"),
        (["--stride", "16"], "suggested_padding", "1"),
        (["--tile", "32x32"], "swizzle.expression", "column ^ (row & 31)"),
        (["--indices", "0,32,64"], "degree", "3"),
        (["--indices", "0,32,64"], "suggested_padding", "null"),
    ],
)
def test_one_value(cli, args: list[str], field: str, value: str) -> None:
    assert cli("banks", "--cc", "9.0", *args, "--get", field).out == f"{value}\n"


def test_banks_of_eight_bytes(cli) -> None:
    args = ["banks", "--cc", "3.5", "--stride", "3", "--get", "degree", "--bank-size"]
    assert [cli(*args, size).out for size in ("4", "8")] == ["1\n", "2\n"]


def test_the_picture_of_an_old_device(cli) -> None:
    assert "lane 15" in cli("banks", "--cc", "1.3", "--stride", "2", "--show").out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--bank-size", "8"], "--bank-size"),
        (["--bank-size", "5"], "--bank-size"),
        (["--tile", "32"], "is not rows and columns"),
        (["--tile", "0x32"], "--tile"),
        (["--tile", "65536x65536"], "does not fit"),
        (["--tile", "32x32", "--walk", "zigzag"], "--walk"),
        (["--tile", "32x32", "--stride", "2"], "leave out --stride"),
        (["--indices", "1", "--pad", "1"], "--pad needs rows"),
        (["--indices", ",".join(["1"] * 33)], "32 lanes"),
        (["--pad", "-1"], "--pad"),
    ],
)
def test_mistakes(cli, args: list[str], said: str) -> None:
    ran = cli("banks", "--cc", "9.0", *args)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
