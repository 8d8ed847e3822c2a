"""The Python of a Jupyter notebook, at the lines of the file where it stands.

A notebook is JSON (nbformat 4): cells, each with its source as a list of lines or one text. As it
is usually written each line of a cell has a line of the file to itself, so that places in the
code are places in the file. Nothing of a notebook is run, and outputs are never looked at.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted_path
from gpuadvise.advisor.source.text import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SUFFIX = ".ipynb"
# Lines for IPython or the shell: "%time f(x)", "!pip install x", "tensor?".
_MAGIC = re.compile(r"(\s*)(?:[%!?].*|[\w.]+\?{1,2}\s*)$")
# Cells of these hold Python below their first line; others hold another language.
_PYTHON_CELLS = ("%%time", "%%timeit", "%%capture", "%%prun")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notebook:
    """*code* is Python, *cells* the code cell and the line in it, from 1, of each line of *code*."""

    code: bytes
    cells: Mapping[int, tuple[int, int]]


def read_notebook(data: bytes, file: str) -> Notebook:
    """Return the Python in the notebook *data*; raises BadInput where it is none."""
    if len(data) > LARGEST:
        raise BadInput(f"{quoted_path(file)}: a notebook of more than {LARGEST >> 20} MiB.")
    try:
        cells = json.loads(data.decode("utf-8-sig"))["cells"]
        sources = [_lines(cell) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadInput(
            f"{quoted_path(file)}: not a notebook that can be read.",
            hint="lint reads notebooks of format 4: open and save it with a newer Jupyter.",
        ) from None
    texts: dict[int, str] = {}
    places: dict[int, tuple[int, int]] = {}
    written = _written(data)
    line, at = 0, next(written, None)
    for number, source in enumerate(sources, 1):
        for within, text in enumerate(_python(source), 1):
            original = source[within - 1]
            while at is not None and at[1] != original:
                at = next(written, None)
            line = max(line + 1, at[0]) if at is not None else line + 1
            texts[line] = text.rstrip("\n")
            places[line] = (number, within)
            if at is not None:
                at = next(written, None)
    code = "\n".join(texts.get(number, "") for number in range(1, line + 1))
    return Notebook(code=f"{code}\n".encode(), cells=places)


def _lines(cell: Any) -> list[str]:
    source = cell["source"]
    text = source if isinstance(source, str) else "".join(map(str, source))
    return text.splitlines(keepends=True)


def _written(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield the lines of the file that are one text each, with their numbers."""
    for number, line in enumerate(data.split(b"\n"), 1):
        word = line.strip().removesuffix(b",")
        if word.startswith(b'"') and word.endswith(b'"'):
            try:
                text = json.loads(word)
            except ValueError:
                continue
            yield number, text


def _python(lines: list[str]) -> Iterator[str]:
    """Yield *lines* with what only IPython understands taken out."""
    first = lines[0] if lines else ""
    foreign = first.startswith("%%") and not first.startswith(_PYTHON_CELLS)
    goes_on = False  # a line for the shell that ends in a backslash
    for line in lines:
        magic = _MAGIC.match(line.rstrip("\n"))
        if foreign or goes_on:
            yield ""
        else:
            yield f"{magic[1]}pass" if magic else line
        goes_on = (goes_on or magic is not None) and line.rstrip().endswith("\\")
