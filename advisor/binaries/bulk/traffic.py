"""Spills by arrays: what ``spills`` does byte by byte, for instructions of 16 bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpuadvise.advisor.binaries import spills
from gpuadvise.advisor.binaries.kernel_code import spilled
from gpuadvise.advisor.binaries.model import Exactness

if TYPE_CHECKING:
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


def spills_in(code: memoryview, annotations: Array, sm: int) -> Spills:
    """Return what ``spilled`` returns of *code* and its *annotations*."""
    if sm < spills.WIDE_SM:
        return spilled(annotations.tolist(), bytes(code), sm)
    own = np.frombuffer(code, np.uint8)
    if not len(annotations):
        stores, loads = _total(_all(own))
        return stores, loads, Exactness.UPPER_BOUND if stores or loads else Exactness.EXACT
    offsets = _offsets(annotations.astype(np.int64), len(own) - _SIZE)
    found = _total([own[offsets + byte] for byte, _ in _TABLES])
    if _unnamed(own, offsets) * _WIDEST >= spills.MOST_ANNOTATIONS:
        whole = _total(_all(own))
        if sum(whole) - sum(found) >= spills.MOST_ANNOTATIONS:
            return *whole, Exactness.UPPER_BOUND
    return *found, Exactness.EXACT


def _offsets(annotations: Array, last: int) -> Array:
    """Return the offsets of spill instructions, up to *last* and to any other annotation."""
    kinds, offsets = annotations[::2], annotations[1::2]
    others = np.flatnonzero(kinds != spills.SPILL)
    if len(others):
        offsets = offsets[: others[0]]
    return offsets[offsets <= last]


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


def _all(code: Array) -> list[Array]:
    """Return the bytes of every instruction that the tables look at."""
    count = len(range(_LAST, len(code), _SIZE))
    return [code[byte::_SIZE][:count] for byte, _ in _TABLES]


def _total(columns: list[Array]) -> tuple[int, int]:
    kinds = np.zeros(len(columns[0]), np.uint8)
    for column, (_, table) in zip(columns, _TABLES, strict=True):
        kinds |= table[column]
    counts = np.bincount(kinds, minlength=256)
    return int(counts @ _STORES), int(counts @ _LOADS)
