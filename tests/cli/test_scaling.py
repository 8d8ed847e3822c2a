"""``gpuadvise scaling``."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.cli.schema import bundled

VALID = Draft202012Validator(json.loads(bundled("scaling"))).validate


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("guide", ["--parallel", "3/4", "--processors", "1000"]),
        ("target", ["--parallel", "95%", "--processors", "132", "--target", "15"]),
        ("unreachable", ["--parallel", "0.5", "--processors", "4", "--target", "8x"]),
        ("all", ["--parallel", "1", "--processors", "4096"]),
    ],
)
def test_pages(name: str, args: list[str], cli, golden) -> None:
    ran = cli("scaling", *args)
    assert (ran.code, ran.err) == (0, "")
    golden(f"scaling-{name}.text", ran.out)
    VALID(json.loads(cli("scaling", *args, "--format", "json").out))


def test_the_guides_four(cli) -> None:
    assert (
        cli("scaling", "--parallel", "0.75", "--processors", "8", "--get", "amdahl_limit").out
        == "4.0\n"
    )
    assert (
        cli("scaling", "--parallel", "1", "--processors", "8", "--get", "amdahl_limit").out
        == "null\n"
    )


def test_rows_end_with_the_number_asked_for(cli) -> None:
    lines = cli("scaling", "--parallel", "0.5", "--processors", "6", "--format", "csv").out.split()
    assert [line.split(",")[0] for line in lines] == ["processors", "1", "2", "4", "6"]


def test_words_of_the_target(cli) -> None:
    def said(parallel: str, processors: str, target: str) -> str:
        args = ["--parallel", parallel, "--processors", processors, "--target", target]
        return cli("scaling", *args).out

    assert "2x is more than 1 processor can ever give." in said("0.5", "1", "2")
    assert "With 1 in parallel it takes 20 processors." in said("1", "10", "20")
    assert "With 0.9999999 in parallel it takes" in said("0.9999999", "10", "1000000")


def test_a_target_tells_the_processors_that_reach_it(cli) -> None:
    ran = cli("scaling", "--parallel", "75%", "--target", "3")
    assert ran.out.startswith("3x with 9 processors, at most 4x with any number.\n")
    never = cli("scaling", "--parallel", "75%", "--target", "5")
    assert (never.code, never.out) == (2, "")
    assert "no number of processors reaches 5x with 0.75 in parallel; 4x is the limit" in never.err
    neither = cli("scaling", "--parallel", "75%")
    assert (neither.code, neither.out) == (2, "")
    assert neither.err.startswith("error: --processors is missing.\nhint: ")


@pytest.mark.parametrize(
    ("parallel", "processors", "target"),
    [
        ("2", "8", "2"), ("x", "8", "2"), ("5/4", "8", "2"), ("1/0", "8", "2"), ("0.5", "0", "2"),
        ("0.5", "8", "x"), ("0.5", "8", "0.5"), ("0.5", "8", "inf"), ("nan", "8", "2"),
        ("0.5", "8", "1e300"),
    ],
)  # fmt: skip
def test_mistakes(cli, parallel: str, processors: str, target: str) -> None:
    ran = cli("scaling", "--parallel", parallel, "--processors", processors, "--target", target)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: --")
