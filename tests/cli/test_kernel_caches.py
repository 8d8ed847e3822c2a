"""``kernels``, ``compat``, ``diff`` and ``advise`` on folders: caches as the libraries wrote them."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest
import recordings
from jsonschema import Draft202012Validator

from gpuadvise.advisor.binaries.kernel_groups import prefix_of
from gpuadvise.cli.schema import bundled

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recordings.unpack_caches(tmp_path_factory.mktemp("caches"))


def result(ran) -> dict:
    envelope = json.loads(ran.out)
    Draft202012Validator(json.loads(bundled("kernels"))).validate(envelope)
    return envelope["result"]


def test_occupancy_equals_the_drivers(cli, caches: Path) -> None:
    found = result(cli("kernels", str(caches), "--gpu", "h200-sxm", "--json"))
    ours = {kernel["file"]: kernel for kernel in found["kernels"]}
    rows = list(csv.DictReader((recordings.FOLDER / "caches.csv").read_text().splitlines()))
    assert len(rows) == 9
    for row in rows:
        kernel = ours[str(caches / row["file"])]
        assert kernel["name"] == row["name"]
        assert kernel["block_from"] == "launch"
        assert kernel["block_threads"] == int(row["threads"]) == 32 * kernel["num_warps"]
        assert kernel["launched_dynamic_smem"] == int(row["dynamic_smem"])
        assert kernel["num_ctas"] == int(row["cluster"])
        resident = int(row["blocks_per_sm"])
        if (
            kernel["num_ctas"] > 1
        ):  # the driver's count of clusters alone knows what an SM holds of them
            resident = int(row["clusters"]) * kernel["num_ctas"] // 132
        assert kernel["blocks_per_sm"] == resident


def test_candidates_stand_together(cli, caches: Path) -> None:
    found = result(cli("kernels", str(caches / "triton"), "--json"))
    names = [kernel["name"] for kernel in found["kernels"]]
    assert names == ["matmul", "matmul", "scale", "add", "add", "add"]
    text = cli("kernels", str(caches / "triton")).out
    assert "8 warps, 3 stages" in text
    assert "4 warps, 3 stages, 2 CTAs" in text
    sizes = result(cli("kernels", str(caches), "--sort", "code_bytes", "--json"))["kernels"]
    codes = [kernel["code_bytes"] for kernel in sizes]
    assert codes == sorted(codes, reverse=True)


def test_cupy_needs_a_block(cli, caches: Path) -> None:
    found = result(cli("kernels", str(caches / "cupy"), "--block", "128", "--json"))
    assert {kernel["block_from"] for kernel in found["kernels"]} == {"given"}
    assert {kernel["offset"] for kernel in found["kernels"]} == {40}


@pytest.mark.parametrize(
    ("by", "order", "expected"),
    [
        ("arch", (), [("sm_90a", 9), ("sm_90", 4)]),
        ("prefix", ("--sort", "occupancy"), [("matmul", 2), ("scale", 1)]),
        ("prefix", ("--sort", "name"), [("add", 3), ("cupy_add", 1)]),
    ],
)
def test_groups(by: str, order: tuple[str, ...], expected: list, cli, caches: Path) -> None:
    ran = cli("kernels", str(caches), "--group-by", by, *order, "--limit", "2", "--json")
    found = result(ran)
    assert found["kernels"] is None
    assert [(group["group"], group["kernels"]) for group in found["groups"]] == expected


def test_groups_by_file_and_as_rows(cli, caches: Path) -> None:
    text = cli("kernels", str(caches / "triton"), "--group-by", "file").out
    assert "6 kernels in 6 groups" in text
    assert str(caches) not in text  # what all have in common is left out
    ran = cli("kernels", str(caches), "--group-by", "file", "--format", "csv", "--sort", "spills")
    rows = list(csv.DictReader(io.StringIO(ran.out)))
    assert len(rows) == 13
    assert sum(int(row["kernels"]) for row in rows) == 13
    one = cli("kernels", str(caches), "--group-by", "arch", "--limit", "1").out
    assert "1 more group: --limit 0" in one


@pytest.mark.parametrize(
    "words",
    [("--list",), ("--advise",), ("--sort", "smem"), ("--sort", "stack")],
)
def test_groups_refuse_what_they_have_not(words: tuple[str, ...], cli, caches: Path) -> None:
    ran = cli("kernels", str(caches), "--group-by", "file", *words)
    assert ran.code == 2
    assert "group" in ran.err


def test_gates_see_grouped_kernels(cli, caches: Path) -> None:
    ran = cli("kernels", str(caches), "--group-by", "arch", "--fail-under", "30%")
    assert ran.code == 1
    assert "below --fail-under 30 %" in ran.err
    assert cli("kernels", str(caches), "--group-by", "arch", "--fail-under", "20%").code == 0


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("triton_poi_fused_add_0", "triton_poi_fused"),
        ("ampere_sgemm_128x64_nn", "ampere_sgemm"),
        ("cupy_add__float32", "cupy_add"),
        ("add", "add"),
        ("_", "_"),
        ("", ""),
        ("80", "80"),
        ("_Z4fillIiEvPT_", "fill"),
        ("_Z5scalePfi", "scale"),
        ("_ZN2at6native13reduce_kernelILi512ELi1EEEvi", "at::native::reduce_kernel"),
        ("_ZN12_GLOBAL__N_14workEv", "anonymous::work"),
    ],
)
def test_prefixes(name: str, prefix: str) -> None:
    assert prefix_of(name) == prefix


def test_other_commands_take_folders(cli, caches: Path) -> None:
    ran = cli("compat", f"{caches}/", "--gpu", "h100", "--get", "verdict")
    assert (ran.code, ran.out.strip()) == (0, "runs")
    assert cli("compat", f"{caches}/cupy/", "--gpu", "h100").out.startswith("cupy runs on")
    ran = cli("diff", str(caches / "cupy"), str(caches / "cupy"))
    assert ran.code == 0
    assert "matmul" in cli("advise", str(caches / "triton"), "--all").out


def test_triton_sets_the_shared_memory_attribute_itself(cli, caches: Path) -> None:
    def rules_said(folder: Path) -> set[str]:
        ran = cli("advise", str(folder), "--format", "json")
        return {finding["rule"] for finding in json.loads(ran.out)["findings"]}

    ran = cli("kernels", str(caches / "triton"), "--json")
    assert max(kernel["launched_dynamic_smem"] or 0 for kernel in result(ran)["kernels"]) == 98_304
    assert "shared-memory-carveout" not in rules_said(caches / "triton")


def test_a_folder_without_code_is_refused(cli, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    for words in (("kernels",), ("kernels", "--format", "csv")):
        ran = cli(words[0], str(tmp_path), *words[1:])
        assert (ran.code, ran.out) == (2, "")
        assert "no device code" in ran.err
    assert cli("compat", str(tmp_path), "--gpu", "h100", "--get", "verdict").out == "none\n"
    assert cli("advise", str(tmp_path)).code == 2


def test_a_pattern_of_the_shell_names_other_texts_too(cli, caches: Path) -> None:
    named = sorted(map(str, (caches / "triton").glob("*/*")))
    assert any(name.endswith(".json") for name in named)
    code = [name for name in named if name.endswith(".cubin")]
    ran = cli("kernels", *named, "--fail-on-spills")
    assert ran.code == 0
    assert ran.out == cli("kernels", *code).out
    assert "note: There is no device code in " in ran.err
    ran = cli("compat", *named, "--gpu", "h200", "--format", "json")
    verdicts = {each["file"]: each["verdict"] for each in json.loads(ran.out)["result"]["answers"]}
    assert ran.code == 0
    assert {verdicts[name] for name in code} == {"runs"}
    assert {verdicts[name] for name in named if name.endswith(".json")} == {"none"}
    alone = next(name for name in named if name.endswith(".json"))
    assert cli("kernels", alone).code == cli("compat", alone, "--gpu", "h200").code == 2


def test_files_of_one_name_are_told_apart_by_their_folders(cli, tmp_path: Path) -> None:
    for folder in ("1a", "2b"):
        (tmp_path / "x" / folder).mkdir(parents=True)
        content = (recordings.FOLDER.parent / "cli" / "recorded" / "80.cubin").read_bytes()
        (tmp_path / "x" / folder / "mm.cubin").write_bytes(content)
    rows = [line for line in cli("kernels", str(tmp_path)).out.splitlines() if "scale" in line]
    assert [row.split()[-1] for row in rows] == ["1a/mm.cubin", "2b/mm.cubin"]
