"""Kernels before and after ``lint --fix`` give the same values within the errors that CUDA states."""

from __future__ import annotations

import ctypes
import math
import struct
from pathlib import Path

import pytest

from gpuadvise.advisor.backends.nvrtc import Program, compiled
from gpuadvise.advisor.source.fixes import mended
from gpuadvise.rules.source.lint import lint_cuda

pytestmark = pytest.mark.gpu

PROGRAM = Path(__file__).parent.parent / "advisor" / "source" / "fixed.cu"
COUNT = 1 << 16
# Units in the last place away from the correctly rounded result: CUDA programming guide 13,
# tables 47, 48 and 55 (accuracy of exp2f, of powf, pow and sqrtf, of exp10f and rsqrtf). A product
# or a quotient is correctly rounded; after sqrtf it moves by one more.
GUIDE = {"powf": 4, "exp2f": 2, "exp10f": 2, "rsqrtf": 2, "sqrtf": 0, "pow": 2, "product": 0}
# Of the form before plus of the form after. Suffixes: two roundings, and the constant's own.
ULPS = {
    "suffix": 3,
    "square": GUIDE["powf"] + GUIDE["product"],
    "power_of_two": GUIDE["powf"] + GUIDE["exp2f"],
    "power_of_ten": GUIDE["powf"] + GUIDE["exp10f"],
    "inverse_root": GUIDE["sqrtf"] + 1 + GUIDE["rsqrtf"],
    "double_square": GUIDE["pow"] + GUIDE["product"],
}


def fixed(data: bytes) -> bytes:
    while (result := mended(data, lint_cuda(data, "fixed.cu").diagnostics)).fixed:
        data = result.data
    return data


def order(value: float, form: str) -> int:
    """The place of *value* among all floating-point numbers of its format."""
    integer = {"f": "i", "d": "q"}[form]
    (bits,) = struct.unpack(integer, struct.pack(form, value))
    return bits if bits >= 0 else -(bits & ((1 << (8 * struct.calcsize(form) - 1)) - 1))


def outputs(text: bytes, kernel: str, form: str, values: list[float]) -> list[float]:
    from cuda.bindings import driver

    def call(name: str, *args):
        error, *found = getattr(driver, name)(*args)
        assert int(error) == 0, (name, error)
        return found[0] if len(found) == 1 else tuple(found)

    call("cuInit", 0)
    device = call("cuDeviceGet", 0)
    context = call("cuDevicePrimaryCtxRetain", device)
    call("cuCtxSetCurrent", context)
    major, minor = call("cuDeviceComputeCapability", device) if hasattr(
        driver, "cuDeviceComputeCapability"
    ) else tuple(
        call("cuDeviceGetAttribute", which, device)
        for which in (
            driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
    )  # fmt: skip
    made = compiled(
        Program(text=text, name="fixed.cu", expressions=(kernel,)), f"sm_{major}{minor}"
    )
    module = call("cuModuleLoadData", made.cubin)
    function = call("cuModuleGetFunction", module, made.lowered[kernel].encode())
    size = COUNT * struct.calcsize(form)
    source, target = call("cuMemAlloc", size), call("cuMemAlloc", size)
    data = struct.pack(f"{COUNT}{form}", *values)
    call("cuMemcpyHtoD", source, data, size)
    arguments = [ctypes.c_uint64(int(target)), ctypes.c_uint64(int(source))]
    params = (ctypes.c_void_p * 2)(*[ctypes.addressof(a) for a in arguments])
    call(
        "cuLaunchKernel", function, COUNT // 256, 1, 1, 256, 1, 1, 0, 0, ctypes.addressof(params), 0
    )
    back = bytearray(size)
    call("cuMemcpyDtoH", back, target, size)
    for memory in (source, target):
        call("cuMemFree", memory)
    call("cuModuleUnload", module)
    call("cuDevicePrimaryCtxRelease", device)
    return list(struct.unpack(f"{COUNT}{form}", bytes(back)))


@pytest.mark.parametrize("kernel", ULPS)
def test_values_stay_within_the_stated_error(kernel: str) -> None:
    before = PROGRAM.read_bytes()
    form = "d" if kernel.startswith("double") else "f"
    # Positive, over several orders of magnitude, and inside the range of every function here.
    values = [0.001 + 30.0 * (i / COUNT) ** 2 for i in range(COUNT)]
    old, new = (outputs(text, kernel, form, values) for text in (before, fixed(before)))
    assert all(math.isfinite(value) for value in old)
    farthest = max(abs(order(a, form) - order(b, form)) for a, b in zip(old, new, strict=True))
    print(f"{kernel}: at most {farthest} ulp apart")
    assert farthest <= ULPS[kernel]
