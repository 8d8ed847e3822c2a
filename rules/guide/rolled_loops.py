"""A short loop that is not unrolled."""

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
        f"a loop of {seen.detail.get('trips', 'few')} iterations.",
        "Write #pragma unroll before it, and look at the registers afterwards: -Xptxas -v.",
    )


RULE = Rule(
    id="rolled-loops",
    title="Unroll short loops",
    topic=Topic.CONTROL_FLOW,
    priority=Priority.LOW,
    kinds=(Kind.SOURCE,),
    recommendation=True,
    why="An unrolled body needs no branch and no counter, and its short conditions become predicates.",
    when=(
        "A loop with a small constant number of iterations has no #pragma unroll; where the source was "
        "compiled, only if the pragma changes the code."
    ),
    citations=guide("13.2", "12.2"),
    check=check,
    examples=Examples(
        fires={
            "observations": [
                {
                    "fault": "rolled-loops",
                    "file": "blur.cu",
                    "line": 12,
                    "column": 9,
                    "seen": "for (int k = 0; k < 4; ++k)",
                    "detail": {"trips": "4"},
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
