"""The access to shared memory that ``banks`` is asked about, from option texts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.memory.banks import bank_conflicts
from gpuadvise.advisor.memory.layouts import (
    SharedTile,
    Walk,
    smallest_padding,
    smallest_swizzle,
    walk_pattern,
)
from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.values import whole
from gpuadvise.cli.access.warp import WarpOptions, active, patterns
from gpuadvise.cli.banks.answer import BanksCase
from gpuadvise.cli.options import named, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.device import Device
    from gpuadvise.advisor.memory.pattern import Pattern

_MOST_COLUMNS = 2**16


def wide_banks(size: int, device: Device) -> bool:
    """Return whether ``--bank-size`` asks for the 8-byte banks of cc 3.x; raises BadInput."""
    if size == 8 and device.capability.major != 3:
        raise BadInput(
            f"--bank-size: {quoted(str(size))} is not a bank size of compute capability "
            f"{device.capability}.",
            hint="Banks are 4 bytes wide; cc 3.x can switch to 8.",
        )
    return size == 8


def examined(
    device: Device, words: WarpOptions, *, tile: str | None, walk: str, pad: int, wide: bool
) -> BanksCase:
    """Return the access that the options describe, its conflicts and what ends them; raises BadInput."""
    if tile is None:
        return _strided(device, words, pad, wide=wide)
    if words.stride is not None or words.indices is not None:
        raise BadInput("--tile gives the addresses: leave out --stride and --indices.")
    rows, columns = read("tile", tile)
    layout = SharedTile(rows=rows, columns=columns, element_bytes=words.word, pad=pad)
    return _tiled(device, words, layout, Walk(read("walk", walk)), wide=wide)


def _strided(device: Device, words: WarpOptions, extra: int, *, wide: bool) -> BanksCase:
    if words.indices is not None:
        return _listed(device, words, extra, wide=wide)
    bare = _elements(words.stride or "1", words.word)
    rows = SharedTile(rows=WARP_SIZE, columns=max(bare, 1), element_bytes=words.word)

    def padded(pad: int) -> Pattern:
        return patterns(words._replace(stride=str(bare + pad)))[0]

    return _case(device, rows, padded, extra, wide=wide)


def _listed(device: Device, words: WarpOptions, extra: int, *, wide: bool) -> BanksCase:
    warps = patterns(words)
    if extra:
        raise BadInput("--pad needs rows: --stride or --tile, not --indices.")
    if len(warps) > 1:
        raise BadInput("--indices: one warp has 32 lanes at most.")
    return BanksCase(
        device=device,
        pattern=warps[0],
        conflicts=bank_conflicts(warps[0], device.capability, eight_byte_banks=wide),
        padding=None,
        swizzle=None,
        wide_banks=wide,
        listed=True,
    )


def _tiled(
    device: Device, words: WarpOptions, tile: SharedTile, walk: Walk, *, wide: bool
) -> BanksCase:
    def padded(pad: int) -> Pattern:
        return active(words, walk_pattern(replace(tile, pad=pad), walk))

    return replace(_case(device, tile, padded, tile.pad, wide=wide), tile=tile)


def _case(
    device: Device, rows: SharedTile, padded: Callable[[int], Pattern], pad: int, *, wide: bool
) -> BanksCase:
    capability, pattern = device.capability, padded(pad)
    return BanksCase(
        device=device,
        pattern=pattern,
        conflicts=bank_conflicts(pattern, capability, eight_byte_banks=wide),
        padding=smallest_padding(padded, capability, eight_byte_banks=wide),
        swizzle=smallest_swizzle(rows, capability, eight_byte_banks=wide),
        wide_banks=wide,
    )


def _elements(stride: str, element: int) -> int:
    """Return ``--stride`` in elements; raises BadInput for a part of one, or beyond any row."""
    elements = named("--stride", read("stride", stride).elements_of, element)
    stride_in_range: int = named("--stride", whole(0, _MOST_COLUMNS), elements)
    return stride_in_range
