"""How the threads of a warp address memory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.coalescing import coalesce
from gpuadvise.advisor.memory.pattern import gathered, strided
from gpuadvise.advisor.memory.remedies import remedies

if TYPE_CHECKING:
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.memory.coalescing import AccessCost as Coalescing
    from gpuadvise.advisor.memory.pattern import Pattern
    from gpuadvise.advisor.memory.remedies import Remedy


class Space(StrEnum):
    """The memory that is addressed."""

    GLOBAL = "global"
    SHARED = "shared"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One load or store of every lane; bytes, and words between neighbouring lanes.

    *indices* replaces *stride*: one word index per lane. *offset_bytes* counts from an
    aligned address, *alignment* is what the type promises, *row_bytes* the distance of two
    rows. *distinct_addresses* is what a warp reads of constant memory. *local_2d*: lanes read
    neighbours in two dimensions, in no order that coalesces. *array_bytes* is the size of the whole
    array.
    """

    name: str
    space: Space = Space.GLOBAL
    word_bytes: int
    stride: int = 1
    offset_bytes: int = 0
    indices: tuple[int, ...] | None = None
    alignment: int | None = None
    row_bytes: int | None = None
    distinct_addresses: int | None = None
    local_2d: bool | None = None
    textured: bool = False
    array_bytes: int | None = None


@lru_cache(maxsize=512)  # several rules ask, and kernels repeat each other's accesses
def pattern_of(access: Access) -> Pattern:
    """Return the addresses of a full warp that makes *access*."""
    if access.indices is not None:
        return gathered(access.word_bytes, access.indices, alignment=access.alignment)
    return strided(
        access.word_bytes,
        stride_bytes=access.stride * access.word_bytes,
        offset_bytes=access.offset_bytes,
        alignment=access.alignment,
    )


@lru_cache(maxsize=512)
def coalesced(pattern: Pattern, capability: Capability) -> Coalescing:
    """Return what *pattern* costs on *capability*; kernels repeat each other's patterns."""
    return coalesce(pattern, capability)


@lru_cache(maxsize=512)
def best_remedy(pattern: Pattern, capability: Capability) -> Remedy | None:
    """Return the change of layout that moves the fewest bytes, None when none moves fewer."""
    return next(iter(remedies(pattern, capability)), None)


def in_words(access: Access) -> str:
    """Return how the lanes address memory, such as ``4-byte words at stride 2``."""
    shape = "gathered by index" if access.indices is not None else f"at stride {access.stride}"
    shift = f", {access.offset_bytes} bytes off" if access.offset_bytes else ""
    return f"{access.word_bytes}-byte words {shape}{shift}"
