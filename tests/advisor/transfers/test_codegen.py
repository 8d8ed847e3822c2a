"""The skeletons are code: one compiles, the other runs against a recorded driver."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from nvidia_wheels import TOOLS, present

from gpuadvise.advisor.transfers.codegen import Language, skeleton
from gpuadvise.advisor.transfers.pipeline import StagedWork

if TYPE_CHECKING:
    from pathlib import Path

BOTH = StagedWork(kernel_seconds=1.0, h2d_seconds=1.0, d2h_seconds=1.0)
IN = StagedWork(kernel_seconds=1.0, h2d_bytes=100)
OUT = StagedWork(kernel_seconds=1.0, d2h_bytes=100)


@pytest.mark.parametrize(("work", "mapped"), [(BOTH, False), (IN, False), (OUT, False), (IN, True)])
def test_cuda_compiles(work: StagedWork, mapped: bool, tmp_path: Path) -> None:
    source = tmp_path / "staged.cu"
    source.write_text(skeleton(work, 4, Language.CUDA, chunks=9, mapped=mapped))
    done = subprocess.run(
        [
            present(TOOLS / "nvcc"),
            "-c",
            "-Werror",
            "all-warnings",
            "-o",
            tmp_path / "staged.o",
            source,
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("mapped", [False, True])
def test_cuda_checks_every_call(mapped: bool) -> None:
    code = skeleton(BOTH, 4, Language.CUDA, mapped=mapped)
    body = code.partition("(size_t n) {")[2]
    calls = [line for line in body.splitlines() if "cuda" in line]
    assert len(calls) > 4
    plain = ("CHECK(", "cudaStream_t", "cudaMemcpyHostToDevice,", "cudaMemcpyDeviceToHost,")
    assert all(any(word in line for word in plain) for line in calls)


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("mapped", [False, True])
def test_code_fits_eighty_columns(language: Language, mapped: bool) -> None:
    code = skeleton(BOTH, 1024, language, chunks=1024, granularity=1 << 20, mapped=mapped)
    assert max(map(len, code.splitlines())) <= 80


@pytest.mark.parametrize("mapped", [False, True])
def test_python_uses_names_that_exist(mapped: bool) -> None:
    from cuda.bindings import driver

    code = skeleton(BOTH, 4, Language.PYTHON, mapped=mapped)
    names = set(re.findall(r"driver\.(\w+)", code))
    assert len(names) > 6
    assert [name for name in names if not hasattr(driver, name)] == []


@pytest.mark.parametrize(("granularity", "elements"), [(1, 1), (256, 64), (4096, 1024)])
def test_chunks_are_cut_where_the_prediction_cuts_them(granularity: int, elements: int) -> None:
    for language in Language:
        code = skeleton(BOTH, 4, language, granularity=granularity)
        assert re.search(rf"aligned = {elements}\b", code)


class Recorder:
    """A driver that notes which bytes go where, and succeeds."""

    class CUresult:
        CUDA_SUCCESS = 0

    class CUstream_flags:
        CU_STREAM_NON_BLOCKING = 1

    def __init__(self) -> None:
        self.calls: list[tuple] = []

    def __getattr__(self, name: str):
        def call(*args: object) -> tuple[int, int]:
            self.calls.append((name, *args))
            return 0, 4096 * len(self.calls)

        return call


@pytest.mark.parametrize("n", [1000, 999, 3])
@pytest.mark.parametrize("chunks", [None, 10])
def test_python_covers_every_byte_once(n: int, chunks: int | None) -> None:
    driver = Recorder()
    code = skeleton(BOTH, 4, Language.PYTHON, chunks=chunks, granularity=64)
    names: dict[str, Any] = {}
    exec(code.replace("from cuda.bindings import driver", ""), names)
    names["driver"] = driver
    names["staged"]("kernel", n)

    def calls(name: str) -> list[tuple]:
        return [call[1:] for call in driver.calls if call[0] == name]

    copies, launches = calls("cuMemcpyHtoDAsync"), calls("cuLaunchKernel")
    assert sum(size for _, _, size, _ in copies) == 4 * n
    assert all(a[0] + a[2] == b[0] for a, b in pairwise(copies))
    assert all(to % 64 == copies[0][0] % 64 for to, *_ in copies)
    for (to, _, size, stream), launch in zip(copies, launches, strict=True):
        (values, _), blocks = launch[9], launch[1]
        assert (launch[8], values) == (stream, (to, size // 4))
        assert blocks * 256 >= size // 4 > (blocks - 1) * 256
    assert len({stream for *_, stream in copies}) == min(4, len(launches))
    assert [(here, to, size) for to, here, size, _ in copies] == [
        call[:3] for call in calls("cuMemcpyDtoHAsync")
    ]
    made = sum(
        call[0] in {"cuStreamCreate", "cuMemAlloc", "cuMemAllocHost"} for call in driver.calls
    )
    freed = sum(
        call[0] in {"cuStreamDestroy", "cuMemFree", "cuMemFreeHost"} for call in driver.calls
    )
    assert made == freed == 6


def test_python_maps_all_of_it_once_and_copies_nothing() -> None:
    driver = Recorder()
    names: dict[str, Any] = {}
    code = skeleton(BOTH, 4, Language.PYTHON, mapped=True)
    exec(code.replace("from cuda.bindings import driver", ""), names)
    driver.CU_MEMHOSTALLOC_DEVICEMAP = 2
    names["driver"] = driver
    names["mapped"]("kernel", 1000)
    assert [call[0] for call in driver.calls] == [
        "cuMemHostAlloc", "cuMemHostGetDevicePointer", "cuLaunchKernel", "cuCtxSynchronize",
        "cuMemFreeHost",
    ]  # fmt: skip
    launch = driver.calls[2]
    assert (launch[2], launch[10][0][1]) == (4, 1000)
