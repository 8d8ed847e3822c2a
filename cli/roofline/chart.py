"""The roofline as a chart of characters (plotext) or as a picture file (matplotlib)."""

from __future__ import annotations

import math
from itertools import cycle
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import Unavailable
from gpuadvise.advisor.prose import and_list, inert, plural
from gpuadvise.advisor.quantity import show_flops, show_number, show_rate, show_share
from gpuadvise.advisor.short_names import shortened
from gpuadvise.cli.blocks import Drawing
from gpuadvise.cli.render import svg
from gpuadvise.cli.render.picture import literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from gpuadvise.advisor.roofline_placement import Placed

_WIDEST, _HEIGHT = 120, 20
_LABEL_SPACING = 3.0  # two labels closer than this factor may fall on one line
_RATE_LABELS = 12  # columns beside the chart
_BETWEEN = 3  # columns between two labels
_LONGEST_NAME = 48  # in a legend
_MOST_NAMED = 10  # colours before they repeat
_STYLES = ("-", "--", ":", "-.")  # of the roofs
_MARGIN = 8.0  # how far the axis reaches beyond ridge and kernels, as a factor
_HINT = "Install it with: pip install matplotlib."


def drawn(kernels: Sequence[Placed], title: str) -> Drawing:
    """Return the chart of *kernels* for the terminal; raises Unavailable without plotext."""
    characters(kernels, title, _WIDEST)
    return Drawing(lambda columns: characters(kernels, title, columns))


def characters(kernels: Sequence[Placed], title: str, columns: int) -> str:
    """Return the chart in *columns* columns; raises Unavailable without plotext."""
    try:
        import plotext
    except ImportError:
        raise Unavailable(
            "--show needs the package plotext.", hint="Install it with: pip install plotext."
        ) from None
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plot_size(min(columns, _WIDEST), _HEIGHT)
    plotext.xscale("log")
    plotext.yscale("log")
    for peak in _peaks(kernels):
        plotext.plot(*_roof(kernels, peak), marker="dot")
    xs, ys = _points(kernels)
    plotext.scatter(xs, ys, marker="x")
    corners = [_roof(kernels, peak) for peak in _peaks(kernels)]
    places = [x for places, _ in corners for x in places]
    intensities = _spaced(places, min(columns, _WIDEST) - _RATE_LABELS)
    plotext.xticks(intensities, [show_number(x) for x in intensities])
    heights = [*ys, *(y for _, rates in corners for y in rates)]
    rates = _with_room([*reversed(_peaks(kernels)), *_decades(heights)])
    plotext.yticks(rates, [show_flops(rate) for rate in rates])
    plotext.title(inert(title))
    plotext.xlabel("FLOP/byte")
    return str(plotext.uncolorize(plotext.build())).rstrip("\n")


def draw(axes: Axes, kernels: Sequence[Placed]) -> None:
    """Draw the roofs and *kernels* on *axes*, both scales logarithmic."""
    axes.set(xscale="log", yscale="log", xlabel="FLOP/byte", ylabel="FLOP/s")
    for peak, style in zip(_peaks(kernels), cycle(_STYLES), strict=False):
        axes.plot(
            *_roof(kernels, peak), color="black", linestyle=style, label=_roof_name(kernels, peak)
        )
    for name, group in _named(kernels):
        axes.plot(*_points(group), "o", label=literal(f"{name}{_share(group)}"))
    axes.legend(title=f"under {show_rate(kernels[0].roofline.bandwidth)} of memory bandwidth")
    axes.grid(visible=True, which="both", alpha=0.2)


_LEFT, _RIGHT, _TOP, _BOTTOM = 86, 450, 12, 230  # of a picture, in pixels


def picture(kernels: Sequence[Placed], title: str) -> svg.Picture:
    """Return the roofs and *kernels* as a picture, both scales logarithmic."""
    roofs = [_roof(kernels, peak) for peak in _peaks(kernels)]
    xs, ys = _points(kernels)
    rates = [*ys, *(rate for _, heights in roofs for rate in heights)]
    low = 10.0 ** math.floor(math.log10(min(rates)))
    high = 10.0 ** math.ceil(math.log10(max(rates) * 1.05))
    across = svg.Scale(roofs[0][0][0], roofs[0][0][2], _LEFT, _RIGHT, log=True)
    up = svg.Scale(low, high, _BOTTOM, _TOP, log=True)
    marks_across = [(x, show_number(x)) for x in _spaced([across.low, across.high], _TICK_COLUMNS)]
    decades = _decades([low, high])
    marks_up = [(y, show_flops(y)) for y in decades[:: max(1, math.ceil(len(decades) / 8))]]
    marks = [svg.axes(across, up, marks_across, marks_up, "FLOP/byte")]
    for places, heights in roofs:
        corners = zip(places, heights, strict=True)
        marks.append(svg.path([(across.at(x), up.at(y)) for x, y in corners], "roof"))
    marks += [svg.dot(across.at(x), up.at(y), "c4") for x, y in zip(xs, ys, strict=True)]
    below = [f"Roof of {_roof_name(kernels, peak)}" for peak in _peaks(kernels)]
    below[0] += f" under {show_rate(kernels[0].roofline.bandwidth)}"
    for number, (name, group) in enumerate(_named(kernels), start=1):
        below.append(f"{number}. {name}{_share(group)}")
        if len(group) == 1:
            x, y = across.at(xs[number - 1]), up.at(ys[number - 1])
            marks.append(svg.words(x + 8, y + 14, str(number)))
    marks += [
        svg.words(8, _BOTTOM + 58 + svg.LINE * at, text, small=True)
        for at, text in enumerate(below)
    ]
    height = _BOTTOM + 48 + svg.LINE * len(below)
    return svg.Picture(title, "; ".join(below), height, "".join(marks))


_TICK_COLUMNS = 60  # as many characters as have room across


def _roof_name(kernels: Sequence[Placed], peak: float) -> str:
    """Return the peak and the units that have it."""
    units = dict.fromkeys(k.unit.key for k in kernels if k.roofline.peak == peak)
    return f"{and_list(list(units))}: {show_flops(peak)}"


def _share(group: Sequence[Placed]) -> str:
    """Return how much of its roof a kernel reaches, or that it stands at its roof for want of a time."""
    if len(group) > 1:
        return ""
    share = group[0].roofline.share
    return (
        ": no time given, drawn at the roof"
        if share is None
        else f": {show_share(share)} of the roof"
    )


def _named(kernels: Sequence[Placed]) -> list[tuple[str, Sequence[Placed]]]:
    """Return each kernel with its name for the legend, or all as one where they are many."""
    if len(kernels) > _MOST_NAMED:
        return [(plural(len(kernels), "kernel"), kernels)]
    names = shortened([kernel.workload.name or "kernel" for kernel in kernels], _LONGEST_NAME)
    return [(name, [kernel]) for name, kernel in zip(names, kernels, strict=True)]


def _decades(values: Sequence[float]) -> list[float]:
    """Return the powers of ten within *values*."""
    first, last = math.ceil(math.log10(min(values))), math.floor(math.log10(max(values)))
    return [10.0**power for power in range(first, last + 1)]


def _spaced(places: Sequence[float], columns: int) -> list[float]:
    """Return powers of ten within *places* whose labels stand clear of each other in *columns*.

    Where labels meet, plotext shifts them in an order that changes from run to run.
    """
    marks = _decades(places)
    widest = max((len(show_number(mark)) for mark in marks), default=0) + _BETWEEN
    room = columns / max(1.0, math.log10(max(places) / min(places)))
    return marks[:: max(1, math.ceil(widest / max(1.0, room)))]


def _with_room(rates: Sequence[float]) -> list[float]:
    """Return those of *rates* whose labels have room beside the labels of those before them."""
    kept: list[float] = []
    for rate in rates:
        if all(not 1 / _LABEL_SPACING < rate / labelled < _LABEL_SPACING for labelled in kept):
            kept.append(rate)
    return kept


def _peaks(kernels: Sequence[Placed]) -> list[float]:
    return sorted({kernel.roofline.peak for kernel in kernels})


def _roof(kernels: Sequence[Placed], peak: float) -> tuple[list[float], list[float]]:
    """Return the three corners of the roof under *peak*: start, ridge, end."""
    rate = kernels[0].roofline.bandwidth
    ridge = peak / rate
    places = [ridge, *(kernel.roofline.intensity for kernel in kernels)]
    low, high = min(places) / _MARGIN, max(places) * _MARGIN
    return [low, ridge, high], [low * rate, peak, peak]


def _points(kernels: Sequence[Placed]) -> tuple[list[float], list[float]]:
    """Return where the kernels stand: at what they achieve, or at their roof."""
    rooflines = [kernel.roofline for kernel in kernels]
    return [r.intensity for r in rooflines], [r.achieved or r.attainable for r in rooflines]
