"""More page-locked memory than the host can spare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_bytes, show_share
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import given
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.application import Pinned

MUCH = number(0.5, "pinned share", "share", "our judgement; guide 10.1.1 warns without a figure")


def check(pinned: Pinned) -> Verdict:
    """Advise when more than half of the host memory is pinned."""
    share = pinned.bytes / pinned.host_bytes
    if share <= MUCH:
        return PASSED
    return Advice(
        message=(
            f"{show_bytes(pinned.bytes)} of {show_bytes(pinned.host_bytes)} host memory "
            f"({show_share(share)}) are pinned."
        ),
        action=(
            f"Keep pinned memory below {show_bytes(int(pinned.host_bytes * MUCH))}: pin a few "
            "buffers of the size of one chunk and reuse them."
        ),
        evidence=(
            given("pinned memory", pinned.bytes, "bytes"),
            given("host memory", pinned.host_bytes, "bytes"),
        ),
    )


RULE = Rule(
    id="excess-pinned-memory",
    title="Pin no more memory than needed",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    kinds=(Kind.APPLICATION,),
    why="Pinned pages cannot be swapped, so too many of them slow the whole system down.",
    when="More than half of the host memory is pinned.",
    citations=guide("10.1.1", "9.1.1"),
    check=check,
    examples=Examples(
        fires={"pinned": {"bytes": "48GiB", "host_memory": "64GiB"}},
        quiet={"pinned": {"bytes": "4GiB", "host_memory": "64GiB"}},
        edges=(
            {"pinned": {"bytes": "33GiB", "host_memory": "64GiB"}},
            {"pinned": {"bytes": "32GiB", "host_memory": "64GiB"}},
        ),
    ),
)
