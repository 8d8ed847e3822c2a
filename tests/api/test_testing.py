"""The assertions for test suites, and the pytest plugin in a sample project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gpuadvise
from gpuadvise.testing import assert_no_findings, assert_no_spills, assert_occupancy

RECORDED = Path(__file__).parents[1] / "cli" / "recorded"
PROJECT = """
[tool.gpuadvise.limits]
"*" = {regs = 64, spills = 0}

[tool.pytest.ini_options]
gpuadvise_files = ["build/*.cubin"]
gpuadvise_gpu = "h200"
"""


def test_occupancy_of_a_launch() -> None:
    assert_occupancy(0.5, regs=32, block=256, gpu="h100")
    with pytest.raises(AssertionError, match=r"37\.5 % occupancy is below 50 %"):
        assert_occupancy(0.5, regs=72, block=256, gpu="h100")


def test_occupancy_of_kernels_in_files() -> None:
    assert_occupancy(0.5, RECORDED / "two.fatbin", gpu="h100", block=256)
    with pytest.raises(AssertionError, match="2 kernels with an occupancy below 100 %:\n  "):
        assert_occupancy(1.0, RECORDED / "two.fatbin", gpu="h100", block=96)
    with pytest.raises(AssertionError, match="There is no kernel to judge"):
        assert_occupancy(0.1, RECORDED / "two.fatbin", gpu="h100", filter="nothing_of_that_name")


def test_spills() -> None:
    assert_no_spills(RECORDED / "two.fatbin", gpu="h100")
    with pytest.raises(AssertionError, match=r"1 kernel that spill.*:\n  spilling\(float\*\)"):
        assert_no_spills(RECORDED / "spilling.cubin")
    with pytest.raises(AssertionError, match="Not all of it could be read"):
        assert_no_spills(RECORDED / "truncated.cubin", RECORDED / "80.cubin")


def test_findings(tmp_path: Path) -> None:
    assert_no_findings(regs=32, block=256, grid=8192, gpu="h200", at_least="high")
    with pytest.raises(AssertionError, match="at low or above:\n"):
        assert_no_findings(regs=72, block=100, grid=96, gpu="h200")
    with pytest.raises(AssertionError, match=r"high register-spills \(spilling"):
        assert_no_findings(gpuadvise.read(RECORDED / "spilling.cubin"), gpu="h200", at_least="high")


def suite(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        capture_output=True, text=True, cwd=folder,
    )  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "fine.cubin").write_bytes((RECORDED / "90a.cubin").read_bytes())
    (tmp_path / "test_own.py").write_text("def test_own():\n    assert True\n")
    return tmp_path


def test_a_project_holds_its_kernels_to_its_limits(project: Path) -> None:
    assert "1 passed" in suite(project).stdout
    assert "2 passed" in suite(project, "--gpuadvise").stdout
    (project / "build" / "slow.cubin").write_bytes((RECORDED / "spilling.cubin").read_bytes())
    ran = suite(project, "--gpuadvise")
    assert ran.returncode == 1
    assert "1 failed, 2 passed" in ran.stdout
    assert "slow.cubin" in ran.stdout
    assert "1 kernel over the limits" in ran.stdout
    assert "Traceback" not in ran.stdout


def test_a_file_may_be_named(project: Path) -> None:
    ran = suite(
        project, "test_own.py", "--gpuadvise", "build/fine.cubin", "--gpuadvise-gpu", "h100"
    )
    assert "2 passed" in ran.stdout
    ran = suite(project, "test_own.py", "--gpuadvise", "build/nothing.cubin")
    assert ran.returncode == 1
    assert "nothing.cubin" in ran.stdout
    assert "pytest_plugin.py" not in ran.stdout


def test_nothing_to_hold_is_no_pass(project: Path) -> None:
    (project / "pyproject.toml").write_text(PROJECT.replace("build/*.cubin", "none/*.cubin"))
    ran = suite(project, "--gpuadvise")
    assert ran.returncode == 4
    assert "names no file" in ran.stderr
    (project / "pyproject.toml").write_text("")
    ran = suite(project, "--gpuadvise", "build/fine.cubin")
    assert ran.returncode == 4
    assert "sets no [tool.gpuadvise.limits]" in ran.stderr


def test_what_cannot_be_judged_fails_in_a_sentence() -> None:
    with pytest.raises(
        AssertionError, match=r'^It could not be judged: "nope.cubin" cannot be read'
    ):
        assert_no_spills("nope.cubin")
    with pytest.raises(
        AssertionError, match=r'^It could not be judged: "50" is not a number from 0 to 1'
    ):
        assert_occupancy(50, regs=64, block=256, gpu="h100")
    with pytest.raises(ValueError, match='at_least: "urgent" is not high, medium or low'):
        assert_no_findings(regs=32, block=256, at_least="urgent")  # type: ignore[arg-type]


def test_a_share_may_be_a_text() -> None:
    assert_occupancy("50%", regs=64, block=256, gpu="h100")
