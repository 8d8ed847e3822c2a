"""Tables of ``nsys stats``: the same run as in the export they are made of."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
import recordings

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.timelines.read import read_recordings
from gpuadvise.advisor.timelines.signatures import is_timeline
from gpuadvise.advisor.timelines.timeline import timelines_of

if TYPE_CHECKING:
    from pathlib import Path

    from gpuadvise.advisor.timelines.timeline import Timeline

HEADER = (
    "Start ({0}),Duration ({0}),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),"
    "DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n"
)
KERNEL = (
    '10,5,1,4096,1,1,256,1,1,16,0.000,0.016,,,,,NVIDIA H100 80GB HBM3 (0),1,,7,"add(int, int)"\n'
)
MEMSET = "20,1,2,,,,,,,,,,0.004,1.000,Device,,NVIDIA H100 80GB HBM3 (0),1,,7,[CUDA memset]\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recordings.unpack(tmp_path_factory.mktemp("recordings"), ("nvtx",)) / "nvtx"


def lines(path: Path) -> list[Timeline]:
    return [line for one in read_recordings(str(path)) for line in timelines_of(one)]


@pytest.mark.parametrize("case", ["nvtx_loop_before", "nvtx_loop_after"])
def test_a_table_says_what_the_export_says(folder: Path, case: str) -> None:
    (table,) = lines(folder / "stats" / f"{case}_cuda_gpu_trace.csv")
    (export,) = lines(folder / f"{case}.sqlite")
    assert table.device is not None
    assert export.device is not None
    assert table.device.id == export.device.id
    for name in ("span_ns", "busy_ns", "kernel_ns", "copy_ns", "idle", "launches"):
        assert getattr(table, name) == getattr(export, name), name
    assert [one.shape.grid for one in table.kernels] == [one.shape.grid for one in export.kernels]
    assert not table.notes


def test_a_table_alone_says_that_its_calls_are_missing(folder: Path, tmp_path: Path) -> None:
    source = folder / "stats" / "nvtx_loop_before_cuda_gpu_trace.csv"
    (tmp_path / "a_cuda_gpu_trace.csv").write_bytes(source.read_bytes())
    (line,) = lines(tmp_path / "a_cuda_gpu_trace.csv")
    assert "cuda_api_trace.csv" in line.notes[0]
    assert not line.calls


@pytest.mark.parametrize(("unit", "span"), [("ns", 11), ("us", 11_000), ("ms", 11_000_000)])
def test_units_are_those_of_the_header(tmp_path: Path, unit: str, span: int) -> None:
    (tmp_path / "table").write_text(HEADER.format(unit) + KERNEL + MEMSET)
    (line,) = lines(tmp_path / "table")
    assert line.span_ns == span
    assert line.kernels[0].shape.name == "add(int, int)"
    assert line.kernels[0].shape.dynamic_shared == 16_000


def test_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    content = (HEADER.format("ns") + KERNEL).encode()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    (recording,) = read_recordings("-")
    assert recording.gpus[0].worked


@pytest.mark.parametrize(
    "row",
    ["x,5,1\n", "10,5\n", "10,-5" + KERNEL[4:], KERNEL.replace(" (0)", ""), "99" * 12 + KERNEL[2:]],
)
def test_a_row_that_is_not_readable_is_counted(tmp_path: Path, row: str) -> None:
    (tmp_path / "table").write_text(HEADER.format("ns") + KERNEL + row)
    (line,) = lines(tmp_path / "table")
    assert line.skipped_count == 1


def test_sums_and_empty_tables_get_a_sentence(folder: Path, tmp_path: Path) -> None:
    sums = folder / "stats" / "nvtx_loop_before_cuda_gpu_kern_sum.csv"
    with pytest.raises(BadInput, match="sums of nsys stats"):
        lines(sums)
    (tmp_path / "table").write_text(HEADER.format("ns"))
    assert is_timeline(str(tmp_path / "table"))
    with pytest.raises(BadInput, match="no work of a GPU"):
        lines(tmp_path / "table")
