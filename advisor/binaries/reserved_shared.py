"""Shared memory as an image has it, and the part of it that is the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.advisor.capability import Capability

# From cc 9.0 on a linked image counts these bytes, which the driver needs, with the user's.
# Seen in every image of sm_90 to sm_121 made by toolkits 11.8 to 13.5.
RESERVED = 1024
FIRST_MAJOR = 9


def split_smem(size: int, target: Capability | None) -> tuple[int | None, int | None]:
    """Return the user's bytes and the reserved ones of a linked image's shared *size*.

    Both are None when *target* is not known and the reserve may be in it.
    """
    if size < RESERVED:
        return size, 0
    if target is None:
        return None, None
    reserved = RESERVED if target.major >= FIRST_MAJOR else 0
    return size - reserved, reserved
