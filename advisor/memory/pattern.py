"""Where the lanes of one warp read or write: strided, in rows, or by a list of indices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.word_size import WARP_SIZE, WORD_SIZES, natural_alignment

if TYPE_CHECKING:
    from collections.abc import Sequence

# Addresses of one warp stay below 2^48, the reach of a CUDA pointer before Blackwell.
LARGEST_ADDRESS = 2**48


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """One element per active lane of a warp.

    ``starts`` holds the byte address of each active lane's element, ``lanes`` the number of
    that lane. Addresses count from an allocation, which CUDA aligns to 256 bytes.
    """

    element_bytes: int
    alignment: int
    starts: tuple[int, ...]
    lanes: tuple[int, ...]


def strided(
    element_bytes: int,
    *,
    stride_bytes: int | None = None,
    offset_bytes: int = 0,
    threads: int = WARP_SIZE,
    row_threads: int | None = None,
    pitch_bytes: int = 0,
    alignment: int | None = None,
) -> Pattern:
    """Return the pattern ``base + offset + lane * stride`` of the first *threads* lanes.

    Without *stride_bytes* the elements are adjacent. With *row_threads* the warp covers
    several rows of a 2-D block: lane ``row_threads`` starts the row *pitch_bytes* further on.
    Raises BadInput for threads, elements or addresses that no warp can have.
    """
    step = element_bytes if stride_bytes is None else stride_bytes
    width = row_threads or WARP_SIZE
    if width < 1 or not 1 <= threads <= WARP_SIZE:
        raise BadInput(f"A warp has 1 to {WARP_SIZE} active threads, in rows of 1 or more.")
    starts = tuple(
        offset_bytes + lane % width * step + lane // width * pitch_bytes for lane in range(threads)
    )
    return _checked(element_bytes, starts, alignment, spacing=step)


def gathered(
    element_bytes: int, indices: Sequence[int], *, alignment: int | None = None
) -> Pattern:
    """Return the pattern of lanes that take the elements *indices*, one per lane.

    Raises BadInput for more indices than lanes, or for none.
    """
    if not 1 <= len(indices) <= WARP_SIZE:
        raise BadInput(f"A warp reads 1 to {WARP_SIZE} elements, not {len(indices)}.")
    starts = tuple(index * element_bytes for index in indices)
    return _checked(element_bytes, starts, alignment, spacing=element_bytes)


def only_lanes(pattern: Pattern, mask: int) -> Pattern:
    """Return *pattern* with the lanes whose bit in *mask* is set. Raises BadInput if none."""
    kept = [
        (start, lane)
        for start, lane in zip(pattern.starts, pattern.lanes, strict=True)
        if mask >> lane & 1
    ]
    if not kept:
        raise BadInput(f"The mask {mask:#x} leaves no active lane.")
    return Pattern(
        element_bytes=pattern.element_bytes,
        alignment=pattern.alignment,
        starts=tuple(start for start, _ in kept),
        lanes=tuple(lane for _, lane in kept),
    )


def _checked(
    element_bytes: int, starts: tuple[int, ...], alignment: int | None, *, spacing: int
) -> Pattern:
    natural = natural_alignment(element_bytes)
    if alignment is not None and alignment not in WORD_SIZES:
        raise BadInput(f"An alignment is 1, 2, 4, 8 or 16 bytes, not {alignment}.")
    if alignment is not None and spacing % alignment:
        raise BadInput(f"Elements {spacing} bytes apart cannot all be aligned to {alignment}.")
    if min(starts) < 0 or max(starts) >= LARGEST_ADDRESS:
        raise BadInput("The warp reaches outside the address space.")
    return Pattern(
        element_bytes=element_bytes,
        alignment=alignment or natural,
        starts=starts,
        lanes=tuple(range(len(starts))),
    )
