"""What is to be copied, computed and copied back, and how it is cut into pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from gpuadvise.advisor.transfers.link_model import LinkModel

MOST_PIECES = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One kernel with its copies: each copy as bytes or as seconds, never both; 0 for none.

    ``kernel_seconds`` is the time of the whole kernel. A *pageable* copy blocks the host.
    """

    kernel_seconds: float
    h2d_bytes: int = 0
    h2d_seconds: float = 0.0
    d2h_bytes: int = 0
    d2h_seconds: float = 0.0
    pageable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One engine's part of one piece: a fixed time, then time that the link may stretch."""

    fixed: float
    moving: float

    @property
    def seconds(self) -> float:
        """Time of the stage when nothing else is going on."""
        return self.fixed + self.moving


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One chunk of the data on its way: copy in, kernel, copy out; None where there is none."""

    h2d: Stage | None
    kernel: Stage | None
    d2h: Stage | None


def shares(pieces: int, total: int | None = None, granularity: int = 1) -> list[float]:
    """Return the share of the data in each piece; they sum to 1 and the last may be smaller.

    With *total* bytes every piece but the last holds the same multiple of *granularity*, and
    fewer pieces result when the data run out before.
    """
    if not 1 <= pieces <= MOST_PIECES:
        raise BadInput(f"Data are cut into 1 to {MOST_PIECES} pieces, not {pieces}.")
    if not total:
        return [1 / pieces] * pieces
    chunk = -(-total // pieces)
    chunk = -(-chunk // granularity) * granularity
    whole, rest = divmod(total, chunk)
    return [chunk / total] * whole + ([rest / total] if rest else [])


def cut(work: Work, model: LinkModel, parts: list[float]) -> list[Piece]:
    """Return the pieces of *work* when piece i holds the share ``parts[i]`` of the data."""
    h2d_rate = model.pageable_h2d_rate if work.pageable else model.h2d_rate
    d2h_rate = model.pageable_d2h_rate if work.pageable else model.d2h_rate
    lag = model.copy_latency
    h2d_time = work.h2d_seconds or (work.h2d_bytes and lag + work.h2d_bytes / h2d_rate)
    d2h_time = work.d2h_seconds or (work.d2h_bytes and lag + work.d2h_bytes / d2h_rate)
    return [
        Piece(
            h2d=_stage(h2d_time, lag, part),
            kernel=_stage(work.kernel_seconds, model.kernel_latency, part),
            d2h=_stage(d2h_time, lag, part),
        )
        for part in parts
    ]


def _stage(whole: float, least: float, part: float) -> Stage | None:
    """Return the share *part* of a stage of *whole* seconds, *least* of which are fixed."""
    if not whole:
        return None
    fixed = min(least, whole)
    return Stage(fixed=fixed, moving=(whole - fixed) * part)
