"""A general function where a special one exists."""

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
        "a general function for a special case.",
        f"Write {seen.detail.get('replacement', 'the specialised function')}{seen.detail.get('note', '')}.",
    )


RULE = Rule(
    id="general-math-functions",
    title="Call the specialised function",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.MEDIUM,
    kinds=(Kind.SOURCE,),
    recommendation=True,
    why="A function made for the case is both faster and more accurate.",
    when="Device code calls pow with a small constant exponent, exp2 or exp10 through pow, sin and cos of one argument, trigonometry of a multiple of pi, or 1 / sqrt.",
    citations=guide("12.1.9", "11.1.5"),
    check=check,
    examples=Examples(
        fires={
            "observations": [
                {
                    "fault": "general-math-functions",
                    "file": "blur.cu",
                    "line": 12,
                    "column": 9,
                    "seen": "powf(x, 2.0f)",
                    "detail": {"replacement": "x * x"},
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
