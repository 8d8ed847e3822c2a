"""Single copies: their rate and time, and how much of it is latency."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.thresholds import LaunchSet, number

if TYPE_CHECKING:
    from gpuadvise.advisor.transfers.links import LinkModel


WORTHWHILE = number(
    0.05, "worthwhile", "share", "a smaller gain is not worth the code", LaunchSet.RECORDED
)


class Direction(StrEnum):
    """Which way a copy goes."""

    H2D = "h2d"
    D2H = "d2h"


def copy_rate(model: LinkModel, direction: Direction, *, pageable: bool = False) -> float:
    """Return the bytes/s of a large copy alone on the link."""
    if direction is Direction.H2D:
        return model.pageable_h2d_rate if pageable else model.h2d_rate
    return model.pageable_d2h_rate if pageable else model.d2h_rate


def copy_seconds(
    size: int, model: LinkModel, direction: Direction = Direction.H2D, *, pageable: bool = False
) -> float:
    """Return the seconds that a copy of *size* bytes takes alone on the link; raises BadInput below 0."""
    if size < 0:
        raise BadInput("A copy has 0 bytes or more.")
    return model.copy_latency + size / copy_rate(model, direction, pageable=pageable)


def latency_share(size: int, model: LinkModel, direction: Direction = Direction.H2D) -> float:
    """Return the share (0 to 1) of a pinned copy's time in which no byte moves."""
    return model.copy_latency / copy_seconds(size, model, direction)


def half_rate_bytes(model: LinkModel, direction: Direction = Direction.H2D) -> float:
    """Return the bytes at which a pinned copy reaches half the link's rate."""
    return model.copy_latency * copy_rate(model, direction)
