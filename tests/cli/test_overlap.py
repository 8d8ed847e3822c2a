"""``gpuadvise overlap``."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.cli.schema import bundled

if TYPE_CHECKING:
    from pathlib import Path

VALID = Draft202012Validator(json.loads(bundled("overlap"))).validate
RATES = {"h2d_rate": 1e9, "d2h_rate": 1e9, "pageable_h2d_rate": 1e8, "pageable_d2h_rate": 1e8}


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("bytes", ["--gpu", "h200", "--h2d", "256MiB", "--kernel", "4ms"]),
        (
            "timeline",
            [
                "--gpu",
                "h200",
                "--h2d",
                "3ms",
                "--kernel",
                "5ms",
                "--d2h",
                "3ms",
                "--streams",
                "4",
                "--show",
            ],
        ),
        (
            "chunks",
            [
                "--gpu",
                "h200",
                "--h2d",
                "256MiB",
                "--kernel",
                "4ms",
                "--d2h",
                "256MiB",
                "--streams",
                "3",
                "--chunks",
                "12",
                "--show",
                "--skeleton",
                "cuda",
            ],
        ),
        ("pageable", ["--gpu", "h200", "--h2d", "4MiB", "--kernel", "75us", "--pageable"]),
        (
            "one-engine",
            ["--gpu", "h200", "--h2d", "1ms", "--d2h", "1ms", "--kernel", "1ms", "--engines", "1"],
        ),
        ("no-engine", ["--gpu", "h200", "--d2h", "1ms", "--kernel", "1ms", "--engines", "0"]),
        ("integrated", ["--gpu", "jetson-agx-orin", "--h2d", "64MiB", "--kernel", "1ms"]),
        ("coherent", ["--gpu", "gh200", "--h2d", "1GiB", "--kernel", "5ms"]),
        ("hopeless", ["--gpu", "h200", "--h2d", "4KiB", "--kernel", "1s"]),
    ],
)
def test_pages(name: str, args: list[str], cli, golden) -> None:
    ran = cli("overlap", *args)
    assert (ran.code, ran.err) == (0, "")
    golden(f"overlap-{name}.text", ran.out)
    VALID(json.loads(cli("overlap", *args, "--format", "json").out))


@pytest.mark.parametrize(("h2d", "kernel"), [("3ms", "5ms"), ("5ms", "3ms")])
def test_the_guides_formulas(cli, h2d: str, kernel: str) -> None:
    args = [
        "overlap",
        "--gpu",
        "h200",
        "--h2d",
        h2d,
        "--kernel",
        kernel,
        "--streams",
        "4",
        "--ideal",
    ]
    predicted, guide = cli(*args, "--get", "predicted", "--get", "guide").out.split()
    assert float(predicted) == pytest.approx(5e-3 + 3e-3 / 4)
    assert float(predicted) == pytest.approx(float(guide))


def test_parameters_by_option(cli) -> None:
    ran = cli(
        "overlap", "--gpu", "h200", "--h2d", "1GB", "--kernel", "40ms", "--rate", "25GB/s",
        "--per-op", "1us", "--copy-latency", "0", "--duplex", "1.5", "--format", "json",
    )  # fmt: skip
    model = json.loads(ran.out)["result"]["model"]
    assert (model["h2d_rate"], model["source"]) == (25e9, "you")
    assert (model["copy_cost"], model["launch_cost"]) == (1e-6, 1e-6)
    assert (model["copy_latency"], model["duplex_slowdown"]) == (0.0, 1.5)
    assert json.loads(ran.out)["result"]["sequential"] == pytest.approx(80e-3, rel=1e-3)


def test_a_calibration_replaces_the_link(cli, tmp_path: Path) -> None:
    box = tmp_path / "box.json"
    box.write_text(json.dumps(RATES))
    args = ["--h2d", "1GB", "--kernel", "1s", "--calibration", str(box), "--get", "sequential"]
    assert float(cli("overlap", "--gpu", "h200", *args).out) == pytest.approx(2.0)
    assert float(cli("overlap", "--gpu", "h200", "--pageable", *args).out) == pytest.approx(11.0)


def test_one_row_per_number_of_pieces(cli) -> None:
    ran = cli(
        "overlap", "--gpu", "h200", "--h2d", "3ms", "--kernel", "5ms", "--max-streams", "5",
        "--format", "csv",
    )  # fmt: skip
    lines = ran.out.splitlines()
    assert lines[0] == "streams,predicted,speedup,chunk_bytes,pieces"
    assert [(row["pieces"], row["streams"]) for row in csv.DictReader(lines)] == [
        ("1", "1"), ("2", "2"), ("3", "2"), ("4", "2"), ("5", "2")
    ]  # fmt: skip


def test_chunks_are_multiples(cli) -> None:
    ran = cli(
        "overlap", "--gpu", "h200", "--h2d", "10MB", "--kernel", "1ms", "--streams", "3",
        "--granularity", "1MiB", "--get", "chunk_bytes",
    )  # fmt: skip
    assert ran.out == f"{4 << 20}\n"


@pytest.mark.parametrize("language", ["cuda", "cuda-python"])
@pytest.mark.parametrize(
    "copies", [["--h2d", "1GB"], ["--h2d", "1GB", "--d2h", "1GB"], ["--d2h", "1GB"]]
)
def test_skeletons(cli, golden, language: str, copies: list[str]) -> None:
    args = [*copies, "--kernel", "20ms", "--streams", "4", "--skeleton", language]
    code = cli("overlap", "--gpu", "h200", *args, "--get", "skeleton")
    assert "pinned" in code.out
    shown = cli("overlap", "--gpu", "h200", *args).out
    golden(f"overlap-skeleton-{language}-{len(copies)}-{copies[0][2:]}.text", shown)


def test_the_skeleton_takes_the_pieces_over_the_fewest_streams(cli) -> None:
    line = ["overlap", "--h2d", "3ms", "--kernel", "5ms", "--gpu", "h200"]
    code = cli(*line, "--skeleton", "cuda", "--format", "code").out
    assert "constexpr int streams = 2, chunks = 21;" in code
    fields = ["best_pieces", "best_streams", "streams", "pieces"]
    shown = cli(*line, *(word for field in fields for word in ("--get", field))).out
    assert shown.split() == ["21", "2", "2", "21"]


def test_the_answer_begins_with_the_verdict(cli) -> None:
    worth = cli("overlap", "--h2d", "3ms", "--kernel", "5ms", "--gpu", "h200").out
    assert worth.startswith(
        "Worth it, 1.55x: 21 pieces over 2 streams take 5.15 ms instead of 8 ms."
    )
    tiny = cli("overlap", "--h2d", "3us", "--kernel", "5us", "--gpu", "h200").out
    assert tiny.startswith("Not worth it: ")


def test_the_code_alone(cli) -> None:
    args = ["overlap", "--gpu", "h200", "--h2d", "64MiB", "--kernel", "1ms", "--format", "code"]
    code = cli(*args, "--skeleton", "cuda-python").out
    assert code.startswith("import ctypes\n")
    compile(code, "staged.py", "exec")
    assert "code is not a format" in cli(*args).err.replace('"', "")


def test_a_shared_memory_is_mapped(cli) -> None:
    args = ["--gpu", "jetson-agx-orin-64", "--h2d", "64MiB", "--kernel", "1ms"]
    code = cli("overlap", *args, "--skeleton", "cuda", "--format", "code").out
    assert "cudaHostAllocMapped" in code
    assert "cudaMemcpy" not in code


def test_fewer_streams_where_the_data_run_out(cli) -> None:
    args = ["--gpu", "h200", "--h2d", "1KiB", "--kernel", "1ms", "--streams", "8"]
    out = cli("overlap", *args).out
    assert "8 streams were asked for: the data make 4 chunks of --granularity or more." in out
    ideal = json.loads(cli("overlap", *args, "--ideal", "--format", "json").out)["result"]
    assert ideal["guide"] == pytest.approx(ideal["predicted"])


def test_the_link_of_each_direction(cli) -> None:
    args = ["--gpu", "h200", "--h2d", "64MiB", "--d2h", "64MiB", "--kernel", "1ms"]
    assert "7 GB/s and 17 GB/s  assumed" in cli("overlap", *args, "--pageable").out
    times = ["--gpu", "h200", "--h2d", "1ms", "--kernel", "1ms"]
    assert "link" not in cli("overlap", *times).out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([], "nothing to overlap"),
        (["--h2d", "abc"], '--h2d: "abc"'),
        (["--h2d", "0"], "--h2d"),
        (["--h2d", "-3ms"], "--h2d"),
        (["--h2d", "3ms", "--streams", "0"], "--streams"),
        (["--h2d", "3ms", "--chunks", "4"], "--chunks needs --streams"),
        (["--h2d", "3ms", "--streams", "4", "--chunks", "2"], "at least as many"),
        (["--h2d", "3ms", "--max-streams", "129"], "--max-streams"),
        (
            ["--h2d", "3ms", "--pcie", "3x4", "--rate", "1GB/s"],
            "leave out --rate and --calibration",
        ),
        (["--h2d", "3ms", "--rate", "fast"], "--rate"),
        (["--h2d", "3ms", "--per-op", "1"], "--per-op"),
        (["--h2d", "3ms", "--duplex", "0.5"], "--duplex"),
        (["--h2d", "3ms", "--duplex", "x"], "--duplex"),
        (["--h2d", "3ms", "--engines", "99"], "--engines"),
        (["--h2d", "3ms", "--granularity", "0"], "--granularity"),
        (["--h2d", "3ms", "--skeleton", "rust"], "--skeleton"),
        (["--h2d", "3ms", "--calibration", "/no/such"], "--calibration"),
    ],
)
def test_mistakes(cli, args: list[str], said: str) -> None:
    ran = cli("overlap", "--gpu", "h200", "--kernel", "1ms", *args)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_a_slower_slot(cli) -> None:
    args = ["overlap", "--gpu", "h200", "--h2d", "1GB", "--kernel", "1ms"]
    model = json.loads(cli(*args, "--pcie", "3x8", "--format", "json").out)["result"]["model"]
    assert model["h2d_rate"] == pytest.approx(7.877e9 * 0.88, rel=1e-3)
    assert model["pageable_d2h_rate"] == model["h2d_rate"]
    assert model["source"].startswith("you: PCIe 3 x8")
    assert cli(*args, "--pcie", "9").code == 2


def test_engines_that_are_assumed_are_said_to_be(cli) -> None:
    args = ("overlap", "--h2d", "1GiB", "--kernel", "40ms", "--d2h", "1GiB")
    old = cli(*args, "--cc", "1.0")
    assert old.out.startswith("Not worth it")
    assert "no engine that copies while kernels run" in old.out
    guessed = cli(*args, "--gpu", "rtx4070")
    assert "2 copy engines are assumed: as other GPUs of the chip AD104" in guessed.out
    known = cli(*args, "--gpu", "h200")
    assert "copy engines are" not in known.out
    got = cli(*args, "--gpu", "h200", "--engines", "1", "--get", "model.engines_source")
    assert got.out == "you\n"
