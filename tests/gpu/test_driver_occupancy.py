"""The model against the driver's own occupancy, on the GPU of this machine.

The kernels are PTX that the driver compiles, so that no toolkit is needed: each keeps a number of
values alive, declares static memory and uses named barriers; the registers are the driver's count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from gpuadvise.advisor.capability import Capability
from gpuadvise.advisor.catalogue.capabilities import limits_of
from gpuadvise.advisor.occupancy.block_sizes import suggest_block
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.limits import Limits

pytestmark = pytest.mark.gpu

ALIVE = (1, 4, *range(12, 244, 8))
STATIC = (0, 1000, 20_000, 49_152)
BARRIERS = (1, 2, 3, 8, 16)
THREADS = (1, 32, 64, 96, 100, 128, 192, 224, 256, 320, 384, 512, 640, 768, 896, 928, 1024)
CARVEOUTS = (None, 0, 10, 25, 50, 75, 100)


def ptx(alive: int, static: int, barriers: int) -> bytes:
    """Return a kernel that loads *alive* values, waits at *barriers*, and stores them all."""
    loads = [f"ld.volatile.global.f32 %f{i}, [%rd1+{4 * i}];" for i in range(alive)]
    waits = [f"barrier.sync {i};" for i in range(barriers)]
    stores = [f"st.volatile.global.f32 [%rd1+{4 * i}], %f{i};" for i in reversed(range(alive))]
    shared = f".shared .align 4 .b8 memory[{static}];" if static else ""
    touch = ["mov.u32 %r1, memory;", "st.volatile.shared.u32 [%r1], %r1;"] if static else []
    return "\n".join(
        [
            ".version 7.0\n.target sm_70\n.address_size 64",
            ".visible .entry kernel(.param .u64 data)\n{",
            f".reg .f32 %f<{alive}>;\n.reg .b64 %rd<2>;\n.reg .b32 %r<2>;\n{shared}",
            "ld.param.u64 %rd1, [data];",
            *loads,
            *touch,
            *waits,
            *stores,
            "ret;\n}\0",
        ]
    ).encode()


@dataclass(frozen=True)
class Kernel:
    """One compiled kernel, and what it takes by the driver's count."""

    driver: Any
    function: Any
    launch: Launch

    def blocks(self, launch: Launch) -> int:
        """Return the driver's blocks per SM for the kernel launched as *launch*."""
        attribute = self.driver.CUfunction_attribute
        carveout = -1 if launch.carveout is None else launch.carveout
        for name, value in (
            (attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, carveout),
            (
                attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                launch.max_dynamic_shared or 0,
            ),
        ):
            told(self.driver.cuFuncSetAttribute(self.function, name, value))
        blocks: int = told(
            self.driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                self.function, launch.threads, launch.dynamic_shared
            )
        )
        return blocks


def told(answer: tuple[Any, ...]) -> Any:
    """Return the value of a driver call that must succeed."""
    status, *values = answer
    assert int(status) == 0, status
    return values[0] if values else None


@pytest.fixture(scope="module")
def gpu() -> Iterator[tuple[Any, Limits]]:
    from cuda.bindings import driver

    told(driver.cuInit(0))
    device = told(driver.cuDeviceGet(0))
    kind = driver.CUdevice_attribute
    major, minor = (
        told(driver.cuDeviceGetAttribute(name, device))
        for name in (
            kind.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            kind.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
    )
    told(driver.cuCtxSetCurrent(told(driver.cuDevicePrimaryCtxRetain(device))))
    yield driver, limits_of(Capability(major, minor))[0]
    told(driver.cuDevicePrimaryCtxRelease(device))


@pytest.fixture(scope="module")
def kernels(gpu: tuple[Any, Limits]) -> list[Kernel]:
    driver, _ = gpu
    wanted = [
        *((alive, 0, 1) for alive in ALIVE),
        *((24, static, 1) for static in STATIC[1:]),
        *((24, 0, barriers) for barriers in BARRIERS[1:]),
    ]
    return [_built(driver, *each) for each in wanted]


def _built(driver: Any, alive: int, static: int, barriers: int) -> Kernel:
    module = told(driver.cuModuleLoadData(ptx(alive, static, barriers)))
    function = told(driver.cuModuleGetFunction(module, b"kernel"))
    name = driver.CUfunction_attribute
    registers, measured, most = (
        told(driver.cuFuncGetAttribute(attribute, function))
        for attribute in (
            name.CU_FUNC_ATTRIBUTE_NUM_REGS,
            name.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
            name.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
        )
    )
    assert measured == static
    launch = Launch(
        threads=1, registers=registers, static_shared=static, barriers=barriers, optin=False
    )
    assert most <= 1024
    return Kernel(driver, function, launch)


def test_the_kernels_differ(kernels: list[Kernel]) -> None:
    # The compiler likes to fill the step of 8 registers, so that fewer counts are seen than asked.
    assert len(kernels) >= 20
    assert len({kernel.launch.registers for kernel in kernels}) >= 12


def test_blocks_per_sm_equal_the_drivers(gpu: tuple[Any, Limits], kernels: list[Kernel]) -> None:
    _, limits = gpu
    compared, different = 0, []
    for kernel in kernels:
        for launch in _launches(limits, kernel.launch):
            ours, theirs = occupancy(limits, launch).blocks_per_sm, kernel.blocks(launch)
            compared += 1
            if ours != theirs:
                different.append((launch, ours, theirs))
    print(f"{compared} launches of {len(kernels)} kernels compared, {len(different)} differ")
    assert different == []


def _launches(limits: Limits, kernel: Launch) -> Iterator[Launch]:
    most = limits.shared_memory_per_block_optin - kernel.static_shared
    for threads in THREADS:
        for carveout in CARVEOUTS:
            plain = replace(kernel, threads=threads, carveout=carveout)
            for dynamic in (0, 1000, 6272, 16_384, 49_152 - kernel.static_shared, 49_153):
                yield replace(plain, dynamic_shared=dynamic)
            raised = replace(plain, optin=True, max_dynamic_shared=most)
            for dynamic in (0, 50_000, 75_000, 100_000, most - 1, most):
                if dynamic <= most:
                    yield replace(raised, dynamic_shared=dynamic)


def test_suggested_block_sizes_equal_the_drivers(
    gpu: tuple[Any, Limits], kernels: list[Kernel]
) -> None:
    driver, limits = gpu
    for kernel in kernels:
        for dynamic in (0, 10_000):
            launch = replace(kernel.launch, dynamic_shared=dynamic)
            kernel.blocks(launch)  # sets the attributes
            status, _, size = driver.cuOccupancyMaxPotentialBlockSize(
                kernel.function, None, dynamic, 0
            )
            assert int(status) == 0
            suggestion = suggest_block(limits, launch)
            assert (suggestion.helper.launch.threads if suggestion else 0) == size
