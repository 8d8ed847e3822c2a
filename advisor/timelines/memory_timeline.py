"""What a GPU's memory held by category, as PyTorch's ``export_memory_timeline("memory.json")`` writes it.

The file is ``[times, sizes]``: a row of sizes for each time, of which the first is always 0 and the others are
the categories of ``torch/profiler/_memory_profiler.py`` in their order.
"""

from __future__ import annotations

import os
import re
from array import array
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.user_files import is_file, opened
from gpuadvise.advisor.compression.packed_file import PackedStream, Packing, UnpackingBounds
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted_path
from gpuadvise.advisor.timelines.foreign_files import is_memory_by_category

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.compression.packed_file import Readable

CATEGORIES = (
    "parameter",
    "optimizer-state",
    "input",
    "temporary",
    "activation",
    "gradient",
    "autograd-detail",
    "unknown",
)
_TOLD_BY = 1 << 9
_PIECE = 1 << 20
_BOUNDS = UnpackingBounds(freely=256 << 20, times=200, most=4 << 30)
_LONGEST_LIST = 256 << 20  # of the times, which stand before all sizes
_LIST = re.compile(rb"\[([^\[\]]*)\]")
# Microseconds since 1970 are below, nanoseconds above.
_LATEST_US = 10**17


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryMemory:
    """Bytes of one category: when most was allocated in all, and the most of its own."""

    category: str
    bytes: int
    most_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryByCategory:
    """When most of a GPU's memory was allocated, and what for; the largest category first."""

    file: str
    peak_bytes: int
    peak_seconds: float  # behind the first time in the file
    seconds: float  # of the whole file
    categories: tuple[CategoryMemory, ...]


def is_memory_timeline(path: str) -> bool:
    """Return whether the file *path* holds sizes by category."""
    with suppress(BadInput):
        if is_file(path):
            with opened(path) as file:
                return is_memory_by_category(_unpacked(file, path).read(_TOLD_BY))
    return False


def read_memory_timeline(path: str) -> MemoryByCategory:
    """Return the peak by category of the file *path*; raises BadInput for what is none, or damaged."""
    name = os.path.basename(path)
    with opened(path) as file:
        lists = _lists(_unpacked(file, path))
        try:
            times = array("q", next(lists, ()))
            return _read(name, times, lists)
        except (ValueError, OverflowError):
            raise BadInput(
                f"{quoted_path(name)} is a damaged memory timeline: it does not have a row of "
                f"{len(CATEGORIES) + 1} sizes for each time.",
                hint='Write it again: prof.export_memory_timeline("memory.json", device="cuda:0").',
            ) from None


def _read(name: str, times: array[int], lists: Iterator[list[int]]) -> MemoryByCategory:
    """Return what *lists* hold for *times*; raises ValueError where they are not of one length, or no sizes."""
    most = [0] * len(CATEGORIES)
    peak, peak_at, at_peak, rows = -1, 0, most, 0
    for at, (_, *sizes) in enumerate(islice(lists, len(times))):
        if len(sizes) != len(CATEGORIES):
            raise ValueError
        most = list(map(max, most, sizes))
        total, rows = sum(sizes), at + 1
        if total > peak:
            peak, peak_at, at_peak = total, at, sizes
    if not rows or rows != len(times):
        raise ValueError
    per_second = 1e9 if times[-1] > _LATEST_US else 1e6
    held = [
        CategoryMemory(category=category, bytes=size, most_bytes=largest)
        for category, size, largest in zip(CATEGORIES, at_peak, most, strict=True)
        if size or largest
    ]
    return MemoryByCategory(
        file=name,
        peak_bytes=peak,
        peak_seconds=max(0, times[peak_at] - times[0]) / per_second,
        seconds=max(0, times[-1] - times[0]) / per_second,
        categories=tuple(sorted(held, key=lambda one: -one.bytes)),
    )


def _unpacked(file: Readable, path: str) -> Readable:
    packed = path.endswith(".gz")
    return PackedStream(file, Packing.GZIP, quoted_path(path), _BOUNDS) if packed else file


def _lists(stream: Readable) -> Iterator[list[int]]:
    """Yield each list of numbers that holds no list, one after the other."""
    rest = b""
    while piece := stream.read(_PIECE):
        rest += piece
        at = 0
        for found in _LIST.finditer(rest):
            at = found.end()
            yield [int(number) for number in found[1].split(b",")]
        rest = rest[at:]
        if len(rest) > _LONGEST_LIST:
            return
