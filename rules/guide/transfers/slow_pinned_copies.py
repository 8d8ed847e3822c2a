"""Copies of pinned memory far below the rate of the link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.timing import HostMemory
from gpuadvise.advisor.quantity import show_bytes, show_rate, show_seconds
from gpuadvise.advisor.transfers.copies import Direction
from gpuadvise.advisor.transfers.savings import (
    late_though_pinned,
    pinned_seconds,
    saved_by_pinning,
    seconds_now,
)
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict, undecided
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.facts.timing import Transfer
    from gpuadvise.advisor.telemetry import Telemetry
    from gpuadvise.advisor.transfers.links import LinkModel


def check(
    transfers: tuple[Transfer, ...],
    device: Device,
    link: LinkModel,
    run_seconds: float | None = None,
    timeline: TracedRun | None = None,
    telemetry: Telemetry | None = None,
) -> Verdict:
    """Advise when pinned copies are late, and nothing known explains it."""
    # In a recorded run copies may share the link with others at the same time.
    if timeline is not None or device.coherent_host_memory or device.integrated:
        return PASSED
    if telemetry is not None and _runs_below_its_best(telemetry):
        return PASSED  # degraded-link says it
    late = [copy for copy in transfers if late_though_pinned(copy, link, run_seconds)]
    if late:
        return _advice(max(late, key=lambda copy: saved_by_pinning(copy, link)), link)
    pinned = [copy for copy in transfers if copy.memory in (None, HostMemory.PINNED)]
    if any(copy.memory is None for copy in pinned):
        return undecided("transfers.memory")
    return undecided("transfers.time") if any(copy.seconds is None for copy in pinned) else PASSED


def _runs_below_its_best(telemetry: Telemetry) -> bool:
    now = telemetry.pcie_generation, telemetry.pcie_lanes
    best = telemetry.pcie_generation_max, telemetry.pcie_lanes_max
    return any(a is not None and b is not None and a < b for a, b in zip(now, best, strict=True))


def _advice(slowest: Transfer, link: LinkModel) -> Advice:
    now, best = seconds_now(slowest, link), pinned_seconds(slowest, link)
    end = "from" if slowest.direction is Direction.H2D else "to"
    return Advice(
        message=(
            f"{show_bytes(slowest.bytes)} ({slowest.direction}) {end} pinned memory take {show_seconds(now)}, "
            f"{show_rate(slowest.bytes / now)}; the link moves them in about {show_seconds(best)}, "
            f"{show_rate(slowest.bytes / best)}."
        ),
        action=(
            "Run `gpuadvise doctor` while the program copies: it shows generation and lanes of the link. Where "
            "those are at their best, look for other copies at the same time, other devices at the same "
            "switch (nvidia-smi topo -m), and host memory on another NUMA node than the GPU."
        ),
        evidence=(
            given("bytes per copy", slowest.bytes, "bytes"),
            given("time per copy now", now, "s"),
            derived(f"time per copy, pinned ({link.source})", best, "s"),
        ),
        gain=Gain(
            kind=GainKind.COPY_TIME,
            upper_bound=now / best,
            how="time now / time at the rate of the link",
        ),
    )


RULE = Rule(
    id="slow-pinned-copies",
    title="Find what slows pinned copies",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    kinds=(Kind.TIMING, Kind.APPLICATION),
    family=Family.COPIES,
    why="Pinned memory is copied without a detour, so that only the link and who shares it are left to be slow.",
    when=(
        "Copies of memory that is said to be pinned reach less than 60 % of the rate of the link, which is not known to run below "
        "its best, on a GPU without coherent access to pageable memory; the time saved is at least 5 % of the run."
    ),
    citations=guide("10.1.1", "9.1.1"),
    check=check,
    examples=Examples(
        fires={
            "gpu": "rtx-4090",
            "transfers": [
                {"direction": "h2d", "bytes": "256MiB", "memory": "pinned", "time": "40ms"}
            ],
        },
        quiet={
            "gpu": "rtx-4090",
            "transfers": [
                {"direction": "h2d", "bytes": "256MiB", "memory": "pinned", "time": "11ms"}
            ],
        },
        edges=(
            {
                "gpu": "h200",
                "transfers": [
                    {"direction": "h2d", "bytes": "256MiB", "memory": "pinned", "time": "9ms"}
                ],
            },
            {
                "gpu": "h200",
                "transfers": [
                    {"direction": "h2d", "bytes": "256MiB", "memory": "pinned", "time": "7ms"}
                ],
            },
        ),
    ),
)
