"""When kernels and copies ran and the host waited: lanes of characters, or of a picture."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.cli.blocks import Drawing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

    from gpuadvise.advisor.timelines.intervals import Cover, Interval
    from gpuadvise.advisor.timelines.timeline import Timeline
    from gpuadvise.cli.render.svg import Picture

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


_PIXELS = 360  # of a lane
_START = 110
_HEIGHT, _PITCH = 28, 40


def picture(timeline: Timeline) -> Picture:
    """Return the lanes as a picture; where the GPU did both or neither is seen from one to the next."""
    from gpuadvise.cli.render import svg

    marks, described = [], []
    lanes = [(name, intervals) for name, intervals in _lanes(timeline) if intervals]
    for at, (name, intervals) in enumerate(lanes):
        shares = covered(intervals, timeline.lanes.start_ns, timeline.span_ns, _PIXELS)
        bottom = _PITCH * at + _HEIGHT
        marks.append(svg.words(0, bottom - 9, name))
        marks.append(svg.box(_START, bottom - _HEIGHT, _PIXELS, _HEIGHT, "track"))
        x = 0
        for share, group in groupby(round(share, 2) for share in shares):
            width = len(list(group))
            if share:
                height = _HEIGHT * share
                marks.append(svg.box(_START + x, bottom - height, width, height, f"c{at}"))
            x += width
        described.append(f"{name} {show_share(sum(shares) / _PIXELS)} of the time")
    bottom = _PITCH * len(lanes) + 6
    marks.append(svg.words(_START, bottom, "0", small=True))
    end = show_seconds(timeline.span_seconds)
    marks.append(svg.words(_START + _PIXELS, bottom, end, anchor="end", small=True))
    return svg.Picture(title(timeline), "; ".join(described), bottom + 8, "".join(marks))


def time_account(timeline: Timeline) -> Picture:
    """Return one bar of where the time of *timeline* went."""
    from gpuadvise.cli.render import svg

    account, span = timeline.account, timeline.span_ns
    work = (
        ("computing", account.computing_ns),
        ("communication that nothing hides", account.communication_ns),
        ("copies that no kernel hides", account.copies_ns),
        ("memory being set", account.memsets_ns),
    )
    parts = [svg.Part(name, ns, _said(ns, span)) for name, ns in work]
    parts.append(svg.Part("idle", account.idle_ns, _said(account.idle_ns, span), idle=True))
    return svg.account("Account of time", parts)


def _said(ns: int, span: int) -> str:
    return f"{show_share(ns / span)}, {show_seconds(ns / 1e9)}" if span else ""


def title(timeline: Timeline) -> str:
    """Return what stands above a picture of *timeline*."""
    name = timeline.device.name if timeline.device else f"GPU {timeline.gpu}"
    rank = "" if timeline.rank is None else f", rank {timeline.rank}"
    return f"{name}{rank}: kernels and copies over {show_seconds(timeline.span_seconds)}"
