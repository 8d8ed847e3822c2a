"""A block-wide barrier that not all threads reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic, Verdict
from gpuadvise.rules.observed import advised
from gpuadvise.rules.sources import guide, old_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.code import Observation


def check(observations: tuple[Observation, ...]) -> Verdict:
    """Advise at each place that the source reader marked."""
    return advised(observations, RULE.id, _words)


def _words(seen: Observation) -> tuple[str, str]:
    return (
        "a barrier that depends on the thread index.",
        "Move the barrier out of the condition: let all threads run the loop, guard only "
        "the work by if (i < n), and put the barrier after that.",
    )


RULE = Rule(
    id="divergent-barriers",
    title="Keep barriers out of divergent code",
    topic=Topic.CONTROL_FLOW,
    priority=Priority.HIGH,
    kinds=(Kind.SOURCE,),
    broken=True,
    recommendation=True,
    why="A barrier waits for every thread of the block; if some never come, the kernel hangs or computes nonsense.",
    when="A __syncthreads() stands under a condition, or in a loop, that depends on the thread.",
    citations=(old_guide("12.4"), *guide("13.1")),
    check=check,
    examples=Examples(
        fires={
            "observations": [
                {
                    "fault": "divergent-barriers",
                    "file": "blur.cu",
                    "line": 12,
                    "column": 9,
                    "seen": "__syncthreads()",
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
