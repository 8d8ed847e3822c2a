"""Copies from or to pageable memory, or as slow as if they were."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.timing import HostMemory
from gpuadvise.advisor.quantity import show_bytes, show_rate, show_seconds
from gpuadvise.advisor.transfers.copies import Direction
from gpuadvise.advisor.transfers.links import PAGEABLE_D2H_SPREAD
from gpuadvise.advisor.transfers.savings import (
    bound_of_pinning,
    copies_to_pin,
    pinned_seconds,
    saved_of_run_by_pinning,
    seconds_now,
)
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import derived, given, traced
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide
from gpuadvise.rules.traced import MOST_OF_A_RUN, held_by, idle_of, line_of, span_gain

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.facts.timing import Transfer
    from gpuadvise.advisor.transfers.links import LinkModel

_IN_PYTORCH = {
    Direction.H2D: "DataLoader(pin_memory=True), or x.pin_memory().to('cuda', non_blocking=True)",
    Direction.D2H: (
        "y = torch.empty(x.shape, dtype=x.dtype, pin_memory=True) once, then y.copy_(x, "
        "non_blocking=True), and torch.cuda.synchronize() before y is read"
    ),
}


def check(
    transfers: tuple[Transfer, ...],
    device: Device,
    link: LinkModel,
    run_seconds: float | None = None,
    timeline: TracedRun | None = None,
) -> Verdict:
    """Advise for pageable copies, and for copies far below the rate of the link."""
    if device.coherent_host_memory or device.integrated:
        return PASSED
    if all(copy.memory is None and copy.seconds is None for copy in transfers):
        return undecided("transfers.memory")
    return tuple(
        _advice(copy, link, timeline)
        for copy in copies_to_pin(transfers, device, link, run_seconds)
    )


def _gain(copy: Transfer, link: LinkModel, timeline: TracedRun | None) -> Gain:
    """Return what pinning wins of the copy, of a recorded run what it wins of the span."""
    if timeline is not None:
        how = "the copies' time beyond that of pinned ones, and the idle time that their calls make"
        if copy.memory is HostMemory.PAGEABLE and copy.direction is Direction.D2H:
            how += f"; copies to the host take up to {PAGEABLE_D2H_SPREAD}x as long in other runs"
        gain = span_gain(timeline, saved_of_run_by_pinning(copy, link, timeline), how)
        bound = bound_of_pinning(copy, link, timeline)
        return gain if bound is None else replace(gain, upper_bound=min(bound, MOST_OF_A_RUN))
    return Gain(
        kind=GainKind.COPY_TIME,
        upper_bound=max(1.0, seconds_now(copy, link) / pinned_seconds(copy, link)),
        how="time now / time at the rate of pinned memory",
    )


def _advice(copy: Transfer, link: LinkModel, timeline: TracedRun | None) -> Advice:
    now, pinned = seconds_now(copy, link), pinned_seconds(copy, link)
    pageable = copy.memory is HostMemory.PAGEABLE
    times = f" {copy.count:,} times" if copy.count > 1 else ""
    per_copy = " each" if copy.count > 1 else ""
    verb = "take" if copy.seconds is not None else "take about"
    end = "from" if copy.direction is Direction.H2D else "to"
    known = f"{end} pageable memory " if pageable else ""
    seen = given if timeline is None else traced
    idle = None if timeline is None else idle_of(timeline, "copy")
    return Advice(
        message=(
            f"{show_bytes(copy.bytes)} ({copy.direction}){times} {known}{verb} "
            f"{show_seconds(now)}{per_copy}, {show_rate(copy.bytes / now)}; pinned memory would take about "
            f"{show_seconds(pinned)}, {show_rate(copy.bytes / pinned)}."
            f"{'' if idle is None else f' The host waits in copies for {show_seconds(idle.seconds)}.'}{held_by(idle)}"
        ),
        location=line_of(idle),
        action=(
            "Allocate the host buffer with cudaHostAlloc, or pin an existing one once with "
            "cudaHostRegister, and reuse it: pinning takes longer than one copy. In PyTorch: "
            f"{_IN_PYTORCH[copy.direction]}."
            + (
                ""
                if pageable
                else ' If it is pinned already, say so (memory = "pinned"): then something else slows the link.'
            )
        ),
        evidence=(
            seen("bytes per copy", copy.bytes, "bytes"),
            (seen if copy.seconds is not None else derived)("time per copy now", now, "s"),
            derived(f"time per copy, pinned ({link.source})", pinned, "s"),
        ),
        gain=_gain(copy, link, timeline),
    )


RULE = Rule(
    id="pageable-transfers",
    title="Copy from pinned memory",
    topic=Topic.TRANSFERS,
    priority=Priority.HIGH,
    kinds=(Kind.TIMING, Kind.APPLICATION),
    family=Family.COPIES,
    why="The driver must first copy pageable data into a pinned buffer of its own, and cannot overlap that.",
    when=(
        "A copy uses pageable memory, or memory of an unknown kind at less than 60 % of the rate of the link, on a GPU "
        "without coherent access to pageable memory; the time saved is at least 5 % of the run."
    ),
    citations=guide("10.1.1", "9.1.1"),
    check=check,
    examples=Examples(
        fires={
            "gpu": "h200",
            "transfers": [{"direction": "h2d", "bytes": "256MiB", "memory": "pageable"}],
        },
        quiet={
            "gpu": "h200",
            "transfers": [
                {"direction": "h2d", "bytes": "256MiB", "memory": "pinned", "time": "5ms"}
            ],
        },
        edges=(
            {"gpu": "h200", "transfers": [{"direction": "h2d", "bytes": "256MiB", "time": "9ms"}]},
            {"gpu": "h200", "transfers": [{"direction": "h2d", "bytes": "256MiB", "time": "7ms"}]},
        ),
    ),
)
