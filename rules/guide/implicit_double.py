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
    slow = _slow(fp64_ratio)
    return advised(observations, RULE.id, lambda seen: _words(seen, slow), _ratio(fp64_ratio))


def _slow(fp64_ratio: float | None) -> str:
    """Return what double precision costs on the GPU, where that is known."""
    if not fp64_ratio:
        return ""
    return f" This GPU runs double precision at 1/{1 / fp64_ratio:.0f} of the rate of float."


def _ratio(fp64_ratio: float | None) -> tuple[Evidence, ...]:
    if fp64_ratio is None:
        return ()
    return (derived("FP64 rate / FP32 rate", fp64_ratio, "share"),)


def _words(seen: Observation, slow: str) -> tuple[str, str]:
    return (
        f"a double operand in a float expression.{slow}",
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
            "gpu": "rtx-4090",
            "observations": [
                {
                    "fault": "implicit-double",
                    "file": "blur.cu",
                    "line": 12,
                    "column": 9,
                    "seen": "x * 0.5",
                }
            ],
        },
        quiet={
            "observations": [
                {"fault": "another-fault", "file": "blur.cu", "line": 12, "column": 9, "seen": "x"}
            ]
        },
    ),
)
