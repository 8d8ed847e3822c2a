from __future__ import annotations

import json
from itertools import pairwise

import pytest

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue import limits_of
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.cli.occupancy.sweep import Axis, stairs, swept

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
