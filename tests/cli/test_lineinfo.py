"""Code that was compiled with -lineinfo: findings of a binary stand where the kernel begins."""

from __future__ import annotations

import json
import lzma
from io import BytesIO
from pathlib import Path

import pytest

from gpuadvise.advisor.binaries.model import Kernel
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read
from gpuadvise.advisor.profiles.ncu_report import ReportedCode, read_ncu_report

RECORDED = Path(__file__).parents[1] / "truth" / "recorded"


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A module that nvcc compiled with -lineinfo, out of a recorded report."""
    with lzma.open(RECORDED / "pairs-2.ncu-rep.xz") as file:
        entries = read_ncu_report(BytesIO(file.read()), "pairs-2")
        image = next(each.cubin for each in entries if isinstance(each, ReportedCode))
    path = tmp_path_factory.mktemp("lineinfo") / "lookup.cubin"
    path.write_bytes(image or b"")
    return path


def kernels(path: Path, *, instructions: bool) -> list[Kernel]:
    items = read(str(path), ReadOptions(instructions=instructions))
    return [item for item in items if isinstance(item, Kernel)]


def test_where_a_kernel_begins_is_read_on_request(cubin: Path) -> None:
    begun = {kernel.defined_at for kernel in kernels(cubin, instructions=True)}
    assert {at and at[0] for at in begun} == {"lookup_tables.cu"}
    assert len(begun) == 4
    assert {kernel.defined_at for kernel in kernels(cubin, instructions=False)} == {None}


def test_a_finding_of_a_binary_stands_at_its_kernel(cubin: Path, cli) -> None:
    line = ["advise", str(cubin), "--block", "100", "--gpu", "h200"]
    findings = json.loads(cli(*line, "--json").out)["findings"]
    places = [each["location"] for each in findings if each["rule"] == "partial-warp"]
    assert {place["file"] for place in places} == {"lookup_tables.cu"}
    assert len({place["line"] for place in places}) == 4  # each kernel's own
    title = next(row for row in cli(*line).out.splitlines() if "[partial-warp]" in row)
    assert "lookup_tables.cu:" in title


def test_equal_advice_for_kernels_that_begin_elsewhere_is_told_once(cubin: Path, cli) -> None:
    out = cli("advise", str(cubin), "--block", "100", "--gpu", "h200").out
    assert out.count("[partial-warp]") == 1
    rows = out.splitlines()
    title = next(row for row in rows if "[partial-warp]" in row)
    same = next(row for row in rows if "The same for " in row)
    assert "weights_in_registers" in title
    assert all(name in same for name in ("weights_in_local", "look_up_shared", "look_up_constant"))


def test_a_baseline_without_lines_still_knows_them(cubin: Path, cli, tmp_path: Path) -> None:
    line = ["advise", str(cubin), "--block", "100", "--gpu", "h200"]
    saved = json.loads(cli(*line, "--json").out)
    for finding in saved["findings"]:
        if finding["location"]:
            finding["location"].update(file=None, line=None)
    baseline = tmp_path / "baseline.json"
    baseline.write_text(json.dumps(saved))
    left = json.loads(cli(*line, "--json", "--baseline", str(baseline)).out)["findings"]
    assert [each["rule"] for each in left if each["category"] != "process"] == []


def test_a_report_without_counters_gives_its_kernels_first_lines(cli, tmp_path: Path) -> None:
    report = tmp_path / "r.ncu-rep"
    report.write_bytes(lzma.decompress((RECORDED / "pairs-2.ncu-rep.xz").read_bytes()))
    findings = json.loads(cli("advise", str(report), "--json").out)["findings"]
    lines = [each["location"]["line"] for each in findings if each["location"]]
    assert lines
    assert all(lines)
