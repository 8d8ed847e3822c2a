"""When kernels and copies ran and the host waited: lanes of characters, or of a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.cli.blocks import Drawing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

    from gpuadvise.advisor.timelines.intervals import Cover, Interval
    from gpuadvise.advisor.timelines.timeline import Timeline

KEY = "Of a mark's time: # all, = half or more, - less, . nothing."
_LABEL = 11
_NARROWEST, _WIDEST = 20, 200
_COLUMNS = 1600  # of a picture: finer than its pixels
_ALL = 0.95
_HALF = 0.5


def drawn(timeline: Timeline) -> Drawing:
    """Return the lanes as characters, as wide as there is room."""
    return Drawing(lambda columns: _characters(timeline, columns))


def _characters(timeline: Timeline, columns: int) -> str:
    width = min(max(columns - _LABEL, _NARROWEST), _WIDEST)
    end = show_seconds(timeline.span_seconds)
    rows = [f"{'':{_LABEL}}0{end:>{width - 1}}"]
    for name, intervals in _lanes(timeline):
        if intervals:
            shares = covered(intervals, timeline.lanes.start_ns, timeline.span_ns, width)
            rows.append(f"{name:{_LABEL}}{''.join(map(_mark, shares))}")
    return "\n".join(rows)


def _lanes(timeline: Timeline) -> tuple[tuple[str, Cover], ...]:
    lanes = timeline.lanes
    return ("kernels", lanes.kernels), ("copies", lanes.copies), ("host waits", lanes.host)


def _mark(share: float) -> str:
    if share >= _ALL:
        return "#"
    if share >= _HALF:
        return "="
    return "-" if share else "."


def covered(intervals: Iterable[Interval], start: int, span: int, columns: int) -> list[float]:
    """Return the share (0 to 1) of each of *columns* equal parts of the span that is covered."""
    times = [0.0] * columns
    scale = columns / max(span, 1)
    for begin, end in intervals:
        left, right = (begin - start) * scale, (end - start) * scale
        first, last = min(int(left), columns - 1), min(int(right), columns - 1)
        if first == last:
            times[first] += right - left
            continue
        times[first] += first + 1 - left
        for column in range(first + 1, last):
            times[column] = 1.0
        times[last] += right - last
    return [min(1.0, time) for time in times]


def draw(axes: Axes, timeline: Timeline) -> None:
    """Fill *axes* with a lane each for kernels, copies and waits of the host."""
    lanes = _lanes(timeline)
    step = timeline.span_seconds / _COLUMNS * 1e3
    times = [column * step for column in range(_COLUMNS + 1)]
    for at, (_, intervals) in enumerate(lanes):
        shares = covered(intervals, timeline.lanes.start_ns, timeline.span_ns, _COLUMNS)
        bottom = float(len(lanes) - 1 - at)
        tops = [bottom + 0.85 * share for share in (*shares, 0.0)]
        axes.fill_between(times, bottom, tops, step="post", linewidth=0)
    axes.set_yticks(
        [len(lanes) - 0.6 - at for at in range(len(lanes))], [name for name, _ in lanes]
    )
    axes.set_xlim(0, max(timeline.span_seconds * 1e3, 1e-6))
    axes.set_xlabel("ms")


def title(timeline: Timeline) -> str:
    """Return what stands above a picture of *timeline*."""
    name = timeline.device.name if timeline.device else f"GPU {timeline.gpu}"
    rank = "" if timeline.rank is None else f", rank {timeline.rank}"
    return f"{name}{rank}: kernels and copies over {show_seconds(timeline.span_seconds)}"
