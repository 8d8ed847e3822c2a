"""Names of functions and whether they are kernels, from the symbol tables of many images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpuadvise.advisor.binaries import layout
from gpuadvise.advisor.binaries.bulk.tables import windows

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.bulk.tables import Array, Tables

_SIZE = 24  # of a symbol: four bytes of name, one of type, one with the mark of a kernel
_HEAD = 8
_OTHER = 5


def read_symbols(tables: Tables, text: Array, symbol: Array) -> tuple[list[str], list[bool]]:
    """Return name and mark of each function, whose code is section *text* and index is *symbol*.

    Both are anything where the image is refused, as it is where one of its functions has none.
    """
    image = tables.image[text]
    heads, strings, begin = _heads(tables, image, symbol)
    starts = begin.tolist()
    found = [strings.find(b"\0", start, start + layout.LONGEST_NAME) for start in starts]
    end = np.array(found, np.int64)
    end = np.where(end < 0, begin + layout.LONGEST_NAME, end)
    tables.left -= np.bincount(image, end - begin, len(tables.images)).astype(np.int64)
    tables.refuse(tables.left < 0)
    end[tables.refused[image]] = 0
    names = [
        strings[start:stop].decode("utf-8", "replace")
        for start, stop in zip(starts, end.tolist(), strict=True)
    ]
    return names, ((heads[:, _OTHER] & layout.ENTRY) > 0).tolist()


def _heads(tables: Tables, image: Array, symbol: Array) -> tuple[Array, bytes, Array]:
    """Return the first bytes of each symbol, all strings, and where in them each name begins."""
    rows, links = _pairs(tables, image)
    table, table_at = _placed(tables, rows)
    text, text_at = _placed(tables, links)
    # A name that the end of the strings cuts off is for the other reader.
    cut = np.frombuffer(text, np.uint8)[text_at[0] + np.maximum(text_at[1] - 1, 0)] > 0
    tables.refuse(image[(cut & (text_at[1] > 0))[image]])
    tables.refuse(image[(symbol + 1) * _SIZE > table_at[1][image]])
    at = np.where(tables.refused[image], 0, table_at[0][image] + symbol * _SIZE)
    heads = windows(table, at, _HEAD)
    name = heads[:, :4].copy().view("<u4")[:, 0].astype(np.int64)
    tables.refuse(image[name >= text_at[1][image]])
    return heads, text, np.where(tables.refused[image], 0, text_at[0][image] + name)


def _pairs(tables: Tables, image: Array) -> tuple[Array, Array]:
    """Return the symbol table of each image with functions, and the strings it names."""
    rows = tables.alive(np.flatnonzero(tables.sections["type"] == layout.SYMBOLS))
    _, firsts = np.unique(tables.image[rows], return_index=True)
    rows = rows[firsts]
    bare = np.ones(len(tables.images), bool)
    bare[tables.image[rows]] = False
    tables.refuse(image[bare[image]])
    link = tables.sections["link"][rows].astype(np.int64)
    tables.refuse(tables.image[rows[link >= tables.count[tables.image[rows]]]])
    rows = tables.alive(rows)
    return rows, tables.first[tables.image[rows]] + tables.sections["link"][rows]


def _placed(tables: Tables, rows: Array) -> tuple[bytes, tuple[Array, Array]]:
    """Return the bytes of *rows*, one of an image each, and start and size by image."""
    rows = rows[tables.readable(rows)]
    found, starts = tables.joined(rows)
    at, size = (np.zeros(len(tables.images), np.int64) for _ in range(2))
    at[tables.image[rows]] = starts
    size[tables.image[rows]] = tables.sections["size"][rows]
    return found, (at, size)
