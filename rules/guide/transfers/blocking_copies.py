"""Copies that make the host wait, so that nothing overlaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import given
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.timing import Transfer


def check(blocking_copies: int, transfers: tuple[Transfer, ...]) -> Verdict:
    """Advise when some of several copies block."""
    if not blocking_copies or sum(copy.count for copy in transfers) == 1:
        return PASSED
    largest = max((c for c in transfers if c.blocking), key=lambda c: c.bytes * c.count)
    return Advice(
        message=(
            f"{blocking_copies} of {plural(len(transfers), 'kind')} of copies block, the largest "
            f"with {show_bytes(largest.bytes)} ({largest.direction}) {plural(largest.count, 'time')}."
        ),
        action=(
            "Replace cudaMemcpy by cudaMemcpyAsync from pinned memory, in a stream made with "
            "cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking): the default stream waits for "
            "all others."
        ),
        evidence=(
            given("blocking kinds of copies", blocking_copies, "copies"),
            given("bytes of the largest", largest.bytes, "bytes"),
        ),
    )


RULE = Rule(
    id="blocking-copies",
    title="Copy asynchronously",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    kinds=(Kind.APPLICATION, Kind.SOURCE),
    family=Family.COPIES,
    why="A blocking copy stops the host, which then cannot feed the next piece to the GPU.",
    when="Some of several copies use cudaMemcpy or the default stream.",
    citations=guide("10.1.2", "9.1.2"),
    folds_into="serial-transfers",
    check=check,
    examples=Examples(
        fires={
            "transfers": [
                {"direction": "h2d", "bytes": "64MiB", "count": 10, "blocking": True},
                {"direction": "d2h", "bytes": "64MiB", "count": 10, "blocking": False},
            ]
        },
        quiet={
            "transfers": [{"direction": "h2d", "bytes": "64MiB", "count": 10, "blocking": False}]
        },
    ),
)
