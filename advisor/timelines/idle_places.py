"""Where in a program the host was while the GPU was idle, over all gaps that are kept one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.timelines.gaps import Gap


@dataclass(frozen=True, slots=True, kw_only=True)
class IdlePlace:
    """What the host did, and the line it was called from, with the nanoseconds that it took of gaps."""

    culprit: str
    total_ns: int
    file: str | None
    line: int | None
    function: str | None


def idle_places(gaps: Iterable[Gap]) -> tuple[IdlePlace, ...]:
    """Return what held the GPU up in *gaps*, the longest time first; gaps without a name are in none."""
    totals: dict[tuple[str, str | None, int | None, str | None], int] = {}
    for gap in gaps:
        if gap.culprit is not None:
            one = gap.culprit
            key = one.name, one.file, one.line, one.function
            totals[key] = totals.get(key, 0) + one.covered_ns
    return tuple(
        IdlePlace(culprit=name, total_ns=total, file=file, line=line, function=function)
        for (name, file, line, function), total in sorted(totals.items(), key=lambda item: -item[1])
    )
