"""``gpuadvise advise FILE.cu``: source, what it compiles to and how it is launched, in one list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gpuadvise.advisor.backends import nvrtc
from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.source.kernel_evidence import KernelEvidence, evidence_in
from gpuadvise.advisor.source.text import source_text
from gpuadvise.rules.source import CUDA_RULES
from gpuadvise.rules.source.lint import lint_cuda

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import Observation

SOURCE = """\
__device__ float helper(float x) { return x * 0.1; }
__global__ void doubled(float *out, const float *in, int n) {
  float v[64];
  for (int k = 0; k < 64; ++k) v[k] = in[threadIdx.x + k * n] * 0.1;
  out[threadIdx.x] = v[n & 63];
}
__global__ void unrolled(float *out, const float *in) {
  float s = 0;
  for (int k = 0; k < 8; ++k) s += in[k * 7];
  out[0] = s;
}
__global__ void kept_rolled(float *out, const float *in, int *flags) {
  float s = 0;
#pragma nv_diag_suppress 1
  for (int k = 0; k < 12; ++k) {
    s += sinf(in[k]) * cosf(s) + tanf(in[k + 1]) + sinf(s);
    s += powf(in[k + 2], s) + sinf(in[k + 3] * s);
  }
  out[0] = s;
}
int main() {
  doubled<<<1, 192>>>(nullptr, nullptr, 4);
  unrolled<<<1, dim3(32, 4)>>>(nullptr, nullptr);
  unrolled<<<1, 256>>>(nullptr, nullptr);
}
"""


def evidence_of(source: str) -> tuple[list[KernelEvidence], list[Observation]]:
    text = source_text(source.encode(), "k.cu")
    return evidence_in(text, lint_cuda(text.content, "k.cu", select=CUDA_RULES).diagnostics)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    try:
        nvrtc.library()
    except Unavailable as error:
        pytest.skip(error.message)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "k.cu"
    path.write_text(SOURCE)
    return path


def findings(cli, *args: str) -> list[dict[str, Any]]:
    ran = cli("advise", *args, "--all", "--format", "json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)["findings"]


def test_evidence_of_kernels_and_of_the_rest() -> None:
    kernels, rest = evidence_of(SOURCE)
    found = {k.name: k for k in kernels}
    assert found["doubled"].block == (192, 1, 1)
    assert found["doubled"].local_arrays == ("v[64] (line 3)",)
    faults = [o.fault for o in found["doubled"].observations]
    assert faults == ["indexed-local-arrays", "implicit-double"]
    assert found["unrolled"].block is None  # two launches that differ
    assert {o.kernel for o in rest} == {"helper", "main"}


def test_source_binary_and_launch_are_one_list(source: Path, cli) -> None:
    found = findings(cli, "k.cu", "--gpu", "rtx4090")
    rules = {f["rule"]: f for f in found}
    assert "0.1 in line 4" in rules["scarce-fp64"]["message"]
    assert "Give those literals an f" in rules["scarce-fp64"]["action"]
    assert "unchecked-errors" in rules
    assert "1 block for the 128 SMs" in rules["underfilled-device"]["message"]


def test_only_loops_that_stay_rolled_are_findings(source: Path, cli) -> None:
    lines = {
        f["location"]["line"]
        for f in findings(cli, "k.cu", "--gpu", "h200")
        if f["rule"] == "rolled-loops"
    }
    assert lines == {15}


def test_literals_that_the_compiler_folds_are_no_findings(source: Path, cli) -> None:
    source.write_text(
        "__global__ void k(float *out, float x) { out[0] = x > 0.0f ? x * 0.5 : 0.0; }\n"
    )
    assert not [f for f in findings(cli, "k.cu", "--gpu", "h200") if f["rule"] == "implicit-double"]


def test_what_does_not_compile_is_judged_by_its_text(source: Path, cli) -> None:
    source.write_text(SOURCE.replace("float v[64];", "float v[64]; undeclared();"))
    ran = cli("advise", "k.cu", "--gpu", "h200", "--all")
    assert ran.code == 0
    assert "implicit-double" in ran.out
    assert "rolled-loops" not in ran.out.split("Not judged")[0]
    assert '"k.cu" was not compiled, so only its text was judged' in ran.out + ran.err


PLACES = """\
constexpr int WIDTH = 32, HEIGHT = 8;
__global__ void odd(const float *__restrict__ in, float *__restrict__ out) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void tile(const float *__restrict__ in, float *__restrict__ out) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void unlaunched(const float *__restrict__ in, float *__restrict__ out) { out[threadIdx.x] = 2 * in[threadIdx.x]; }
__global__ void power(const float *__restrict__ in, float *__restrict__ out) { out[threadIdx.x] = pow(in[threadIdx.x], 2.5); }
void run(float *a, float *b, int n) {
  dim3 block(WIDTH, HEIGHT), grid(64, 64);
  tile<<<grid, block>>>(a, b);
  for (int k = 0; k < n; ++k) {
    float *c;
    cudaMalloc(&c, 4096);
    odd<<<n, 100>>>(a, c);
    cudaFree(c);
  }
  odd<<<n, BLOCK>>>(a, b);
}
"""


def test_every_fault_that_lint_sees_is_advised(source: Path, cli) -> None:
    source.write_text(PLACES.replace("BLOCK", "2048"))
    linted = json.loads(cli("lint", "k.cu", "--format", "json").out)
    seen = {(d["rule"], d["location"]["line"]) for d in linted["findings"]}
    assert {("repeated-allocations", 11), ("partial-warp", 12), ("impossible-launch", 15)} <= seen
    advised = findings(cli, "k.cu", "--gpu", "h200")
    assert seen <= {(f["rule"], (f["location"] or {}).get("line")) for f in advised}


def test_a_block_of_compiled_code_is_not_advised_twice(source: Path, cli) -> None:
    source.write_text(PLACES.replace("BLOCK", "100"))
    advised = [f for f in findings(cli, "k.cu", "--gpu", "h200") if f["rule"] == "partial-warp"]
    assert len(advised) == 1
    assert advised[0]["gain"]["upper_bound"] == pytest.approx(1.28)


def test_the_sides_of_a_block_may_be_names() -> None:
    kernels, _ = evidence_of(PLACES)
    assert {k.name: k.block for k in kernels}["tile"] == (32, 8, 1)


def test_a_block_that_nobody_chose_is_not_advised_on(source: Path, cli) -> None:
    source.write_text(PLACES.replace("BLOCK", "100"))
    sized = {
        f["location"]["kernel"].partition("(")[0]
        for f in findings(cli, "k.cu", "--gpu", "h200")
        if f["rule"] == "unusual-block-size"
    }
    assert sized == {"odd"}


def test_powers_of_mixed_types_compile(source: Path, cli) -> None:
    source.write_text(PLACES.replace("BLOCK", "100"))
    ran = cli("kernels", "k.cu", "--gpu", "h200")
    assert ran.code == 0, ran.err
    assert "power(float const*, float*)" in ran.out


def test_headers_and_host_code_are_sources_where_they_are_named(tmp_path: Path, cli) -> None:
    """Kernels often stand in a header, and launches in a file of C++ beside it."""
    (tmp_path / "kernels.h").write_text(
        "__global__ void turn(float *x) { x[threadIdx.x * 64] = 0; }\n"
    )
    (tmp_path / "host.cpp").write_text(
        "#include <cuda_runtime.h>\nvoid *take() { void *p; cudaMalloc(&p, 4); return p; }\n"
    )
    (tmp_path / "gold.c").write_text("int twice(int x) { return 2 * x; }\n")
    log = tmp_path / "build.log"
    log.write_text(
        "ptxas info    : Compiling entry function '_Z4turnPf' for 'sm_90'\n"
        "ptxas info    : Used 16 registers, used 0 barriers\n"
    )
    paths = [str(tmp_path / name) for name in ("kernels.h", "host.cpp", "gold.c")]
    found = findings(cli, *paths, str(log))
    placed = {
        (each["rule"], Path(each["location"]["file"]).name) for each in found if each["location"]
    }
    assert ("uncoalesced-access", "kernels.h") in placed
    assert ("unchecked-errors", "host.cpp") in placed
    alone = cli("advise", paths[2])
    assert alone.code == 2
    assert "The sources show no kernel and no fault." in alone.err
    assert "No live GPU" not in alone.err
