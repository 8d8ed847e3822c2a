"""Tiles that pass through registers on their way to shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.application import TilePath
from gpuadvise.advisor.facts.load_width import WIDEST
from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import given
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.application import Tile

FIRST = number(8, "first capability with asynchronous copies", "", "guide 10.2.3.4")
_ELEMENTS = (4, 8, 16)


def check(device: Device, tile: Tile) -> Verdict:
    """Advise asynchronous copies where the device has them and nothing better fits."""
    fits = device.capability.major >= FIRST and tile.element_bytes in _ELEMENTS
    better = device.capability.major > FIRST and tile.bulk
    if tile.through is not TilePath.REGISTERS or not fits or better:
        return PASSED
    return Advice(
        message=(
            f"A tile of {show_bytes(tile.bytes)} is loaded into registers, {tile.element_bytes} "
            "bytes at a time, and then stored to shared memory."
        ),
        action=(
            "Use cuda::memcpy_async (cp.async) with a pipeline: the copy needs no registers and "
            "runs while the block computes on the tile before"
            + ("." if tile.element_bytes == WIDEST else "; elements of 16 bytes also skip L1.")
        ),
        evidence=(
            given("tile", tile.bytes, "bytes"),
            given("element", tile.element_bytes, "bytes"),
        ),
    )


RULE = Rule(
    id="synchronous-staging",
    title="Copy tiles asynchronously",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    kinds=(Kind.SOURCE, Kind.DEVICE),
    why="A load into registers holds them until the data arrive and makes the thread wait to store.",
    when="Elements of 4, 8 or 16 bytes go through registers to shared memory on compute capability 8.0 or later.",
    citations=guide("10.2.3.4"),
    check=check,
    examples=Examples(
        fires={
            "gpu": "a100-sxm4-80",
            "tile": {"bytes": "16KiB", "element": 4, "through": "registers"},
        },
        quiet={
            "gpu": "a100-sxm4-80",
            "tile": {"bytes": "16KiB", "element": 16, "through": "async"},
        },
        edges=(
            {
                "gpu": "a100-sxm4-80",
                "tile": {"bytes": "16KiB", "element": 8, "through": "registers"},
            },
            {"gpu": "t4", "tile": {"bytes": "16KiB", "element": 8, "through": "registers"}},
        ),
    ),
)
