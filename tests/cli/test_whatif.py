"""``gpuadvise whatif``, and ``kernels`` of source files: compiled by NVRTC, without a GPU."""

from __future__ import annotations

import json
import re
import shutil
import time
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from gpuadvise.advisor.backends import nvrtc
from gpuadvise.advisor.backends.ptxas import assemblers
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.cli.schema import bundled

if TYPE_CHECKING:
    from pathlib import Path

VALID = Draft202012Validator(json.loads(bundled("whatif"))).validate
KERNELS = """\
#include <cstdio>
#include <vector>
#include "taps.h"

template <typename T, int N> __global__ void fir(T *out, const T *in) {
  T taps[N];
  for (int k = 0; k < N; ++k) taps[k] = in[k * TAP_STRIDE + threadIdx.x];
  T sum = 0;
  for (int k = 0; k < N; ++k) sum += taps[k] * taps[N - 1 - k] + taps[(k * 7) % N];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
extern "C" __global__ void __launch_bounds__(256) bounded(float *out, const float *in) {
  float v[48];
  for (int k = 0; k < 48; ++k) v[k] = in[k * 99 + threadIdx.x];
  float s = 0;
  for (int k = 0; k < 48; ++k) s += v[k] * v[47 - k];
  out[threadIdx.x] = s;
}
static std::vector<float> table;
int main() {
  const int n = 64;
  fir<float, n><<<1, 256>>>(nullptr, nullptr);
  printf("done");
}
"""


@pytest.fixture(autouse=True)
def _compiler() -> None:
    try:
        nvrtc.library()
    except Unavailable as error:
        pytest.skip(error.message)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taps.h").write_text(
        "#pragma once\n#define TAP_STRIDE 99\nint host() { return 1; }\n"
    )
    path = tmp_path / "k.cu"
    path.write_text(KERNELS)
    return path


def result(cli, *args: str) -> dict:
    ran = cli("whatif", "k.cu", *args, "--format", "json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    VALID(document)
    return document["result"]


def test_kernels_of_a_source_file(source: Path, cli) -> None:
    ran = cli("kernels", "k.cu", "--arch", "sm_90,sm_80", "--format", "json")
    assert ran.code == 0, ran.err
    kernels = json.loads(ran.out)["result"]["kernels"]
    assert sorted((k["demangled"] or k["name"], k["arch"]) for k in kernels) == [
        (name, arch)
        for name in ("bounded", "void fir<float, 64>(float*, float const*)")
        for arch in ("sm_80", "sm_90")
    ]
    assert all(k["registers"] > 8 for k in kernels)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no toolkit on PATH")
def test_nvcc_takes_the_whole_file(source: Path, cli) -> None:
    ran = cli("kernels", "k.cu", "--arch", "sm_90", "--compiler", "nvcc", "--format", "json")
    assert ran.code == 0, ran.err
    assert len(json.loads(ran.out)["result"]["kernels"]) == 2


def test_the_compiler_speaks_for_itself(source: Path, cli) -> None:
    source.write_text(KERNELS.replace("T sum = 0;", "T sum = zero;"))
    ran = cli("kernels", "k.cu", "--arch", "sm_90")
    assert (ran.code, ran.out) == (2, "")
    assert 'k.cu(8): error: identifier "zero" is undefined' in ran.err
    assert '"k.cu" does not compile for sm_90.' in ran.err


def test_a_header_that_is_missing_is_named(source: Path, cli) -> None:
    source.write_text(KERNELS.replace("taps.h", "tops.h"))
    ran = cli("kernels", "k.cu", "--arch", "sm_90")
    assert ran.code == 2
    assert 'It includes "tops.h", which is not found.' in ran.err
    (source.parent / "include").mkdir()
    (source.parent / "taps.h").rename(source.parent / "include" / "tops.h")
    assert cli("kernels", "k.cu", "--arch", "sm_90", "-I", "include").code == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--arch", "sm_12"], "does not know sm_12"),
        ([], "is compiled for one GPU, and none is named"),
        (["--arch", "sm_90", "--compiler", "gcc"], "--compiler"),
        (["--arch", "sm_90", "--", "--no-such-option"], "no-such-option"),
    ],
)
def test_what_cannot_be_compiled_is_said(args: list[str], words: str, source: Path, cli) -> None:
    ran = cli("kernels", "k.cu", *args)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


def test_every_candidate_is_in_the_table_and_the_compilers_own_wins_ties(source: Path, cli) -> None:
    found = result(cli, "--kernel", "fir", "--gpu", "h200", "--registers", "24,32,40,255")
    assert found["kernel"] == "fir<float, 64>"
    assert [(c["block"], c["register_cap"]) for c in found["candidates"]] == [
        (block, cap) for block in (256, 128, 512) for cap in (None, 24, 32, 40, 255)
    ]
    assert found["compiled"] == 5
    by = {(c["block"], c["register_cap"]): c for c in found["candidates"]}
    assert by[256, 24]["registers"] <= 24
    assert by[256, 24]["spill_stores"] > 0
    assert by[256, 24]["dropped"].startswith("spills")
    assert by[256, None]["dropped"] is None
    assert found["pick"]["register_cap"] is None


def test_caps_act_on_a_kernel_with_bounds(source: Path, cli) -> None:
    source.write_text(
        KERNELS.replace("out[threadIdx.x]", "out[blockIdx.x * blockDim.x + threadIdx.x]")
    )
    found = result(cli, "--kernel", "bounded", "--arch", "sm_90", "--registers", "24,128")
    by = {(c["block"], c["register_cap"]): c for c in found["candidates"]}
    assert by[128, 24]["registers"] <= 24 < by[128, None]["registers"]
    assert by[512, None]["dropped"] == "cannot be launched"


TILED = """
#define SIDE 16
__global__ void tiled(float *out, const float *in, int n) {
  __shared__ float tile[SIDE][SIDE];
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  __syncthreads();
  out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void asserted(float *out) { assert(blockDim.x == 64); out[blockDim.x * blockIdx.x + threadIdx.x] = 1; }
__global__ void __launch_bounds__(96) numbered(float *out) { out[blockIdx.x * 96 + threadIdx.x] = 1; }
__global__ void named(float *out) {
  for (int i = threadIdx.x; i < 5 * SIDE; i += blockDim.x) out[i] = 1;
}
__global__ void free_size(float *out, const float *in, int n) {
  __shared__ float sums[32], all[1024];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  sums[threadIdx.x / 32] = sum;
  all[threadIdx.x] = sum;
  __syncthreads();
  for (int k = threadIdx.x; k < 32; k += blockDim.x) out[k] = sums[k] + all[k];
}
LAUNCHES
"""
LAUNCHES = """
void run(float *out, const float *in, int n) {
  dim3 block(SIDE, SIDE);
  tiled<<<dim3(n / SIDE, n / SIDE), block>>>(out, in, n);
  named<<<1, SIDE>>>(out);
  free_size<<<1, 192>>>(out, in, n);
}
"""


@pytest.mark.parametrize(
    ("kernel", "launched", "sizes", "reason"),
    [
        ("tiled", [256], {256}, "its threads fill tile[SIDE][SIDE], an element each"),
        ("numbered", [], {96}, "it numbers threads without blockDim"),
        ("named", [16], {16}, "SIDE, with which it is launched, stands in it"),
        ("free_size", [192], {192, 128, 256, 512}, None),
    ],
)
def test_the_file_says_which_block_sizes_its_code_holds_for(
    kernel: str, launched: list[int], sizes: set[int], reason: str | None, source: Path, cli
) -> None:
    source.write_text(TILED.replace("LAUNCHES", LAUNCHES))
    found = result(cli, "--kernel", kernel, "--arch", "sm_90", "--registers", "32")
    assert (found["launched_blocks"], found["fixed_block"]) == (launched, reason)
    assert {c["block"] for c in found["candidates"]} == sizes
    assert found["candidates"][0]["block"] == (launched or [96])[0]


def test_a_size_that_nothing_says_is_asked_for(source: Path, cli) -> None:
    source.write_text(TILED.replace("LAUNCHES", ""))
    asked = ("whatif", "k.cu", "--arch", "sm_90", "--registers", "32", "--kernel")
    for kernel, reason in (
        ("tiled", "its threads fill tile[SIDE][SIDE], an element each"),
        ("asserted", "it asserts blockDim"),
    ):
        ran = cli(*asked, kernel)
        assert ran.code == 2
        assert reason in ran.err
        assert "Name it with --block" in ran.err
        named = cli(*asked, kernel, "--block", "64,256")
        assert named.code == 0
        assert "others compute something else" in named.err


def test_rows_of_the_same_code_are_counted_not_shown(source: Path, cli) -> None:
    source.write_text(TILED.replace("LAUNCHES", LAUNCHES))
    ran = cli("whatif", "k.cu", "--kernel", "named", "--arch", "sm_90", "--registers", "200,255")
    assert "2 caps give the same code as another row of the block size." in ran.out
    assert "as the file launches it" in ran.out
    assert "same code as the compiler" not in ran.out


def test_names_of_the_c_library_and_constants_of_types_are_known(source: Path, cli) -> None:
    source.write_text(
        "#include <type_traits>\ntypedef unsigned int uint;\n"
        "template <bool B> __device__ int f(std::bool_constant<B>) { return B ? 1 : 2; }\n"
        "__global__ void k(uint *a) { a[blockDim.x * blockIdx.x] = f(std::true_type{}) + ushort(1); }\n"
    )
    assert result(cli, "--arch", "sm_90", "--registers", "32")["kernel"] == "k"


def test_nvcc_takes_a_header(source: Path, cli) -> None:
    if not shutil.which("nvcc"):
        pytest.skip("no nvcc")
    source.with_name("k.cuh").write_text("__global__ void k(float *a) { a[threadIdx.x] = 1; }")
    ran = cli("kernels", "k.cuh", "--arch", "sm_90", "--compiler", "nvcc")
    assert ran.code == 0, ran.err


def test_auto_takes_the_steps_of_occupancy(source: Path, cli) -> None:
    found = result(cli, "--kernel", "fir<double, 32>", "--gpu", "h200")
    caps = {c["register_cap"] for c in found["candidates"]} - {None}
    assert caps
    assert all(cap % 8 == 0 or cap == 255 for cap in caps)


def test_a_macro_may_hold_the_block_size(source: Path, cli) -> None:
    source.write_text(
        "__global__ void tile(float *a) { __shared__ float t[TILE];"
        " t[threadIdx.x] = a[threadIdx.x]; __syncthreads(); a[threadIdx.x] = t[TILE - 1 - threadIdx.x]; }"
    )
    found = result(cli, "--arch", "sm_90", "--block-define", "TILE", "--registers", "32")
    assert [c["static_smem"] for c in found["candidates"] if c["register_cap"] is None] == [
        512, 1024, 2048,
    ]  # fmt: skip


def test_thirty_three_candidates_take_seconds(source: Path, cli) -> None:
    caps = "24,32,40,48,56,64,80,96,112,128"
    began = time.perf_counter()
    found = result(cli, "--kernel", "fir", "--gpu", "h200", "--registers", caps)
    assert len(found["candidates"]) == 33
    assert time.perf_counter() - began < 10 * 3  # a shared machine may be slower than the goal


def test_the_short_form(source: Path, cli) -> None:
    ran = cli("kernels", "k.cu", "--what-if", "--filter", "bounded", "--arch", "sm_90")
    assert ran.code == 0, ran.err
    assert "Begin with 256 threads and no cap." in ran.out


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["k.cu"], "is compiled for one GPU, and none is named"),
        (["k.cu", "--arch", "sm_90"], "the file has 2 kernels"),
        (["k.cu", "--arch", "sm_90", "--kernel", "nothing"], "no kernel"),
        (["k.cu", "taps.h", "--arch", "sm_90"], "compiles one file"),
        (["taps.h", "--arch", "sm_90"], "holds no PTX"),
        (["k.cu", "--arch", "sm_90", "--arg", "1"], "--arg is for --measure"),
        (["k.cu", "--arch", "sm_90", "--elements", "9"], "--elements is for --measure"),
        (["k.cu", "--measure", "--kernel", "bounded"], "--measure needs --elements"),
        (["k.cu", "--measure", "--elements", "9", "--gpu", "h100"], "--gpu names no live GPU"),
        (["k.cu", "--measure", "--elements", "9", "--arch", "sm_90"], "--arch names no live GPU"),
        (["k.cu", "--arch", "sm_90", "--block", "0"], "--block"),
        (["none.cu", "--arch", "sm_90"], "there is no such file"),
        (["none.cu"], "there is no such file"),
        (["none.cu", "--measure"], "there is no such file"),
    ],
)
def test_questions_that_cannot_be_answered(args: list[str], words: str, source: Path, cli) -> None:
    ran = cli("whatif", *args)
    assert ran.code in (2, 3)
    assert ran.out == ""
    assert words in ran.err


@pytest.fixture
def ptx(source: Path) -> Path:
    """Kernels as PTX, one of them with launch bounds."""
    text = (
        'extern "C" __global__ void plain(float *out, const float *in, int n) {'
        "  float v[48], s = 0;"
        "  for (int k = 0; k < 48; ++k) v[k] = in[k * n];"
        "  for (int k = 0; k < 48; ++k) s += v[k] * v[47 - k];"
        "  out[threadIdx.x] = s; }\n"
        "template <typename T> __global__ void __launch_bounds__(256, 2) held(T *out) {"
        "  out[threadIdx.x] *= 3; }\n"
        "template __global__ void held<float>(float *);\n"
    )
    compiler = nvrtc.library()
    handle = nvrtc.call(compiler, "nvrtcCreateProgram", text.encode(), b"k.cu", 0, [], [])
    nvrtc.call(compiler, "nvrtcCompileProgram", handle, 1, [b"--gpu-architecture=compute_80"])
    image = b" " * int(nvrtc.call(compiler, "nvrtcGetPTXSize", handle))
    nvrtc.call(compiler, "nvrtcGetPTX", handle, image)
    path = source.parent / "k.ptx"
    # The language of CUDA 12.0, for an older ptxas than NVRTC.
    path.write_bytes(re.sub(rb"\.version \d\.\d", b".version 8.0", image.rstrip(b"\0")))
    return path


def test_ptx_is_compiled_by_the_assembler(ptx: Path, cli) -> None:
    if not assemblers():
        pytest.skip("no ptxas")
    arguments = ("k.ptx", "--arch", "sm_90", "--block", "256", "--registers", "32,64")
    ran = cli("whatif", *arguments, "--kernel", "plain", "--format", "json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    VALID(document)
    own, low, _ = document["result"]["candidates"]
    assert low["registers"] <= 32 < own["registers"]
    assert low["dropped"].startswith("spills")
    bounded = cli("whatif", *arguments, "--kernel", "held<float>", "--get", "kernel")
    assert (bounded.code, bounded.out) == (0, "held<float>\n")


def test_a_kernel_of_ptx_is_named(ptx: Path, cli) -> None:
    ran = cli("whatif", "k.ptx", "--arch", "sm_90")
    assert ran.code == 2
    assert "the PTX has 2 kernels" in ran.err
    assert "plain" in ran.err
    ran = cli("whatif", "k.ptx", "--arch", "sm_90", "--kernel", "plain", "--block-define", "N")
    assert "PTX has no macros left" in ran.err


def test_ptx_that_does_not_assemble_is_shown_as_ptxas_wrote_it(ptx: Path, cli) -> None:
    if not assemblers():
        pytest.skip("no ptxas")
    ptx.write_bytes(ptx.read_bytes().replace(b"ret;", b"return;"))
    ran = cli("whatif", "k.ptx", "--arch", "sm_90", "--kernel", "plain")
    assert ran.code == 2
    assert "program.ptx, line" in ran.err


def test_nvcc_compiles_the_whole_file(source: Path, cli) -> None:
    if shutil.which("nvcc") is None or shutil.which("g++") is None:
        pytest.skip("no nvcc")
    ran = cli(
        "whatif", "k.cu", "--kernel", "bounded", "--arch", "sm_90", "--compiler", "nvcc",
        "--block", "256", "--registers", "24", "-D", "TAP_STRIDE=1", "--format", "json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    own, low = json.loads(ran.out)["result"]["candidates"]
    assert low["registers"] <= 24 < own["registers"]


def test_measuring_needs_a_gpu_and_says_so(source: Path, cli) -> None:
    ran = cli(
        "whatif", "k.cu", "--kernel", "bounded", "--measure", "--elements", "9", "--arg", "1KiB"
    )
    assert ran.code in (2, 3)
    assert "live GPU" in ran.err or "takes 2 arguments" in ran.err


def test_the_environment_names_the_gpu(source: Path, monkeypatch: pytest.MonkeyPatch, cli) -> None:
    # A live GPU comes before the variable.
    monkeypatch.setattr("gpuadvise.advisor.backends.choose.driver_present", lambda: False)
    monkeypatch.setenv("GPUADVISE_GPU", "l4")
    ran = cli("whatif", "k.cu", "--kernel", "bounded", "--registers", "32", "--format", "json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["device"]["compute_capability"] == "8.9"
    ran = cli("kernels", "k.cu", "--format", "json")
    assert {k["arch"] for k in json.loads(ran.out)["result"]["kernels"]} == {"sm_89"}
    monkeypatch.setenv("GPUADVISE_GPU", "nonsense")
    for command in (("whatif", "k.cu", "--kernel", "bounded"), ("kernels", "k.cu")):
        ran = cli(*command)
        assert ran.code == 2
        assert "$GPUADVISE_GPU" in ran.err


def test_help_says_what_elements_are_for(cli) -> None:
    assert "For --measure: threads in all" in cli("whatif", "--help").out
