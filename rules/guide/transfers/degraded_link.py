"""A PCIe link that runs below its best while the GPU works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_rate, show_share
from gpuadvise.advisor.transfers.links import pcie
from gpuadvise.rules.advice import PASSED, Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import measured, unread
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.telemetry import Telemetry
    from gpuadvise.advisor.topology import Topology

_LINK = ("pcie_generation", "pcie_lanes", "pcie_generation_max", "pcie_lanes_max")


def check(telemetry: Telemetry, topology: Topology | None = None) -> Verdict:
    """Advise when generation or lanes are below the maximum under load, or the slot's below the GPU's."""
    from gpuadvise.advisor.telemetry import link_is_idle

    now = telemetry.pcie_generation, telemetry.pcie_lanes
    most = telemetry.pcie_generation_max, telemetry.pcie_lanes_max
    if None in (*now, *most):
        return unread(telemetry, *_LINK)
    if topology is not None and (held := _held_back(telemetry, topology)):
        return held
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


def _held_back(telemetry: Telemetry, topology: Topology) -> Advice | None:
    """Return advice on a slot that gives the GPU less than it can take; None: it does not, or unknown.

    NVML's maximum is what GPU and slot can do together.
    """
    own = topology.pcie_own_generation, topology.pcie_own_lanes
    most = telemetry.pcie_generation_max, telemetry.pcie_lanes_max
    if not all((*own, *most)):
        return None
    taken, given = pcie(own[0] or 1, own[1] or 1), pcie(most[0] or 1, most[1] or 1)
    if given.theoretical >= taken.theoretical:
        return None
    return Advice(
        message=(
            f"The slot holds the GPU to {given.name} ({show_rate(given.theoretical)}); it can take "
            f"{taken.name} ({show_rate(taken.theoretical)}): "
            f"{show_share(1 - given.theoretical / taken.theoretical)} of the rate is missing, also at best."
        ),
        action=(
            "Move the card to a slot of its own width and generation, and look in the BIOS for the "
            "lane split and the generation of this one; risers and shared slots halve the lanes."
        ),
        evidence=(
            measured("link that slot and GPU allow", given.name),
            measured("link of the GPU", taken.name),
        ),
        gain=Gain(
            kind=GainKind.COPY_RATE,
            upper_bound=taken.theoretical / given.theoretical,
            how="rate of the GPU's own link / rate in this slot",
        ),
    )


RULE = Rule(
    id="degraded-link",
    title="Bring the link to its full width and generation",
    topic=Topic.TRANSFERS,
    priority=Priority.HIGH,
    kinds=(Kind.NVML,),
    why="Every copy between host and device runs at the rate of the link.",
    when=(
        "PCIe generation or width is below its maximum while the GPU is under load, or the maximum in "
        "this slot is below what the GPU itself can take."
    ),
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
