"""Spills by arrays: what ``spills`` does byte by byte, for instructions of 16 bytes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gpuadvise.advisor.binaries import spills
from gpuadvise.advisor.binaries.kernel_code import spilled
from gpuadvise.advisor.binaries.model import Exactness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.binaries.bulk.tables import Array
    from gpuadvise.advisor.binaries.kernel_code import Spills

_SIZE = 16  # of an instruction
_TABLES = [(byte, np.frombuffer(table, np.uint8)) for byte, table in spills.WIDE]
_WIDEST = max(spills.WIDTHS)
_LAST = max(byte for byte, _ in _TABLES)


def _widths(kind: int) -> Array:
    """Return the bytes that each merged look-up moves when it is of *kind*."""
    widths = np.zeros(256, np.int64)
    for code, width in enumerate(spills.WIDTHS):
        widths[kind | code] = width
    return widths


_STORES, _LOADS = _widths(spills.STORE), _widths(spills.LOAD)


@dataclass(frozen=True, slots=True)
class Notes:
    """Annotations of some functions: *count* words of each from *at* on in *words*."""

    words: Array
    at: Array
    count: Array

    def places(self, sizes: Array) -> tuple[Array, Array]:
        """Return function and byte offset of each spill instruction they name, in their order.

        Those of a function end at the first that names anything else, and lie in its *sizes*.
        """
        pairs = self.count // 2
        function = np.repeat(np.arange(len(pairs)), pairs)
        number = np.arange(len(function)) - np.repeat(np.cumsum(pairs) - pairs, pairs)
        at = self.at[function] + 2 * number
        others = self.words[at] != spills.SPILL
        np.minimum.at(pairs, function[others], number[others])
        offset = self.words[at + 1].astype(np.int64)
        kept = (number < pairs[function]) & (offset <= sizes[function] - _SIZE)
        return function[kept], offset[kept]


def spills_in(codes: Sequence[memoryview], notes: Notes) -> list[Spills]:
    """Return what ``spilled`` returns of each of *codes*, all of which *notes* annotate."""
    if not codes:
        return []
    function, offsets = notes.places(np.array([len(code) for code in codes]))
    ends = np.searchsorted(function, np.arange(len(codes) + 1)).tolist()
    named = np.empty((len(_TABLES), len(offsets)), np.uint8)
    unnamed = []
    for code, (start, end) in zip(codes, pairwise(ends), strict=True):
        own = np.frombuffer(code, np.uint8)
        mine = offsets[start:end]
        for row, (byte, _) in zip(named, _TABLES, strict=True):
            row[start:end] = own[mine + byte]
        unnamed.append(_unnamed(own, mine))
    kinds = _kinds(list(named))
    stores, loads = (
        np.bincount(function, widths[kinds], len(codes)).astype(np.int64).tolist()
        for widths in (_STORES, _LOADS)
    )
    found = zip(codes, stores, loads, unnamed, strict=True)
    return [_judged(*each) for each in found]


def spills_alone(code: memoryview, annotations: Array, sm: int) -> Spills:
    """Return what ``spilled`` returns of *code*, of short instructions or without *annotations*."""
    if sm < spills.WIDE_SM:
        return spilled(annotations.tolist(), bytes(code), sm)
    stores, loads = _all_traffic(code)
    return stores, loads, Exactness.UPPER_BOUND if stores or loads else Exactness.EXACT


def _judged(code: memoryview, stores: int, loads: int, unnamed: int) -> Spills:
    """Return the spills, all local traffic where annotations are missing."""
    if unnamed * _WIDEST >= spills.MOST_ANNOTATIONS:
        whole = _all_traffic(code)
        if sum(whole) - stores - loads >= spills.MOST_ANNOTATIONS:
            return *whole, Exactness.UPPER_BOUND
    return stores, loads, Exactness.EXACT


def _unnamed(code: Array, offsets: Array) -> int:
    """Return how many instructions may move local memory and are not at *offsets*, at most.

    By their first byte alone: kernels have up to a million instructions.
    """
    if len(code) < spills.MOST_ANNOTATIONS * _SIZE:
        return 0
    first = code[::_SIZE].copy()
    local = (first == spills.LOW_BYTES[0]) | (first == spills.LOW_BYTES[1])
    local[offsets[offsets % _SIZE == 0] // _SIZE] = False
    return int(np.count_nonzero(local))


def _all_traffic(code: memoryview) -> tuple[int, int]:
    """Return what ``local_traffic`` returns."""
    own = np.frombuffer(code, np.uint8)
    count = len(range(_LAST, len(own), _SIZE))
    kinds = _kinds([own[byte::_SIZE][:count] for byte, _ in _TABLES])
    counts = np.bincount(kinds, minlength=256)
    return int(counts @ _STORES), int(counts @ _LOADS)


def _kinds(columns: Sequence[Array]) -> Array:
    """Return the merged look-ups of *columns*, one for each table."""
    kinds = np.zeros(len(columns[0]), np.uint8)
    for column, (_, table) in zip(columns, _TABLES, strict=True):
        kinds |= table[column]
    return kinds
