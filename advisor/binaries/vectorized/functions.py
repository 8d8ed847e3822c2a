"""Whose sections are whose: the functions of many images, found by index as ``layout`` does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gpuadvise.advisor.binaries import elf
from gpuadvise.advisor.binaries.cubin import function_sections
from gpuadvise.advisor.binaries.vectorized.tables import windows

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.vectorized.tables import Array, Tables


_DIGITS = (ord("0"), ord("9"))
# Only by their names are sections of these kinds told apart.
_NAMED = (elf.SECTION_PROGBITS, *function_sections.SHARED_KINDS)
_LENGTH = 16  # of a name, as much as matters


@dataclass(frozen=True, slots=True)
class Functions:
    """All functions, in the order of their code: section rows of each, -1 where it has none.

    *constants* are rows of (function, bank, bytes), sorted.
    """

    text: Array
    info: Array
    shared: Array
    constants: Array
    totals: Array  # section rows of records about whole images

    def only(self, lanes: Array, number: Array) -> Functions:
        """Return the functions *lanes* alone; *number* is the new one of each, -1 for the others."""
        owner = number[self.constants[:, 0]]
        constants = self.constants[owner >= 0]
        constants[:, 0] = owner[owner >= 0]
        return Functions(
            text=self.text[lanes],
            info=self.info[lanes],
            shared=self.shared[lanes],
            constants=constants,
            totals=self.totals,
        )


def read_functions(tables: Tables) -> Functions:
    """Return the functions of all images; refuses those where two sections claim to be one."""
    kind = tables.sections["type"].copy()  # side by side: it is looked at again and again
    flags = tables.sections["flags"]
    text = tables.alive(
        np.flatnonzero((kind == elf.SECTION_PROGBITS) & (flags & elf.FLAG_EXECUTABLE > 0))
    )
    owner = _owners(tables, text)
    infos = tables.alive(np.flatnonzero(kind == function_sections.INFO))
    named = np.flatnonzero((owner >= 0) & np.isin(kind, _NAMED))
    names = _Names(tables, named)
    written = kind[named] == elf.SECTION_PROGBITS
    shares = ~written | (flags[named] & function_sections.WRITABLE > 0)
    shared = named[shares & names.start_with(function_sections.SHARED_NAME)]
    bank = np.where(owner >= 0, kind.astype(np.int64) - function_sections.CONSTANT_0, -1)
    bank[(bank < 0) | (bank >= function_sections.CONSTANT_BANKS)] = -1
    stated = written & names.start_with(function_sections.CONSTANT_NAME)
    bank[named[stated]] = names.number_at(len(function_sections.CONSTANT_NAME))[stated]
    return Functions(
        text=text,
        info=_claimed(tables, owner, infos[owner[infos] >= 0], len(text)),
        shared=_claimed(tables, owner, shared, len(text)),
        constants=_constants(tables, owner, bank),
        totals=infos[(owner[infos] < 0) & (tables.sections["info"][infos] == 0)],
    )


def _owners(tables: Tables, text: Array) -> Array:
    """Return which function each section says it belongs to, -1 for none."""
    number = np.full(len(tables.sections), -1, np.int64)
    number[text] = np.arange(len(text))
    index = tables.sections["info"].astype(np.int64)
    in_table = (index < tables.count[tables.image]) & ~tables.refused[tables.image]
    return np.where(in_table, number[np.where(in_table, tables.first[tables.image] + index, 0)], -1)


def _claimed(tables: Tables, owner: Array, rows: Array, functions: int) -> Array:
    """Return the one of *rows* that each function owns; refuses images where it owns several."""
    tables.refuse(
        tables.image[rows[np.bincount(owner[rows], minlength=functions)[owner[rows]] > 1]]
    )
    owned_rows = np.full(functions, -1, np.int64)
    owned_rows[owner[rows]] = rows
    return owned_rows


def _constants(tables: Tables, owner: Array, bank: Array) -> Array:
    rows = np.flatnonzero(bank >= 0)
    size = tables.sections["size"][rows].astype(np.int64)
    order = np.lexsort((size, bank[rows], owner[rows]))
    return np.stack((owner[rows], bank[rows], size), 1)[order]


class _Names:
    """The first bytes of the names of some sections."""

    def __init__(self, tables: Tables, rows: Array) -> None:
        index = np.array([header.names_index if header else 0 for header in tables.headers])
        alive = np.flatnonzero(~tables.refused)
        tables_at = tables.first[alive] + index[alive]
        tables_at = tables_at[tables.readable(tables_at)]
        text, starts = tables.joined(tables_at)
        texts = np.frombuffer(text, np.uint8)
        sizes = tables.sections["size"][tables_at].astype(np.int64)
        owners = tables.image[tables_at]
        # A name that the end of the file cuts off is for the other reader.
        last = texts[starts + np.maximum(sizes - 1, 0)]
        tables.refuse(owners[(sizes == 0) | (last != 0)])
        begin, longest = (np.zeros(len(tables.images), np.int64) for _ in range(2))
        begin[owners], longest[owners] = starts, sizes
        name = tables.sections["name"][rows].astype(np.int64)
        image = tables.image[rows]
        at = begin[image] + np.minimum(name, longest[image])
        self._bytes = windows(text, at, _LENGTH)

    def start_with(self, prefix: bytes) -> Array:
        """Return which names start with *prefix*."""
        expected = np.frombuffer(prefix, np.uint8)
        starts_match: Array = (self._bytes[:, : len(prefix)] == expected).all(1)
        return starts_match

    def number_at(self, position: int) -> Array:
        """Return the number of one digit and a full stop, or of two, at *position*; -1 for none."""
        first, second = (self._bytes[:, position + i].astype(np.int64) for i in range(2))
        low, high = _DIGITS
        digits = [(low <= byte) & (byte <= high) for byte in (first, second)]
        single_digit = np.where(digits[0] & (second == ord(".")), first - low, -1)
        return np.where(digits[0] & digits[1], (first - low) * 10 + second - low, single_digit)


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
    ends_found = [
        strings.find(b"\0", start, start + function_sections.LONGEST_NAME) for start in starts
    ]
    end = np.array(ends_found, np.int64)
    end = np.where(end < 0, begin + function_sections.LONGEST_NAME, end)
    tables.left -= np.bincount(image, end - begin, len(tables.images)).astype(np.int64)
    tables.refuse(tables.left < 0)
    end[tables.refused[image]] = 0
    # The kernels of one image come again for every target. A text that is there already is found by
    # its identity wherever it is a key later on.
    decoded = cache(_decoded)
    names = [decoded(strings[start:stop]) for start, stop in zip(starts, end.tolist(), strict=True)]
    return names, ((heads[:, _OTHER] & function_sections.ENTRY) > 0).tolist()


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "replace")


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
    rows = tables.alive(np.flatnonzero(tables.sections["type"] == function_sections.SYMBOLS))
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
    starts_match, starts = tables.joined(rows)
    at, size = (np.zeros(len(tables.images), np.int64) for _ in range(2))
    at[tables.image[rows]] = starts
    size[tables.image[rows]] = tables.sections["size"][rows]
    return starts_match, (at, size)
