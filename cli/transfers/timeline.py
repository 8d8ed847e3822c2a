"""The time line of a staging, drawn with one row per engine."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.advisor.transfers.simulation import Engine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.transfers.overlap import Staging
    from gpuadvise.advisor.transfers.simulation import Span

WIDTH = 64
_MARKS = string.digits + string.ascii_lowercase + string.ascii_uppercase


def picture(staging: Staging) -> str:
    """Return a row per engine; each mark is the piece that works there, a dot is idle."""
    end = show_seconds(staging.seconds)
    drawn = [f"{'':8}0{end:>{WIDTH - 1}}"]
    for engine in Engine:
        spans = [span for span in staging.spans if span.engine is engine]
        if spans:
            drawn.append(f"{engine:8}{_row(spans, staging.seconds)}")
    return "\n".join(drawn)


def _row(spans: Sequence[Span], whole: float) -> str:
    marks = ["."] * WIDTH
    for span in spans:
        first = min(int(span.start / whole * WIDTH), WIDTH - 1)
        last = max(first + 1, round(span.end / whole * WIDTH))
        marks[first:last] = _MARKS[span.piece % len(_MARKS)] * (min(last, WIDTH) - first)
    return "".join(marks)
