"""Double precision that nobody asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.evidence import derived
from gpuadvise.rules.model import Evidence, Examples, Kind, Priority, Rule, Topic, Verdict
from gpuadvise.rules.observed import advised
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import Observation


def check(observations: tuple[Observation, ...], fp64_ratio: float | None = None) -> Verdict:
    """Advise at each place that the source reader marked."""
    return advised(observations, RULE.id, _words, _ratio(fp64_ratio))


def _ratio(fp64_ratio: float | None) -> tuple[Evidence, ...]:
    if fp64_ratio is None:
        return ()
    return (derived("FP64 rate / FP32 rate", fp64_ratio, "share"),)


def _words(seen: Observation) -> tuple[str, str]:
    return (
        "a double operand in a float expression.",
        seen.detail.get(
            "replacement",
            "Write the literal with the suffix f (0.5f), and call the function that ends in f (sqrtf).",
        ),
    )


RULE = Rule(
    id="implicit-double",
    title="Write float literals with an f",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.LOW,
    kinds=(Kind.SOURCE, Kind.BINARY),
    recommendation=True,
    why="One double literal makes the compiler convert and compute the whole expression in double.",
    when="A float expression contains a floating literal without f, or a double-precision math function.",
    citations=guide("12.1.7", "11.1.3"),
    check=check,
    examples=Examples(
        fires={
            "observations": [
                {
                    "fault": "implicit-double",
                    "file": "blur.cu",
                    "line": 12,
                    "column": 9,
                    "seen": "x * 0.5",
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
