"""A link that runs below its best while the GPU works, or at which pinned copies are slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.timing import HostMemory
from gpuadvise.advisor.quantity import show_bytes, show_rate, show_seconds, show_share
from gpuadvise.advisor.transfers.copies import Direction
from gpuadvise.advisor.transfers.links import pcie
from gpuadvise.advisor.transfers.savings import (
    SLOW_COPY,
    late_though_pinned,
    pinned_seconds,
    saved_by_pinning,
    seconds_now,
)
from gpuadvise.rules.evidence import derived, given, measured, unread
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Examples,
    Gain,
    Kind,
    Priority,
    Rule,
    Threshold,
    Topic,
    Verdict,
    undecided,
)
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.timeline import TracedRun
    from gpuadvise.advisor.facts.timing import Transfer
    from gpuadvise.advisor.telemetry import Telemetry
    from gpuadvise.advisor.transfers.links import LinkModel


_LINK = ("pcie_generation", "pcie_lanes", "pcie_generation_max", "pcie_lanes_max")


def check(
    telemetry: Telemetry | None = None,
    transfers: tuple[Transfer, ...] | None = None,
    link: LinkModel | None = None,
    run_seconds: float | None = None,
    timeline: TracedRun | None = None,
) -> Verdict:
    """Advise when the link is below its best under load, or pinned copies are late."""
    state = PASSED if telemetry is None else _state(telemetry)
    # In a recorded run copies may share the link with others at the same time.
    if isinstance(state, Advice) or not transfers or timeline is not None:
        return state
    if link is None:
        return undecided("link")
    late = [copy for copy in transfers if late_though_pinned(copy, link, run_seconds)]
    if late:
        return _slow_copies(late, link)
    pinned = [copy for copy in transfers if copy.memory in (None, HostMemory.PINNED)]
    if any(copy.memory is None for copy in pinned):
        return undecided("transfers.memory")
    return undecided("transfers.time") if any(copy.seconds is None for copy in pinned) else state


def _slow_copies(late: list[Transfer], link: LinkModel) -> Advice:
    slowest = max(late, key=lambda copy: saved_by_pinning(copy, link))
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
            kind="copy time",
            upper_bound=now / best,
            how="time now / time at the rate of the link",
        ),
        priority=Priority.MEDIUM,
    )


def _state(telemetry: Telemetry) -> Verdict:
    """Return what the state of the link says."""
    from gpuadvise.advisor.telemetry import link_is_idle

    now = telemetry.pcie_generation, telemetry.pcie_lanes
    most = telemetry.pcie_generation_max, telemetry.pcie_lanes_max
    if None in (*now, *most):
        return unread(telemetry, *_LINK)
    if link_is_idle(telemetry):
        return PASSED
    if telemetry.gpu_utilisation is None:
        return unread(telemetry, "gpu_utilisation")
    if not telemetry.gpu_utilisation:
        return PASSED
    generation, lanes = now[0] or 1, now[1] or 1
    best_generation, best_lanes = most[0] or 1, most[1] or 1
    if generation >= best_generation and lanes >= best_lanes:
        return PASSED
    link, best = pcie(generation, lanes), pcie(best_generation, best_lanes)
    return Advice(
        message=(
            f"The GPU is at work and its link runs as {link.name} ({show_rate(link.theoretical)}) "
            f"instead of {best.name} ({show_rate(best.theoretical)}): "
            f"{show_share(1 - link.theoretical / best.theoretical)} of the rate is missing."
        ),
        action=(
            "Reseat the card, try another slot or riser, and look in the BIOS for the generation "
            "and the lane split of the slot; nvidia-smi -q -d PERFORMANCE and lspci -vv show "
            "whether it is the card or the slot."
        ),
        evidence=(
            measured("link now", link.name),
            measured("link at best", best.name),
            measured("GPU utilisation", telemetry.gpu_utilisation, "share"),
        ),
        gain=Gain(
            kind="copy rate",
            upper_bound=best.theoretical / link.theoretical,
            how="rate at best / rate now",
        ),
    )


RULE = Rule(
    id="degraded-link",
    title="Bring the link to its full width and generation",
    topic=Topic.TRANSFERS,
    priority=Priority.HIGH,
    kinds=(Kind.NVML, Kind.TIMING),
    why="Every copy between host and device runs at the rate of the link.",
    when=(
        "PCIe generation or width is below its maximum while the GPU is under load; or (medium) copies of pinned memory "
        "reach less than 60 % of the rate of the link."
    ),
    thresholds=(
        Threshold(
            name="slow copy",
            value=SLOW_COPY,
            unit="share",
            source="pinned copies reach 80 % and more of a link",
        ),
    ),
    citations=guide("18.1", "16.1"),
    check=check,
    either=("telemetry", "transfers"),
    examples=Examples(
        fires={
            "telemetry": {
                "pcie_generation": 5,
                "pcie_generation_max": 5,
                "pcie_lanes": 8,
                "pcie_lanes_max": 16,
                "gpu_utilisation": 0.9,
            }
        },
        quiet={
            "telemetry": {
                "pcie_generation": 1,
                "pcie_generation_max": 5,
                "pcie_lanes": 16,
                "pcie_lanes_max": 16,
                "gpu_utilisation": 0.0,
            }
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
