"""Many copies that are mostly latency."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_bytes, show_seconds, show_share
from gpuadvise.advisor.transfers.copies import (
    Direction,
    copy_rate,
    copy_seconds,
    half_rate_bytes,
    latency_share,
)
from gpuadvise.rules.evidence import derived, given, traced
from gpuadvise.rules.model import (
    Advice,
    Examples,
    Family,
    Gain,
    Kind,
    Priority,
    Rule,
    Threshold,
    Topic,
    Verdict,
)
from gpuadvise.rules.sources import guide
from gpuadvise.rules.traced import span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.facts.timing import Transfer
    from gpuadvise.advisor.transfers.links import LinkModel

MOSTLY = 0.5
# Of the run: what takes less is not worth packing.
SHARE = 0.05


def check(
    transfers: tuple[Transfer, ...],
    link: LinkModel,
    run_seconds: float | None = None,
    timeline: TracedRun | None = None,
) -> Verdict:
    """Advise for repeated copies of which at least half the time is latency."""
    return tuple(
        _advice(copy, link, timeline)
        for copy in transfers
        if copy.count > 1
        and latency_share(copy.bytes, link, copy.direction) > MOSTLY
        and _packed(copy, link) < _apart(copy, link)
        and _matters(copy, link, run_seconds, timeline)
    )


def _matters(
    copy: Transfer, link: LinkModel, run_seconds: float | None, timeline: TracedRun | None
) -> bool:
    """Return whether the copies take a twentieth of the run, as far as its time is known.

    The model's time counts here, since a recorded copy's leaves out what the host spends on it;
    that is the idle time around copies to the GPU, where a recorded run tells it.
    """
    seconds = copy.count * copy_seconds(copy.bytes, link, copy.direction)
    if timeline is not None and copy.direction is Direction.H2D:
        seconds += timeline.around_copies
    return run_seconds is None or seconds >= SHARE * run_seconds


def _apart(copy: Transfer, link: LinkModel) -> float:
    """Return the seconds of all copies: as measured, else by the model."""
    return copy.count * (copy.seconds or copy_seconds(copy.bytes, link, copy.direction))


def _packed(copy: Transfer, link: LinkModel) -> float:
    """Return the seconds of one copy of all the bytes."""
    return copy_seconds(copy.count * copy.bytes, link, copy.direction)


def _gain(copy: Transfer, link: LinkModel, timeline: TracedRun | None) -> Gain:
    """Return what one copy wins of the copies, of a recorded run what it wins of the span."""
    now = _apart(copy, link)
    if timeline is None:
        upper = now / _packed(copy, link)
        return Gain(kind="copy time", upper_bound=upper, how="separate / packed copies")
    how = (
        "the copies' time beyond that of their bytes, and the idle time while they are queued or "
        "waited for"
    )
    moving = copy.count * copy.bytes / copy_rate(link, copy.direction)
    return span_gain(timeline, max(0.0, now - moving) + timeline.around_copies, how)


def _advice(copy: Transfer, link: LinkModel, timeline: TracedRun | None) -> Advice:
    apart, packed = _apart(copy, link), _packed(copy, link)
    share = 1 - copy.count * copy.bytes / copy_rate(link, copy.direction) / apart
    seen = given if timeline is None else traced
    half = show_bytes(round(half_rate_bytes(link, copy.direction)))
    return Advice(
        message=(
            f"{copy.count:,} copies ({copy.direction}) of {show_bytes(copy.bytes)} each spend "
            f"{show_share(share)} of their time before a byte moves; the link reaches half its "
            f"rate at {half}."
        ),
        action=(
            f"Pack them into one buffer of {show_bytes(copy.count * copy.bytes)} and copy once: "
            f"{show_seconds(packed)} instead of {show_seconds(apart)}, plus what packing "
            "costs on the host. In PyTorch: torch.stack() or torch.cat() on the host, one "
            ".to('cuda'), and views of the result."
        ),
        evidence=(
            seen("bytes per copy", copy.bytes, "bytes"),
            seen("copies", copy.count, "copies"),
            derived(f"latency per copy ({link.source})", link.copy_latency, "s"),
        ),
        gain=_gain(copy, link, timeline),
    )


RULE = Rule(
    id="small-transfers",
    title="Batch small transfers",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    kinds=(Kind.TIMING,),
    family=Family.COPIES,
    why="Every copy pays the same few microseconds, however little it carries.",
    when="Two or more copies spend over half of their time in latency.",
    thresholds=(
        Threshold(
            name="share of latency",
            value=MOSTLY,
            unit="share",
            source="guide 10.1: batch small transfers",
        ),
    ),
    citations=guide("10.1", "9.1"),
    check=check,
    examples=Examples(
        fires={"gpu": "h200", "transfers": [{"direction": "h2d", "bytes": "4KiB", "count": 1000}]},
        quiet={"gpu": "h200", "transfers": [{"direction": "h2d", "bytes": "16MiB", "count": 1000}]},
        edges=(
            {"gpu": "h200", "transfers": [{"direction": "h2d", "bytes": "128KiB", "count": 2}]},
            {"gpu": "h200", "transfers": [{"direction": "h2d", "bytes": "128KiB", "count": 1}]},
        ),
    ),
)
