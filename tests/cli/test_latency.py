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


@pytest.mark.parametrize(
    ("word", "share", "hidden"), [("4", 0.54, False), ("8", 0.69, False), ("16", 0.88, True)]
)
def test_memory_is_as_busy_as_it_was_on_an_h200(cli, word: str, share: float, hidden: bool) -> None:
    args = ("--gpu", "h200", "--warps", "64", "--word", word, "--json")
    result = json.loads(cli("latency", *args).out)["result"]
    assert result["memory_share"] == pytest.approx(share, abs=0.002)
    assert result["memory_hidden"] is hidden


@pytest.mark.parametrize("warps", ["8", "16", "32", "64"])
def test_the_bytes_that_are_asked_for_are_enough(cli, warps: str) -> None:
    args = ("latency", "--gpu", "a100", "--warps", warps)
    needed = json.loads(cli(*args, "--json").out)["result"]["bytes_per_thread_needed"]
    for word, loads, enough in ((4, int(needed // 4) + 1, True), (4, int(needed // 4) or 1, False)):
        found = cli(*args, "--word", str(word), "--loads", str(loads), "--get", "memory_hidden")
        assert found.out.strip() == str(enough).lower()


def test_a_latency_that_was_given_is_littles_law_alone(cli) -> None:
    args = ("latency", "--gpu", "h200", "--memory-latency", "600ns", "--warps", "64")
    result = json.loads(cli(*args, "--json").out)["result"]
    flying = 64 * 32 * 4 * 132
    assert result["memory_share"] == pytest.approx(flying / (result["bytes_in_flight"]), rel=1e-9)
    assert "by Little's law" in cli(*args).out


def test_memory_has_a_verdict_also_where_it_is_hidden_or_unknown(cli) -> None:
    assert "hide the latency of memory: 88 %" in cli("latency", "--gpu", "h200", "--word", "16").out
    asked = ("--warps", "16", "--word", "16", "--loads", "2")
    assert "16 warps with 32 bytes per thread under way do not" in (
        cli("latency", "--gpu", "h200", *asked).out
    )
    assert cli("latency", "--cc", "9.0", "--get", "memory_hidden").out == "null\n"
