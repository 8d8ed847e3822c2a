"""From which size on staging pays, and whether the device is worth its transfers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.transfers.overlap import WORTHWHILE, sequential_seconds, stage

if TYPE_CHECKING:
    from gpuadvise.advisor.transfers.link_model import LinkModel
    from gpuadvise.advisor.transfers.work import Work

_FEW_STREAMS = (2, 3, 4)
_LARGEST = 2**40


def break_even_bytes(work: Work, model: LinkModel) -> int | None:
    """Return the bytes to copy in (or else out) from which two to four streams save 5 %.

    Kernel time and the other copy grow in proportion. None when no size pays, or when *work*
    gives times instead of bytes.
    """
    given = work.h2d_bytes or work.d2h_bytes
    if not given or not _pays(work, model, _LARGEST / given):
        return None
    low, high = 0, _LARGEST  # pays at high, never at low
    while high - low > max(1, high // 100):
        middle = (low + high) // 2 if low else high // 2
        if middle and _pays(work, model, middle / given):
            high = middle
        else:
            low = middle
    return high


def _pays(work: Work, model: LinkModel, factor: float) -> bool:
    scaled = replace(
        work,
        h2d_bytes=round(work.h2d_bytes * factor),
        h2d_seconds=_grown(work.h2d_seconds, model.copy_latency, factor),
        d2h_bytes=round(work.d2h_bytes * factor),
        d2h_seconds=_grown(work.d2h_seconds, model.copy_latency, factor),
        kernel_seconds=_grown(work.kernel_seconds, model.kernel_latency, factor),
    )
    limit = sequential_seconds(scaled, model) * (1 - WORTHWHILE)
    return any(stage(scaled, model, streams).seconds <= limit for streams in _FEW_STREAMS)


def _grown(seconds: float, latency: float, factor: float) -> float:
    """Return *seconds* for *factor* times the data: what lies above a latency grows."""
    fixed = min(latency, seconds)
    return fixed + (seconds - fixed) * factor
