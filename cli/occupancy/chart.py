"""``--plot``: a sweep as a chart of characters, drawn by plotext."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import Unavailable
from gpuadvise.cli.blocks import Drawing
from gpuadvise.cli.occupancy.sweep import TITLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.cli.occupancy.sweep import Axis, Point

_HEIGHT = 17
_WIDEST = 120
_STEPS = 4  # of the axis


def chart(points: Sequence[Point], by: Axis, width: int) -> Drawing:
    """Return occupancy in per cent over the axis, *width* columns wide; raises Unavailable."""
    try:
        import plotext
    except ImportError:
        raise Unavailable(
            "--plot needs the package plotext, which is not installed.",
            hint="Install it with: pip install 'gpuadvise[plot]'.",
        ) from None
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plot_size(min(width, _WIDEST), _HEIGHT)
    plotext.plot(
        [point.value for point in points],
        [100 * point.found.occupancy for point in points],
        marker="braille",
    )
    plotext.ylim(0, 100)
    plotext.yticks([0, 25, 50, 75, 100])
    ticks = [points[place * (len(points) - 1) // _STEPS].value for place in range(_STEPS + 1)]
    plotext.xticks(ticks, [f"{tick:,}" for tick in ticks])
    plotext.title("Occupancy, %")
    plotext.xlabel(TITLES[by])
    return Drawing(plotext.uncolorize(plotext.build()).rstrip("\n"))
