from __future__ import annotations

import csv
import io
import json
from itertools import pairwise, product

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue import limits_of
from gpuadvise.advisor.occupancy import launch_grid
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.sweep import Axis, stairs, swept
from gpuadvise.cli.schema import bundled

HOPPER, _ = limits_of(Capability(9, 0))


def rows(cli, *args: str) -> list[dict]:
    ran = cli("occupancy", "--cc", "9.0", *args, "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    return json.loads(ran.out)["result"]["sweep"]


@pytest.mark.parametrize(
    ("what", "key", "given", "values"),
    [
        ("block", "block", ("--regs", "32"), list(range(32, 1025, 32))),
        ("regs", "regs", ("--block", "256"), list(range(1, 256))),
    ],
)
def test_the_swept_option_need_not_be_given(cli, what, key, given, values) -> None:
    found = rows(cli, "--sweep", what, *given)
    assert [row[key] for row in found] == values


def test_every_row_is_the_model_s_answer(cli) -> None:
    for row in rows(cli, "--sweep", "smem", "--regs", "40", "--block", "256", "--smem", "1K"):
        launch = Launch(
            threads=256, registers=40, static_shared=1024, dynamic_shared=row["dynamic_smem"]
        )
        assert row["blocks_per_sm"] == occupancy(HOPPER, launch).blocks_per_sm


def test_the_edges_of_shared_memory_are_exact() -> None:
    launch = Launch(threads=256, registers=40)
    runs = stairs(swept(HOPPER, launch, Axis.SMEM), Axis.SMEM)
    for (_, last, found), (first, _, after) in pairwise(runs):
        assert first == last + 1
        for size, blocks in ((last, found.blocks_per_sm), (first, after.blocks_per_sm)):
            at = Launch(threads=256, registers=40, dynamic_shared=size)
            assert occupancy(HOPPER, at).blocks_per_sm == blocks


def test_without_the_opt_in_the_sweep_ends_early(cli) -> None:
    found = rows(cli, "--sweep", "smem", "--regs", "32", "--block", "256", "--no-opt-in")
    assert found[-1]["dynamic_smem"] == 48 * 1024


def test_the_input_tells_what_was_swept(cli) -> None:
    ran = cli("occupancy", "--cc", "9.0", "--regs", "32", "--sweep", "block", "--format", "json")
    asked = json.loads(ran.out)["input"]
    assert (asked["sweep"], asked["block"], asked["regs"]) == ("block", None, 32)


def test_the_given_value_is_marked(cli) -> None:
    ran = cli("occupancy", "--cc", "9.0", "--regs", "32", "--block", "256", "--sweep", "block")
    assert [line for line in ran.out.splitlines() if line.lstrip().startswith(">")] != []
    without = cli("occupancy", "--cc", "9.0", "--regs", "32", "--sweep", "block")
    assert ">" not in without.out


GRID = ("--sweep", "regs=30:34", "--sweep", "block=64,256,2048", "--sweep", "smem=0:100K:50K")


def grid_rows(cli, *args: str) -> list[dict]:
    ran = cli("occupancy", "--cc", "9.0", *args, "--format", "ndjson")
    assert (ran.code, ran.err) == (0, "")
    return [json.loads(line) for line in ran.out.splitlines()]


def test_several_sweeps_answer_every_combination_in_order(cli) -> None:
    found = grid_rows(cli, *GRID)
    expected = list(product(range(30, 35), (64, 256, 2048), (0, 51200, 102400)))
    assert [(row["regs"], row["block"], row["dynamic_smem"]) for row in found] == expected
    for row in found:
        launch = Launch(
            threads=row["block"], registers=row["regs"], dynamic_shared=row["dynamic_smem"]
        )
        answer = occupancy(HOPPER, launch)
        limiters = list(answer.limiters) if answer.launchable else []
        assert row["blocks_per_sm"] == answer.blocks_per_sm
        assert row["warps_per_sm"] == answer.warps_per_sm
        assert row["occupancy"] == answer.occupancy
        assert row["limiters"] == limiters


def test_the_forms_of_a_grid_hold_the_same_rows(cli) -> None:
    lines = grid_rows(cli, *GRID)
    ran = cli("occupancy", "--cc", "9.0", *GRID, "--format", "json")
    answer = json.loads(ran.out)
    Draft202012Validator(json.loads(bundled("occupancy"))).validate(answer)
    assert answer["result"]["sweep"] == lines
    assert ran.out == json.dumps(answer, indent=2) + "\n"  # as every other answer is written
    table = list(
        csv.DictReader(io.StringIO(cli("occupancy", "--cc", "9.0", *GRID, "-f", "csv").out))
    )
    as_text = [
        {key: " ".join(v) if isinstance(v, list) else str(v) for key, v in row.items()}
        for row in lines
    ]
    assert table == as_text


@pytest.mark.parametrize("form", ["csv", "ndjson", "json", "text"])
def test_without_numpy_the_answer_is_the_same(cli, monkeypatch, form: str) -> None:
    args = ("occupancy", "--cc", "8.6", "--sweep", "regs", "--sweep", "block=32:1024:4", "-f", form)
    with_arrays = cli(*args)
    monkeypatch.setattr(launch_grid, "find_spec", lambda name: None)
    assert cli(*args) == with_arrays


def test_text_says_the_best_and_the_rest_briefly(cli) -> None:
    ran = cli("occupancy", "--cc", "9.0", "--sweep", "regs", "--sweep", "block=64:512:64")
    assert "At best 100 % occupancy, in" in ran.out
    assert len(ran.out.splitlines()) < 25
    none = cli("occupancy", "--cc", "9.0", "--sweep", "regs=1:9", "--sweep", "block=2000:2010:1")
    assert "None of 99 launches can start." in none.out


def test_two_short_axes_are_a_table(cli) -> None:
    args = ("occupancy", "--cc", "9.0", "--sweep")
    lines = cli(*args, "regs=32,64,128", "--sweep", "block=64,256,2048").out.splitlines()
    at = lines.index("Occupancy in %: registers down, block across.")
    assert [line.split() for line in lines[at + 1 : at + 5]] == [
        ["Registers", "64", "256", "2,048"],
        ["32", "100", "100", "-"],
        ["64", "50", "50", "-"],
        ["128", "25", "25", "-"],
    ]
    turned = cli(*args, "block=64,128", "--sweep", "regs=16:240:8").out
    assert "Occupancy in %: registers down, block across." in turned
    assert "down" not in cli(*args, "regs=1:99", "--sweep", "block=64,128").out


def test_fields_of_a_grid(cli) -> None:
    args = ("occupancy", "--cc", "9.0", *GRID)
    ran = cli(*args, "--get", "launches", "--get", "tiers.0.occupancy", "--get", "sweep.0.block")
    assert ran.out == "45\n1.0\n64\n"
    large = cli("occupancy", "--cc", "9.0", "--sweep", "regs", "--sweep", "smem", "--sweep", "block",
                "--get", "sweep")  # fmt: skip
    assert large.code == 2
    assert "rows are more than" in large.err


def test_one_axis_with_values_has_the_rows_of_one_axis(cli) -> None:
    found = rows(cli, "--sweep", "regs=32:40:4", "--block", "256")
    assert [row["regs"] for row in found] == [32, 36, 40]
    assert set(found[0]) == set(rows(cli, "--sweep", "regs", "--block", "256")[0])
    assert [row["dynamic_smem"] for row in rows(cli, "--sweep", "smem=1K,0", "--regs", "32",
                                                "--block", "64")] == [0, 1024]  # fmt: skip
    text = cli(
        "occupancy", "--cc", "9.0", "--regs", "32", "--block", "256", "--sweep", "smem=0,200K"
    )
    assert "204,800" in text.out
    assert " 1 to" not in text.out


@pytest.mark.parametrize(
    ("what", "values"),
    [
        ("block=64:160", [64, 96, 128, 160]),
        ("block=63:66", [63, 64, 65, 66]),
        ("block=64:130:33", [64, 97, 130]),
        ("smem=1K:3000", [1024, 2048]),
        ("smem=1:3", [1, 2, 3]),
        ("smem=0,2K:4K,3K", [0, 2048, 3072, 4096]),
        (" SMEM = 0 : 1K ", [0, 1024]),
        ("dynamic-smem=5", [5]),
    ],
)
def test_ranges_and_lists(cli, what: str, values: list[int]) -> None:
    found = rows(cli, "--sweep", what, "--regs", "32", "--block", "64")
    key = "block" if what.startswith("block") else "dynamic_smem"
    assert [row[key] for row in found] == values


def test_barriers_are_swept(cli) -> None:
    found = rows(cli, "--sweep", "barriers", "--regs", "16", "--block", "32")
    assert [row["barriers"] for row in found] == list(range(1, 17))
    assert found[-1]["limiters"] == ["barriers"]


def test_no_size_is_listed_twice(cli) -> None:
    sizes = [
        row["dynamic_smem"]
        for row in rows(cli, "--sweep", "smem", "--regs", "32", "--block", "256")
    ]
    assert len(sizes) == len(set(sizes))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--sweep", "regs", "--sweep", "regs=1:2"), "swept twice"),
        (("--sweep", "regs=9:1", "--sweep", "block"), "ends before it begins"),
        (("--sweep", "smem=0:1K:0", "--sweep", "block"), "step of 0"),
        (("--sweep", "regs=1:2:3:4"), "LOW:HIGH:STEP"),
        (("--sweep", "regs=", "--sweep", "block"), "--sweep regs: "),
        (("--sweep", "regs=1:x", "--sweep", "block"), '"x" is not a whole number'),
        (("--sweep", "smem=0:2000000000:1", "--sweep", "block"), "more than 1,000,000 values"),
        (("--sweep", "regs", "--sweep", "smem=0:200K:1", "--sweep", "block"), "more than 100,000,000"),
        (("--sweep", "regs", "--sweep", "grid"), "cannot be swept"),
        (("--sweep", "regs,block"), "one --sweep for each"),
        (("--sweep", "regs", "--sweep", "smem"), "--block is missing"),
        (("--sweep", "regs", "--sweep", "block", "--show"), "several"),
        (("--sweep", "regs", "--sweep", "block", "--format", "sarif"), "sarif"),
    ],
)  # fmt: skip
def test_grids_that_make_no_sense(cli, args: tuple[str, ...], said: str) -> None:
    ran = cli("occupancy", "--cc", "9.0", *args)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
