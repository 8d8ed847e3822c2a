"""The steps of a file in batches, each of which is unpacked and read at once."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.binaries.entries import Packed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.binaries.model import Damage, Entry

# Unpacked bytes and steps of one batch, and the share of them that makes the first one, so that
# its kernels come at once. Small files have small batches, so that memory stays below their size.
_BATCH = 1 << 25
_SHARE_OF_FILE = 4
_MOST_STEPS = 1 << 12
FIRST = 1 / 16


class Mark(Enum):
    """What stands between steps.

    PAUSE: no more come for now, so those that have waited longest are wanted.
    END: all of something has come; it is yielded where it stands.
    """

    PAUSE = auto()
    END = auto()


class Batch(NamedTuple):
    """Steps whose payloads are unpacked at once; *size*: of those, unpacked."""

    steps: list[Entry | Damage | Packed | Mark]
    size: int


def batches(
    steps: Iterable[Entry | Damage | Packed | Mark], file_size: int, share: float
) -> Iterator[Batch | None]:
    """Yield *steps* in batches, the first a *share* of a whole one, and None at each pause."""
    most = min(_BATCH, file_size // _SHARE_OF_FILE)
    gathered: list[Entry | Damage | Packed | Mark] = []
    size, before = 0, -1
    for step in steps:
        if step is Mark.PAUSE:
            if gathered:
                yield Batch(gathered, size)
                gathered, size, before = [], 0, -1
            yield None
            continue
        gathered.append(step)
        if isinstance(step, Packed) and step.at != before:  # what parts share counts once
            size, before = size + max(step.size, step.unpacked_size), step.at
        if size >= share * most or len(gathered) >= share * _MOST_STEPS:
            yield Batch(gathered, size)
            gathered, size, before, share = [], 0, -1, min(2 * share, 1)
    if gathered:
        yield Batch(gathered, size)
