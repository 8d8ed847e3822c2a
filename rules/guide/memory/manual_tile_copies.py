"""Tiles copied by all threads on a device that has a unit for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.application import TilePath
from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.advice import PASSED, Advice, Verdict
from gpuadvise.rules.evidence import given
from gpuadvise.rules.model import Examples, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.facts.application import Tile

FIRST = number(
    9, "first capability with TMA", "", "programming guide, Asynchronous Data Copies using TMA"
)


def check(device: Device, tile: Tile) -> Verdict:
    """Advise bulk copies where device and tile allow them."""
    if device.capability.major < FIRST or tile.through is TilePath.BULK or not tile.bulk:
        return PASSED
    return Advice(
        message=(
            f"All threads of a block copy a tile of {show_bytes(tile.bytes)}, "
            f"{tile.element_bytes} bytes at a time."
        ),
        action=(
            "Let one thread start a bulk copy (cuda::memcpy_async with an mbarrier, or "
            "cp.async.bulk.tensor with a tensor map): the hardware computes the addresses, checks "
            "bounds, swizzles, and multicasts within a cluster."
        ),
        evidence=(
            given("tile", tile.bytes, "bytes"),
            given("element", tile.element_bytes, "bytes"),
        ),
    )


RULE = Rule(
    id="manual-tile-copies",
    title="Let the tensor memory accelerator copy tiles",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    kinds=(Kind.DEVICE, Kind.APPLICATION, Kind.SOURCE),
    why="Address arithmetic and copy loops take issue slots and registers from the computation.",
    when=(
        "Threads copy a tile on compute capability 9.0 or later, and its size and row stride are "
        "multiples of 16 bytes."
    ),
    citations=(programming_guide("Asynchronous Data Copies using the Tensor Memory Accelerator"),),
    check=check,
    examples=Examples(
        fires={
            "gpu": "h200",
            "tile": {"bytes": "16KiB", "element": 16, "through": "async", "row_stride": 4096},
        },
        quiet={
            "gpu": "h200",
            "tile": {"bytes": "16KiB", "element": 16, "through": "bulk", "row_stride": 4096},
        },
        edges=(
            {
                "gpu": "h200",
                "tile": {"bytes": "16KiB", "element": 16, "through": "async", "row_stride": 4112},
            },
            {
                "gpu": "h200",
                "tile": {"bytes": "16KiB", "element": 16, "through": "async", "row_stride": 4100},
            },
        ),
    ),
)
