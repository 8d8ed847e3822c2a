"""Integer division or remainder by a value that is not a literal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic, Verdict
from gpuadvise.rules.observed import advised
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import Observation


def check(observations: tuple[Observation, ...]) -> Verdict:
    """Advise at each place that the source reader marked."""
    return advised(observations, RULE.id, _words)


def _words(seen: Observation) -> tuple[str, str]:
    return (
        "an integer division by a variable.",
        "If the divisor n is always a power of two, keep its logarithm: i / n is i >> log2(n) and i % n is "
        "i & (n - 1), for i >= 0. Divisions by literals are handled by the compiler.",
    )


RULE = Rule(
    id="integer-division",
    title="Replace integer division by shifts",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.LOW,
    kinds=(Kind.SOURCE,),
    recommendation=True,
    why="An integer division takes tens of instructions, a shift one.",
    when="Device code divides integers, or takes a remainder, by a value that is not a literal.",
    citations=guide("12.1.4", "11.1.1"),
    check=check,
    examples=Examples(
        fires={
            "observations": [
                {
                    "fault": "integer-division",
                    "file": "blur.cu",
                    "line": 12,
                    "column": 9,
                    "seen": "i / width",
                }
            ]
        },
        quiet={
            "observations": [
                {"fault": "another-fault", "file": "blur.cu", "line": 12, "column": 9, "seen": "x"}
            ]
        },
    ),
)
