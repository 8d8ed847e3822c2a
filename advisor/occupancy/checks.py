"""The launch checks, in the order in which a build and a launch meet them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy import allocation
from gpuadvise.advisor.occupancy.fault import Cause, LaunchFault, RuntimeFailure
from gpuadvise.advisor.occupancy.launch import GlobalCaching

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.launch import Launch


@lru_cache(maxsize=32)  # several rules, and the repairs, ask about one launch that fails
def first_fault(limits: Limits, launch: Launch) -> LaunchFault | None:
    """Return the first limit that *launch* breaks, or None when a block can start."""
    for check in (_compiled, _configured, _cluster, _shared_memory, _registers):
        for fault in check(limits, launch):
            return fault
    return None


def _compiled(limits: Limits, launch: Launch) -> Iterator[LaunchFault]:
    most, count = limits.max_registers_per_thread, launch.registers
    if count is not None and count > most:
        yield LaunchFault(
            cause=Cause.REGISTERS_PER_THREAD,
            subject=f"{count:,} registers per thread",
            limit=f"a thread can have {most}, {_over(count, most)} too many",
            failure=RuntimeFailure.OUT_OF_RESOURCES,
            requested=count,
            allowed=most,
        )
    used, room = launch.static_shared, limits.shared_memory_per_block
    if used > room:
        yield LaunchFault(
            cause=Cause.STATIC_SHARED_MEMORY,
            subject=f"{used:,} bytes of static shared memory",
            limit=f"the compiler refuses more than {room:,}, {_over(used, room)} too many; only "
            "dynamic shared memory can be larger",
            failure=RuntimeFailure.BUILD,
            requested=used,
            allowed=room,
        )
    if launch.barriers > (most := limits.named_barriers_per_block):
        yield LaunchFault(
            cause=Cause.BARRIERS,
            subject=f"{launch.barriers:,} named barriers",
            limit=f"a block can have {most}, {_over(launch.barriers, most)} too many",
            failure=RuntimeFailure.BUILD,
            requested=launch.barriers,
            allowed=most,
        )


def _configured(limits: Limits, launch: Launch) -> Iterator[LaunchFault]:
    threads, most = launch.threads, limits.max_threads_per_block
    if threads > most:
        yield LaunchFault(
            cause=Cause.THREADS,
            subject=f"{threads:,} threads per block",
            limit=f"a block can have {most:,}, {_over(threads, most)} too many",
            failure=RuntimeFailure.INVALID_VALUE,
            formerly=RuntimeFailure.INVALID_CONFIGURATION,
            requested=threads,
            allowed=most,
        )
    yield from _dimensions(Cause.BLOCK_DIMENSION, "block", launch.block_dim, limits.max_block_dim)
    yield from _dimensions(Cause.GRID_DIMENSION, "grid", launch.grid_dim, limits.max_grid_dim)
    if launch.max_threads is not None and threads > launch.max_threads:
        yield LaunchFault(
            cause=Cause.LAUNCH_BOUNDS,
            subject=f"{threads:,} threads per block",
            limit=f"the kernel was compiled with __launch_bounds__ for {launch.max_threads:,}, "
            f"{_over(threads, launch.max_threads)} too many",
            failure=RuntimeFailure.INVALID_VALUE,
            requested=threads,
            allowed=launch.max_threads,
        )


def _dimensions(
    cause: Cause, noun: str, dims: tuple[int, int, int] | None, allowed: tuple[int, int, int]
) -> Iterator[LaunchFault]:
    for axis, size, most in zip("xyz", dims or (), allowed, strict=False):
        if size > most:
            yield LaunchFault(
                cause=cause,
                subject=f"{size:,} in the {noun}'s {axis} dimension",
                limit=f"it can have {most:,}, {_over(size, most)} too many",
                failure=RuntimeFailure.INVALID_VALUE,
                formerly=RuntimeFailure.INVALID_CONFIGURATION,
                requested=size,
                allowed=most,
            )


def _cluster(limits: Limits, launch: Launch) -> Iterator[LaunchFault]:
    size = launch.cluster_size
    if size == 1:
        return
    portable = limits.max_cluster_size_portable or 1
    most = portable
    if launch.nonportable_cluster:
        most = limits.max_cluster_size_nonportable or portable
    if size > most:
        yield LaunchFault(
            cause=Cause.CLUSTER,
            subject=f"{size:,} blocks per cluster",
            limit=_cluster_rule(size, most, portable),
            failure=RuntimeFailure.INVALID_CLUSTER_SIZE,
            requested=size,
            allowed=most,
        )
    for axis, grid, step in zip("xyz", launch.grid_dim or (), launch.cluster_dim, strict=False):
        if grid % step:
            yield LaunchFault(
                cause=Cause.CLUSTER_GRID,
                subject=f"{grid:,} blocks in the grid's {axis} dimension are not a multiple of the "
                f"cluster's {step}",
                failure=RuntimeFailure.INVALID_CLUSTER_SIZE,
                requested=grid,
                allowed=grid - grid % step,
            )


def _cluster_rule(size: int, most: int, portable: int) -> str:
    if most == 1:
        return "this compute capability has no clusters"
    kind = "portable" if most == portable else "non-portable"
    return f"a {kind} cluster can have {most}, {_over(size, most)} too many"


def _shared_memory(limits: Limits, launch: Launch) -> Iterator[LaunchFault]:
    dynamic, most = launch.dynamic_shared, launch.max_dynamic_shared
    if most is not None and dynamic > most:
        yield LaunchFault(
            cause=Cause.MAX_DYNAMIC_SHARED_MEMORY,
            subject=f"{dynamic:,} bytes of dynamic shared memory",
            limit=f"the kernel's attribute MaxDynamicSharedMemorySize is {most:,}, "
            f"{_over(dynamic, most)} too many",
            failure=RuntimeFailure.INVALID_VALUE,
            requested=dynamic,
            allowed=most,
        )
    elif not allocation.fits(limits, launch, allocation.allocated(limits, launch)):
        room = allocation.allowance(limits, launch)
        used = launch.shared_memory
        optin = ""
        if not launch.optin and room < limits.shared_memory_per_block_optin:
            optin = " without raising MaxDynamicSharedMemorySize"
        yield LaunchFault(
            cause=Cause.DYNAMIC_SHARED_MEMORY,
            subject=f"{used:,} bytes of shared memory per block",
            limit=f"a block can have {room:,}{optin}, {_over(used, room)} too many",
            failure=RuntimeFailure.INVALID_VALUE,
            requested=used,
            allowed=room,
        )


def _registers(limits: Limits, launch: Launch) -> Iterator[LaunchFault]:
    if launch.registers is None:
        return
    warps = -(-launch.threads // limits.warp_size)
    charged = allocation.checked_per_block(limits, warps, launch.registers)
    room = limits.registers_per_block
    threads = f"{launch.threads:,} threads of {launch.registers} registers"
    if charged > room or not allocation.blocks(limits, warps, launch.registers):
        yield LaunchFault(
            cause=Cause.REGISTERS_PER_BLOCK,
            subject=f"{threads} are charged {charged:,} registers",
            limit=f"a block can have {room:,}, {_over(charged, room)} too many",
            failure=RuntimeFailure.OUT_OF_RESOURCES,
            requested=charged,
            allowed=room,
        )
    elif (
        launch.caching is GlobalCaching.STRICT
        and limits.partitioned_global_caching
        and not allocation.blocks_in_halves(limits, warps, launch.registers)
    ):
        yield LaunchFault(
            cause=Cause.GLOBAL_CACHING,
            subject=f"{threads} do not fit one half of the multiprocessor, which partitioned "
            "global caching asks for",
            failure=RuntimeFailure.OUT_OF_RESOURCES,
            requested=charged,
            allowed=room // 2,
        )


def _over(requested: int, allowed: int) -> str:
    return f"{requested - allowed:,}"
