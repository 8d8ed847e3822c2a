"""Doubles that lint sees, against the doubles that NVIDIA's compiler computes with."""

from __future__ import annotations

import re

import pytest

from gpuadvise.rules.source.lint import lint_cuda

nvrtc = pytest.importorskip("cuda.bindings.nvrtc")

SHAPES = (
    "out[0] = x * 0.5;",
    "out[0] = x * 0.1;",
    "out[0] = 1.0 / x;",
    "out[0] = x - 1e-10;",
    "out[0] = (x + 1.0) * 0.5;",
    "out[0] = x * y * 0.5;",
    "out[0] = x + y * 0.5;",
    "out[0] = 0.5 * x + 0.5 * y;",
    "out[0] = 2.0 * x * y;",
    "out[0] = x * (1.0 - y);",
    "out[0] = x * x - 1.0;",
    "out[0] = -(0.5 * x);",
    "out[0] = (-0.5) * x;",
    "out[0] += 0.5 * x;",
    "out[0] += 1.0;",
    "out[0] *= 0.5;",
    "out[0] *= 0.1;",
    "float z = 3.0 * x; out[0] = z;",
    "int z = 2.0 * x; out[0] = z;",
    "out[0] = sqrtf(x * 0.5);",
    "out[0] = expf(-0.5 * x * x);",
    "out[0] = (float)(x / 3.0);",
    "out[0] = max(x, 0.0);",
    "out[0] = x > 0.5 ? x : y;",
    "out[0] = x > 0.1 ? x : y;",
    "out[0] = x * 2.0 > y ? x : y;",
    "if (x > 0.0 && y < -1.0) out[0] = y;",
    "out[0] = x == 1e300 ? x : y;",
    "out[0] = sqrt(x * x + 1e-9);",
    "out[0] = y / sqrt(x + 1e-5) * x;",
    "out[0] = exp(x) + exp(-y);",
    "out[0] = log(x + 1e-7f);",
    "out[0] = tanh(0.1 * x);",
    "float z = 1.0 / rsqrt(x + 1e-3); out[0] = z;",
    "out[0] = exp(x * 0.5) * y;",
)


def kernel(name: str, body: str) -> str:
    return f'extern "C" __global__ void {name}(float *out, float x, float y) {{ {body} }}\n'


@pytest.fixture(scope="module")
def compiled() -> dict[str, str]:
    """The PTX of each shape."""
    text = "".join(kernel(f"shape{n}", body) for n, body in enumerate(SHAPES))
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"shapes.cu", 0, [], [])
    assert not int(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=compute_90"])[0])
    image = b" " * nvrtc.nvrtcGetPTXSize(program)[1]
    nvrtc.nvrtcGetPTX(program, image)
    nvrtc.nvrtcDestroyProgram(program)
    parts = re.split(r"\.entry (\w+)", image.decode())[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("number", range(len(SHAPES)), ids=SHAPES)
def test_lint_sees_a_double_where_the_compiler_makes_one(
    number: int, compiled: dict[str, str]
) -> None:
    text = kernel("shape", SHAPES[number])
    seen = lint_cuda(text.encode(), "k.cu", select={"implicit-double"}).diagnostics
    assert bool(seen) == (".f64" in compiled[f"shape{number}"])
