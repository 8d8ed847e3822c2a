"""A grid that has fewer or more blocks than the elements need."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.occupancy.launch import Launch


def check(elements: int, launch: Launch, grid: tuple[int, int, int]) -> Verdict:
    """Advise when the grid is not ceil(elements / threads per block)."""
    blocks, needed = math.prod(grid), -(-elements // launch.threads)
    if blocks == needed:
        return PASSED
    threads = blocks * launch.threads
    seen = (
        f"{plural(elements - threads, 'element')} would have no thread"
        if threads < elements
        else f"{plural(blocks - needed, 'block')} would have no element"
    )
    return Advice(
        message=(
            f"{plural(blocks, 'block')} of {plural(launch.threads, 'thread')} give "
            f"{plural(threads, 'thread')} for {plural(elements, 'element')}: with one element per thread, {seen}."
        ),
        action=(
            f"Launch (n + {launch.threads - 1}) / {launch.threads} = {plural(needed, 'block')} with the "
            "bounds check if (i < n), unless each thread takes several elements in a "
            "grid-stride loop."
        ),
        evidence=(
            given("elements", elements, "elements"),
            given("blocks in the grid", blocks, "blocks"),
            derived("blocks needed", needed, "blocks"),
        ),
    )


RULE = Rule(
    id="uncovered-elements",
    title="Match the grid to the number of elements",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    kinds=(Kind.LAUNCH, Kind.APPLICATION),
    why="A grid that is rounded down leaves the last elements uncomputed, one too large wastes blocks.",
    when="The grid is not the number of elements divided by threads per block, rounded up.",
    correctness=True,
    citations=guide("11.3"),
    check=check,
    examples=Examples(
        fires={"block": 256, "grid": 3906, "elements": 1_000_000},
        quiet={"block": 256, "grid": 3907, "elements": 1_000_000},
        edges=(
            {"block": 256, "grid": 3908, "elements": 1_000_000},
            {"block": 256, "grid": 3907, "elements": 1_000_192},
        ),
    ),
)
