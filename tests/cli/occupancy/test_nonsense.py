"""Nonsense is exit 2 and a sentence; an impossible launch is an answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

GOOD = {"--regs": "32", "--block": "256", "--cc": "9.0"}
TEXTS = (
    "--regs", "--block", "--smem", "--dynamic-smem", "--barriers", "--cluster", "--grid",
    "--elements", "--smem-per-thread", "--carveout", "--launch-bounds", "--gpu", "--cc", "--sweep", "--fail-under", "--format",
    "--get", "--batch",
)  # fmt: skip


def words(options: dict[str, str]) -> list[str]:
    return [word for pair in options.items() for word in pair]


def refused(said, *names: str) -> None:
    assert (said.code, said.out) == (2, "")
    first, *rest = said.err.splitlines()
    assert first.startswith("error: ")
    assert len(first) < 400
    assert all(line.startswith("hint: ") for line in rest)
    assert len(rest) <= 1
    for name in names:
        assert name in first


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--regs", "0"), ("--regs", "-1"), ("--regs", "1e9"), ("--regs", "abc"), ("--regs", ""),
        ("--regs", "NaN"), ("--regs", "32.5"), ("--regs", "9" * 10_000_000),
        ("--block", "0"), ("--block", "33x99x"), ("--block", "nan"), ("--block", "1x2x3x4"),
        ("--block", "2147483647x2147483647"), ("--block", "x" * 10_000_000),
        ("--smem", "-1"), ("--smem", "1XB"), ("--smem", "NaN"), ("--smem", "3G"),
        ("--dynamic-smem", "-1"), ("--dynamic-smem", "1.5"), ("--dynamic-smem", "1e99"),
        ("--barriers", "-1"), ("--barriers", "9999"), ("--cluster", "0"), ("--grid", "0"),
        ("--grid", "1,2"), ("--cache", "l2"), ("--carveout", "101%"), ("--carveout", "half"),
        ("--launch-bounds", "256,0"), ("--launch-bounds", ","), ("--launch-bounds", "1,2,3"),
        ("--elements", "0"), ("--elements", "1e20"), ("--elements", "9" * 18),
        ("--smem-per-thread", "-1"), ("--smem-per-thread", "1G"),
        ("--cc", "99"), ("--cc", "abc"), ("--sweep", "everything"), ("--sweep", ""), ("--fail-under", "50"),
        ("--fail-under", "nan"), ("--format", "yaml"), ("--get", "nope"),
    ],
)  # fmt: skip
def test_nonsense_names_the_option(call, option: str, text: str) -> None:
    refused(call("occupancy", *words({**GOOD, option: text})), option if option != "--cc" else "")


def test_an_unknown_gpu_and_two_devices(call) -> None:
    launch = ("--regs", "32", "--block", "256")
    refused(call("occupancy", *launch, "--gpu", "h1000000"), "--gpu", "h1000000")
    refused(call("occupancy", *launch, "--gpu", "h100", "--cc", "9.0"), "--gpu", "--cc")


def test_what_every_question_needs(call) -> None:
    given = {key: value for key, value in GOOD.items() if key != "--regs"}
    refused(call("occupancy", *words(given)), "--regs", "missing")
    refused(call("occupancy", "--regs", "32", "--all-cc"), "--block", "missing")


@pytest.mark.parametrize(
    "together",
    [
        ("--sweep", "regs", "--all-cc"),
        ("--batch", "-", "--sweep", "regs"),
        ("--batch", "-", "--get", "occupancy"),
        ("--batch", "-", "--format", "markdown"),
        ("--all-cc", "--show"),
        ("--sweep", "regs", "--show", "--format", "csv"),
        ("--sweep", "regs", "--fail-under", "50%"),
        ("--sweep", "regs", "--driver-check"),
        ("--all-cc", "--gpu", "h100"),
    ],
)
def test_options_that_do_not_go_together(call, together: tuple[str, ...]) -> None:
    refused(call("occupancy", "--regs", "32", "--block", "256", *together))


def test_an_argument_that_is_no_text(process) -> None:
    ran = process(b"occupancy", b"--regs", b"\xff", b"--block", b"256")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith('error: --regs: "\\udcff" is not a whole number')


@given(option=st.sampled_from(TEXTS), text=st.text(max_size=40))
def test_any_text_is_an_answer_or_one_sentence(call, option: str, text: str) -> None:
    options = {**GOOD, option: text}
    if option == "--gpu":
        del options["--cc"]
    said = call("occupancy", *words(options))
    assert "Traceback" not in said.err
    if said.code == 2:
        refused(said)
    else:
        noted = option in ("--fail-under", "--format", "--cc", "--carveout")
        assert (said.code, said.err) == (0, "") or noted
        assert said.out


@pytest.mark.parametrize(
    ("options", "reason", "fix"),
    [
        ({"--regs": "256"}, "1 too many", "255 registers"),
        ({"--block": "2048"}, "1,024 too many", "1024 threads"),
        ({"--block": "33x99"}, "2,243 too many", "33x31"),
        ({"--dynamic-smem": "228K"}, "1,024 too many", "232,448 bytes"),
        ({"--regs": "72", "--block": "1024"}, "8,192 too many", "64 registers"),
    ],
)
def test_an_impossible_launch_is_an_answer(call, options, reason: str, fix: str) -> None:
    said = call("occupancy", *words({**GOOD, **options}), "--format", "json")
    result = json.loads(said.out)["result"]
    assert (said.code, said.err) == (0, "")
    assert (result["launchable"], result["blocks_per_sm"]) == (False, 0)
    assert reason in result["reason"]
    assert fix in result["fixes"][0]
    assert result["runtime_error"]["asked"] > result["runtime_error"]["allowed"]


@given(
    regs=st.integers(1, 600),
    block=st.tuples(*[st.integers(1, 2000)] * 2),
    smem=st.integers(0, 300_000),
    dynamic=st.integers(0, 300_000),
    barriers=st.integers(0, 20),
    cc=st.sampled_from(["1.0", "3.5", "7.5", "9.0", "12.0"]),
)
def test_any_launch_is_answered(call, regs, block, smem, dynamic, barriers, cc) -> None:
    options = {
        "--regs": regs, "--block": f"{block[0]}x{block[1]}", "--smem": smem,
        "--dynamic-smem": dynamic, "--barriers": barriers, "--cc": cc,
    }  # fmt: skip
    args = [str(word) for word in words(options)]
    said = call("occupancy", *args, "--format", "json")
    assert (said.code, said.err) == (0, "")
    result = json.loads(said.out)["result"]
    assert result["launchable"] == (result["reason"] is None) == (result["blocks_per_sm"] > 0)
    assert result["launchable"] or result["fixes"]
    assert call("occupancy", *args).code == 0
