from __future__ import annotations

import io
from pathlib import Path

import pytest

from gpuadvise.advisor.binaries.kernel_occupancy import BlockFrom, Residencies
from gpuadvise.advisor.binaries.model import Kernel, Place, Source
from gpuadvise.advisor.binaries.read import read, read_stream
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.profiles.metrics import page_profile
from gpuadvise.advisor.profiles.ncu_csv import read_launches
from gpuadvise.advisor.profiles.ncu_kernels import read_report

RECORDED = Path(__file__).parent / "recorded"
THEORETICAL = ("Occupancy: Theoretical Occupancy", "sm__maximum_warps_per_active_cycle_pct")
REPORTS = [
    "hand_details.csv",
    "hand_raw.csv",
    "noisy_details.csv",
    "torch_details.csv",
    "torch_raw.csv",
]


@pytest.mark.parametrize("name", REPORTS)
def test_occupancy_is_what_the_profiler_says(name: str) -> None:
    """Each launch again through the model, against the report's theoretical occupancy."""
    path = RECORDED / name
    theoretical = {}
    for record in read_launches(path.read_text().splitlines(keepends=True), name):
        launch = page_profile(record).launch
        said = next(record.metrics[metric][0] for metric in THEORETICAL if metric in record.metrics)
        if launch:
            theoretical[record.columns["Kernel Name"], launch] = float(said) / 100
    kernels = [item for item in read(str(path)) if isinstance(item, Kernel)]
    assert kernels
    residencies = Residencies()
    for kernel in kernels:
        assert kernel.source is Source.NCU
        residency = residencies.of(kernel)
        assert residency.block_from is BlockFrom.LAUNCHED
        assert residency.occupancy
        said = {
            share
            for (name_, launch), share in theoretical.items()
            if (name_, launch.block_dim, launch.registers, launch.dynamic_shared)
            == (kernel.name, kernel.launched_block, kernel.registers, kernel.launched_dynamic_smem)
        }
        assert said
        for share in said:
            assert residency.occupancy.occupancy == pytest.approx(share, abs=5e-5)


def test_both_pages_name_the_same_kernels() -> None:
    pages = [
        {
            (k.name, k.registers, k.static_smem)
            for k in read(str(RECORDED / name))
            if isinstance(k, Kernel)
        }
        for name in ("hand_details.csv", "hand_raw.csv")
    ]
    assert pages[0] == pages[1]


def test_registers_are_those_of_the_build_log() -> None:
    logged = [k for k in read(str(RECORDED / "ptxas.log")) if isinstance(k, Kernel) and k.entry]
    profiled = [k for k in read(str(RECORDED / "hand_raw.csv")) if isinstance(k, Kernel)]
    registers = {k.name.split("(")[0]: k.registers for k in profiled}
    common = [k for k in logged if any(base in k.name for base in registers)]
    assert len(common) >= 6
    for kernel in common:
        (base,) = [base for base in registers if f"{len(base)}{base}" in kernel.name]
        assert kernel.registers is not None
        assert registers[base] == max(kernel.registers, 16)  # the profiler's least


def test_launches_alike_are_one_kernel() -> None:
    content = (RECORDED / "hand_raw.csv").read_bytes()
    header, units, *rows = content.splitlines(keepends=True)
    again = b"".join([header, units, *rows, *rows])
    items = list(read_stream(io.BytesIO(again), "stdin"))
    assert len(items) == len(list(read(str(RECORDED / "hand_raw.csv"))))


def test_a_report_without_launches_is_refused() -> None:
    with pytest.raises(BadInput):
        list(read_stream(io.BytesIO(b'"ID","Kernel Name"\n'), "stdin"))
    with pytest.raises(BadInput, match="no CSV"):
        list(read_report([("x\n", 1)], Place(path="x")))
