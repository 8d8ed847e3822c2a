"""Answers for many launches: coded in numbers, and gathered by how many warps they keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuadvise.advisor.occupancy.answer import RESOURCES
from gpuadvise.advisor.occupancy.block_sizes import GUIDE_RANGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.occupancy.answer import Resource


class GridAnswer(NamedTuple):
    """What the model says of one launch of a grid; no limiters where no block can start."""

    blocks_per_sm: int
    warps_per_sm: int
    limiters: tuple[Resource, ...]


# An answer in one number, for arrays: blocks, warps of a block, one bit for each limiter.
_BLOCK_BITS, _WARP_BITS = 6, 6
IMPOSSIBLE = 0


def coded(blocks: Any, warps_per_block: Any, limiters: Any) -> Any:
    """Return the number for an answer, or an array of numbers for arrays."""
    return blocks | warps_per_block << _BLOCK_BITS | limiters << (_BLOCK_BITS + _WARP_BITS)


def decoded(code: int) -> GridAnswer:
    """Return the answer that *code* stands for."""
    blocks = code & ((1 << _BLOCK_BITS) - 1)
    warps = (code >> _BLOCK_BITS) & ((1 << _WARP_BITS) - 1)
    bits = code >> (_BLOCK_BITS + _WARP_BITS)
    limiters = tuple(limiter for index, limiter in enumerate(RESOURCES) if bits >> index & 1)
    return GridAnswer(blocks, blocks * warps, limiters)


@dataclass(slots=True)
class Tier:
    """The launches of a grid that keep as many warps resident.

    ``spans`` is the least and the greatest value of each axis among them; ``roomiest``, of the
    fullest tier, the launch that takes most of an axis, for each axis in ROOM.
    """

    warps_per_sm: int
    launches: int
    spans: list[tuple[int, int]]
    roomiest: dict[str, tuple[int, ...]]

    def join(self, other: Tier, names: Sequence[str]) -> None:
        """Take in the same tier of another piece of the grid."""
        self.launches += other.launches
        pairs = zip(self.spans, other.spans, strict=True)
        self.spans = [(min(a, c), max(b, d)) for (a, b), (c, d) in pairs]
        for name, launch in other.roomiest.items():
            known = self.roomiest.get(name, launch)
            self.roomiest[name] = max(known, launch, key=room(names, name))


# What a kernel would rather have more of.
ROOM = ("registers", "dynamic_shared")


class room:
    """Orders launches of a grid: most of one axis first, then of the others, then the block."""

    def __init__(self, names: Sequence[str], first: str) -> None:
        order = [first, *(name for name in ROOM if name != first)]
        self.places = [names.index(name) for name in order if name in names]
        self.block = names.index("threads") if "threads" in names else None

    def __call__(self, launch: Sequence[int]) -> tuple[int, ...]:
        """Return the key of *launch*: of equals a block of the guide's range, then the smaller."""
        taken = [launch[place] for place in self.places]
        if self.block is None:
            return tuple(taken)
        threads = launch[self.block]
        return (*taken, int(threads in GUIDE_RANGE), -threads)
