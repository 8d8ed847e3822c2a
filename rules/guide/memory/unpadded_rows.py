"""Rows of a 2-D array that do not start on a sector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.levels import MEMORY_BY_WORDS
from gpuadvise.advisor.facts.library_kernels import library_of
from gpuadvise.advisor.facts.load_width import WIDEST, WORD
from gpuadvise.advisor.facts.stalls import Stall
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.facts.workload import is_long, relieved, sm_units, waits_for
from gpuadvise.advisor.memory.remedies import padded_pitch, row_sectors
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.quantity import show_number, show_share
from gpuadvise.advisor.thresholds import LaunchSet, number
from gpuadvise.rules.advice import Advice, Gain, GainKind, Verdict
from gpuadvise.rules.evidence import derived, given, profiled
from gpuadvise.rules.model import Examples, Family, Kind, Priority, Rule, Topic
from gpuadvise.rules.sources import guide, programming_guide

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.access import Access
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile, WarpRequests

# As for accesses that do not coalesce: neighbouring warps share most of what is left.
USED = number(
    0.8,
    "bytes used",
    "share",
    "as uncoalesced-access: from there on the finding is low",
    LaunchSet.RECORDED,
)
# Of a warp's 128 bytes by words, where 7 of 8 rows begin in the middle of a sector.
LEAST_USED = number(
    26.0,
    "bytes used of a sector where rows begin anywhere",
    "bytes",
    "26.26 of 32; measured are 26.3 and 27.1 for norms of rows of 4,095 floats (H200)",
    LaunchSet.SIXTH,
)
MOST_USED = number(27.3, "bytes used there, at most", "bytes", "the same", LaunchSet.SIXTH)
LEAST_SECTORS = number(
    4.8,
    "sectors per request where rows begin anywhere",
    "sectors",
    "4.875; measured are 4.87 and 4.88",
    LaunchSet.SIXTH,
)
MOST_SECTORS_THERE = number(
    4.95, "sectors per request there, at most", "sectors", "the same", LaunchSet.SIXTH
)
WAITING = number(
    0.5, "wait for loads of such rows", "share of a warp's time", "our judgement", LaunchSet.SIXTH
)
BEST = number(
    0.95,
    "bandwidth that 16-byte loads reach",
    "share",
    "measured: 0.92, and a little more",
    LaunchSet.SIXTH,
)


def check(
    row_accesses: tuple[Access, ...] | None = None, profile: KernelProfile | None = None
) -> Verdict:
    """Advise for rows whose width is no multiple of a sector, or that begin anywhere in an operator of PyTorch."""
    rows = [access for access in row_accesses or () if (access.row_bytes or 0) % SECTOR]
    advices = [_advice(access, profile) for access in rows]
    if row_accesses is None and profile is not None and _rows_begin_anywhere(profile):
        advices.append(_of_operator(profile))
    return tuple(advices)


def _rows_begin_anywhere(profile: KernelProfile) -> bool:
    """Return whether an operator of PyTorch goes through rows by words, since most do not begin at 16 bytes.

    Its kernels load 16 bytes at once where every row does; else a warp's 128 bytes lie in 5 sectors for 7 of 8 rows.
    """
    library = library_of(profile.kernel)
    return (
        library is not None
        and library.name == "PyTorch"
        and waits_for(profile, Stall.LONG_SCOREBOARD, share=WAITING)
        and (profile.dram_busy or 1.0) < MEMORY_BY_WORDS
        and is_long(profile)
        and any(map(_begins_anywhere, (profile.global_loads, profile.global_stores)))
    )


def _begins_anywhere(ways: WarpRequests) -> bool:
    used, per_request = ways.used_bytes or 0.0, ways.sectors_per_request or 0.0
    return LEAST_USED <= used <= MOST_USED and LEAST_SECTORS <= per_request <= MOST_SECTORS_THERE


def _of_operator(profile: KernelProfile) -> Advice:
    ways = next(filter(_begins_anywhere, (profile.global_loads, profile.global_stores)))
    dram = profile.dram_busy or 0.0
    return Advice(
        message=(
            f"A warp uses {show_number(ways.used_bytes or 0.0)} bytes of each sector's {SECTOR}: most rows begin in the middle of "
            f"one, which keeps PyTorch from its kernels with 16-byte loads; device memory is {show_share(dram)} busy."
        ),
        action=(
            "Make the last dimension a multiple of 8 elements (16 bytes in every type): pad the tensor, keep it padded from "
            "step to step, and ignore what was added; or take a slice that begins at such a multiple."
        ),
        evidence=(
            profiled("bytes used per sector", ways.used_bytes or 0.0, "bytes"),
            profiled("device memory busy", dram, "share"),
        ),
        gain=Gain(
            kind=GainKind.MEMORY_THROUGHPUT,
            upper_bound=BEST / max(dram, 1e-3),
            how=f"{BEST:g} / {show_number(dram)} of the memory bandwidth, of which no loads reach more",
        ),
        relief=relieved(profile, WIDEST / WORD, *sm_units(profile)) | _at_memorys_rate(profile),
    )


def _at_memorys_rate(profile: KernelProfile) -> dict[str, float]:
    """Return how busy L2 is where each sector is asked for once: as device memory."""
    return {} if profile.dram_busy is None else {Unit.L2: profile.dram_busy}


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
    kinds=(Kind.PATTERN, Kind.PROFILE),
    family=Family.COALESCING,
    why="Rows that start in the middle of a sector make every warp touch one sector more.",
    when=(
        "The width of a row is not a multiple of 32 bytes; or a profile of 20 us or more shows an operator of PyTorch whose loads or stores use "
        "26 to 27.3 bytes of a sector, in 4.8 to 4.95 sectors per request, warps that wait for loads "
        "half of their time, and device memory below 71 %."
    ),
    citations=(programming_guide("Two-Dimensional Arrays"), *guide("10.2.1")),
    check=check,
    either=("row_accesses", "profile"),
    examples=Examples(
        fires={"accesses": [{"name": "image[y][x]", "word": 4, "row_bytes": 4004}]},
        quiet={"accesses": [{"name": "image[y][x]", "word": 4, "row_bytes": 4096}]},
        edges=(
            {"accesses": [{"name": "image[y][x]", "word": 4, "row_bytes": 4028}]},
            {"accesses": [{"name": "image[y][x]", "word": 4, "row_bytes": 4032}]},
        ),
    ),
)
