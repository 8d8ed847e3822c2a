"""A result of the runtime that nobody looks at."""

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
        "an error here would go unnoticed.",
        "Compare the result with cudaSuccess and print cudaGetErrorString(); after a launch call "
        "cudaGetLastError(), and in debug builds cudaDeviceSynchronize().",
    )


RULE = Rule(
    id="unchecked-errors",
    title="Check every call and every launch",
    topic=Topic.DEPLOYMENT,
    priority=Priority.HIGH,
    kinds=(Kind.SOURCE,),
    why="A failed call goes unnoticed, and the error surfaces later in code that is innocent.",
    when="The result of a runtime call is dropped, or no cudaGetLastError() follows a launch.",
    correctness=True,
    citations=guide("17.2", "15.2"),
    check=check,
    examples=Examples(
        fires={
            "observations": [
                {
                    "fault": "unchecked-errors",
                    "file": "blur.cu",
                    "line": 12,
                    "column": 9,
                    "seen": "kernel<<<grid, block>>>(a)",
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
