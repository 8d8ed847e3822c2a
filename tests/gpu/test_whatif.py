"""What-if against the driver and against time, on a real GPU.

Every candidate's registers, local bytes and blocks per SM equal the driver's, and the table
without what is dropped keeps the fastest candidate within two per cent.
"""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import pytest

from gpuadvise.advisor.backends.compiler_options import CompilerOptions
from gpuadvise.advisor.backends.cuda_sources import compile_source, read_cuda_source
from gpuadvise.advisor.capability import parse_capability

pytestmark = pytest.mark.gpu

SOURCE = Path(__file__).parent / "whatif_kernels.cu"
KERNELS = ("nbody", "fir<float, 64>", "gather", "median", "sgemm", "triad", "chain", "bounded")
CAPS = "24,32,40,48,56,64,80,96,112,128"
ELEMENTS = 1 << 22
WITHIN = 1.02


@pytest.fixture(scope="module")
def driver():
    from cuda.bindings import driver

    def call(name: str, *args):
        error, *values = getattr(driver, name)(*args)
        assert int(error) == 0, (name, error)
        return values[0] if len(values) == 1 else tuple(values)

    call("cuInit", 0)
    device = call("cuDeviceGet", 0)
    context = call("cuDevicePrimaryCtxRetain", device)
    call("cuCtxSetCurrent", context)
    yield driver, call
    call("cuDevicePrimaryCtxRelease", device)


def image_of(source, kernel: str, cap: int | None, target):
    """The cubin of one candidate, compiled as whatif does, and the kernel's name in it."""
    base = kernel.partition("<")[0]
    facts = next(k for k in source.code.kernels if k.name == base)
    text, more = source.code.text, ()
    if cap is not None and facts.bounds is not None:
        text = source.code.rewritten(facts, f"__maxnreg__({cap})")
    elif cap is not None:
        more = (f"--maxrregcount={cap}",)
    made = compile_source(source, target, text=text, expressions=(kernel,), more=more)
    return made.cubin, made.lowered[kernel]


def seconds(driver, call, function, block: int, arrays) -> float:
    values = [ctypes.c_uint64(int(a)) for a in arrays] + [ctypes.c_int(ELEMENTS)]
    params = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
    grid = ELEMENTS // block
    begin, end = call("cuEventCreate", 0), call("cuEventCreate", 0)
    times = []
    for _ in range(9):
        call("cuEventRecord", begin, 0)
        call("cuLaunchKernel", function, grid, 1, 1, block, 1, 1, 0, 0, ctypes.addressof(params), 0)
        call("cuEventRecord", end, 0)
        call("cuEventSynchronize", end)
        times.append(call("cuEventElapsedTime", begin, end) * 1e-3)
    return sorted(times)[2]


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_driver_agrees_and_the_fastest_stays(kernel: str, driver, cli) -> None:
    bindings, call = driver
    ran = cli(
        "whatif", str(SOURCE), "--kernel", kernel, "--device", "0", "--registers", CAPS,
        "--format", "json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)["result"]
    attribute = bindings.CUfunction_attribute
    source = read_cuda_source(str(SOURCE), CompilerOptions())
    target = parse_capability(found["candidates"][0]["arch"])
    arrays = [call("cuMemAlloc", ELEMENTS * 8) for _ in range(2)]
    for array in arrays:
        call("cuMemsetD32", array, 0, ELEMENTS * 2)
    images: dict[int | None, tuple[bytes, str]] = {}
    times: dict[tuple[int, int | None], float] = {}
    try:
        for each in found["candidates"]:
            cap = each["register_cap"]
            if cap not in images:
                images[cap] = image_of(source, kernel, cap, target)
            image, name = images[cap]
            module = call("cuModuleLoadData", image)
            function = call("cuModuleGetFunction", module, name.encode())

            def ask(which, function=function) -> int:
                return call("cuFuncGetAttribute", which, function)

            place = (kernel, each["block"], cap)
            assert each["registers"] == ask(attribute.CU_FUNC_ATTRIBUTE_NUM_REGS), place
            assert each["local_bytes"] == ask(attribute.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), place
            blocks = call("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, each["block"], 0)
            assert each["blocks_per_sm"] == blocks, place
            if blocks:
                key = (each["block"], cap)
                times[key] = seconds(bindings, call, function, each["block"], arrays)
            call("cuModuleUnload", module)
    finally:
        for array in arrays:
            call("cuMemFree", array)
    left = {
        (c["block"], c["register_cap"]) for c in found["candidates"] if c["dropped"] is None
    } & times.keys()
    best, best_left = min(times.values()), min(times[key] for key in left)
    chosen = (found["pick"]["block"], found["pick"]["register_cap"])
    worst = max(times[key] for key in left)
    print(
        f"{kernel}: best {best * 1e6:.1f} us {min(times, key=times.__getitem__)}, best left "
        f"{best_left / best:.3f}, pick {chosen} {times[chosen] / best:.3f}, worst left "
        f"{worst / best:.2f}, worst of all {max(times.values()) / best:.2f}"
    )
    assert best_left <= best * WITHIN
