"""Launches of a report with the code that ran, assembled by NVIDIA's own assembler."""

from __future__ import annotations

import io
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from report_file import ReportFile

from gpuadvise.advisor.profiles.ncu_report_kernels import report_kernels

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.model import Kernel

PTXAS = Path(sysconfig.get_path("purelib"), "nvidia", "cu13", "bin", "ptxas")
PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry first(.param .u64 p) .maxntid 128, 1, 1 .minnctapersm 4
{
    .reg .u64 %a;
    ld.param.u64 %a, [p];
    st.global.u64 [%a], %a;
    ret;
}
.visible .entry second()
{
    ret;
}
"""
METRICS: dict[str, float | str] = {"launch__registers_per_thread": 16}


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    if not PTXAS.exists():
        pytest.skip("NVIDIA's assembler is not installed")
    folder = tmp_path_factory.mktemp("cubin")
    (folder / "k.ptx").write_text(PTX)
    subprocess.run([PTXAS, "-arch=sm_90", folder / "k.ptx", "-o", folder / "k.cubin"], check=True)
    return (folder / "k.cubin").read_bytes()


def kernels(report: ReportFile) -> list[Kernel | None]:
    return [kernel for _, kernel in report_kernels(io.BytesIO(report.bytes), "x.ncu-rep")]


def test_each_launch_finds_its_kernel(cubin: bytes) -> None:
    report = ReportFile()
    report.code(5, cubin)
    for name in ("second", "first", "first", "third"):
        report.launch(METRICS, kernel=(name, name, name), code=5)
    second, first, again, missing = kernels(report)
    assert first is again is not None
    assert (first.name, first.max_threads, first.min_blocks) == ("first", 128, 4)
    assert first.registers is not None
    assert second is not None
    assert (second.name, second.max_threads) == ("second", None)
    assert missing is None


def test_code_that_cannot_be_read_is_no_evidence(cubin: bytes) -> None:
    report = ReportFile()
    report.code(5, b"\x7fELF nothing")
    report.code(6, cubin[: len(cubin) // 2])
    report.range()
    report.launch(METRICS, kernel=("first", "first", "first"), code=5)
    report.launch(METRICS, kernel=("first", "first", "first"), code=6)
    report.launch(METRICS, kernel=("first", "first", "first"), code=7)
    report.launch(METRICS, kernel=("first", "first", "first"))
    assert kernels(report) == [None] * 4


def test_later_code_of_the_same_reference_counts(cubin: bytes) -> None:
    report = ReportFile()
    report.code(5, b"\x7fELF nothing")
    report.launch(METRICS, kernel=("first", "first", "first"), code=5)
    report.code(5, cubin)
    report.launch(METRICS, kernel=("first", "first", "first"), code=5)
    before, after = kernels(report)
    assert before is None
    assert after is not None
