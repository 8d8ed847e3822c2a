"""What each limiting resource would have to give for one more block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.limits import SharedMode
from gpuadvise.advisor.occupancy import registers
from gpuadvise.advisor.occupancy.answer import Resource
from gpuadvise.advisor.occupancy.budget import block_bytes_budget
from gpuadvise.advisor.occupancy.launch import CachePreference, GlobalCaching
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.suggest import blocks_at, whole_warps
from gpuadvise.advisor.quantity import show_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.launch import Launch


class Knob(StrEnum):
    """What a change turns, and so the unit of its figures."""

    THREADS = "threads_per_block"
    REGISTERS = "registers_per_thread"
    SHARED_MEMORY = "shared_memory_per_block"  # bytes, static and dynamic together
    CARVEOUT = "shared_memory_per_sm"  # bytes
    BARRIERS = "barriers_per_block"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of one knob, and the launch it makes of another."""

    resource: Resource
    knob: Knob
    start: int
    to: int
    how: str
    apply: Callable[[Launch], Launch]


def changes(result: Occupancy) -> tuple[Change, ...]:
    """Return what each limiter would have to give; () for limiters without a knob of their own."""
    found: list[Change] = []
    for resource in result.limiters:
        match resource:
            case Resource.REGISTERS:
                found += _fewer_registers(result)
            case Resource.SHARED_MEMORY:
                found += _larger_carveout(result)
                found += _less_shared_memory(result)
            case Resource.BARRIERS:
                found += _fewer_barriers(result)
            case Resource.WARPS | Resource.BLOCKS:
                pass  # the block size turns these: block_size()
    return tuple(found)


def block_size(result: Occupancy) -> Iterator[Change]:
    """Yield the nearest block size, in whole warps, of the best occupancy any of them reaches.

    Of two as near the smaller: the guide prefers several small blocks to one large one.
    """
    now, warp = result.launch.threads, result.hardware.warp_size
    resident = {
        size: blocks_at(result, size) * -(-size // warp)
        for size in whole_warps(result.hardware, result.launch)
    }
    best = max(resident.values())
    if best > result.warps_per_sm:
        threads = min(
            (size for size, warps in resident.items() if warps == best),
            key=lambda size: (abs(size - now), size),
        )
        by_blocks = Resource.BLOCKS in result.limiters and Resource.WARPS not in result.limiters
        yield Change(
            resource=Resource.BLOCKS if by_blocks else Resource.WARPS,
            knob=Knob.THREADS,
            start=now,
            to=threads,
            how=f"Launch {threads} threads per block, with the same registers per thread and "
            "shared memory per block.",
            apply=lambda launch: replace(launch, threads=threads, block_dim=None),
        )


def _fewer_registers(result: Occupancy) -> Iterator[Change]:
    now = result.launch.registers or 0
    trials = ((count, _register_limit(result, count)) for count in range(now - 1, 0, -1))
    found = next((trial for trial in trials if trial[1] > result.blocks_per_sm), None)
    if found is not None:
        count, blocks = found
        yield Change(
            resource=Resource.REGISTERS,
            knob=Knob.REGISTERS,
            start=now,
            to=count,
            how=f"Compile the kernel with __launch_bounds__({result.launch.threads}, {blocks}) or "
            f"-maxrregcount={count}; check that it does not spill.",
            apply=lambda launch: replace(launch, registers=count),
        )


def _register_limit(result: Occupancy, count: int) -> int:
    """Return the blocks that the register file holds at *count* registers per thread."""
    if result.launch.caching is GlobalCaching.OFF:
        return registers.blocks(result.hardware, result.warps_per_block, count)
    trial = occupancy(result.hardware, replace(result.launch, registers=count))
    return trial.limits[Resource.REGISTERS] or 0


def _less_shared_memory(result: Occupancy) -> Iterator[Change]:
    limits, launch = result.hardware, result.launch
    block = block_bytes_budget(limits, launch, result.blocks_per_sm + 1)
    used = launch.shared_memory
    if block is None or (room := block - limits.shared_memory_reserved_per_block) >= used:
        return
    if room >= 0:
        yield Change(
            resource=Resource.SHARED_MEMORY,
            knob=Knob.SHARED_MEMORY,
            start=used,
            to=room,
            how=f"Use at most {room:,} bytes of shared memory per block, {used - room:,} fewer.",
            apply=lambda launch: with_shared_memory(launch, room),
        )


def with_shared_memory(launch: Launch, room: int) -> Launch:
    """Return *launch* cut down to *room* bytes, dynamic memory first."""
    static = min(launch.static_shared, room)
    return replace(launch, static_shared=static, dynamic_shared=room - static)


def _larger_carveout(result: Occupancy) -> Iterator[Change]:
    """Yield the smallest shared-memory capacity of the SM that holds one more block."""
    limits, now = result.hardware, result.carveout_bytes
    for size in sorted(limits.shared_memory_configs):
        if size > now and size // result.shared_memory_per_block > result.blocks_per_sm:
            how, apply = _switch(limits, size)
            yield Change(
                resource=Resource.SHARED_MEMORY,
                knob=Knob.CARVEOUT,
                start=now,
                to=size,
                how=f"{how} ({show_bytes(size)} per SM).",
                apply=apply,
            )
            return


def _switch(limits: Limits, size: int) -> tuple[str, Callable[[Launch], Launch]]:
    """Return how the SM is switched to *size* bytes, in words and on a launch."""
    if limits.shared_memory_config_mode is SharedMode.CARVEOUT:
        percent = size * 100 // limits.shared_memory_per_sm
        return (
            f"Raise the carveout: cudaFuncSetAttribute(kernel, "
            f"cudaFuncAttributePreferredSharedMemoryCarveout, {percent})",
            lambda launch: replace(launch, carveout=percent),
        )
    cache = (
        CachePreference.SHARED if size == limits.shared_memory_configs[0] else CachePreference.EQUAL
    )
    name = {"shared": "Shared", "equal": "Equal"}[cache.value]
    return (
        f"cudaFuncSetCacheConfig(kernel, cudaFuncCachePrefer{name})",
        lambda launch: replace(launch, cache=cache),
    )


def _fewer_barriers(result: Occupancy) -> Iterator[Change]:
    have = result.hardware.barriers_per_sm or 0
    barriers = have // (result.blocks_per_sm + 1)
    if barriers:
        yield Change(
            resource=Resource.BARRIERS,
            knob=Knob.BARRIERS,
            start=result.launch.barriers,
            to=barriers,
            how=f"Use at most {barriers} named barriers per block.",
            apply=lambda launch: replace(launch, barriers=barriers),
        )
