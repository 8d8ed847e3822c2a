"""Spills by arrays: what ``spills`` does byte by byte, for instructions of 16 bytes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import TYPE_CHECKING

import numpy as np

from gpuadvise.advisor.binaries.cubin import sass
from gpuadvise.advisor.binaries.cubin.sass import spilled
from gpuadvise.advisor.binaries.model import Exactness
from gpuadvise.advisor.binaries.vectorized.tables import windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.binaries.cubin.sass import Spills
    from gpuadvise.advisor.binaries.vectorized.tables import Array

_SIZE = sass.WIDE_SIZE
_TABLES = [(byte, np.frombuffer(table, np.uint8)) for byte, table in sass.WIDE]
_TELLING = 1 + max(byte for byte, _ in _TABLES)  # bytes of an instruction that matter here


def _widths(kind: int) -> Array:
    """Return the bytes that each merged look-up moves when it is of *kind*."""
    widths = np.zeros(256, np.int64)
    for code, width in enumerate(sass.WIDTHS):
        widths[kind | code] = width
    return widths


_STORES, _LOADS = _widths(sass.STORE), _widths(sass.LOAD)
_MOVING = np.isin(np.arange(256), sass.MOVING)


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
        no_spill = self.words[at] != sass.SPILL
        np.minimum.at(pairs, function[no_spill], number[no_spill])
        offset = self.words[at + 1].astype(np.int64)
        kept = (number < pairs[function]) & (offset <= sizes[function] - _SIZE)
        return function[kept], offset[kept]


def spills_in(codes: Sequence[memoryview], notes: Notes) -> list[Spills]:
    """Return what ``spilled`` returns of each of *codes*, whose spills *notes* tell."""
    if not codes:
        return []
    function, offsets = notes.places(np.array([len(code) for code in codes]))
    ends = np.searchsorted(function, np.arange(len(codes) + 1))
    named, cut = [], []
    for code, (start, end) in zip(codes, pairwise(ends.tolist()), strict=True):
        named.append(windows(code, offsets[start:end], _TELLING))
        cut.append(_may_be_cut(code, end - start))
    kinds = _kinds(np.concatenate(named))
    stores, loads = (
        np.diff(np.cumsum(np.append(0, widths[kinds]))[ends]).tolist()
        for widths in (_STORES, _LOADS)
    )
    results = zip(stores, loads, repeat(Exactness.EXACT), strict=False)
    return [
        (*_all_traffic(code), Exactness.UPPER_BOUND) if doubtful else exact
        for code, doubtful, exact in zip(codes, cut, results, strict=True)
    ]


def spills_alone(
    code: memoryview, annotations: Array, sm: int, *, annotated: bool = False
) -> Spills:
    """Return what ``spilled`` returns of *code*, of short instructions or without *annotations*."""
    if sm < sass.WIDE_SM:
        return spilled(annotations.tolist(), bytes(code), sm, is_annotated=annotated)
    stores, loads = _all_traffic(code)
    return stores, loads, Exactness.UPPER_BOUND if stores or loads else Exactness.EXACT


def _may_be_cut(code: memoryview, named: int) -> bool:
    """Return what ``may_be_cut`` returns of annotations that name so many instructions."""
    suspicious = named + sass.MAX_ANNOTATIONS
    if len(code) < suspicious * _SIZE or np.count_nonzero(_may_move_local(code)) < suspicious:
        return False
    return bool(np.count_nonzero(_MOVING[_all_kinds(code)]) >= suspicious)


def _may_move_local(code: memoryview) -> Array:
    """Return which instructions may move local memory.

    By their first byte alone: kernels have up to a million instructions.
    """
    first = np.frombuffer(code, np.uint8)[::_SIZE].copy()
    moves: Array = (first == sass.LOW_BYTES[0]) | (first == sass.LOW_BYTES[1])
    return moves


def _all_traffic(code: memoryview) -> tuple[int, int]:
    """Return what ``local_traffic`` returns."""
    counts = np.bincount(_all_kinds(code), minlength=256)
    return int(counts @ _STORES), int(counts @ _LOADS)


def _all_kinds(code: memoryview) -> Array:
    """Return the merged look-ups of all instructions that may move local memory."""
    at = np.flatnonzero(_may_move_local(code)) * _SIZE
    return _kinds(windows(code, at[at <= len(code) - _TELLING], _TELLING))


def _kinds(starts: Array) -> Array:
    """Return the merged look-ups of the *starts* of instructions."""
    kinds = np.zeros(len(starts), np.uint8)
    for byte, table in _TABLES:
        kinds |= table[starts[:, byte]]
    return kinds
