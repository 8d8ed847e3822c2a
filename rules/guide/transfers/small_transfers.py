"""Many copies that are mostly latency."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_bytes, show_seconds, show_share
from gpuadvise.advisor.transfers.copies import Direction, copy_rate, half_rate_bytes
from gpuadvise.advisor.transfers.savings import (
    saved_of_run_by_merging,
    seconds_merged,
    seconds_separate,
    worth_merging,
)
from gpuadvise.rules.advice import Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, given, traced
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide
from gpuadvise.rules.traced import span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.facts.timing import Transfer
    from gpuadvise.advisor.transfers.links import LinkModel


def check(
    transfers: tuple[Transfer, ...],
    link: LinkModel,
    run_seconds: float | None = None,
    timeline: TracedRun | None = None,
) -> Verdict:
    """Advise for repeated copies of which at least half the time is latency."""
    return tuple(
        _advice(copy, link, run_seconds, timeline)
        for copy in transfers
        if worth_merging(copy, link, run_seconds, timeline)
    )


# How bytes are packed on the side that they come from.
_IN_PYTORCH = {
    Direction.H2D: "costs on the host. In PyTorch: torch.stack() or torch.cat() on the host, one "
    ".to('cuda'), and views of the result.",
    Direction.D2H: "costs on the device. In PyTorch: keep the results on the device, torch.stack() or "
    "torch.cat() them there, and one .cpu() or .tolist().",
}


def _gain(
    copy: Transfer, link: LinkModel, run_seconds: float | None, timeline: TracedRun | None
) -> Gain:
    """Return what one copy wins of the copies, of a run whose time is known what it wins of that."""
    if timeline is None:
        separate, merged = seconds_separate(copy, link), seconds_merged(copy, link)
        upper = separate / merged
        if run_seconds is not None and separate < run_seconds:
            whole = run_seconds / (run_seconds - separate + merged)
            how = "run time / run time with one packed copy"
            return Gain(kind=GainKind.RUN_TIME, upper_bound=whole, how=how)
        return Gain(kind=GainKind.COPY_TIME, upper_bound=upper, how="separate / packed copies")
    how = (
        "the copies' time beyond that of their bytes, and the idle time while they are queued or "
        "waited for"
    )
    return span_gain(timeline, saved_of_run_by_merging(copy, link, timeline), how)


def _advice(
    copy: Transfer, link: LinkModel, run_seconds: float | None, timeline: TracedRun | None
) -> Advice:
    separate, packed = seconds_separate(copy, link), seconds_merged(copy, link)
    share = 1 - copy.count * copy.bytes / copy_rate(link, copy.direction) / separate
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
            f"{show_seconds(packed)} instead of {show_seconds(separate)}, plus what packing "
            f"{_IN_PYTORCH[copy.direction]}"
        ),
        evidence=(
            seen("bytes per copy", copy.bytes, "bytes"),
            seen("copies", copy.count, "copies"),
            derived(f"latency per copy ({link.source})", link.copy_latency, "s"),
        ),
        gain=_gain(copy, link, run_seconds, timeline),
        priority=Priority.LOW if timeline is not None and _is_claimed(timeline) else None,
    )


def _is_claimed(run: TracedRun) -> bool:
    """Return whether the idle time around copies is that of launches, which another finding is about."""
    return run.launch_bound or run.late_launches


RULE = Rule(
    id="small-transfers",
    title="Batch small transfers",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    kinds=(Kind.TIMING,),
    family=Family.COPIES,
    why="Every copy pays the same few microseconds, however little it carries.",
    when=(
        "Two or more copies spend over half of their time in latency (low in a recorded run that waits for its launches)."
    ),
    citations=guide("10.1", "9.1"),
    folds_into="pageable-transfers",
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
