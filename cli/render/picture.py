"""Picture files of ``--plot``, in the format of their suffix, drawn by matplotlib."""

from __future__ import annotations

import logging
import os
import warnings
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.file_replacement import replacing
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import inert, quoted, quoted_path
from gpuadvise.cli.emit import note

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

SUFFIXES = (".svg", ".png", ".pdf")
_INCHES = (8, 5)


def save(path: str, title: str, draw: Callable[[Axes], None]) -> None:
    """Write what *draw* puts on the axes to *path*, under *title*, and say so on stderr.

    Raises BadInput for a suffix or path that cannot be, Unavailable without matplotlib.
    """
    if not path.lower().endswith(SUFFIXES):
        raise BadInput(f"--plot: {quoted(path)} ends in none of {', '.join(SUFFIXES)}.")
    # Where its cache cannot be kept it says so at length, and draws all the same.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise Unavailable(
            "--plot needs the package matplotlib.",
            hint="Install it with: pip install matplotlib.",
        ) from None
    except ValueError as error:  # its settings are read at import
        hint = "$MPLBACKEND or a matplotlibrc file may be wrong."
        raise Unavailable(f"matplotlib cannot start: {inert(str(error))}", hint=hint) from None
    except OSError:
        raise Unavailable(
            "--plot: matplotlib finds no folder in which it may keep its cache.",
            hint="Name one: MPLCONFIGDIR=FOLDER.",
        ) from None
    figure = Figure(figsize=_INCHES, layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(literal(title))
    draw(axes)
    try:
        with (
            warnings.catch_warnings(action="ignore"),  # letters that its fonts lack
            replacing(os.path.realpath(path)) as file,
        ):
            figure.savefig(file, format=os.path.splitext(path)[1][1:].lower())
    except OSError as error:
        raise BadInput(f"--plot: {quoted(path)} cannot be written: {error.strerror}.") from None
    note(f"Drawn into {quoted_path(path)}.")


def literal(text: str) -> str:
    """Return foreign *text* as matplotlib shows it literally, without its TeX."""
    return inert(text).replace("\\", "\\\\").replace("$", r"\$")
