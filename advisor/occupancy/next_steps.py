"""The smallest changes of a launch that raise its occupancy: what each limiting resource must give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from gpuadvise.advisor.limits import RegisterAllocation, SharedMode
from gpuadvise.advisor.occupancy import allocation
from gpuadvise.advisor.occupancy.answer import Resource
from gpuadvise.advisor.occupancy.block_sizes import GUIDE_RANGE, blocks_at_sizes, whole_warps
from gpuadvise.advisor.occupancy.budget import block_bytes_budget
from gpuadvise.advisor.occupancy.launch import CachePreference, GlobalCaching
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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


class StepConfidence(StrEnum):
    """How sure it is that a step makes a kernel faster and not only fuller."""

    UNLIKELY = "unlikely"  # compile and look
    LIKELY = "likely"
    COMPILED = "compiled"  # the compiler was asked, and nothing spills


# From half of the warps on, fewer registers are no advice: guide 11.1.
ENOUGH = 0.5
LEAST_KEPT = number(
    0.75,
    "registers kept",
    "share; a cap below it comes last",
    "measured on an H200: cutting more made every kernel at least 2.5 times slower",
    LaunchSet.RECORDED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceChange:
    """A change of one knob, and the launch it makes of another."""

    resource: Resource
    knob: Knob
    start: int
    to: int
    how: str
    apply: Callable[[Launch], Launch]


def changes(result: Occupancy) -> tuple[ResourceChange, ...]:
    """Return what each limiter would have to give; () for limiters without a knob of their own.

    Registers come last: they are the least likely to pay.
    """
    needed: list[ResourceChange] = []
    for resource in sorted(result.limiters, key=lambda limiter: limiter is Resource.REGISTERS):
        match resource:
            case Resource.REGISTERS:
                needed += _fewer_registers(result)
            case Resource.SHARED_MEMORY:
                needed += _larger_carveout(result)
                needed += _less_shared_memory(result)
            case Resource.BARRIERS:
                needed += _fewer_barriers(result)
            case Resource.WARPS | Resource.BLOCKS:
                pass  # the block size turns these: block_size()
    return tuple(needed)


def block_size(result: Occupancy) -> Iterator[ResourceChange]:
    """Yield the block size, in whole warps, of the best occupancy any of them reaches.

    The nearest in the guide's range, else the nearest; of two as near the smaller: the guide
    prefers several small blocks to one large one.
    """
    now = result.launch.threads
    threads, best = _fullest(result)
    if best > result.warps_per_sm:
        by_blocks = Resource.BLOCKS in result.limiters and Resource.WARPS not in result.limiters
        yield ResourceChange(
            resource=Resource.BLOCKS if by_blocks else Resource.WARPS,
            knob=Knob.THREADS,
            start=now,
            to=threads,
            how=f"Launch {threads} threads per block, with the same registers per thread and "
            f"shared memory per {'thread' if result.launch.dynamic_per_thread else 'block'}.",
            apply=lambda launch: launch.with_threads(threads),
        )


def _fullest(result: Occupancy) -> tuple[int, int]:
    """Return the block size with most resident warps, and these; of several the guide's, or the nearest."""
    now, warp = result.launch.threads, result.hardware.warp_size
    threads, best, most = now, 0, _most_warps(result)
    sizes = _usual_first(whole_warps(result.hardware, result.launch), now)
    for size, blocks in zip(sizes, blocks_at_sizes(result, sizes), strict=True):
        resident = blocks * -(-size // warp)
        if resident > best:
            threads, best = size, resident
            if best >= most:
                break
    return threads, best


@lru_cache(maxsize=64)
def _usual_first(sizes: tuple[int, ...], now: int) -> list[int]:
    """Return *sizes* with the guide's first, by their distance from *now*, of two the smaller first."""
    return sorted(sizes, key=lambda size: (size not in GUIDE_RANGE, abs(size - now), size))


def _most_warps(result: Occupancy) -> int:
    """Return what no block size exceeds: the warps an SM has slots and registers for."""
    most, registers = result.hardware.max_warps_per_sm, result.launch.registers
    if registers is None or result.hardware.register_allocation is RegisterAllocation.BLOCK:
        return most
    return min(most, allocation.resident_warps(result.hardware, registers))


def _fewer_registers(result: Occupancy) -> Iterator[ResourceChange]:
    now = result.launch.registers or 0
    if result.occupancy >= ENOUGH:
        return
    least = math.ceil(now * LEAST_KEPT)
    trials = ((count, _register_limit(result, count)) for count in _charged_less(result, least))
    winning = next((trial for trial in trials if trial[1] > result.blocks_per_sm), None)
    if winning is not None:
        count, blocks = winning
        yield ResourceChange(
            resource=Resource.REGISTERS,
            knob=Knob.REGISTERS,
            start=now,
            to=count,
            how=f"Compile the kernel with {capped(result.launch, blocks, count)}; unlikely to pay: "
            "compile and look whether it spills.",
            apply=lambda launch: launch.but(registers=count),
        )


def _charged_less(result: Occupancy, least: int) -> Iterator[int]:
    """Yield the register counts below the present one, down to *least*, that are charged less.

    Registers are charged in steps, of which the largest count stands for the others.
    """
    limits, most = result.hardware, (result.launch.registers or 0) - 1
    regular = limits.register_allocation is RegisterAllocation.WARP
    special = limits.register_allocation_unit_special is not None
    step = limits.register_allocation_unit // limits.warp_size if regular and not special else 1
    if most >= least:
        yield most
    yield from range((most - 1) // step * step, least - 1, -step)


def capped(launch: Launch, blocks: int, count: int) -> str:
    """Return how the compiler is told to leave room for *blocks*: *count* registers.

    -maxrregcount does nothing to a kernel with launch bounds (measured: 15 of 15 on an H200).
    """
    bounds = f"__launch_bounds__({launch.threads}, {blocks})"
    return bounds if launch.max_threads else f"{bounds} or -maxrregcount={count}"


def _register_limit(result: Occupancy, count: int) -> int:
    """Return the blocks that the register file holds at *count* registers per thread."""
    if result.launch.caching is GlobalCaching.OFF:
        return allocation.blocks(result.hardware, result.warps_per_block, count)
    trial = occupancy(result.hardware, result.launch.but(registers=count))
    return trial.limits[Resource.REGISTERS] or 0


def _less_shared_memory(result: Occupancy) -> Iterator[ResourceChange]:
    limits, launch = result.hardware, result.launch
    block = block_bytes_budget(limits, launch, result.blocks_per_sm + 1)
    used = launch.shared_memory
    if block is None or (room := block - limits.shared_memory_reserved_per_block) >= used:
        return
    if room >= 0:
        yield ResourceChange(
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
    return launch.but(static_shared=static, dynamic_shared=room - static)


def _larger_carveout(result: Occupancy) -> Iterator[ResourceChange]:
    """Yield the smallest shared-memory capacity of the SM that holds one more block."""
    limits, now = result.hardware, result.carveout_bytes
    for size in sorted(limits.shared_memory_configs):
        if size > now and size // result.shared_memory_per_block > result.blocks_per_sm:
            how, apply = _switch(limits, size)
            yield ResourceChange(
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
            lambda launch: launch.but(carveout=percent),
        )
    cache = (
        CachePreference.SHARED if size == limits.shared_memory_configs[0] else CachePreference.EQUAL
    )
    name = {"shared": "Shared", "equal": "Equal"}[cache.value]
    return (
        f"cudaFuncSetCacheConfig(kernel, cudaFuncCachePrefer{name})",
        lambda launch: launch.but(cache=cache),
    )


def _fewer_barriers(result: Occupancy) -> Iterator[ResourceChange]:
    have = result.hardware.barriers_per_sm or 0
    barriers = have // (result.blocks_per_sm + 1)
    if barriers:
        yield ResourceChange(
            resource=Resource.BARRIERS,
            knob=Knob.BARRIERS,
            start=result.launch.barriers,
            to=barriers,
            how=f"Use at most {barriers} named barriers per block.",
            apply=lambda launch: launch.but(barriers=barriers),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """One change that raises occupancy, from *start* to *to*, and *how* to make it.

    ``after`` is the model's answer to it. ``together_with`` names the resources that must take
    their step too, because they tie; ``after`` then holds with all of them taken.
    """

    resource: Resource
    knob: Knob
    start: int
    to: int
    how: str
    after: Occupancy
    together_with: tuple[Resource, ...] = ()

    @property
    def confidence(self) -> StepConfidence:
        """How sure it is that the step makes the kernel faster."""
        if Resource.REGISTERS in (self.resource, *self.together_with):
            return StepConfidence.UNLIKELY
        return StepConfidence.LIKELY


@lru_cache(maxsize=8)  # several rules ask for those of one kernel
def next_steps(result: Occupancy) -> tuple[NextStep, ...]:
    """Return the smallest change of each kind that raises occupancy; () when there is none.

    Each step wins alone. Only where resources tie, so that none does, are the steps that win
    together returned instead.
    """
    if not result.launchable or result.warps_per_sm == result.hardware.max_warps_per_sm:
        return ()

    by_limiter = changes(result)
    every = (*block_size(result), *by_limiter)
    steps = [step for change in every if (step := _step(result, [change]))]
    return tuple(steps or _joint(result, by_limiter))


def likely_steps(steps: Sequence[NextStep]) -> list[NextStep]:
    """Return those of *steps* that are not unlikely to pay."""
    return [step for step in steps if step.confidence is not StepConfidence.UNLIKELY]


def best_step(steps: Sequence[NextStep]) -> NextStep | None:
    """Return the step that leads to the most resident warps."""
    return max(steps, key=lambda step: step.after.warps_per_sm, default=None)


def _joint(result: Occupancy, changes: Sequence[ResourceChange]) -> list[NextStep]:
    """Return one step per tying resource, if taking all of them wins a block."""
    per_resource = list({change.resource: change for change in reversed(changes)}.values())[::-1]
    rotated = [
        [first, *(change for change in per_resource if change is not first)]
        for first in per_resource
    ]
    return [step for changes in rotated if (step := _step(result, changes))]


def _step(result: Occupancy, changes: Sequence[ResourceChange]) -> NextStep | None:
    launch = result.launch
    for change in changes:
        launch = change.apply(launch)
    after = occupancy(result.hardware, launch)
    if after.warps_per_sm <= result.warps_per_sm:
        return None
    first, *tying = changes
    return NextStep(
        resource=first.resource,
        knob=first.knob,
        start=first.start,
        to=first.to,
        how=first.how,
        after=after,
        together_with=tuple(change.resource for change in tying),
    )
