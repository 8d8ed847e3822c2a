"""How the threads of a warp address memory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
    neighbours in two dimensions, in no order that coalesces.
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
