"""The skeletons are code: one compiles, the other runs against a recorded driver."""

from __future__ import annotations

import importlib.util
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from gpuadvise.advisor.transfers.skeleton import Language, skeleton
from gpuadvise.advisor.transfers.work import Work

BOTH = Work(kernel_seconds=1.0, h2d_seconds=1.0, d2h_seconds=1.0)
IN = Work(kernel_seconds=1.0, h2d_bytes=100)
OUT = Work(kernel_seconds=1.0, d2h_bytes=100)


def nvcc() -> Path:
    spec = importlib.util.find_spec("nvidia.cu13")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "bin" / "nvcc"


@pytest.mark.parametrize("work", [BOTH, IN, OUT])
def test_cuda_compiles(work: Work, tmp_path: Path) -> None:
    source = tmp_path / "staged.cu"
    source.write_text(
        "__global__ void kernel(float *data, size_t count) { if (count) data[0] = 1; }\n"
        f"void run(size_t n) {{\n{skeleton(work, 4, Language.CUDA, chunks=9)}\n}}\n"
    )
    done = subprocess.run(
        [nvcc(), "-ptx", "-Werror", "all-warnings", "-o", tmp_path / "staged.ptx", source],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


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


@pytest.mark.parametrize("size", [1000, 999, 3])
@pytest.mark.parametrize("chunks", [None, 10])
def test_python_covers_every_byte_once(size: int, chunks: int | None) -> None:
    driver, launches = Recorder(), []
    code = skeleton(BOTH, 4, Language.PYTHON, chunks=chunks).replace(
        "from cuda.bindings import driver", ""
    )
    names = {
        "driver": driver,
        "size": size,
        "kernel": None,
        "launch": lambda _, first, count, stream: launches.append((first, count, stream)),
    }
    exec(code, names)
    copies = [call[1:] for call in driver.calls if call[0] == "cuMemcpyHtoDAsync"]
    assert sum(count for _, _, count, _ in copies) == size
    assert all(a[0] + a[2] == b[0] for a, b in pairwise(copies))
    assert [(to, count, stream) for to, _, count, stream in copies] == launches
    assert len({stream for _, _, stream in launches}) == min(4, len(launches))
    assert len(launches) <= (chunks or 4)
    assert driver.calls[-1] == ("cuCtxSynchronize",)


def test_a_failed_call_is_an_error() -> None:
    class Failing(Recorder):
        def __getattr__(self, name: str):
            return lambda *_: (2, None)

    code = skeleton(IN, 2, Language.PYTHON).replace("from cuda.bindings import driver", "")
    with pytest.raises(RuntimeError):
        exec(code, {"driver": Failing(), "size": 10})
