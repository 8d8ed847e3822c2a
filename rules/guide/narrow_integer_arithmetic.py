"""Arithmetic on char or short."""

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
        "arithmetic on a type narrower than 32 bits.",
        "Keep the value in an int while you compute, and store it as the narrow type at the end.",
    )


RULE = Rule(
    id="narrow-integer-arithmetic",
    title="Compute in int",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.LOW,
    kinds=(Kind.SOURCE,),
    why="Arithmetic runs on 32-bit integers, so narrow operands are converted before it and after it.",
    when="Device code counts a loop in char or short, where the compiler must keep the counter narrow.",
    citations=guide("12.1.7", "11.1.3"),
    check=check,
    examples=Examples(
        fires={
            "observations": [
                {
                    "fault": "narrow-integer-arithmetic",
                    "file": "blur.cu",
                    "line": 12,
                    "column": 9,
                    "seen": "i += blockDim.x",
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
