"""Kernels in the default stream of a program that has others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.rules.advice import PASSED, Advice, Verdict, undecided
from gpuadvise.rules.evidence import given
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.timing import Pipeline


def check(
    default_stream: bool, concurrent: bool | None = None, pipeline: Pipeline | None = None
) -> Verdict:
    """Advise when work that should overlap is launched into the default stream."""
    streams = pipeline.streams if pipeline else 1
    if default_stream and concurrent is None and pipeline is None:
        return undecided("concurrent")
    if not default_stream or not (concurrent or streams > 1):
        return PASSED
    return Advice(
        message=(
            "The kernel goes to the default stream (0), which waits for every other blocking stream "
            "and makes them wait."
        ),
        action=(
            "Launch it into a stream made by cudaStreamCreateWithFlags with cudaStreamNonBlocking, or "
            "compile with --default-stream per-thread."
        ),
        evidence=(given("default stream", "yes"), given("streams", streams, "streams")),
    )


RULE = Rule(
    id="default-stream-use",
    title="Leave the default stream",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    kinds=(Kind.APPLICATION,),
    why="The legacy default stream is a barrier between all others of the process.",
    when="A kernel runs in the default stream, and the program stages work in streams or runs kernels side by side.",
    citations=guide("10.1.2", "9.1.2"),
    folds_into="default-stream-work",
    check=check,
    examples=Examples(
        fires={"default_stream": True, "concurrent": True},
        quiet={"default_stream": True, "concurrent": False},
        edges=(
            {"default_stream": True, "pipeline": {"kernel": "2ms", "h2d": "2ms", "streams": 2}},
            {"default_stream": True, "pipeline": {"kernel": "2ms", "h2d": "2ms", "streams": 1}},
        ),
    ),
)
