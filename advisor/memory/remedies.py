"""What an access would cost if it were aligned, contiguous, padded, or split by field."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.coalescing import coalesce
from gpuadvise.advisor.memory.pattern import strided
from gpuadvise.advisor.memory.transactions import LINE, SECTOR
from gpuadvise.advisor.memory.word_size import WARP_SIZE, WORD_SIZES, natural_alignment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.memory.pattern import Pattern
    from gpuadvise.advisor.memory.transactions import CachePath


# Addresses that far apart cost the same: cc 1.0 takes 16 words of 16 bytes as one segment.
_LARGEST_SEGMENT = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A change of layout, and what one warp then moves for the same useful bytes."""

    name: str  # kebab case
    how: str
    instructions: int
    bytes_moved: int
    efficiency: float  # bytes used / bytes moved


def remedies(
    pattern: Pattern, capability: Capability, path: CachePath | None = None
) -> tuple[Remedy, ...]:
    """Return the changes that move fewer bytes than *pattern* does, best first.

    Each is judged by the same rules as the pattern itself; several may be combined.
    """
    now = coalesce(pattern, capability, path)
    better = []
    for name, how, changed, repeats in _changes(pattern, now.width):
        then = coalesce(changed, capability, path)
        moved = then.bytes_moved * repeats
        if moved < now.bytes_moved:
            instructions = then.instructions * repeats
            better.append(
                Remedy(
                    name=name,
                    how=how,
                    instructions=instructions,
                    bytes_moved=moved,
                    efficiency=now.bytes_used / moved,
                )
            )
    return tuple(sorted(better, key=lambda remedy: (remedy.bytes_moved, remedy.instructions)))


def _changes(pattern: Pattern, width: int) -> Iterator[tuple[str, str, Pattern, int]]:
    """Yield name, instruction to the reader, pattern, and how often it is repeated."""
    size, threads = pattern.element_bytes, len(pattern.starts)
    base = min(pattern.starts)
    if base % LINE:
        shifted = tuple(start - base % LINE for start in pattern.starts)
        yield (
            "aligned",
            f"Start on a multiple of {LINE} bytes.",
            replace(pattern, starts=shifted),
            1,
        )
    packed = min(pattern.alignment, natural_alignment(size))
    adjacent = strided(size, threads=threads, alignment=packed)
    if any(
        start - base != near for start, near in zip(pattern.starts, adjacent.starts, strict=True)
    ):
        yield "contiguous", "Let neighbouring lanes take neighbouring elements.", adjacent, 1
    if size > width:
        split = strided(width, threads=threads)
        yield (
            "structure-of-arrays",
            f"Keep each {width}-byte field in its own array.",
            split,
            size // width,
        )
    if padded_element(size) != size or pattern.alignment != _align(size):
        slot = padded_element(size)
        padded = strided(slot, threads=threads)
        yield (
            "padded-element",
            f"Pad the element to {slot} bytes, __align__({_align(slot)}).",
            padded,
            1,
        )


def padded_element(element_bytes: int) -> int:
    """Return the size to which padding lets the widest words read the element."""
    small = next((size for size in WORD_SIZES if element_bytes <= size), None)
    return small or -(-element_bytes // 16) * 16


def _align(element_bytes: int) -> int:
    return min(padded_element(element_bytes), 16)


def padded_pitch(row_bytes: int, *, multiple: int = SECTOR) -> int:
    """Return the row pitch in bytes that starts every row on a multiple of *multiple*."""
    return -(-row_bytes // multiple) * multiple


def average_sectors(
    pattern: Pattern, step_bytes: int, capability: Capability, path: CachePath | None = None
) -> float:
    """Return the sectors of *pattern*, averaged over warps that start *step_bytes* apart."""
    period = _LARGEST_SEGMENT // gcd(step_bytes, _LARGEST_SEGMENT)
    warps = (
        replace(pattern, starts=tuple(start + n * step_bytes for start in pattern.starts))
        for n in range(period)
    )
    return sum(coalesce(warp, capability, path).sectors for warp in warps) / period


def row_sectors(pitch_bytes: int, element_bytes: int) -> float:
    """Return the sectors a warp of adjacent elements touches, averaged over the rows.

    Row k starts k x *pitch_bytes* into the array; the average runs over one period of that.
    """
    period = SECTOR // gcd(pitch_bytes, SECTOR)
    length = WARP_SIZE * element_bytes
    starts = [row * pitch_bytes for row in range(period)]
    return sum((s + length - 1) // SECTOR - s // SECTOR + 1 for s in starts) / period
