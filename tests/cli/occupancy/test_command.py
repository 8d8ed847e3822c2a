from __future__ import annotations

import csv
import io
import json

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.cli.schema import bundled

H100 = ("occupancy", "--regs", "32", "--block", "256", "--gpu", "h100-sxm")
SCHEMA = Draft202012Validator(json.loads(bundled("occupancy")))


def answered(cli, *args: str) -> dict:
    ran = cli(*args, "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    answer = json.loads(ran.out)
    SCHEMA.validate(answer)
    return answer


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--regs", "72", "--grid", "4096", "--cluster", "2", "--launch-bounds", "256,4"),
        ("--block", "33x99"),
        ("--dynamic-smem", "100K", "--carveout", "50%", "--barriers", "3"),
        ("--dynamic-smem", "100K", "--no-opt-in"),
        ("--launch-bounds", "256,16"),
        ("--cluster", "16"),
        ("--cluster", "16", "--nonportable-cluster"),
        ("--sweep", "regs"),
        ("--sweep", "block"),
        ("--sweep", "smem"),
    ],
)
def test_every_answer_keeps_the_schema(cli, more: tuple[str, ...]) -> None:
    answered(cli, *H100, *more)


def test_the_contract_s_fields(cli) -> None:
    result = answered(cli, *H100, "--regs", "72", "--grid", "4096")["result"]
    assert result["blocks_per_sm"] == 3
    assert result["warps_per_sm"] == 24
    assert result["threads_per_sm"] == 768
    assert result["occupancy"] == 0.375
    assert result["limiters"] == ["registers"]
    assert result["limits"] == {
        "warps": 8, "blocks": 32, "registers": 3, "shared_memory": 228, "barriers": 64,
    }  # fmt: skip
    assert (result["launchable"], result["reason"]) == (True, None)
    assert result["carveout_bytes"] == 228 * 1024
    assert result["waves"] == 4096 / (132 * 3)
    assert 0 < result["tail_efficiency"] <= 1
    step = next(each for each in result["next_steps"] if each["resource"] == "registers")
    assert (step["from"], step["to"], step["blocks_per_sm"], step["occupancy"]) == (72, 64, 4, 0.5)


def test_the_device_and_the_input_are_told(cli) -> None:
    answer = answered(cli, *H100, "--block", "16x16", "--launch-bounds", "512")
    assert answer["device"]["catalogue_id"] == "h100-sxm"
    assert answer["input"]["block"] == [16, 16, 1]
    assert answer["input"]["launch_bounds"] == [512, None]


def test_get_prints_bare_values(cli) -> None:
    ran = cli(*H100, "--get", "occupancy", "--get", "limiters", "--get", "limits.registers")
    assert ran.out == "1.0\nwarps registers\n8\n"


def test_waves_need_a_number_of_sms(cli) -> None:
    args = ("occupancy", "--regs", "32", "--block", "256", "--cc", "9.0", "--grid", "100")
    assert answered(cli, *args)["result"]["waves"] is None
    assert "name a GPU with --gpu" in cli(*args).out


def test_an_unknown_capability_is_said_to_be_extrapolated(cli) -> None:
    args = ("occupancy", "--regs", "32", "--block", "256", "--cc", "13.0")
    assert json.loads(cli(*args, "--format", "json").out)["result"]["extrapolated"] is True
    assert "nearest older" in cli(*args).out


def test_a_grid_smaller_than_the_gpu(cli) -> None:
    said = cli(*H100, "--regs", "32", "--grid", "1").out
    assert "Grid: 1 block in 0.00095 waves of 1,056;" in said
    assert "131 of 132 SMs get no block of this grid." in said
    assert "get no block" not in cli(*H100, "--regs", "32", "--grid", "132").out


def test_a_carveout_where_there_is_none_is_pointed_out(cli) -> None:
    args = ("occupancy", "--regs", "20", "--block", "192", "--smem", "12K", "--carveout", "0")
    said = "has no carveout to prefer: --carveout changes nothing."
    assert f"Compute capability 2.0 {said}" in cli(*args, "--cc", "2.0").out
    assert said not in cli(*args, "--cc", "7.0").out


def test_a_cluster_that_cannot_be_is_mended_in_words(cli) -> None:
    old = cli("occupancy", "--cc", "8.0", "--regs", "32", "--block", "256", "--cluster", "2").out
    assert "Launch without clusters." in old
    odd = cli(*H100, "--regs", "32", "--cluster", "4", "--grid", "30").out
    assert "Launch a grid of 32 blocks." in odd
    assert "resident" not in odd


def test_a_cache_preference_decides_on_fermi(cli) -> None:
    args = ("occupancy", "--cc", "2.0", "--regs", "20", "--block", "192", "--smem", "12K")
    assert cli(*args, "--get", "blocks_per_sm").out == "4\n"
    assert cli(*args, "--cache", "L1", "--get", "blocks_per_sm").out == "1\n"
    ran = cli(*args, "--cache", "texture")
    assert (ran.code, ran.out) == (2, "")
    assert "Use none, shared, l1 or equal" in ran.err


@pytest.mark.parametrize(("share", "code"), [("38%", 1), ("37.5%", 0), ("0.5", 1), ("0", 0)])
def test_fail_under(cli, share: str, code: int) -> None:
    ran = cli(*H100, "--regs", "72", "--fail-under", share)
    assert ran.code == code
    assert ("below --fail-under" in ran.err) == bool(code)
    assert ran.out


def test_an_impossible_launch_fails_a_threshold(cli) -> None:
    assert cli(*H100, "--block", "2048", "--fail-under", "1%").code == 1


def test_csv_names_columns_as_get_does(cli) -> None:
    ran = cli(*H100, "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(ran.out))
    assert row["occupancy"] == "1.0"
    assert row["limits.registers"] == "8"
    assert row["limiters"] == "warps registers"
    assert row["launchable"] == "true"


def test_ndjson_is_the_result_on_one_line(cli) -> None:
    ran = cli(*H100, "--format", "ndjson")
    assert json.loads(ran.out) == answered(cli, *H100)["result"]


def test_every_capability(cli) -> None:
    args = ("occupancy", "--regs", "32", "--block", "256", "--all-cc")
    answer = answered(cli, *args)
    rows = {row["compute_capability"]: row for row in answer["result"]["sweep"]}
    assert answer["device"] is None
    assert (rows["9.0"]["blocks_per_sm"], rows["8.6"]["blocks_per_sm"]) == (8, 6)
    assert rows["1.0"]["launchable"] is True or rows["1.0"]["reason"]
    assert cli(*args, "--fail-under", "99%").code == 1


def test_a_recorded_device_answers(cli, tmp_path) -> None:
    saved = tmp_path / "box.json"
    saved.write_text(cli("device", "--gpu", "h200", "--format", "json").out)
    ran = cli("occupancy", "--regs", "32", "--block", "256", "--from", str(saved))
    assert "H200" in ran.out
    assert ran.code == 0


def test_launch_bounds_that_no_register_count_satisfies(cli) -> None:
    ran = cli(*H100, "--launch-bounds", "100000,1")
    assert "No number of registers satisfies the launch bounds." in ran.out


def test_a_driver_check_needs_a_live_gpu(cli) -> None:
    ran = cli(*H100, "--driver-check")
    assert (ran.code, ran.out) == (3, "")
    assert "needs a live GPU" in ran.err


def test_a_block_is_chosen_where_none_is_given(cli) -> None:
    args = ("occupancy", "--regs", "40", "--gpu", "h100-sxm")
    answer = answered(cli, *args)
    assert answer["result"]["chosen_block"] == 256
    assert answer["input"]["block"] == [256, 1, 1]
    assert "Block size chosen, for none was given: 256 threads; 128 and 192 keep" in cli(*args).out
    given = answered(cli, *args, "--block", "256")
    assert given["result"]["chosen_block"] is None
    assert given["result"]["blocks_per_sm"] == answer["result"]["blocks_per_sm"]


def test_where_no_size_of_the_guide_is_best_the_runtimes_is_chosen(cli) -> None:
    args = ("occupancy", "--regs", "32", "--cc", "9.0", "--dynamic-smem", "100K")
    assert answered(cli, *args)["result"]["chosen_block"] == 1024
    clusters = answered(cli, "occupancy", "--regs", "40", "--cc", "9.0", "--cluster", "16")
    assert clusters["result"]["chosen_block"] == 256
    impossible = answered(cli, "occupancy", "--regs", "300", "--cc", "9.0")["result"]
    assert (impossible["chosen_block"], impossible["launchable"]) == (32, False)
    bound = answered(cli, "occupancy", "--regs", "32", "--cc", "9.0", "--launch-bounds", "128")
    assert bound["result"]["chosen_block"] == 128


@pytest.mark.parametrize(
    ("elements", "more", "grid"),
    [("1", (), 1), ("256", (), 1), ("257", (), 2), ("1000000", (), 3907),
     ("257", ("--cluster", "4"), 4), ("1025", ("--cluster", "4"), 8)],
)  # fmt: skip
def test_elements_give_the_grid(cli, elements: str, more: tuple[str, ...], grid: int) -> None:
    answer = answered(cli, *H100, "--elements", elements, *more)
    assert answer["input"]["grid"] == [grid, 1, 1]
    assert answer["input"]["elements"] == int(elements)
    assert answer["result"]["waves"] is not None
    assert f"for {int(elements):,} elements in" in cli(*H100, "--elements", elements, *more).out


def test_elements_or_a_grid(cli) -> None:
    ran = cli(*H100, "--elements", "9", "--grid", "3")
    assert (ran.code, ran.out) == (2, "")
    assert "--elements and --grid both give the grid" in ran.err


def test_dynamic_memory_grows_with_the_block(cli) -> None:
    more = ("--dynamic-smem", "1K", "--smem-per-thread", "100")
    for block in ("32", "256", "1024"):
        grown = answered(cli, *H100, "--block", block, *more)
        total = str(1024 + 100 * int(block))
        plain = answered(cli, *H100, "--block", block, "--dynamic-smem", total)
        assert grown["result"]["blocks_per_sm"] == plain["result"]["blocks_per_sm"]
        assert grown["input"]["dynamic_smem"] == int(total)
        assert grown["input"]["smem_per_thread"] == 100


def test_too_much_memory_per_thread_is_mended_by_a_smaller_block(cli) -> None:
    args = ("occupancy", "--regs", "32", "--block", "256", "--cc", "9.0", "--smem-per-thread")
    result = answered(cli, *args, "1K")["result"]
    assert not result["launchable"]
    said = "Launch 224 threads per block and ask for 229,376 bytes of dynamic shared memory."
    assert result["fixes"] == [said]
    assert answered(cli, *args, "1K", "--block", "224")["result"]["launchable"]
    without_a_warp = answered(cli, *args, "100K")["result"]["fixes"]
    assert without_a_warp == [
        "Make the tile smaller, so that it needs at most 232,448 bytes of dynamic shared memory."
    ]


def test_suggested_blocks_take_their_own_memory(cli) -> None:
    args = ("occupancy", "--regs", "32", "--cc", "9.0", "--smem-per-thread", "200")
    helper = answered(cli, *args)["result"]["suggested_blocks"]["runtime_helper"]
    sizes = answered(cli, *args, "--block", "32", "--sweep", "block")["result"]["sweep"]
    best = max(sizes, key=lambda row: (row["threads_per_sm"], row["block"]))
    assert (helper["block"], helper["occupancy"]) == (best["block"], best["occupancy"])


def test_the_carveout_is_told_with_the_smallest_that_suffices(cli) -> None:
    args = ("occupancy", "--regs", "32", "--block", "256", "--smem", "4K", "--cc", "9.0")
    told = answered(cli, *args)["result"]["carveout"]
    kib = 1024
    assert told == {
        "bytes": 228 * kib, "l1_bytes": 28 * kib,
        "smallest_bytes": 64 * kib, "smallest_per_cent": 28, "smallest_l1_bytes": 192 * kib,
    }  # fmt: skip
    smallest = answered(cli, *args, "--carveout", "28%")["result"]
    assert smallest["carveout_bytes"] == 64 * kib
    assert smallest["blocks_per_sm"] == 8
    assert "64 KiB hold as many blocks and leave 192 KiB of L1" in cli(*args).out
    assert "hold as many" not in cli(*args, "--carveout", "28%").out
    less = answered(cli, *args, "--carveout", "14%")["result"]
    assert less["blocks_per_sm"] == 6
    assert less["carveout"]["smallest_bytes"] == less["carveout_bytes"] == 32 * kib


def test_where_there_is_no_carveout(cli) -> None:
    args = ("occupancy", "--regs", "32", "--block", "256", "--smem", "4K")
    assert answered(cli, *args, "--cc", "6.1")["result"]["carveout"] is None
    assert answered(cli, *args, "--cc", "9.0", "--block", "2048")["result"]["carveout"] is None


def test_the_help_fits_a_screen_and_shows_examples(cli) -> None:
    lines = cli("occupancy", "--help").out.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 100
    assert "  Examples:" in lines


def test_a_launch_with_clusters_has_the_occupancy_that_its_blocks_leave(cli) -> None:
    args = ("occupancy", "--regs", "28", "--block", "64", "--cluster", "4", "--gpu", "h200")
    ran = cli(*args, "--fail-under", "50%")
    assert ran.code == 1
    assert "25 % occupancy: 8 blocks and 16 of 64 warps per SM." in ran.out
    assert "8 blocks at most (measured on an H200), not 32" in ran.out
    assert cli(*args, "--get", "occupancy", "--get", "clusters.blocks_per_sm").out == "0.25\n8\n"
    assert "100 % occupancy" in cli(*args[:-4], "--gpu", "h200").out  # without clusters


def test_a_batch_counts_the_clusters_that_its_waves_rest_on(cli, tmp_path) -> None:
    path = tmp_path / "launches.csv"
    path.write_text("regs,block,cluster,grid\n28,64,4,4096\n")
    (row,) = map(
        json.loads,
        cli(
            "occupancy", "--batch", str(path), "--gpu", "h200", "--format", "ndjson"
        ).out.splitlines(),
    )
    assert (row["clusters_count"], row["clusters_source"], row["occupancy"]) == (
        248,
        "measured",
        0.25,
    )
    assert row["waves"] == pytest.approx(4096 / (248 * 4))
