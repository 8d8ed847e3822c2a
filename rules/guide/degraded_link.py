"""A PCIe link that runs below its best while the GPU works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_rate, show_share
from gpuadvise.advisor.transfers.links import pcie
from gpuadvise.rules.evidence import measured, unread
from gpuadvise.rules.model import (
    PASSED,
    Advice,
    Examples,
    Gain,
    GainKind,
    Kind,
    Priority,
    Rule,
    Topic,
    Verdict,
)
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.telemetry import Telemetry


_LINK = ("pcie_generation", "pcie_lanes", "pcie_generation_max", "pcie_lanes_max")


def check(telemetry: Telemetry) -> Verdict:
    """Advise when generation or lanes are below the maximum under load."""
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
            kind=GainKind.COPY_RATE,
            upper_bound=best.theoretical / link.theoretical,
            how="rate at best / rate now",
        ),
    )


RULE = Rule(
    id="degraded-link",
    title="Bring the link to its full width and generation",
    topic=Topic.TRANSFERS,
    priority=Priority.HIGH,
    kinds=(Kind.NVML,),
    why="Every copy between host and device runs at the rate of the link.",
    when="PCIe generation or width is below its maximum while the GPU is under load.",
    citations=guide("18.1", "16.1"),
    check=check,
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
    ),
)
