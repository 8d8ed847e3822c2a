"""What files of a folder tell of each other: types of headers, functions that launch or wait, extensions of PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.folder import surroundings_of
from gpuadvise.advisor.source.headers import declared_in, included_by, joined_declarations
from gpuadvise.advisor.source.host_effects import NO_EFFECTS, effects_in, joined_effects
from gpuadvise.rules.source.lint import lint_cuda

if TYPE_CHECKING:
    from gpuadvise.advisor.source.surroundings import Surroundings

HEADER = b"""#pragma once
#include "sizes.h"
typedef float real;  // double where it matters
using index_t = unsigned int;
#define BLOCK 32
#define TWICE 1
#define TWICE 2
struct Point { real x, *next; int n; };
__device__ __forceinline__ real dot(Point a, Point b) { return a.x * b.x; }
"""
STEPS = b"""#include "field.h"
void run(Field &f, int steps) {
  for (int i = 0; i < steps; ++i) {
    f.advance();
    check(cudaGetLastError());
    settle();
  }
}
"""
FIELD = b"""#include "field.h"
namespace physics {
void Field::advance() { if (on) { step<<<8, 128>>>(x); } }
}
void settle() { cudaDeviceSynchronize(); }
float total(const float *x) { float sum; cudaMemcpy(&sum, x, 4, cudaMemcpyDeviceToHost); return sum; }
"""


def around(files: dict[str, bytes]) -> dict[str, Surroundings]:
    found = [name for name in files if name.endswith((".cu", ".cpp"))]
    return surroundings_of(found, files, files.__getitem__)


def rules(files: dict[str, bytes], name: str, select: set[str]) -> list[str]:
    seen = lint_cuda(files[name], name, select=select, surroundings=around(files)[name])
    return [d.rule for d in seen.diagnostics]


def test_a_header_declares_types_constants_and_results_once() -> None:
    declared = declared_in(HEADER)
    assert included_by(HEADER) == ("sizes.h",)
    assert declared.aliases == {"real": "float", "index_t": "unsigned int"}
    assert declared.macros == {"BLOCK": "32"}
    assert declared.records == {"Point": {"x": "real", "next": "real*", "n": "int"}}
    assert declared.results == {"dot": "real"}
    assert included_by(b"int x;") == ()
    other = declared_in(b"typedef double real;\n#define MORE 1\n")
    assert joined_declarations((declared, other)).aliases["real"] == "float"
    assert joined_declarations((declared, other)).macros == {"BLOCK": "32", "MORE": "1"}


def test_what_a_header_declares_counts_in_the_files_that_include_it() -> None:
    kernel = b'#include "types.h"\n__global__ void f(real *x) { x[0] = x[0] * 0.3; }\n'
    files = {"src/a.cu": kernel, "include/types.h": b"typedef float real;\n"}
    assert rules(files, "src/a.cu", {"implicit-double"}) == ["implicit-double"]
    files["include/types.h"] = b"typedef double real;\n"
    assert rules(files, "src/a.cu", {"implicit-double"}) == []
    block = b'#include "types.h"\nvoid run(int n) { f<<<(n + B - 1) / B, B>>>(n); }\n'
    files = {"a.cu": block, "types.h": b"#define B 32\n"}
    assert rules(files, "a.cu", {"tiny-blocks"}) == ["tiny-blocks"]
    files["types.h"] = b"#define B 128\n"
    assert rules(files, "a.cu", {"tiny-blocks"}) == []


def test_host_functions_launch_wait_and_read() -> None:
    effects = effects_in(FIELD)
    assert effects.launching == {"advance"}
    assert effects.waiting == {"settle"}
    assert effects.reading == {"total"}
    assert effects_in(b"int f() { return 1; }") is NO_EFFECTS
    other = effects_in(b"void settle() { step<<<1, 32>>>(); cudaDeviceSynchronize(); }")
    assert joined_effects((effects, other)).waiting == frozenset()
    unbalanced = effects_in(b"}} cudaMemcpy { void f(int (*g)(int)) { h<<<1, 2>>>(); } if (a) {")
    assert unbalanced.launching == {"f"}


def test_a_loop_over_functions_of_other_files_waits_for_their_kernels() -> None:
    files = {"steps.cpp": STEPS, "field.cu": FIELD, "field.h": b""}
    found = rules(files, "steps.cpp", {"frequent-synchronization"})
    assert found == ["frequent-synchronization"]
    files["field.cu"] = FIELD.replace(b"step<<<8, 128>>>(x)", b"step(x)")
    assert rules(files, "steps.cpp", {"frequent-synchronization"}) == []


def test_kernels_behind_the_bindings_of_an_extension_are_of_it() -> None:
    launch = b"void scale(float *x, int n) { scale_kernel<<<n, 128>>>(x); }\n"
    binding = (
        b"#include <torch/extension.h>\nvoid scale(float *, int);\nvoid go() { scale(0, 1); }\n"
    )
    files = {"scale.cu": launch, "binding.cpp": binding}
    assert rules(files, "scale.cu", {"default-stream-work"}) == ["default-stream-work"]
    files["binding.cpp"] = binding.replace(b"torch/extension.h", b"vector")
    assert rules(files, "scale.cu", {"default-stream-work"}) == []
    shared = {
        "scale.cu": b'#include "scale.h"\n' + launch,
        "scale.h": b"",
        "binding.cpp": b'#include <torch/extension.h>\n#include "scale.h"\n',
    }
    assert rules(shared, "scale.cu", {"default-stream-work"}) == ["default-stream-work"]


def test_c_plus_plus_beside_the_kernels_is_not_asked_for_its_checks() -> None:
    host = b"void load(float **x) { cudaMalloc(x, 4096); use(*x); }\n"
    files = {"load.cpp": host, "load.cu": host}
    assert rules(files, "load.cpp", {"unchecked-errors"}) == []
    assert rules(files, "load.cu", {"unchecked-errors"}) == ["unchecked-errors"]
