"""Global bytes that one block reads several times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.model import occupancy as model
from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.rules.evidence import given
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
from gpuadvise.rules.occupancy_words import occupancy_change
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.application import Reuse
    from gpuadvise.advisor.occupancy.answer import Occupancy

ONCE = 1.0


def check(reuse: Reuse, occupancy: Occupancy | None = None) -> Verdict:
    """Advise to stage data in shared memory that a block reads more than once."""
    if reuse.staged or reuse.factor <= ONCE:
        return PASSED
    total = reuse.total_bytes
    traffic = (
        f": {show_bytes(total)} now, {show_bytes(int(total / reuse.factor))} if each is read once"
        if total
        else ""
    )
    return Advice(
        message=f"A block reads the same global bytes {reuse.factor:g} times{traffic}.",
        action=(
            f"Load a tile of {show_bytes(reuse.tile_bytes)} into shared memory with coalesced "
            f"reads, __syncthreads(), and read it there{_price(reuse, occupancy)}."
        ),
        evidence=(
            given("reads per byte", reuse.factor, "reads"),
            given("tile", reuse.tile_bytes, "bytes"),
        ),
        gain=Gain(kind="global memory traffic", upper_bound=reuse.factor, how="reads per byte / 1"),
    )


def _price(reuse: Reuse, occupancy: Occupancy | None) -> str:
    if occupancy is None or not occupancy.launchable:
        return ""
    launch = occupancy.launch
    more = replace(launch, dynamic_shared=launch.dynamic_shared + reuse.tile_bytes)
    then = model(occupancy.hardware, more)
    return f"; {occupancy_change(occupancy, then)}"


RULE = Rule(
    id="redundant-global-loads",
    title="Keep reused data in shared memory",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.APPLICATION, Kind.PROFILE),
    recommendation=True,
    why="Shared memory serves repeated reads at many times the rate of device memory.",
    when="A block reads the same global bytes more than once and does not stage them.",
    thresholds=(
        Threshold(name="reads per byte", value=ONCE, unit="reads", source="guide 10.2.3.2"),
    ),
    citations=guide("10.2.3.2", "9.2.2.2"),
    check=check,
    examples=Examples(
        fires={
            "gpu": "h200",
            "regs": 32,
            "block": 256,
            "reuse": {"factor": 16, "tile": "8KiB", "bytes": "4GiB"},
        },
        quiet={"reuse": {"factor": 16, "tile": "8KiB", "staged": True}},
        edges=(
            {"reuse": {"factor": 2, "tile": "8KiB"}},
            {"reuse": {"factor": 1, "tile": "8KiB"}},
        ),
    ),
)
