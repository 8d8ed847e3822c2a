"""A grid that leaves multiprocessors without work."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.busy import busy
from gpuadvise.advisor.occupancy.grid import waves
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.rules.evidence import derived, given, told
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Examples,
    Gain,
    Kind,
    Priority,
    Rule,
    Threshold,
    Topic,
    Verdict,
)
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.profile import Profile
    from gpuadvise.advisor.facts.timing import Traffic, Work
    from gpuadvise.advisor.occupancy.answer import Occupancy
    from gpuadvise.advisor.occupancy.grid import Waves

IDLE = 0.2


def check(
    device: Device,
    sm_count: int,
    grid: tuple[int, int, int],
    occupancy: Occupancy,
    concurrent: bool | None = None,
    elements: int | None = None,
    profile: Profile | None = None,
    traffic: Traffic | None = None,
    work: Work | None = None,
) -> Verdict:
    """Advise when a fifth or more of the block slots of all waves stay empty."""
    blocks = math.prod(grid)
    filled = waves(occupancy, sm_count, blocks)
    if concurrent or filled is None or 1 - filled.tail_efficiency < IDLE:
        return PASSED
    if busy(profile, traffic, device, work):
        return PASSED
    return Advice(
        message=_seen(device, sm_count, blocks, filled.wave_size, filled.waves),
        action=(
            _batch(elements, filled.wave_size * occupancy.launch.threads)
            or _more(sm_count, filled.wave_size, filled.waves)
        ),
        evidence=(
            given("blocks in the grid", blocks, "blocks"),
            told(device, "sm_count", "SMs", sm_count, "SMs"),
            derived("blocks per wave", filled.wave_size, "blocks"),
            derived("waves", filled.waves, "waves"),
            derived("tail efficiency", filled.tail_efficiency, "share"),
        ),
        gain=Gain(
            kind="kernel throughput",
            upper_bound=1 / filled.tail_efficiency,
            how=f"block slots / blocks = {_slots(filled):,} / {blocks:,}",
        ),
    )


def _seen(device: Device, sm_count: int, blocks: int, wave: int, count: float) -> str:
    if blocks < sm_count:
        return (
            f"{plural(blocks, 'block')} for the {sm_count} SMs of {device.name}: "
            f"{plural(sm_count - blocks, 'SM')} ({show_share(1 - blocks / sm_count)}) get no work."
        )
    if count < 1:
        return (
            f"{blocks:,} blocks fill {show_share(count)} of the {wave:,} that {device.name} "
            "can hold at once."
        )
    last = count - math.floor(count)
    return (
        f"{blocks:,} blocks run in {count:.2f} waves of {wave:,}: in the last one "
        f"{show_share(1 - last)} of {device.name} idles."
    )


def _slots(filled: Waves) -> int:
    return math.ceil(filled.waves) * filled.wave_size


def _batch(elements: int | None, threads: int) -> str | None:
    """Return what to do when the problem itself is too small for the device."""
    if elements is None or elements >= threads:
        return None
    return (
        f"{plural(elements, 'element')} for the {threads:,} threads that fit at once are too few: "
        "batch several such problems into one launch, or run other kernels beside this one in "
        "their own streams (and say so with --concurrent)."
    )


def _more(sm_count: int, wave: int, count: float) -> str:
    if count < 1:
        return (
            f"Launch at least {wave:,} blocks ({sm_count} SMs x {plural(wave // sm_count, 'block')}): give "
            "each thread less work, split a reduction, or run other kernels beside this one in "
            "their own streams. Thousands of blocks also fill future GPUs."
        )
    down, up = math.floor(count) * wave, math.ceil(count) * wave
    return (
        f"Choose a block size or work per thread that gives {down:,} or {up:,} blocks, or launch "
        f"{wave:,} blocks that each loop over the data (grid-stride loop)."
    )


RULE = Rule(
    id="underfilled-device",
    title="Launch enough blocks to fill the GPU",
    topic=Topic.EXECUTION,
    priority=Priority.HIGH,
    kinds=(Kind.LAUNCH, Kind.DEVICE),
    why="An SM without a block does nothing until the grid ends.",
    when=(
        "At least 20 % of the block slots in all waves of the grid are empty, nothing runs beside "
        "the kernel, and no unit is known to be busy."
    ),
    thresholds=(
        Threshold(
            name="idle share",
            value=IDLE,
            unit="share",
            source="our judgement: below it, other effects hide the tail",
        ),
    ),
    citations=guide("11.3", "10.5"),
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "regs": 72, "block": 128, "grid": 96},
        quiet={"gpu": "h200", "regs": 32, "block": 256, "grid": 100_000},
        edges=(
            {"gpu": "h200", "regs": 32, "block": 256, "grid": 844},
            {"gpu": "h200", "regs": 32, "block": 256, "grid": 845},
        ),
    ),
)
