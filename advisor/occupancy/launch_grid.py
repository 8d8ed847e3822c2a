"""Every combination of some figures of a launch: what fills the SM, and by how much."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import chain, product
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.occupancy.answer import RESOURCES
from gpuadvise.advisor.occupancy.model import occupancy
from gpuadvise.advisor.occupancy.tiers import IMPOSSIBLE, ROOM, Tier, coded, decoded, room

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuadvise.advisor.limits import Limits
    from gpuadvise.advisor.occupancy.launch import Launch

# Launches answered at once: enough that arrays pay, few enough that they stay small.
_PIECE = 1 << 17
# Fewer launches than this are answered before numpy is imported (0.1 s; 7 us each without it).
_WORTH_ARRAYS = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchGrid:
    """All combinations of the values of *axes*, fields of Launch; the last varies fastest.

    Values rise. With *arrays* numpy answers. Raises BadInput, when it is asked, for values that
    no launch can have.
    """

    limits: Limits
    launch: Launch
    axes: tuple[tuple[str, Sequence[int]], ...]
    arrays: bool = False

    def __len__(self) -> int:
        """Return the number of launches."""
        return math.prod(len(values) for _, values in self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that vary."""
        return tuple(name for name, _ in self.axes)

    def pieces(self) -> Iterator[LaunchGrid]:
        """Yield the grid in pieces of few launches, in the order of the launches."""
        if len(self) <= _PIECE:
            yield self
            return
        place = next(i for i, (_, values) in enumerate(self.axes) if len(values) > 1)
        name, values = self.axes[place]
        step = max(1, _PIECE // (len(self) // len(values)))
        for start in range(0, len(values), step):
            cut = (name, values[start : start + step])
            axes = (*self.axes[:place], cut, *self.axes[place + 1 :])
            yield from replace(self, axes=axes).pieces()

    def launches(self) -> Iterator[tuple[int, ...]]:
        """Yield the values of each launch, in order."""
        return product(*(values for _, values in self.axes))

    def codes(self) -> list[int]:
        """Return the coded answer of each launch, in order."""
        if self.arrays:
            from gpuadvise.advisor.occupancy.vectorized import codes

            coded_answers: list[int] = codes(self.limits, self.launch, self.axes).ravel().tolist()
            return coded_answers
        return [self._code(launch) for launch in self.launches()]

    def tiers(self) -> list[Tier]:
        """Return the tiers of the whole grid, the fullest first."""
        by_warps: dict[int, Tier] = {}
        for tier in chain.from_iterable(piece.piece_tiers() for piece in self.pieces()):
            known = by_warps.setdefault(tier.warps_per_sm, tier)
            if known is not tier:
                known.join(tier, self.names)
        fullest, *lower = sorted(by_warps.values(), key=lambda tier: -tier.warps_per_sm)
        return [fullest, *(replace(tier, roomiest={}) for tier in lower)]

    def piece_tiers(self) -> Iterator[Tier]:
        """Yield the tiers of a grid that is one piece."""
        if self.arrays:
            from gpuadvise.advisor.occupancy.vectorized import tiers

            yield from tiers(self.limits, self.launch, self.axes)
            return
        members: dict[int, list[tuple[int, ...]]] = {}
        for launch, code in zip(self.launches(), self.codes(), strict=True):
            members.setdefault(decoded(code).warps_per_sm, []).append(launch)
        fullest = max(members)
        for warps, launches in members.items():
            columns = list(zip(*launches, strict=True))
            yield Tier(
                warps_per_sm=warps,
                launches=len(launches),
                spans=[(min(column), max(column)) for column in columns],
                roomiest={
                    name: max(launches, key=room(self.names, name))
                    for name in ROOM
                    if name in self.names and warps == fullest
                },
            )

    def launch_of(self, values: tuple[int, ...]) -> Launch:
        """Return the launch that has *values* for the axes."""
        changed: dict[str, Any] = dict(zip(self.names, values, strict=True))
        threads = changed.pop("threads", None)
        launch = replace(self.launch, **changed)
        return launch if threads is None else launch.with_threads(threads)

    def _code(self, values: tuple[int, ...]) -> int:
        answer = occupancy(self.limits, self.launch_of(values))
        if not answer.launchable:
            return IMPOSSIBLE
        bits = sum(1 << RESOURCES.index(limiter) for limiter in answer.limiters)
        code: int = coded(answer.blocks_per_sm, answer.warps_per_block, bits)
        return code


def best_engine(grid: LaunchGrid) -> LaunchGrid:
    """Return *grid* answered by arrays where that pays and numpy is installed."""
    return replace(grid, arrays=len(grid) >= _WORTH_ARRAYS and find_spec("numpy") is not None)
