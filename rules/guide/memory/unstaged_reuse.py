"""Global bytes that one block reads several times, as its author describes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.occupancy.model import occupancy as model
from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import given
from gpuadvise.rules.model import Conflict, Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.occupancy_words import occupancy_change
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.application import Reuse
    from gpuadvise.advisor.occupancy.answer import Occupancy

TWICE = number(
    2.0,
    "reads per byte",
    "reads",
    "our judgement of guide 10.2.3.2: caches mostly hide what is read twice",
    LaunchSet.RECORDED,
)
TILE_OR_OCCUPANCY = Conflict(
    rule="shared-memory-limited-occupancy",
    decide=(
        "These pull in opposite directions: a tile in shared memory saves global traffic, but"
        " shared memory already limits occupancy. Keep the tile if the traffic it saves "
        "shortens the run time."
    ),
    implied="low-occupancy",
)


def check(reuse: Reuse, occupancy: Occupancy | None = None) -> Verdict:
    """Advise to stage data in shared memory that a block reads more than once."""
    if reuse.staged or reuse.factor <= TWICE:
        return PASSED
    then = _with_tile(reuse, occupancy)
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
            f"reads, __syncthreads(), and read it there{_price(occupancy, then)}."
        ),
        evidence=(
            given("reads per byte", reuse.factor, "reads"),
            given("tile", reuse.tile_bytes, "bytes"),
        ),
        gain=Gain(kind=GainKind.GLOBAL_TRAFFIC, upper_bound=reuse.factor, how="reads per byte / 1"),
        priority=Priority.LOW if _too_dear(reuse, occupancy, then) else None,
    )


def _with_tile(reuse: Reuse, occupancy: Occupancy | None) -> Occupancy | None:
    """Return the occupancy with the tile in shared memory beside what is there."""
    if occupancy is None or not occupancy.launchable:
        return None
    launch = occupancy.launch
    more = launch.but(dynamic_shared=launch.dynamic_shared + reuse.tile_bytes)
    return model(occupancy.hardware, more)


def _too_dear(reuse: Reuse, occupancy: Occupancy | None, then: Occupancy | None) -> bool:
    """Return whether the tile costs more warps than it saves reads."""
    if occupancy is None or then is None:
        return False
    return then.occupancy * reuse.factor < occupancy.occupancy


def _price(occupancy: Occupancy | None, then: Occupancy | None) -> str:
    if occupancy is None or then is None:
        return ""
    return f"; {occupancy_change(occupancy, then)}"


def _reads(factor: float, **more: object) -> dict[str, object]:
    return {"reuse": {"factor": factor, "tile": "8KiB", **more}}


RULE = Rule(
    id="unstaged-reuse",
    measured_as="redundant-global-loads",
    formerly="redundant-global-loads",
    title="Stage reused data in shared memory",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.APPLICATION,),
    family=Family.REUSE,
    why="Shared memory serves repeated reads at many times the rate of device memory.",
    when="A block reads the same global bytes more than twice and does not stage them.",
    citations=guide("10.2.3.2", "9.2.2.2"),
    silenced_by=("uncoalesced-access",),
    conflicts_with=(TILE_OR_OCCUPANCY,),
    author_only=True,
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "regs": 32, "block": 256, **_reads(16, bytes="4GiB")},
        quiet=_reads(16, staged=True),
        edges=(_reads(2.1), _reads(2)),
    ),
)
