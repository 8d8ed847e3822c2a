"""Clusters against the driver's count and against launches that count themselves, on a live GPU.

The driver is asked twice: through cuda-python about kernels that are compiled here, and as the
command asks, about a kernel that it compiles to take the same.
"""

from __future__ import annotations

import ctypes
import json
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from gpuadvise.advisor.backends import driver_launch, live_launch
from gpuadvise.advisor.catalogue import find
from gpuadvise.advisor.gpu import Identity
from gpuadvise.advisor.occupancy.clusters import clusters_upper_bound, resident_clusters
from gpuadvise.advisor.occupancy.launch import Launch
from gpuadvise.advisor.occupancy.model import occupancy

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.gpu

DEVICE = find("h200-sxm")
MOST_DYNAMIC = 232_448
VALUES = (4, 28, 60, 124)  # kept alive by a kernel
SHAPES = ((2, 1, 1), (3, 1, 1), (2, 2, 1), (5, 1, 1), (8, 1, 1), (4, 4, 1), (16, 1, 1))
KIB = (0, 12, 27, 37, 56, 75, 113, 200)
THREADS = (64, 128, 256, 512, 1024)
SPIN_NS = 3_000_000

# Each block adds itself to a count, keeps the most there ever was, stays a while, and goes.
RESIDENT = b"""
.version 7.8
.target sm_90
.address_size 64
.visible .entry resident(.param .u64 out, .param .u64 span)
{
.reg .pred %p<3>;
.reg .b32 %r<6>;
.reg .b64 %rd<5>;
ld.param.u64 %rd1, [out];
ld.param.u64 %rd2, [span];
mov.u32 %r1, %tid.x;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra WAIT;
atom.global.add.u32 %r2, [%rd1], 1;
add.u32 %r2, %r2, 1;
atom.global.max.u32 %r3, [%rd1+4], %r2;
mov.u64 %rd3, %globaltimer;
add.u64 %rd3, %rd3, %rd2;
LOOP:
mov.u64 %rd4, %globaltimer;
setp.lt.u64 %p2, %rd4, %rd3;
@%p2 bra LOOP;
atom.global.add.u32 %r4, [%rd1], -1;
WAIT:
bar.sync 0;
ret;
}
\0"""


def value(answer: tuple[Any, ...]) -> Any:
    """Return the value of a driver call that must succeed."""
    status, *values = answer
    assert int(status) == 0, status
    return values[0] if values else None


@pytest.fixture(scope="module")
def cuda() -> Iterator[Any]:
    from cuda.bindings import driver

    value(driver.cuInit(0))
    device = value(driver.cuDeviceGet(0))
    kind = driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH
    if not value(driver.cuDeviceGetAttribute(kind, device)):
        pytest.skip("this GPU has no clusters")
    value(driver.cuCtxSetCurrent(value(driver.cuDevicePrimaryCtxRetain(device))))
    yield driver
    value(driver.cuDevicePrimaryCtxRelease(device))


def loaded(cuda: Any, text: bytes, name: bytes) -> Any:
    function = value(cuda.cuModuleGetFunction(value(cuda.cuModuleLoadData(text)), name))
    attribute = cuda.CUfunction_attribute
    most = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    value(cuda.cuFuncSetAttribute(function, most, MOST_DYNAMIC))
    nonportable = attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
    value(cuda.cuFuncSetAttribute(function, nonportable, 1))
    return function


def configured(cuda: Any, launch: Launch, clusters: int) -> Any:
    config = cuda.CUlaunchConfig()
    x, y, z = launch.cluster_dim
    config.gridDimX, config.gridDimY, config.gridDimZ = x * clusters, y, z
    config.blockDimX, config.blockDimY, config.blockDimZ = launch.threads, 1, 1
    config.sharedMemBytes, config.hStream = launch.dynamic_shared, 0
    attribute = cuda.CUlaunchAttribute()
    attribute.id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    dims = cuda.CUlaunchAttributeValue()
    dims.clusterDim.x, dims.clusterDim.y, dims.clusterDim.z = x, y, z
    attribute.value = dims
    config.attrs, config.numAttrs = [attribute], 1
    return config


@pytest.fixture(scope="module")
def counted(cuda: Any) -> list[tuple[Launch, int, int]]:
    """Launches, and the driver's blocks per SM and clusters for the kernel itself."""
    found = []
    for values in VALUES:
        text = driver_launch.kernel_text(values, 255, 0, 1)
        function = loaded(cuda, text, b"kernel")
        name = cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NUM_REGS
        registers = value(cuda.cuFuncGetAttribute(name, function))
        for threads, kib, shape in product(THREADS, KIB, SHAPES):
            launch = Launch(
                threads=threads,
                registers=registers,
                dynamic_shared=kib << 10,
                cluster_dim=shape,
                nonportable_cluster=True,
            )
            blocks = value(
                cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(function, threads, kib << 10)
            )
            config = configured(cuda, launch, 1)
            clusters = value(cuda.cuOccupancyMaxActiveClusters(function, config))
            found.append((launch, blocks, clusters))
    return found


def test_the_command_asks_as_the_kernel_itself_would(
    counted: list[tuple[Launch, int, int]],
) -> None:
    compared, different = 0, []
    for launch, blocks, clusters in counted[::2]:
        asked = json.loads(json.dumps(live_launch.question(Identity(cuda_index=0), launch)))
        found = driver_launch.report(asked)
        assert found.problem is None
        compared += 1
        if (found.blocks_per_sm, found.clusters) != (blocks, clusters):
            different.append((launch, blocks, clusters, found))
    print(f"{compared} launches asked twice, {len(different)} differ")
    assert compared >= 500
    assert different == []


def test_no_count_is_above_the_bound(counted: list[tuple[Launch, int, int]]) -> None:
    for launch, blocks, clusters in counted:
        # The driver's count of blocks knows of no cluster; that of clusters does.
        alone = replace(launch, cluster_dim=(1, 1, 1))
        assert occupancy(DEVICE.limits, alone).blocks_per_sm == blocks
        most = clusters_upper_bound(blocks, launch.cluster_size, DEVICE)
        assert most is not None
        assert clusters <= most


def test_the_chip_that_was_measured(counted: list[tuple[Launch, int, int]]) -> None:
    """Chips of one product differ: only of one like the measured one are all counts expected."""
    found = [
        (launch, resident_clusters(blocks, launch.cluster_size, DEVICE), clusters)
        for launch, blocks, clusters in counted
    ]
    different = [each for each in found if each[1] is None or each[1].count != each[2]]
    print(f"{len(found)} launches compared with the measured chip, {len(different)} differ")
    alone = {launch.cluster_size: n for launch, blocks, n in counted if blocks == 1}
    if [alone.get(size) for size in (2, 3, 4, 5, 8, 16)] != [66, 39, 30, 22, 15, 7]:
        pytest.skip(f"another chip: {alone}")
    assert different == []


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize(("threads", "kib"), [(64, 0), (128, 27), (256, 75), (1024, 200)])
def test_as_many_blocks_are_resident_as_the_driver_says(
    cuda: Any, size: int, threads: int, kib: int
) -> None:
    function = loaded(cuda, RESIDENT, b"resident")
    launch = Launch(threads=threads, dynamic_shared=kib << 10, cluster_dim=(size, 1, 1))
    blocks = value(cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(function, threads, kib << 10))
    config = configured(cuda, launch, 2 * 132 * blocks // size)
    clusters = value(cuda.cuOccupancyMaxActiveClusters(function, config))
    assert resident(cuda, function, config) == clusters * size


def test_without_clusters_an_sm_holds_as_many_blocks_as_the_model_says(cuda: Any) -> None:
    function = loaded(cuda, RESIDENT, b"resident")
    launch = Launch(threads=64, cluster_dim=(1, 1, 1))
    config = configured(cuda, launch, 3 * 132 * 32)
    in_clusters = resident(cuda, function, config)
    config.attrs, config.numAttrs = [], 0
    assert (resident(cuda, function, config), in_clusters) == (132 * 32, 132 * 8)


def resident(cuda: Any, function: Any, config: Any) -> int:
    """Return the most blocks that were resident at once."""
    memory = value(cuda.cuMemAlloc(8))
    value(cuda.cuMemsetD8(memory, 0, 8))
    arguments = ((memory, SPIN_NS), (None, ctypes.c_uint64))
    value(cuda.cuLaunchKernelEx(config, function, arguments, 0))
    value(cuda.cuCtxSynchronize())
    counts = (ctypes.c_uint32 * 2)()
    value(cuda.cuMemcpyDtoH(ctypes.addressof(counts), memory, 8))
    value(cuda.cuMemFree(memory))
    return int(counts[1])


def test_the_command_on_a_live_gpu(process: Any) -> None:
    args = ("occupancy", "--regs", "32", "--block", "256", "--cluster", "4", "--grid", "1000")
    ran = process(*args, "--driver-check", "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    result = json.loads(ran.out)["result"]
    assert result["clusters"]["source"] == "driver"
    assert result["clusters"]["largest"] == 8
    assert result["driver_check"]["answer"]["blocks_per_sm"] == 8
    assert result["driver_check"]["answer"]["clusters"] == result["clusters"]["count"]
    kinds = {each["limit"] for each in result["driver_check"]["differences"]}
    assert kinds <= {"clusters"}  # where the chip is not the measured one


def test_impossible_launches_are_zero_by_the_driver_too(process: Any) -> None:
    for more in (("--block", "1024", "--regs", "72"), ("--dynamic-smem", "228K")):
        args = ("occupancy", "--regs", "32", "--block", "256", *more, "--driver-check")
        result = json.loads(process(*args, "--format", "json").out)["result"]
        assert result["launchable"] is False
        assert result["driver_check"]["answer"]["blocks_per_sm"] == 0
        assert result["driver_check"]["differences"] == []
