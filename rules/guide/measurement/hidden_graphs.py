"""Graphs whose kernels a recording does not show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import traced
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import cited

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.timeline import TracedRun


def check(timeline: TracedRun) -> Verdict:
    """Advise when graphs were recorded as one row for each replay."""
    if not timeline.hidden_graphs:
        return PASSED
    return Advice(
        message=(
            f"{plural(timeline.graph_launches, 'launch', 'launches')} of graphs, one row for each "
            "launch: the kernels inside, and the gaps between them, are not in the recording."
        ),
        action=(
            "Record with `nsys profile --cuda-graph-trace=node`; that slows each node down by a "
            "microsecond or so, so compare such recordings with each other only."
        ),
        evidence=(traced("graph launches", timeline.graph_launches, "launches"),),
    )


RULE = Rule(
    id="hidden-graphs",
    title="Record the kernels inside of graphs",
    topic=Topic.MEASUREMENT,
    priority=Priority.LOW,
    kinds=(Kind.TIMING,),
    why="Advice about kernels needs to see them, and Nsight Systems leaves those of graphs out by default.",
    when="A recorded run launches graphs, and no kernel in it belongs to one.",
    citations=(
        cited(
            "Nsight Systems User Guide",
            "CLI Profile Command Switch Options, --cuda-graph-trace",
            "https://docs.nvidia.com/nsight-systems/UserGuide/index.html",
        ),
    ),
    check=check,
    examples=Examples(
        fires={"timeline": {"span": "1ms", "graph_launches": 1, "hidden_graphs": True}},
        quiet={"timeline": {"span": "1ms", "kernels": 1000, "graph_launches": 1}},
    ),
)
