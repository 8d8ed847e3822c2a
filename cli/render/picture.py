"""Picture files of ``--plot``: SVG as pages show it, PNG and PDF drawn by matplotlib."""

from __future__ import annotations

import logging
import os
import warnings
from typing import TYPE_CHECKING, BinaryIO

from gpuadvise.advisor.backends.file_replacement import replacing
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import inert, quoted, quoted_path
from gpuadvise.cli.emit import note

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from gpuadvise.cli.render.svg import Picture

SUFFIXES = (".svg", ".png", ".pdf")
_INCHES = (8, 5)


def save(
    path: str, title: str, draw: Callable[[Axes], None], picture: Callable[[], Picture]
) -> None:
    """Write *picture*, or what *draw* puts on axes, to *path* under *title*, and say so on stderr.

    Raises BadInput for a suffix or path that cannot be, Unavailable where PNG or PDF is wanted
    without matplotlib.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in SUFFIXES:
        raise BadInput(f"--plot: {quoted(path)} ends in none of {', '.join(SUFFIXES)}.")
    if suffix == ".svg":
        from gpuadvise.cli.render.svg import document

        drawn = document(picture()._replace(title=title)).encode()
        _write(path, lambda file: file.write(drawn))
    else:
        figure = _figure(title, draw)
        _write(path, lambda file: figure.savefig(file, format=suffix[1:]))
    note(f"Drawn into {quoted_path(path)}.")


def _write(path: str, fill: Callable[[BinaryIO], object]) -> None:
    try:
        with (
            warnings.catch_warnings(action="ignore"),  # letters that the fonts of matplotlib lack
            replacing(os.path.realpath(path)) as file,
        ):
            fill(file)
    except OSError as error:
        raise BadInput(f"--plot: {quoted(path)} cannot be written: {error.strerror}.") from None


def _figure(title: str, draw: Callable[[Axes], None]) -> Figure:
    """Return what *draw* makes of axes; raises Unavailable without matplotlib."""
    # Where its cache cannot be kept it says so at length, and draws all the same.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise Unavailable(
            "--plot needs the package matplotlib for PNG and PDF.",
            hint="Write a .svg file, or install it with: pip install matplotlib.",
        ) from None
    except ValueError as error:  # its settings are read at import
        hint = "$MPLBACKEND or a matplotlibrc file may be wrong. A .svg file needs no matplotlib."
        raise Unavailable(f"matplotlib cannot start: {inert(str(error))}", hint=hint) from None
    except OSError:
        raise Unavailable(
            "--plot: matplotlib finds no folder in which it may keep its cache.",
            hint="Name one: MPLCONFIGDIR=FOLDER. A .svg file needs no matplotlib.",
        ) from None
    figure = Figure(figsize=_INCHES, layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(literal(title))
    draw(axes)
    return figure


def literal(text: str) -> str:
    """Return foreign *text* as matplotlib shows it literally, without its TeX."""
    return inert(text).replace("\\", "\\\\").replace("$", r"\$")
