"""Shared-memory tiles: how a warp walks them, and what removes their bank conflicts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.banks import bank_conflicts
from gpuadvise.advisor.memory.pattern import Pattern, strided
from gpuadvise.advisor.memory.word_size import WARP_SIZE, natural_alignment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpuadvise.advisor.capability import Capability

# More padding than one row of banks repeats what less padding does.
_MOST_PADDING = 32
_MOST_ELEMENTS = 2**20


class Walk(StrEnum):
    """Which elements of a tile the lanes of a warp take together."""

    COLUMN = "column"
    ROW = "row"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTile:
    """A 2-D array in shared memory; *pad* elements are added to each row."""

    rows: int
    columns: int
    element_bytes: int
    pad: int = 0

    @property
    def bytes(self) -> int:
        """Bytes that the tile takes, padding included."""
        return self.rows * (self.columns + self.pad) * self.element_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Swizzle:
    """A permutation of each row: ``column ^ ((row >> shift) & mask)``."""

    mask: int
    shift: int

    def __str__(self) -> str:
        row = f"(row >> {self.shift})" if self.shift else "row"
        return f"column ^ ({row} & {self.mask})"

    def column(self, row: int, column: int) -> int:
        """Return where the element of *row* and *column* is kept within its row."""
        return column ^ (row >> self.shift & self.mask)


def walk_pattern(tile: SharedTile, walk: Walk, swizzle: Swizzle | None = None) -> Pattern:
    """Return the pattern of a warp that walks the first column, or the rows, of *tile*.

    Lanes beyond the end of the column or row continue in the next one. Raises BadInput for
    a tile without elements or beyond any shared memory.
    """
    if (
        min(tile.rows, tile.columns) < 1
        or tile.pad < 0
        or tile.rows * tile.columns > _MOST_ELEMENTS
    ):
        raise BadInput(f"A tile of {tile.rows} x {tile.columns} does not fit shared memory.")
    pitch = tile.columns + tile.pad
    starts = []
    for lane in range(min(WARP_SIZE, tile.rows * tile.columns)):
        row, column = _position(tile, walk, lane)
        if swizzle:
            column = swizzle.column(row, column)
        starts.append((row * pitch + column) * tile.element_bytes)
    return Pattern(
        element_bytes=tile.element_bytes,
        alignment=natural_alignment(tile.element_bytes),
        starts=tuple(starts),
        lanes=tuple(range(len(starts))),
    )


def _position(tile: SharedTile, walk: Walk, lane: int) -> tuple[int, int]:
    if walk is Walk.COLUMN:
        return lane % tile.rows, lane // tile.rows
    return divmod(lane, tile.columns)


def smallest_padding(
    padded: Callable[[int], Pattern], capability: Capability, *, eight_byte_banks: bool = False
) -> int | None:
    """Return the fewest elements to add to each row that end the conflicts of ``padded(n)``.

    *padded* gives the access once n elements are added. 0 when it needs none; None when no
    padding of up to a row of banks helps.
    """
    for pad in range(_MOST_PADDING + 1):
        if bank_conflicts(padded(pad), capability, eight_byte_banks=eight_byte_banks).degree == 1:
            return pad
    return None


def smallest_stride_padding(
    element_bytes: int, stride: int, capability: Capability, *, eight_byte_banks: bool = False
) -> int | None:
    """Return the fewest elements to add to a *stride* (elements) that end a warp's conflicts."""
    return smallest_padding(
        lambda pad: strided(element_bytes, stride_bytes=(stride + pad) * element_bytes),
        capability,
        eight_byte_banks=eight_byte_banks,
    )


def smallest_swizzle(
    tile: SharedTile, capability: Capability, *, eight_byte_banks: bool = False
) -> Swizzle | None:
    """Return the XOR that ends conflicts of both walks without padding, None if none does.

    Only rows of a power of two can be permuted this way. The fewest mask bits win, then the
    smallest shift.
    """
    bare = SharedTile(rows=tile.rows, columns=tile.columns, element_bytes=tile.element_bytes)
    for swizzle in _swizzles(tile.columns):
        degrees = (
            bank_conflicts(
                walk_pattern(bare, walk, swizzle), capability, eight_byte_banks=eight_byte_banks
            ).degree
            for walk in Walk
        )
        if all(degree == 1 for degree in degrees):
            return swizzle
    return None


def _swizzles(columns: int) -> Iterator[Swizzle]:
    bits = columns.bit_length() - 1
    if columns != 1 << bits:
        return
    for width in range(1, min(bits, 5) + 1):
        for shift in range(5):
            yield Swizzle(mask=(1 << width) - 1, shift=shift)
