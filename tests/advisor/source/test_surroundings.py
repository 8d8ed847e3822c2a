"""What the other files of a folder show: device functions that nothing leads to, and tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.surroundings import Surroundings, functions_in, words_of
from gpuadvise.rules.source.lint import lint_cuda

if TYPE_CHECKING:
    import pytest

POWER = "__global__ void {}(float *x) {{ x[threadIdx.x] = powf(x[threadIdx.x], 2.0f); }}\n"


def kernels(source: str, unnamed: set[str]) -> list[str | None]:
    around = Surroundings(in_folder=True, unnamed=frozenset(unnamed))
    seen = lint_cuda(
        source.encode(), "a.cu", select={"general-math-functions"}, surroundings=around
    )
    return [d.kernel for d in seen.diagnostics]


def test_names_are_found_without_comments() -> None:
    source = (
        b"// void old(int);\n__global__ void __launch_bounds__(256, 2) step(float *x) { go(x); }\n"
    )
    assert functions_in(source) == {b"__launch_bounds__", b"step", b"go"}
    assert words_of(b"step<<<1, 2>>>(x); /* row */ // old") == {b"step", b"1", b"2", b"x"}


def test_a_kernel_that_nothing_names_is_left_alone() -> None:
    both = POWER.format("used") + POWER.format("idle")
    launch = "void run(float *x) { used<<<1, 32>>>(x); }\n"
    assert kernels(both + launch, {"used", "idle"}) == ["used"]
    assert kernels(both + launch + "#define TRY idle\n", {"used", "idle"}) == ["used", "idle"]
    assert kernels(both, {"idle"}) == ["used"]


def test_a_file_of_which_nothing_is_used_says_nothing_of_its_use() -> None:
    both = POWER.format("one") + POWER.format("other")
    assert kernels(both, {"one", "other"}) == ["one", "other"]


def test_functions_are_used_through_others() -> None:
    source = (
        "__device__ float square(float x) { return powf(x, 2.0f); }\n"
        "__device__ float cube(float x) { return powf(x, 3.0f); }\n"
        "__device__ float idle(float x) { return cube(x); }\n"
        "__global__ void step(float *x) { *x = square(*x); }\n"
        "void run(float *x) { step<<<1, 32>>>(x); }\n"
    )
    assert kernels(source, {"square", "cube", "idle", "step"}) == ["square"]


def test_host_functions_that_a_program_never_calls_are_left_alone() -> None:
    source = (
        POWER.format("used")
        + POWER.format("idle")
        + "void run(float *x) { used<<<1, 32>>>(x); }\nvoid old(float *x) { idle<<<1, 32>>>(x); }\n"
        "int main() { run(0); }\n"
    )
    unnamed = frozenset(("used", "idle", "run", "old", "main"))
    found = {}
    for of_program in (False, True):
        around = Surroundings(in_folder=True, unnamed=unnamed, of_program=of_program)
        rules = {"general-math-functions"}
        seen = lint_cuda(source.encode(), "a.cu", select=rules, surroundings=around)
        found[of_program] = [d.kernel for d in seen.diagnostics]
    assert found == {False: ["used", "idle"], True: ["used"]}


def test_faults_that_break_kernels_are_said_of_idle_ones_too() -> None:
    broken = "__global__ void idle(float *x) { if (threadIdx.x < 16) __syncthreads(); }\n"
    source = broken + POWER.format("used")
    around = Surroundings(in_folder=True, unnamed=frozenset(("idle",)))
    seen = lint_cuda(source.encode(), "a.cu", select={"divergent-barriers"}, surroundings=around)
    assert [d.minor for d in seen.diagnostics] == [True]


def test_a_folder_is_judged_by_all_of_its_files(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kernels.cu").write_text(POWER.format("used") + POWER.format("idle"))
    line = ("lint", ".", "--select", "general-math-functions", "--format", "csv", "--no-cache")
    assert "idle" in cli(*line).out
    Path("main.cpp").write_text("extern void *used; int main() { return launch(used); }\n")
    said = cli(*line).out
    assert ",used," in said
    assert ",idle," not in said
    Path("tests").mkdir()
    Path("tests/a.cu").write_text(POWER.format("tried"))
    assert "tried" not in cli(*line).out
    assert "tried" in cli("lint", "tests/a.cu", "--format", "csv", "--no-cache").out


def test_what_fix_and_since_read_again_stands_in_the_same_folder(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("types.h").write_text("typedef float real;\n")
    kernel = '#include "types.h"\n__global__ void f(real *x) { x[0] = x[0] * 0.3; }\n'
    Path("a.cu").write_text(kernel)
    cli("lint", ".", "--select", "implicit-double", "--fix", "--no-cache")
    assert "x[0] * 0.3f" in Path("a.cu").read_text()
