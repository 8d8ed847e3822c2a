from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.cli.schema import bundled

DATA = Path(__file__).parents[2] / "advisor" / "binaries" / "data"
SCHEMA = Draft202012Validator(json.loads(bundled("diff")))


def log(
    tmp_path: Path, name: str, kernels: dict[str, tuple[int, int, int]], target: str = "sm_90"
) -> str:
    """Write a build log: for each kernel its registers, shared memory and spills."""
    lines = [
        line
        for kernel, (registers, smem, spills) in kernels.items()
        for line in (
            f"ptxas info    : Compiling entry function '{kernel}' for '{target}'",
            f"ptxas info    : Function properties for {kernel}",
            f"    {spills} bytes stack frame, {spills} bytes spill stores, {spills} bytes spill loads",
            f"ptxas info    : Used {registers} registers, used 1 barriers, "
            f"{spills} bytes cumulative stack size, {smem} bytes smem",
        )
    ]
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def builds(tmp_path: Path) -> tuple[str, str]:
    old = {
        "worse": (32, 0, 0),
        "spilling": (64, 0, 0),
        "better": (64, 0, 0),
        "tier": (20, 0, 0),
        "same": (40, 1024, 8),
        "gone": (8, 0, 0),
        "_Z5scaleIfEvPT_": (30, 0, 0),
    }
    new = {
        "worse": (64, 0, 0),
        "spilling": (64, 0, 64),
        "better": (32, 0, 0),
        "tier": (24, 512, 0),
        "same": (40, 1024, 8),
        "fresh": (16, 0, 0),
        "_Z5scaleIfEvPT_": (168, 0, 0),
    }
    return log(tmp_path, "old.log", old), log(tmp_path, "new.log", new)


def test_the_whole_screen(cli, golden, builds: tuple[str, str]) -> None:
    for name in ("text", "markdown", "github"):
        golden(f"diff.{name}", cli("diff", *builds, "--format", name).out)


def test_the_gate(cli, builds: tuple[str, str]) -> None:
    old, new = builds
    assert cli("diff", old, new).code == 0
    assert cli("diff", old, new, "--fail-on-regression").code == 1
    assert cli("diff", old, old, "--fail-on-regression", "--fail-on-spills").code == 0
    assert cli("diff", old, new, "--filter", "spilling", "--fail-on-regression").code == 0
    assert cli("diff", old, new, "--filter", "spilling", "--fail-on-spills").code == 1
    assert cli("diff", old, new, "--filter", "tier|same", "--fail-on-regression").code == 0


def test_the_fields(cli, builds: tuple[str, str]) -> None:
    ran = cli("diff", *builds, "--gpu", "h100-sxm", "--format", "json")
    document = json.loads(ran.out)
    SCHEMA.validate(document)
    result = document["result"]
    assert result["regression"] is True
    assert {r["name"]: r["status"] for r in result["kernels"]} == {
        "worse": "worse",
        "_Z5scaleIfEvPT_": "worse",
        "spilling": "spills more",
        "better": "better",
        "tier": "same tier",
        "fresh": "new",
        "gone": "removed",
    }
    assert result["counts"]["unchanged"] == 1
    worse = next(r for r in result["kernels"] if r["name"] == "worse")
    assert (worse["old"]["registers"], worse["new"]["registers"]) == (32, 64)
    assert (worse["old"]["occupancy"], worse["new"]["occupancy"]) == (1.0, 0.5)
    assert worse["new"]["limiters"] == ["registers"]
    assert "H100" in result["summary"]


def test_unchanged_kernels_on_request(cli, builds: tuple[str, str]) -> None:
    everything = json.loads(cli("diff", *builds, "--all", "--format", "json").out)
    assert len(everything["result"]["kernels"]) == 8
    assert "unchanged" in cli("diff", *builds, "--all").out.splitlines()[-2]


def test_rows_have_both_sides(cli, builds: tuple[str, str]) -> None:
    rows = list(csv.DictReader(io.StringIO(cli("diff", *builds, "--format", "csv").out)))
    first = rows[0]
    assert (first["status"], first["old_registers"], first["new_registers"]) == (
        "worse",
        "30",
        "168",
    )
    gone = next(row for row in rows if row["name"] == "gone")
    assert (gone["old_registers"], gone["new_registers"]) == ("8", "")


def test_nothing_changed(cli, builds: tuple[str, str]) -> None:
    ran = cli("diff", builds[0], builds[0])
    assert ran.out == (
        "None of 7 kernels lost occupancy on the targets they were built for: 7 unchanged.\n"
    )


def test_builds_without_a_common_target_say_so(cli, tmp_path: Path) -> None:
    old = log(tmp_path, "old.log", {"k": (32, 0, 0)}, "sm_80")
    new = log(tmp_path, "new.log", {"k": (128, 0, 0)}, "sm_90")
    ran = cli("diff", old, new)
    assert "no target in common (sm_80; sm_90)" in ran.err
    newer = log(tmp_path, "newer.log", {"k": (128, 0, 0)}, "sm_86")
    ran = cli("diff", old, newer, "--gpu", "l4", "--fail-on-regression")
    assert (ran.code, ran.err) == (1, "note: 1 kernel lost occupancy (--fail-on-regression).\n")


def test_of_several_targets_the_nearest_counts(cli, tmp_path: Path) -> None:
    old = Path(log(tmp_path, "a.log", {"k": (128, 0, 0)}, "sm_80")).read_text()
    both = tmp_path / "both.log"
    both.write_text(old + Path(log(tmp_path, "b.log", {"k": (32, 0, 0)}, "sm_86")).read_text())
    result = json.loads(
        cli("diff", str(both), str(both), "--gpu", "l4", "--all", "--format", "json").out
    )
    assert [r["new"]["registers"] for r in result["result"]["kernels"]] == [32]


def test_a_long_table_is_cut_unless_asked(cli, tmp_path: Path) -> None:
    old = log(tmp_path, "old.log", {f"k{n}": (20, 0, 0) for n in range(60)})
    new = log(tmp_path, "new.log", {f"k{n}": (24, 0, 0) for n in range(60)})
    assert "and 20 more (--limit 0 shows all)" in cli("diff", old, new).out
    assert "more (" not in cli("diff", old, new, "--limit", "0").out


def test_names_are_inert_everywhere(cli, tmp_path: Path) -> None:
    old = log(tmp_path, "old.log", {"k\x1b[31m%0A::error::x": (20, 0, 0)})
    new = log(tmp_path, "new.log", {"k\x1b[31m%0A::error::x": (255, 0, 0)})
    for name in ("text", "markdown", "github", "csv", "json", "ndjson"):
        assert "\x1b" not in cli("diff", old, new, "--format", name).out
    lines = cli("diff", old, new, "--format", "github").out.splitlines()
    assert len(lines) == 2
    assert "%250A::error::x" in lines[1]


def test_a_log_against_the_listing_of_its_binary(cli) -> None:
    log, listing = DATA / "nvcc-13.0-three-targets.log", DATA / "cuobjdump-13.2-object.txt"
    ran = cli("diff", str(log), str(listing), "--arch", "80,90", "--fail-on-regression")
    assert ran.code == 0
    assert "16 unchanged" in ran.out


def test_damaged_and_empty_builds(cli, tmp_path: Path, builds: tuple[str, str]) -> None:
    cut = tmp_path / "cut.log"
    cut.write_text(Path(builds[1]).read_text().rsplit("ptxas info    : Used", 1)[0])
    ran = cli("diff", builds[0], str(cut))
    assert ran.code == 3
    assert "the log ends before its numbers" in ran.err
    empty = tmp_path / "empty.bin"
    empty.write_bytes(bytes(100))
    ran = cli("diff", builds[0], str(empty))
    assert (ran.code, ran.out) == (2, "")
    assert 'There are no kernels in "' in ran.err
    empty.write_bytes(b"\x50\xed\x55\xba\x01\x00\x10\x00" + b"\xff" * 8)
    assert "cannot be read" in cli("diff", builds[0], str(empty)).err
    assert cli("diff", "-", "-").code == 2


def test_ptx_has_no_occupancy_to_compare(cli, tmp_path: Path) -> None:
    text = (DATA / "nvrtc-12.9-compute_90a.ptx").read_text()
    new = tmp_path / "new.ptx"
    new.write_text(text.replace(".maxntid 128", ".maxntid 64"))
    ran = cli("diff", str(DATA / "nvrtc-12.9-compute_90a.ptx"), str(new))
    assert ran.code == 0
    assert "1 changed without an occupancy to compare and 6 unchanged" in ran.out
    assert ran.out.splitlines()[2].split()[:2] == ["unknown", "-"]


def statuses(ran) -> dict[str, str]:
    return {r["name"]: r["status"] for r in json.loads(ran.out)["result"]["kernels"]}


@pytest.mark.parametrize(
    ("old", "new", "status", "regression", "spills"),
    [
        ((64, 0, 0), (32, 0, 64), "spills more", 0, 1),  # a tier won by spilling loses time
        ((32, 0, 400), (64, 0, 0), "better", 0, 0),  # half of the warps and no spills win
        ((32, 0, 400), (64, 0, 396), "worse", 1, 0),
        ((32, 0, 8), (32, 0, 16), "spills more", 0, 1),
        ((64, 0, 0), (32, 0, 0), "better", 0, 0),
    ],
)
def test_occupancy_against_spills(
    cli, tmp_path: Path, old, new, status: str, regression: int, spills: int
) -> None:
    builds = log(tmp_path, "old.log", {"k": old}), log(tmp_path, "new.log", {"k": new})
    assert statuses(cli("diff", *builds, "--format", "json")) == {"k": status}
    assert cli("diff", *builds, "--fail-on-regression").code == regression
    failing = cli("diff", *builds, "--fail-on-spills", "--format", "github")
    assert failing.code == spills
    assert failing.out.startswith("::error ") is bool(spills)


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [(256, 0, "trade-off"), (256, 128, "trade-off"), (256, 136, "worse"), (64, 0, "worse")],
)
def test_occupancy_against_an_array_on_the_stack(
    cli, tmp_path: Path, before: int, after: int, status: str
) -> None:
    builds = []
    for name, registers, stack in (("old.log", 32, before), ("new.log", 64, after)):
        path = Path(log(tmp_path, name, {"k": (registers, 0, 0)}))
        path.write_text(path.read_text().replace("0 bytes cumul", f"{stack} bytes cumul"))
        builds.append(str(path))
    assert statuses(cli("diff", *builds, "--format", "json")) == {"k": status}
    assert cli("diff", *builds, "--fail-on-regression").code == (status == "worse")


def test_warps_that_paid_for_spills_are_no_gain_of_occupancy(cli, tmp_path: Path) -> None:
    old = log(tmp_path, "old.log", {"k": (32, 0, 1646), "fast": (64, 0, 0)})
    new = log(tmp_path, "new.log", {"k": (64, 0, 0), "fast": (32, 0, 0)})
    ran = cli("diff", old, new, "--gpu", "h200", "--fail-on-regression")
    assert ran.code == 0
    assert ran.out.startswith(
        "None of 2 kernels lost occupancy for nothing on NVIDIA H200 SXM 141 GB: 1 spill far less "
        "with fewer warps and 1 gained occupancy."
    )


def test_a_renamed_kernel_is_compared_and_said(cli, tmp_path: Path) -> None:
    old = log(tmp_path, "old.log", {"gemm_tiled_v1": (32, 0, 0), "other": (8, 0, 0)})
    new = log(tmp_path, "new.log", {"gemm_tiled_v2": (168, 0, 0), "other": (8, 0, 0)})
    ran = cli("diff", old, new, "--fail-on-regression")
    assert ran.code == 1
    assert "gemm_tiled_v2 (was gemm_tiled_v1)" in ran.out


def test_a_target_that_the_new_build_lost_is_said(cli, tmp_path: Path) -> None:
    old = Path(log(tmp_path, "old.log", {"k": (32, 0, 0)}, "sm_80"))
    new = log(tmp_path, "new.log", {"k": (32, 0, 0)}, "sm_90")
    both = tmp_path / "both.log"
    both.write_text(old.read_text() + Path(new).read_text())
    ran = cli("diff", str(both), new, "--fail-on-regression")
    assert ran.code == 2
    assert "has no kernel for sm_80, which the old one has" in ran.err
    assert cli("diff", str(both), new, "--fail-on-regression", "--arch", "90").code == 0
    ran = cli("diff", str(old), new, "--gpu", "a100", "--fail-on-regression")
    assert ran.code == 2
    assert "no kernel of the new build is left on NVIDIA A100" in ran.err


def wheel(tmp_path: Path, name: str, members: dict[str, int]) -> str:
    """Write a wheel; its members are logs of one kernel with these registers."""
    with zipfile.ZipFile(tmp_path / name, "w") as file:
        for member, registers in members.items():
            file.write(log(tmp_path, "member.log", {"k": (registers, 0, 0)}), member)
    return str(tmp_path / name)


def test_kernels_are_paired_within_their_member(cli, tmp_path: Path) -> None:
    old = wheel(tmp_path, "o.whl", {"a/lib_cuda120.so.1.2": 40, "a/lib_cuda128.so": 47})
    new = wheel(tmp_path, "n.whl", {"a/lib_cuda132.so.2.0": 64, "a/lib_cuda128.so": 47})
    ran = cli("diff", old, new, "--all", "--fail-on-regression", "--format", "json")
    assert ran.code == 0
    SCHEMA.validate(json.loads(ran.out))
    result = json.loads(ran.out)["result"]
    assert result["members"] == {"old": ["a/lib_cuda120.so.1.2"], "new": ["a/lib_cuda132.so.2.0"]}
    assert {(r["member"], r["status"]) for r in result["kernels"]} == {
        ("a/lib_cuda120.so.1.2", "removed"),
        ("a/lib_cuda132.so.2.0", "new"),
        ("a/lib_cuda128.so", "unchanged"),
    }
    for name in ("text", "csv", "markdown"):
        assert "a/lib_cuda132.so.2.0" in cli("diff", old, new, "--format", name).out.replace(
            "\\_", "_"
        )
    assert "only in the old build: a/lib_cuda120.so.1.2" in cli("diff", old, new).out


def test_a_worse_kernel_says_its_member(cli, tmp_path: Path) -> None:
    old = wheel(tmp_path, "o.whl", {"a/x.so": 32, "a/y.so": 32})
    new = wheel(tmp_path, "n.whl", {"a/x.so": 32, "a/y.so": 64})
    ran = cli("diff", old, new, "--format", "github", "--fail-on-regression")
    assert (ran.code, ran.out.count("::error")) == (1, 2)
    assert "k (sm_90, a/y.so): occupancy 100 %25 → 50 %25" in ran.out


def test_a_kernel_that_moved_between_members_is_the_same(cli, tmp_path: Path) -> None:
    old = wheel(tmp_path, "o.whl", {"a/x.so": 32, "a/y.so": 33})
    with zipfile.ZipFile(tmp_path / "n.whl", "w") as file:
        file.write(log(tmp_path, "m.log", {"k": (32, 0, 0), "other": (8, 0, 0)}), "a/x.so")
        file.write(log(tmp_path, "m.log", {"z": (8, 0, 0)}), "a/y.so")
        file.write(log(tmp_path, "m.log", {"k": (168, 0, 0)}), "a/new.so")
    result = json.loads(cli("diff", old, str(tmp_path / "n.whl"), "--format", "json").out)["result"]
    assert [(r["member"], r["status"]) for r in result["kernels"] if r["name"] == "k"] == [
        ("a/new.so", "new"),
        ("a/y.so", "removed"),
    ]


def test_a_new_version_of_a_library_is_the_same_member(cli, tmp_path: Path) -> None:
    old = wheel(tmp_path, "o.whl", {"f-1.2.data/libf.so.12.4": 32, "g64_11.dll": 40})
    new = wheel(tmp_path, "n.whl", {"f-1.3.data/libf.so.13": 32, "g64_12.dll": 40})
    result = json.loads(cli("diff", old, new, "--all", "--format", "json").out)["result"]
    assert result["members"] == {"old": [], "new": []}
    assert {r["status"] for r in result["kernels"]} == {"unchanged"}
