"""Accurate single-precision functions where fast ones may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.model import PASSED, Examples, Kind, Priority, Rule, Topic, Verdict
from gpuadvise.rules.observed import advised
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import Observation

FAST = frozenset({"-use_fast_math", "--use_fast_math"})


def check(
    observations: tuple[Observation, ...], compile_flags: tuple[str, ...] | None = None
) -> Verdict:
    """Advise at each place that the source reader marked."""
    if not FAST.isdisjoint(compile_flags or ()):
        return PASSED
    return advised(observations, RULE.id, _words)


def _words(seen: Observation) -> tuple[str, str]:
    return (
        "an accurate single-precision function.",
        f"Use {seen.detail.get('replacement', 'the intrinsic, such as __sinf(x)')} where its error is acceptable, or "
        "compile with -use_fast_math. Errors grow with the argument, so keep it in range; doubles have no "
        "such form.",
    )


RULE = Rule(
    id="slow-math",
    title="Use fast math where precision allows",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.MEDIUM,
    kinds=(Kind.SOURCE,),
    recommendation=True,
    why="The accurate functions take many instructions, and a slow path for large arguments; the intrinsics run on the special-function units.",
    when="Device code calls single-precision functions that have an intrinsic, and -use_fast_math is not set.",
    citations=guide("12.1.9", "11.1.5"),
    check=check,
    examples=Examples(
        fires={
            "observations": [
                {
                    "fault": "slow-math",
                    "file": "blur.cu",
                    "line": 12,
                    "column": 9,
                    "seen": "sinf(x)",
                    "detail": {"replacement": "__sinf(x)"},
                }
            ]
        },
        quiet={
            "observations": [
                {
                    "fault": "slow-math",
                    "file": "blur.cu",
                    "line": 12,
                    "column": 9,
                    "seen": "sinf(x)",
                    "detail": {"replacement": "__sinf(x)"},
                }
            ],
            "compile_flags": "-O3 -use_fast_math",
        },
    ),
)
