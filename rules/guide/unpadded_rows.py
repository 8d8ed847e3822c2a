"""Rows of a 2-D array that do not start on a sector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.memory.remedies import padded_pitch, row_sectors
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.quantity import show_number
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.bottleneck import relieved
from gpuadvise.rules.evidence import derived, given
from gpuadvise.rules.model import (
    Advice,
    Examples,
    Family,
    Gain,
    GainKind,
    Kind,
    Priority,
    Rule,
    Threshold,
    Topic,
    Verdict,
)
from gpuadvise.rules.sources import guide, programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.access import Access
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile


# As for accesses that do not coalesce: neighbouring warps share most of what is left.
USED = number(
    0.8,
    "bytes used",
    "share",
    "as uncoalesced-access: from there on the finding is low",
    LaunchSet.RECORDED,
)


def check(row_accesses: tuple[Access, ...], profile: KernelProfile | None = None) -> Verdict:
    """Advise for rows whose width is no multiple of a sector."""
    return tuple(
        _advice(access, profile) for access in row_accesses if (access.row_bytes or 0) % SECTOR
    )


def _advice(access: Access, profile: KernelProfile | None) -> Advice:
    row = access.row_bytes or 0
    pitch = padded_pitch(row)
    now, then = row_sectors(row, access.word_bytes), row_sectors(pitch, access.word_bytes)
    return Advice(
        message=(
            f'Rows of "{access.name}" are {row:,} bytes wide, no multiple of {SECTOR}: a warp '
            f"touches {show_number(now)} sectors on average instead of {show_number(then)}."
        ),
        action=(
            f"Pad each row to {pitch:,} bytes, or allocate with cudaMallocPitch() (which pads "
            "further) and index by the pitch it returns."
        ),
        evidence=(
            given("row width", row, "bytes"),
            derived("sectors per warp, average", now, "sectors"),
        ),
        priority=Priority.LOW if then >= USED * now else None,
        gain=Gain(
            kind=GainKind.GLOBAL_TRAFFIC,
            upper_bound=max(1.0, now / then),
            how=f"sectors now / then = {show_number(now)} / {show_number(then)}",
        ),
        relief=relieved(
            profile, max(1.0, now / then), Unit.DRAM, Unit.L2, Unit.L1_SHARED, Unit.MEMORY
        )
        if profile
        else None,
    )


RULE = Rule(
    id="unpadded-rows",
    title="Pad the rows of 2-D arrays",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    kinds=(Kind.PATTERN,),
    family=Family.COALESCING,
    why="Rows that start in the middle of a sector make every warp touch one sector more.",
    when="The width of a row is not a multiple of 32 bytes.",
    thresholds=(Threshold(name="sector", value=SECTOR, unit="bytes", source="guide 10.2.1"),),
    citations=(programming_guide("Two-Dimensional Arrays"), *guide("10.2.1")),
    check=check,
    examples=Examples(
        fires={"accesses": [{"name": "image[y][x]", "word": 4, "row_bytes": 4004}]},
        quiet={"accesses": [{"name": "image[y][x]", "word": 4, "row_bytes": 4096}]},
        edges=(
            {"accesses": [{"name": "image[y][x]", "word": 4, "row_bytes": 4028}]},
            {"accesses": [{"name": "image[y][x]", "word": 4, "row_bytes": 4032}]},
        ),
    ),
)
