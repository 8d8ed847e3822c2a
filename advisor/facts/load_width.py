"""How wide the loads of a kernel are: bytes per lane, as far as a profile tells."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.workload import bytes_per_load
from gpuadvise.advisor.memory.transactions import SECTOR
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_number
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.facts.kernel_profile import KernelProfile

WORD = number(4.0, "word", "bytes per thread", "measured on an H200")
WIDEST = number(
    16.0, "widest access", "bytes per thread", "programming guide, Device Memory Accesses"
)
HALF_WORD = number(2.0, "half a word", "bytes per thread", "16-bit types")
ONE_WORD = number(
    1.1, "one word, with what rounding adds", "words", "our judgement", LaunchSet.FOURTH
)
_FEWEST_BYTES = number(
    16.0,
    "bytes used of a request",
    "bytes",
    "our judgement: with fewer most lanes share their words, whose width nobody knows",
    LaunchSet.SIXTH,
)
# A mask, a scale or an offset that all lanes share moves 1 sector for 1 word of 1 to 8 bytes.
NOTABLY_SHARED = number(0.05, "loads of one word for all lanes", "share of loads", "our judgement")
_SHARED_WORDS = (1, 8)
_FITS = number(0.01, "sectors of such loads, with what rounding takes", "share", "our judgement")
_BYTE_POINTER = r"\b((un)?signed char|u?int8_t)\b[^,()]{0,20}\*"

_WIDEST_TYPE = r"\b(u?int4|float4|u?longlong2|double2)\b"


def takes_bytes(profile: KernelProfile) -> bool:
    """Return whether a parameter of the kernel points to numbers of one byte."""
    return bool(re.search(_BYTE_POINTER, profile.kernel.partition("(")[2]))


def takes_widest_words(profile: KernelProfile) -> bool:
    """Return whether all arrays that the kernel reads, and nothing else, are of types of 16 bytes."""
    parameters = re.split(r",(?![^<]*>)", profile.kernel.partition("(")[2])
    read = [each for each in parameters if "*" in each and "const" in each]
    return bool(read) and all(re.search(_WIDEST_TYPE, each) for each in read)


def few_lanes_load(profile: KernelProfile) -> bool:
    """Return whether requests use so few bytes that most lanes share their words, whose width nobody knows."""
    return bytes_per_load(profile) < _FEWEST_BYTES and not takes_bytes(profile)


def load_width(profile: KernelProfile) -> float:
    """Return the bytes that a lane gets by an average load, 4 to 16; 4 where nobody counted them."""
    per_request = bytes_per_load(profile)
    return min(WIDEST, max(WORD, per_request / WARP_SIZE)) if per_request else WORD


def width_of_whole_warps(sectors: float, used: float, average: float) -> tuple[float, float]:
    """Return the bytes per lane of whole-warp loads, and the part of all loads that take one word for all lanes.

    An average of both would be a width that no load has.
    """
    shared = (WORD - sectors) / (WORD - 1)
    if NOTABLY_SHARED <= shared < 1:
        whole = (1 - shared) * WARP_SIZE * WORD
        least, most = (whole + shared * size for size in _SHARED_WORDS)
        if (1 - _FITS) * least <= used <= (1 + _FITS) * most:
            return WORD, shared
    return average, 0.0


def size_words(width: float) -> str:
    """Return a width in words, an average as what it is."""
    if abs(width - round(width)) <= _FITS * width:
        return plural(round(width), "byte")
    return f"{show_number(width)} bytes on average"


def used_in_the_end(profile: KernelProfile) -> float:
    """Return how much of a sector is used in the end: what a byte leaves, the next finds in L1."""
    used, hits = profile.global_loads.used_bytes or 0.0, profile.l1_load_hit_rate or 0.0
    whole_warps = (profile.active_threads or WARP_SIZE) >= WARP_SIZE - 1
    few = bytes_per_load(profile) <= HALF_WORD * WARP_SIZE
    bytewise = few and (whole_warps or takes_bytes(profile))
    return min(SECTOR, used / (1.0 - hits)) if bytewise and hits < 1.0 else used
