"""What build files above a source say of its compilation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gpuadvise.advisor.backends.build_files import build_of
from gpuadvise.advisor.source.build import UNKNOWN_BUILD, Build
from gpuadvise.rules.source.lint import lint_cuda

if TYPE_CHECKING:
    from pathlib import Path

FAST = Build(fast_math=True)


def written(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project/.git").mkdir(parents=True)
    return tmp_path / "project"


@pytest.mark.parametrize(
    ("name", "text", "fast"),
    [
        ("CMakeLists.txt", "set(CUDA_FLAGS -use_fast_math -extended-lambda)", True),
        ("CMakeLists.txt", 'set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} --use_fast_math")', True),
        ("CMakeLists.txt", "  # add -use_fast_math one day", False),
        ("setup.py", 'extra_compile_args={"nvcc": ["-O3", "--use_fast_math"]}', True),
        ("Makefile", "NVCCFLAGS += -use_fast_math", True),
        ("Makefile", "NVCCFLAGS += -no_use_fast_math", False),
        ("notes.txt", "-use_fast_math", False),
    ],
)
def test_fast_math_is_read_from_build_files_above(
    project: Path, name: str, text: str, fast: bool
) -> None:
    written(project, name, text)
    source = written(project, "csrc/scan/kernel.cu", "")
    assert build_of(str(source)).fast_math is fast


def test_a_file_above_the_repository_says_nothing(project: Path) -> None:
    written(project.parent, "Makefile", "-use_fast_math")
    assert build_of(str(project / "kernel.cu")) == UNKNOWN_BUILD


def test_definitions_are_those_of_the_nearest_file_where_it_has_one_value(project: Path) -> None:
    written(project, "Makefile", "nvcc -DTILE=8 -DSIDE=4")
    written(project, "src/Makefile", "nvcc -DTILE=16\nnvcc -DSIDE=1\nnvcc -DSIDE=2")
    assert build_of(str(project / "src/kernel.cu")).definitions == {"TILE": "16", "SIDE": "4"}


def test_a_compilation_database_speaks_for_the_files_that_it_lists(project: Path) -> None:
    written(project, "CMakeLists.txt", "-use_fast_math")
    entries = [
        {"directory": str(project), "file": "a.cu", "command": "nvcc -DTILE=32 -D SIDE=2 -DFLAG -c a.cu"},
        {"directory": str(project), "file": "b.cu", "arguments": ["nvcc", "--use_fast_math", "b.cu"]},
        {"directory": str(project), "file": "c.cu", "command": "nvcc 'unclosed -use_fast_math"},
        {"directory": 5, "file": "d.cu"}, {"file": "/e.cu", "command": 7}, "no entry",
    ]  # fmt: skip
    written(project, "build/compile_commands.json", json.dumps(entries))
    defined = Build(definitions={"TILE": "32", "SIDE": "2", "FLAG": "1"})
    assert build_of(str(project / "a.cu")) == defined
    assert build_of(str(project / "b.cu")) == FAST
    assert build_of(str(project / "c.cu")) == FAST
    assert build_of(str(project / "d.cu")) == FAST  # as CMakeLists.txt says


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"file": 1}'])
def test_a_broken_database_says_nothing(project: Path, text: str) -> None:
    written(project, "compile_commands.json", text)
    assert build_of(str(project / "a.cu")) == UNKNOWN_BUILD


def test_a_large_file_is_not_read(project: Path) -> None:
    written(project, "Makefile", "-use_fast_math" + " " * (1 << 20))
    assert build_of(str(project / "a.cu")) == UNKNOWN_BUILD


def test_a_program_outside_a_repository_is_looked_for_some_folders_up(tmp_path: Path) -> None:
    written(tmp_path, "setup.py", "-use_fast_math")
    assert build_of(str(tmp_path / "1/2/3/a.cu")).fast_math
    assert not build_of(str(tmp_path / "1/2/3/4/5/6/7/8/a.cu")).fast_math


MATH = b"""
__global__ void f(float *x, float *y, int n) {
  for (int k = 1; k < n; ++k) x[k] = expf(y[k]);
  x[0] = 1.0f / sqrtf(y[0]);
  x[1] = sinf(y[1]) + cosf(y[1]);
  x[2] = sinf(3.14159265f * y[2]);
  x[3] = powf(y[3], 2.0f);
}
"""


def test_fast_math_leaves_what_a_product_replaces() -> None:
    rules = {"slow-math", "general-math-functions"}
    seen = [d.where.line for d in lint_cuda(MATH, "a.cu", select=rules).diagnostics]
    fast = [d.where.line for d in lint_cuda(MATH, "a.cu", select=rules, build=FAST).diagnostics]
    assert seen == [3, 4, 5, 6, 7]
    assert fast == [7]


def test_macros_of_the_build_are_sides_of_blocks() -> None:
    source = b"""
__global__ void f(float *x, int n) { for (int k = 0; k < n; ++k) x[threadIdx.x * n + k] = 0; }
void run(float *x, int n) { f<<<n, WIDTH>>>(x, n); }
"""
    narrow = Build(definitions={"WIDTH": "1"})
    assert lint_cuda(source, "a.cu", select={"uncoalesced-access"}).diagnostics
    assert not lint_cuda(source, "a.cu", select={"uncoalesced-access"}, build=narrow).diagnostics
