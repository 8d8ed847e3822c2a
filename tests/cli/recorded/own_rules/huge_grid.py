"""Grids of more than a million blocks."""

from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Evidence,
    Examples,
    Kind,
    Priority,
    Rule,
    Topic,
    Verdict,
)
from gpuadvise.rules.sources import guide


def check(grid: tuple[int, int, int]) -> Verdict:
    """Advise above a million blocks."""
    if grid[0] <= 1_000_000:
        return PASSED
    return Advice(
        message=f"{grid[0]:,} blocks.",
        action="Let each thread loop.",
        evidence=(Evidence(label="blocks", value=grid[0], unit="blocks", source="you"),),
    )


RULE = Rule(
    id="huge-grid",
    title="Loop instead",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    kinds=(Kind.LAUNCH,),
    why="House rule.",
    when="Above a million blocks.",
    citations=guide("11.3"),
    check=check,
    examples=Examples(fires={"block": 32, "grid": 2_000_000}, quiet={"block": 32, "grid": 1}),
)
