"""``gpuadvise latency``."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.cli.schema import bundled

VALID = Draft202012Validator(json.loads(bundled("latency"))).validate


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("h200", ["--gpu", "h200"]),
        ("wide", ["--gpu", "h200", "--word", "16", "--loads", "2", "--warps", "32"]),
        ("volta", ["--cc", "7.0", "--ilp", "2", "--warps", "4"]),
        ("tesla", ["--cc", "1.0"]),
        ("unknown", ["--cc", "5.0"]),
        ("time", ["--gpu", "h200", "--memory-latency", "600ns"]),
        ("cycles", ["--gpu", "h200", "--memory-latency", "800"]),
    ],
)
def test_pages(name: str, args: list[str], cli, golden) -> None:
    ran = cli("latency", *args)
    assert (ran.code, ran.err) == (0, "")
    golden(f"latency-{name}.text", ran.out)
    VALID(json.loads(cli("latency", *args, "--format", "json").out))


@pytest.mark.parametrize(
    ("args", "warps", "threads"),
    [
        (["--cc", "2.0", "--latency", "24"], "24", "768"),
        (["--cc", "7.0"], "16", "512"),
        (["--cc", "1.0", "--latency", "24"], "6", "192"),
        (["--cc", "9.0"], "16", "512"),
    ],
)
def test_the_documents_examples(cli, args: list[str], warps: str, threads: str) -> None:
    ran = cli("latency", *args, "--get", "warps_needed", "--get", "threads_needed")
    assert ran.out.split() == [warps, threads]


@pytest.mark.parametrize(
    "args",
    [
        ["--latency", "0"], ["--ilp", "0"], ["--word", "x"], ["--loads", "0"], ["--warps", "0"],
        ["--warps", "65"],
        ["--memory-latency", "fast"], ["--memory-latency", "0"],
    ],
)  # fmt: skip
def test_mistakes(cli, args: list[str]) -> None:
    ran = cli("latency", "--gpu", "h200", *args)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {args[0]}")
