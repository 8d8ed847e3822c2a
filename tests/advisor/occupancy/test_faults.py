"""Impossible launches are answers: the limit, by how much, the runtime's error, and a fix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.catalogue.capabilities import limits_of
from gpuadvise.advisor.occupancy.fault import Cause, RuntimeFailure
from gpuadvise.advisor.occupancy.fixes import fixes
from gpuadvise.advisor.occupancy.launch import GlobalCaching, Launch
from gpuadvise.advisor.occupancy.model import occupancy

if TYPE_CHECKING:
    from gpuadvise.advisor.occupancy.answer import Occupancy

CONFIGURATION = RuntimeFailure.INVALID_CONFIGURATION
RESOURCES = RuntimeFailure.OUT_OF_RESOURCES
VALUE = RuntimeFailure.INVALID_VALUE
CLUSTER = RuntimeFailure.INVALID_CLUSTER_SIZE


def answer(cc: str, **fields: Any) -> Occupancy:
    limits, _ = limits_of(parse_capability(cc))
    return occupancy(limits, Launch(**{"threads": 128, **fields}))


IMPOSSIBLE: list[tuple[str, dict[str, Any], Cause, RuntimeFailure, str, list[str]]] = [
    (
        "9.0",
        {"threads": 2048},
        Cause.THREADS,
        VALUE,
        "2,048 threads per block: a block can have 1,024, 1,024 too many.",
        ["Launch 1024 threads per block."],
    ),
    (
        "9.0",
        {"threads": 33 * 99, "block_dim": (33, 99, 1)},
        Cause.THREADS,
        VALUE,
        "3,267 threads per block: a block can have 1,024, 2,243 too many.",
        ["Launch blocks of 33x31 threads."],
    ),
    (
        "9.0",
        {"threads": 100, "block_dim": (1, 1, 100)},
        Cause.BLOCK_DIMENSION,
        VALUE,
        "100 in the block's z dimension: it can have 64, 36 too many.",
        ["Launch blocks of 1x1x64 threads."],
    ),
    (
        "9.0",
        {"grid_dim": (1, 70_000, 1)},
        Cause.GRID_DIMENSION,
        VALUE,
        "70,000 in the grid's y dimension: it can have 65,535, 4,465 too many.",
        ["Launch a grid of 1x65535 blocks."],
    ),
    (
        "9.0",
        {"threads": 256, "registers": 256},
        Cause.REGISTERS_PER_THREAD,
        RESOURCES,
        "256 registers per thread: a thread can have 255, 1 too many.",
        ["Compile for at most 255 registers per thread (-maxrregcount=255)."],
    ),
    (
        "9.0",
        {"threads": 1024, "registers": 72},
        Cause.REGISTERS_PER_BLOCK,
        RESOURCES,
        "1,024 threads of 72 registers are charged 73,728 registers: a block can have 65,536, "
        "8,192 too many.",
        [
            "Compile for at most 64 registers per thread (-maxrregcount=64).",
            "Launch 896 threads per block.",
        ],
    ),
    (
        "6.0",
        {"threads": 310, "registers": 169},
        Cause.REGISTERS_PER_BLOCK,
        RESOURCES,
        "310 threads of 169 registers are charged 67,584 registers: a block can have 65,536, "
        "2,048 too many.",
        [
            "Compile for at most 168 registers per thread (-maxrregcount=168).",
            "Launch 256 threads per block.",
        ],
    ),
    (
        "9.0",
        {"threads": 256, "max_threads": 128},
        Cause.LAUNCH_BOUNDS,
        VALUE,
        "256 threads per block: the kernel was compiled with __launch_bounds__ for 128, "
        "128 too many.",
        ["Compile with __launch_bounds__(256).", "Launch 128 threads per block."],
    ),
    (
        "9.0",
        {"static_shared": 50_000},
        Cause.STATIC_SHARED_MEMORY,
        RuntimeFailure.BUILD,
        "50,000 bytes of static shared memory: the compiler refuses more than 49,152, "
        "848 too many; only dynamic shared memory can be larger.",
        [
            "Declare at most 49,152 bytes of static shared memory and ask for 848 bytes of dynamic "
            "shared memory.",
            "Declare at most 49,152 bytes of static shared memory.",
        ],
    ),
    (
        "6.1",
        {"static_shared": 50_000},
        Cause.STATIC_SHARED_MEMORY,
        RuntimeFailure.BUILD,
        "50,000 bytes of static shared memory: the compiler refuses more than 49,152, "
        "848 too many; only dynamic shared memory can be larger.",
        ["Declare at most 49,152 bytes of static shared memory."],
    ),
    (
        "9.0",
        {"dynamic_shared": 228 * 1024},
        Cause.DYNAMIC_SHARED_MEMORY,
        VALUE,
        "233,472 bytes of shared memory per block: a block can have 232,448, 1,024 too many.",
        ["Make the tile smaller, so that it needs at most 232,448 bytes of dynamic shared memory."],
    ),
    (
        "9.0",
        {"dynamic_shared": 50_000, "optin": False},
        Cause.DYNAMIC_SHARED_MEMORY,
        VALUE,
        "50,000 bytes of shared memory per block: a block can have 49,152 without raising "
        "MaxDynamicSharedMemorySize, 848 too many.",
        [
            "Raise the kernel's MaxDynamicSharedMemorySize before the launch.",
            "Make the tile smaller, so that it needs at most 49,152 bytes of dynamic shared memory.",
        ],
    ),
    (
        "9.0",
        {"dynamic_shared": 70_000, "max_dynamic_shared": 65_536},
        Cause.MAX_DYNAMIC_SHARED_MEMORY,
        VALUE,
        "70,000 bytes of dynamic shared memory: the kernel's attribute "
        "MaxDynamicSharedMemorySize is 65,536, 4,464 too many.",
        [
            "Set the kernel's MaxDynamicSharedMemorySize to 70000.",
            "Make the tile smaller, so that it needs at most 65,536 bytes of dynamic shared memory.",
        ],
    ),
    (
        "9.0",
        {"barriers": 17},
        Cause.BARRIERS,
        RuntimeFailure.BUILD,
        "17 named barriers: a block can have 16, 1 too many.",
        ["Use at most 16 named barriers."],
    ),
    (
        "8.6",
        {"cluster_dim": (2, 1, 1)},
        Cause.CLUSTER,
        CLUSTER,
        "2 blocks per cluster: this compute capability has no clusters.",
        ["Launch without clusters."],
    ),
    (
        "9.0",
        {"cluster_dim": (16, 1, 1)},
        Cause.CLUSTER,
        CLUSTER,
        "16 blocks per cluster: a portable cluster can have 8, 8 too many.",
        ["Set the kernel's NonPortableClusterSizeAllowed.", "Use clusters of 8 blocks."],
    ),
    (
        "9.0",
        {"cluster_dim": (32, 1, 1), "nonportable_cluster": True},
        Cause.CLUSTER,
        CLUSTER,
        "32 blocks per cluster: a non-portable cluster can have 16, 16 too many.",
        ["Use clusters of 16 blocks."],
    ),
    (
        "9.0",
        {"cluster_dim": (4, 1, 1), "grid_dim": (10, 3, 1)},
        Cause.CLUSTER_GRID,
        CLUSTER,
        "10 blocks in the grid's x dimension are not a multiple of the cluster's 4.",
        ["Launch a grid of 12x3 blocks."],
    ),
    (
        "9.0",
        {"cluster_dim": (1, 2, 1), "grid_dim": (1, 65_535, 1)},
        Cause.CLUSTER_GRID,
        CLUSTER,
        "65,535 blocks in the grid's y dimension are not a multiple of the cluster's 2.",
        ["Launch a grid of 1x65534 blocks."],
    ),
    (
        "6.1",
        {"threads": 1024, "registers": 40, "caching": GlobalCaching.STRICT},
        Cause.GLOBAL_CACHING,
        RESOURCES,
        "1,024 threads of 40 registers do not fit one half of the multiprocessor, which "
        "partitioned global caching asks for.",
        ["Let the caching of global loads be given up where a block is too large."],
    ),
]


@pytest.mark.parametrize(("cc", "fields", "cause", "failure", "reason", "hows"), IMPOSSIBLE)
def test_an_impossible_launch_is_an_answer(
    cc: str,
    fields: dict[str, Any],
    cause: Cause,
    failure: RuntimeFailure,
    reason: str,
    hows: list[str],
) -> None:
    result = answer(cc, **fields)
    assert (result.launchable, result.blocks_per_sm, result.occupancy) == (False, 0, 0)
    assert result.fault is not None
    assert (result.fault.cause, result.fault.failure) == (cause, failure)
    assert result.reason == reason
    dimensions = cause in (Cause.THREADS, Cause.BLOCK_DIMENSION, Cause.GRID_DIMENSION)
    assert result.fault.formerly == (CONFIGURATION if dimensions else None)
    assert result.fault.requested > result.fault.allowed
    found = fixes(result.hardware, result.launch, result.fault)
    assert [fix.how for fix in found] == hows
    assert all(occupancy(result.hardware, fix.launch).launchable for fix in found)


def test_faults_are_mended_one_after_the_other() -> None:
    result = answer("9.0", threads=2048, registers=256, barriers=20)
    assert result.fault is not None
    assert [fix.how for fix in fixes(result.hardware, result.launch, result.fault)] == [
        "Launch 256 threads per block, compile for at most 255 registers per thread "
        "(-maxrregcount=255) and use at most 16 named barriers.",
        "Launch 1024 threads per block, compile for at most 64 registers per thread "
        "(-maxrregcount=64) and use at most 16 named barriers.",
    ]


def test_a_kernel_with_launch_bounds_is_given_others_and_no_flag() -> None:
    # 100 registers do not fit 1,024 threads: bounds for so many keep the compiler to 64.
    result = answer("9.0", threads=1024, registers=100, max_threads=512)
    assert result.fault is not None
    assert [fix.how for fix in fixes(result.hardware, result.launch, result.fault)] == [
        "Compile with __launch_bounds__(1024), which keeps the kernel to 64 registers per thread.",
        "Launch 512 threads per block.",
    ]


def test_static_memory_that_moves_takes_the_attribute_along() -> None:
    result = answer("9.0", static_shared=60_000, dynamic_shared=1000, max_dynamic_shared=1000)
    assert result.fault is not None
    moved = fixes(result.hardware, result.launch, result.fault)[0].launch
    assert moved.shared_memory == 61_000
    assert moved.dynamic_shared == moved.max_dynamic_shared == 11_848


def test_an_attribute_that_no_device_grants_is_not_proposed() -> None:
    result = answer("9.0", dynamic_shared=300_000, max_dynamic_shared=1000)
    assert result.fault is not None
    hows = [fix.how for fix in fixes(result.hardware, result.launch, result.fault)]
    assert hows == [
        "Make the tile smaller, so that it needs at most 1,000 bytes of dynamic shared memory."
    ]


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (VALUE, 1),
        (CONFIGURATION, 9),
        (RESOURCES, 701),
        (CLUSTER, 912),
        (RuntimeFailure.BUILD, None),
    ],
)
def test_runtime_errors_have_the_runtimes_numbers(failure: RuntimeFailure, code: int) -> None:
    assert failure.code == code
