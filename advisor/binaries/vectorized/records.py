"""The ``.nv.info`` records of many sections walked side by side, as ``attributes.walk`` does one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gpuadvise.advisor.binaries.cubin import nv_info, reader

if TYPE_CHECKING:
    from gpuadvise.advisor.binaries.vectorized.tables import Array, Tables

# Compilers write some hundred records; a forged section may hold a million.
_MAX_STEPS = 1 << 12
# From here on fewer sections are left than a step of all of them is worth.
_FEW = 16
# Bytes of them in one batch, three times the most of real ones: walking takes thirty times as much.
_MAX_RECORDS = 1 << 23


@dataclass(frozen=True, slots=True)
class Records:
    """The kept records of some sections: *lane* says whose each one is.

    *value* is that of a record without words; its words are *count* from *at* on in *words*.
    """

    words: Array
    lane: Array
    attribute: Array
    value: Array
    at: Array
    count: Array

    def of(self, attribute: int) -> Records:
        """Return the records of one attribute, in their order."""
        return self._where(self.attribute == attribute)

    def of_lanes(self, number: Array) -> Records:
        """Return the records of lanes with a *number*, which becomes their lane; -1: they have none."""
        own = self._where(number[self.lane] >= 0)
        return replace(own, lane=number[own.lane])

    def with_words(self, least: int) -> Records:
        """Return the records with *least* words and more."""
        return self._where(self.count >= least)

    def first(self) -> Records:
        """Return the first record of each lane."""
        return self._where(np.unique(self.lane, return_index=True)[1])

    def word(self, number: int) -> Array:
        """Return one word of each record, as signed numbers wide enough."""
        words: Array = self.words[self.at + number].astype(np.int64)
        return words

    def _where(self, rows: Array) -> Records:
        fields = (self.lane, self.attribute, self.value, self.at, self.count)
        return Records(self.words, *(field[rows] for field in fields))


def read_records(tables: Tables, rows: Array, lanes: Array, kept: frozenset[int]) -> Records:
    """Return the kept records of section *rows*, each row's of its own lane."""
    tables.refuse(tables.image[rows[tables.sections["size"][rows] > reader.MAX_INFO]])
    tables.readable(rows)
    _bound(tables, tables.alive(rows))
    there = ~tables.refused[tables.image[rows]]
    rows, lanes = rows[there], lanes[there]
    joined, starts = tables.joined(rows)
    words = np.frombuffer(joined, "<u4")
    tables.refuse(tables.image[rows[starts % 4 > 0]])
    begin = starts // 4
    end = begin + tables.sections["size"][rows].astype(np.int64) // 4
    whose, at = _walked(words, begin, end, np.isin(np.arange(256), list(kept)))
    heads = words[at]
    sized = heads & 0xFF == nv_info.SIZED
    wide = np.where(heads & 0xFF == nv_info.BYTE, 0xFF, 0xFFFF)
    return Records(
        words=words,
        lane=lanes[whose],
        attribute=(heads >> 8 & 0xFF).astype(np.int64),
        value=np.where(sized, 0, heads >> 16 & wide).astype(np.int64),
        at=at + 1,
        count=np.where(sized, heads >> 18, 0).astype(np.int64),
    )


def _bound(tables: Tables, rows: Array) -> None:
    """Refuse images whose records in section *rows*, or theirs and those before, are too many."""
    taken = np.bincount(tables.image[rows], tables.sections["size"][rows], len(tables.images))
    huge = taken > _MAX_RECORDS
    tables.refuse(huge | (np.cumsum(np.where(huge, 0, taken)) > _MAX_RECORDS))


def _walked(words: Array, begin: Array, end: Array, kept: Array) -> tuple[Array, Array]:
    """Return lane and place of every *kept* record that is whole, those of a lane in their order."""
    sized = words & 0xFF == nv_info.SIZED
    lengths = words >> 18
    lengths *= sized
    lengths += 1
    # No compiler writes a length that is no multiple of four: nothing after it is believed.
    lengths[sized & (words & 0x30000 > 0)] = len(words) + 1
    lanes = np.flatnonzero(begin < end)
    at, ends = begin[lanes], end[lanes]
    whose, places = [lanes[:0]], [at[:0]]
    for _ in range(_MAX_STEPS):
        if len(lanes) <= _FEW:
            break
        whose.append(lanes)
        places.append(at)
        at = at + lengths[at]
        on = at < ends
        if not on.all():
            lanes, at, ends = lanes[on], at[on], ends[on]
    for lane_number, start, stop in zip(lanes.tolist(), at.tolist(), ends.tolist(), strict=True):
        section_starts = _walk_section(lengths[start:stop]) + start
        whose.append(np.full(len(section_starts), lane_number))
        places.append(section_starts)
    lane, place = np.concatenate(whose), np.concatenate(places)
    whole = kept[words[place] >> 8 & 0xFF] & (place + lengths[place] <= end[lane])
    return lane[whole], place[whole]


def _walk_section(lengths: Array) -> Array:
    """Return where the records of one section start, given the length in words at each."""
    # Records about whole images are nearly all of one length.
    even = np.arange(0, len(lengths), lengths[0])
    if (lengths[even] == lengths[0]).all():
        return even
    own = lengths.tolist()
    starts = []
    place = 0
    while place < len(own):
        starts.append(place)
        place += own[place]
    return np.array(starts)
