"""Blocks of fewer than 64 threads."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.limiter import block_starts
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import relieved, sm_units
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.occupancy.model import most_blocks
from gpuadvise.advisor.prose import capitalized, plural
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile
    from gpuadvise.advisor.occupancy.launch import Launch

FEWEST = number(64, "fewest threads", "threads", "guide 11.3")
BETTER = number(128, "better block size", "threads", "guide 11.3")
MOST = number(256, "better block size, at most", "threads", "guide 11.3")
ELEMENTS = number(
    8,
    "elements of a thread where starts of blocks are the limit, at most",
    "elements",
    "our judgement: two words of 16 bytes",
    LaunchSet.TENTH,
)
# Blocks start one after another, some 1.6 per ns on a H200 whatever their size: a million blocks
# of one element per thread took 632 us with 32 threads and 160 us with 128.
MANY_BLOCKS = number(
    100_000,
    "many blocks",
    "blocks in the grid",
    "measured on an H200: a million blocks start in 632 us",
    LaunchSet.FIFTH,
)


def check(
    launch: Launch, device: Device | None = None, profile: KernelProfile | None = None
) -> Verdict:
    """Advise when a block has fewer than 64 threads."""
    if launch.threads >= FEWEST:
        few_warps = launch.threads <= BETTER - WARP_SIZE
        starts = block_starts(profile) if profile and few_warps else None
        return _starting(launch, profile, starts) if profile and starts else PASSED
    return Advice(
        message=f"A block has {plural(launch.threads, 'thread')}.{_ceiling(launch, device, profile)}",
        action=(
            f"Give each block at least {FEWEST} threads, better {BETTER} to {MOST}: let it cover more "
            "elements."
        ),
        evidence=(given("threads per block", launch.threads, "threads"),),
        gain=_gain(launch, device, profile),
        relief=left_by_larger(launch, profile) if profile else None,
        priority=Priority.LOW
        if device and _fills(launch, device, profile) and not _many(launch)
        else None,
    )


def _starting(launch: Launch, profile: KernelProfile, starts: float) -> Advice:
    """Return advice on blocks of two or three warps that end as fast as others start."""
    blocks = prod(profile.grid or ())
    return Advice(
        message=(
            f"{blocks:,} blocks of {launch.threads} threads start at {show_number(starts / 1e9)} per ns, which is as fast "
            f"as a GPU of this kind starts them, and SMs hold {show_share(profile.achieved_occupancy or 0.0)} of their warps."
        ),
        action=(
            f"Give each block {BETTER} to {MOST} threads and each thread 2 to 8 elements, so that there is more to do "
            "between two starts: a quarter of the blocks take a quarter of the starts."
        ),
        evidence=(
            given("threads per block", launch.threads, "threads"),
            derived("blocks that start per second", starts, "blocks/s"),
        ),
        gain=fewer_starts(launch.threads),
        relief=left_by_larger(launch, profile),
    )


def fewer_starts(threads: int) -> Gain:
    """Return the bound where starts of blocks of *threads* are the limit: fewer blocks, whose threads do more each."""
    return Gain(
        kind=GainKind.BLOCK_STARTS,
        upper_bound=MOST * ELEMENTS / threads,
        how=f"blocks now / blocks of {MOST} threads with {ELEMENTS} elements each = {MOST * ELEMENTS} / {threads}",
    )


def _fills(launch: Launch, device: Device, profile: KernelProfile | None) -> bool:
    """Return whether an SM can hold as many warps of such blocks as of larger ones."""
    return _warps(launch, device, profile) >= device.limits.max_warps_per_sm


def _many(launch: Launch) -> bool:
    return launch.grid_dim is not None and prod(launch.grid_dim) >= MANY_BLOCKS


def _warps(launch: Launch, device: Device, profile: KernelProfile | None) -> int:
    """Return the warps that an SM holds: by the number of blocks, or by what they take of it, as a profile shows."""
    warps = most_blocks(device.limits, launch) * -(-launch.threads // device.limits.warp_size)
    held = profile.theoretical_occupancy if profile else None
    return min(warps, round(held * device.limits.max_warps_per_sm)) if held else warps


def _ceiling(launch: Launch, device: Device | None, profile: KernelProfile | None) -> str:
    if device is None:
        return ""
    warps, most = _warps(launch, device, profile), device.limits.max_warps_per_sm
    by_number = _warps(launch, device, None)
    if warps >= most:
        return (
            f" {capitalized(device.name)} could still fill all {most} warps of an SM with them, so that such "
            "blocks cost no more than their starts."
        )
    if warps < by_number:
        return (
            f" Their registers and shared memory let an SM of {device.name} hold {warps} of {most} warps "
            f"({show_share(warps / most)}) of them; by their number it would be {by_number}."
        )
    return (
        f" An SM of {device.name} holds at most {most_blocks(device.limits, launch)} blocks, so "
        f"{warps} of {most} warps ({show_share(warps / most)}) is all they can occupy."
    )


def left_by_larger(launch: Launch, profile: KernelProfile) -> dict[str, float]:
    """Return how busy units stay when neighbouring threads share a block's L1 and full warps."""
    left = relieved(profile, max(1.0, WARP_SIZE / launch.threads), *sm_units(profile))
    return left | relieved(profile, MOST / launch.threads, Unit.L2, Unit.L1_SHARED, Unit.MEMORY)


def _gain(launch: Launch, device: Device | None, profile: KernelProfile | None) -> Gain | None:
    """Return what more threads per block win: resident warps, or blocks that need no start."""
    if device is None:
        return None
    warps, most = _warps(launch, device, profile), device.limits.max_warps_per_sm
    if profile and block_starts(profile):
        return fewer_starts(launch.threads)
    if _many(launch):
        return Gain(
            kind=GainKind.BLOCK_STARTS,
            upper_bound=MOST / launch.threads,
            how=f"blocks now / blocks of {MOST} threads = {MOST} / {launch.threads}",
        )
    if warps >= most:
        return None
    if launch.threads < WARP_SIZE:  # the lanes that stay empty count as well
        threads, room = most_blocks(device.limits, launch) * launch.threads, most * WARP_SIZE
        return Gain(
            kind=GainKind.RESIDENT_THREADS,
            upper_bound=room / threads,
            how=f"all / reachable = {room:,} / {threads:,}",
        )
    return Gain(
        kind=GainKind.RESIDENT_WARPS,
        upper_bound=most / warps,
        how=f"all / reachable = {most} / {warps}",
    )


RULE = Rule(
    id="tiny-blocks",
    title="Use at least 64 threads per block",
    topic=Topic.EXECUTION,
    priority=Priority.MEDIUM,
    kinds=(Kind.LAUNCH,),
    family=Family.RESIDENCY,
    why="Every block takes a slot of its SM and a start of its own, however few threads it has.",
    when=(
        "A block has fewer than 64 threads; low where an SM can still hold all its warps and the grid has few "
        "blocks; or one of 64 to 96 threads, in a profile that shows blocks start as fast as they can."
    ),
    citations=guide("11.3", "10.5"),
    author_only=True,
    shape_decides=True,
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "block": 32},
        quiet={"gpu": "h200", "block": 128},
        edges=({"block": 63}, {"block": 64}),
    ),
)
