"""Host memory that a kernel reads over the link more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_bytes, show_seconds
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.advisor.transfers.copies import Direction, copy_seconds
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import given
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.application import Mapped
    from gpuadvise.advisor.transfers.links import LinkModel

ONCE = number(1.0, "reads per mapped byte", "reads", "guide 10.1.3")

# A launch is not noticed beside a copy that takes as long.
NOTICEABLE = number(1e-3, "noticeable time", "s", "our judgement", LaunchSet.FOURTH)


def check(mapped: Mapped, device: Device, link: LinkModel | None = None) -> Verdict:
    """Advise when a discrete GPU reads mapped host memory more than once."""
    if mapped.reads <= ONCE or device.integrated:
        return PASSED
    extra = int(mapped.bytes * (mapped.reads - ONCE))
    seconds = copy_seconds(extra, link, Direction.H2D) if link else 0.0
    takes = f", which takes about {show_seconds(seconds)}" if seconds else ""
    return Advice(
        message=(
            f"{show_bytes(mapped.bytes)} of mapped host memory are read {mapped.reads:g} times: "
            f"{show_bytes(extra)} cross the link again{takes}."
        ),
        action=(
            f"Copy the {show_bytes(mapped.bytes)} to device memory once and read them there; keep "
            "mapped memory for data that are read or written once, by neighbouring threads."
        ),
        evidence=(
            given("mapped memory", mapped.bytes, "bytes"),
            given("reads per byte", mapped.reads, "reads"),
        ),
        gain=Gain(kind=GainKind.LINK_TRAFFIC, upper_bound=mapped.reads, how="reads per byte / 1"),
        priority=Priority.MEDIUM if seconds >= NOTICEABLE else None,
    )


RULE = Rule(
    id="reread-mapped-memory",
    title="Read mapped memory only once",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    kinds=(Kind.APPLICATION,),
    why="Mapped memory is not cached on a discrete GPU, so each read crosses the link.",
    when=(
        "A discrete GPU reads mapped host memory more than once per byte; medium where that takes the link 1 ms or "
        "more."
    ),
    citations=guide("10.1.3", "9.1.3"),
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "mapped": {"bytes": "1GiB", "reads": 8}},
        quiet={"gpu": "jetson-agx-orin-64", "mapped": {"bytes": "1GiB", "reads": 8}},
        edges=(
            {"gpu": "h200", "mapped": {"bytes": "1GiB", "reads": 1.5}},
            {"gpu": "h200", "mapped": {"bytes": "1GiB", "reads": 1}},
        ),
    ),
)
