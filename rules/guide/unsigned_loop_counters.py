"""An unsigned loop counter in an index."""

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
        "an unsigned counter in an index.",
        "Declare the counter int (or long long for more than 2^31 iterations).",
    )


RULE = Rule(
    id="unsigned-loop-counters",
    title="Use signed loop counters",
    topic=Topic.CONTROL_FLOW,
    priority=Priority.LOW,
    kinds=(Kind.SOURCE,),
    recommendation=True,
    why="Unsigned overflow is defined, so the compiler must keep the full arithmetic; signed counters let it unroll and reduce strength.",
    when="An unsigned loop counter is part of an index expression.",
    citations=guide("12.1.5", "12.3"),
    check=check,
    examples=Examples(
        fires={
            "observations": [
                {
                    "fault": "unsigned-loop-counters",
                    "file": "blur.cu",
                    "line": 12,
                    "column": 9,
                    "seen": "for (unsigned i = 0; i < n; ++i)",
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
