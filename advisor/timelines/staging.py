"""How far copies and kernels of a timeline overlapped, as work that staging could cut."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.timelines.activities import CopyPath
from gpuadvise.advisor.transfers.copies import WORTHWHILE
from gpuadvise.advisor.transfers.pipeline import StagedWork

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.timelines.timeline import Timeline, TracedCopies
    from gpuadvise.advisor.transfers.links import LinkModel

_NS = 1e9
# Of what could overlap: from here on a run is staged already.
STAGED = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedStaging:
    """The traced work of one pass, the link as it was reached, and the passes there were.

    A pass is as much work as comes with one of the largest copies. Copies of pageable memory
    stand with the link's rate for pinned memory, since staging needs that.
    """

    work: StagedWork
    link: LinkModel
    passes: int
    pageable: bool
    assumed: tuple[str, ...]  # of the link and the engines, as no GPU is known
    streams: int  # on which the copies were
    kernel_seconds: float  # of all passes, like what follows
    copy_seconds: float
    overlapped_seconds: float

    @property
    def traced_seconds(self) -> float:
        """The time in which a kernel or a copy ran."""
        return self.kernel_seconds + self.copy_seconds - self.overlapped_seconds

    @property
    def achieved(self) -> float:
        """Of the time that could be saved by overlap, the share (0 to 1) that was."""
        most = min(self.kernel_seconds, self.copy_seconds)
        return min(1.0, self.overlapped_seconds / most) if most else 0.0

    def wins_with(self, pass_seconds: float) -> bool:
        """Return whether passes of *pass_seconds* save 5 % of what was traced, or more."""
        return pass_seconds * self.passes < (1 - WORTHWHILE) * self.traced_seconds


def traced_staging(timeline: Timeline, link: LinkModel) -> TracedStaging | None:
    """Return the staging of *timeline* over *link*; None without kernels or without copies.

    Migrations of managed memory are none: no call of the program could be staged.
    """
    ways = {path: timeline.copies_over_link(path) for path in (CopyPath.H2D, CopyPath.D2H)}
    crossing = [copies for way in ways.values() for copies in way]
    kernel_seconds = timeline.steady_kernel_ns / _NS
    if not kernel_seconds or not any(copies.bytes for copies in crossing):
        return None
    rates = {path: _traced_rate(way, link) for path, way in ways.items()}
    passes = max(map(_passes, ways.values()))
    sizes = {path: sum(copies.bytes for copies in way) // passes for path, way in ways.items()}
    return TracedStaging(
        work=StagedWork(
            kernel_seconds=kernel_seconds / passes,
            h2d_bytes=sizes[CopyPath.H2D],
            d2h_bytes=sizes[CopyPath.D2H],
        ),
        link=replace(
            link,
            h2d_rate=rates[CopyPath.H2D] or link.h2d_rate,
            d2h_rate=rates[CopyPath.D2H] or link.d2h_rate,
            source=_source([rates[path] for path, way in ways.items() if way], link),
        ),
        assumed=_assumed(timeline, [rates[path] for path, way in ways.items() if way], link),
        passes=passes,
        pageable=any(copies.pageable for copies in crossing),
        streams=max(copies.streams for copies in crossing),
        kernel_seconds=kernel_seconds,
        copy_seconds=timeline.steady_copy_ns / _NS,
        overlapped_seconds=min(timeline.overlapped_copy_ns, timeline.steady_copy_ns) / _NS,
    )


def _passes(way: Sequence[TracedCopies]) -> int:
    largest = max((copies.largest_bytes for copies in way), default=0)
    total = sum(copies.bytes for copies in way)
    return max(1, round(total / largest)) if largest else 1


def _traced_rate(way: Sequence[TracedCopies], link: LinkModel) -> float | None:
    """Return the rate of pinned copies as traced, None where there are none that tell it."""
    pinned = [copies for copies in way if not copies.pageable]
    size = sum(copies.bytes for copies in pinned)
    calls = sum(copies.calls for copies in pinned)
    moving = sum(copies.total_ns for copies in pinned) / _NS - calls * link.copy_latency
    # Copies that are little more than latency tell no rate.
    if not size or moving < calls * link.copy_latency:
        return None
    return size / moving


def _source(rates: list[float | None], link: LinkModel) -> str:
    """Return where the *rates* of the directions that were copied come from."""
    if all(rates):
        return "the rates of this timeline"
    return f"the rates of this timeline, else {link.source}" if any(rates) else link.source


def _assumed(timeline: Timeline, rates: list[float | None], link: LinkModel) -> tuple[str, ...]:
    """Return what a prediction takes for granted of a GPU that is not known."""
    if timeline.device is not None:
        return ()
    rate = () if all(rates) else (link.source.removeprefix("assumed: "),)
    engines = (f"{link.engines} copy engines",) if len(rates) > 1 else ()
    return (*rate, *engines)
