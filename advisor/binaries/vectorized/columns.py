"""The fields of kernels as columns, from the records and sections of many images."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuadvise.advisor.binaries.cubin import nv_info, reader
from gpuadvise.advisor.binaries.cubin.reader import stack_of
from gpuadvise.advisor.binaries.cubin.sass import (
    MAX_ANNOTATIONS,
    NARROW_SIZE,
    WIDE_SIZE,
    WIDE_SM,
    annotates,
)
from gpuadvise.advisor.binaries.model import Exactness
from gpuadvise.advisor.binaries.reserved_shared import FIRST_MAJOR, RESERVED
from gpuadvise.advisor.binaries.vectorized.spills import Notes, spills_alone, spills_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.binaries.cubin.identity import CubinIdentity
    from gpuadvise.advisor.binaries.vectorized.functions import Functions
    from gpuadvise.advisor.binaries.vectorized.records import Records
    from gpuadvise.advisor.binaries.vectorized.tables import Array, Tables

_UNKNOWN = -1

Column = list[Any]


@dataclass(slots=True)
class ImageArrays:
    """What many images say: *facts* by function, *totals* and *identities* by image."""

    tables: Tables
    functions: Functions
    identities: list[CubinIdentity]
    facts: Records
    totals: Records

    @property
    def image(self) -> Array:
        """The image of each function."""
        return self.tables.image[self.functions.text]

    @property
    def symbol(self) -> Array:
        """The symbol of each function."""
        return self.text("info") & 0xFFFFFF

    def text(self, name: str) -> Array:
        """Return a field of the code section of each function."""
        return self.tables.sections[name][self.functions.text].astype(np.int64)

    def only(self, lanes: Array) -> ImageArrays:
        """Return what they say of the functions *lanes* alone, which are in order and differ."""
        number = np.full(len(self.functions.text), _UNKNOWN)
        number[lanes] = np.arange(len(lanes))
        return replace(
            self,
            functions=self.functions.only(lanes, number),
            facts=self.facts.of_lanes(number),
        )

    def per_function(self, values: Iterable[object], kind: type = bool) -> Array:
        """Return what each function has of *values*, one of an image each."""
        result: Array = np.fromiter(values, kind, len(self.identities))[self.image]
        return result

    def total(self, attribute: int) -> Array:
        """Return what the records of the image say of each function, -1 for nothing."""
        records = self.totals.of(attribute).with_words(2)
        keys, wanted = records.lane << 32 | records.word(0), self.image << 32 | self.symbol
        if not len(keys):
            return np.full(len(wanted), _UNKNOWN)
        order = np.argsort(keys, kind="stable")  # the last record of a function counts
        at = np.searchsorted(keys[order], wanted, side="right") - 1
        return np.where(keys[order][at] == wanted, records.word(1)[order][at], _UNKNOWN)

    def fact(self, attribute: int, least_words: int = 0) -> Records:
        """Return the first record of each function that has one."""
        return self.facts.of(attribute).first().with_words(least_words)

    def codes(self, wanted: Array) -> list[memoryview]:
        """Return the instructions of the functions that are *wanted*."""
        rows = (self.image, self.text("offset"), self.text("size"))
        columns = (row[wanted].tolist() for row in rows)
        images = self.tables.images
        return [
            images[image][start : start + size] for image, start, size in zip(*columns, strict=True)
        ]

    def column(self, lanes: Array, values: Any) -> Column:
        """Return *values* for the functions *lanes*, ``None`` for all others."""
        result: Array = np.full(len(self.functions.text), None, object)
        result[lanes] = values
        column: Column = result.tolist()
        return column

    def or_none(self, values: Array) -> Column:
        """Return *values*, ``None`` where they are -1."""
        lanes = np.flatnonzero(values != _UNKNOWN)
        return self.column(lanes, values[lanes])


def registers(batch: ImageArrays) -> Column:
    """Return the registers of each function."""
    result = batch.total(nv_info.REGISTER_COUNT)
    sm = batch.per_function((identity.sm for identity in batch.identities), int)
    field = batch.text("info") >> 24
    older = (result == _UNKNOWN) & (sm < reader.RECORD_ONLY_SINCE) & (field > 0)
    return batch.or_none(np.where(older, field, result))


def shared(batch: ImageArrays) -> tuple[Column, Column, Column]:
    """Return the user's bytes, the reserved ones, and whether dynamic ones are declared."""
    rows = batch.functions.shared
    size = np.where(rows >= 0, batch.tables.sections["size"][rows].astype(np.int64), 0)
    newer = (identity.capability.major >= FIRST_MAJOR for identity in batch.identities)
    linked = batch.per_function(identity.linked for identity in batch.identities)
    reserved = np.where((size >= RESERVED) & linked & batch.per_function(newer), RESERVED, 0)
    dynamic = np.flatnonzero((rows >= 0) & (size == reserved))
    return (size - reserved).tolist(), reserved.tolist(), batch.column(dynamic, True)


def stacks(batch: ImageArrays) -> tuple[Column, Column]:
    """Return the stack of each function, and whether it has no bound."""
    sizes = batch.or_none(batch.total(nv_info.MIN_STACK_SIZE))
    toolkits = [identity.toolkit for identity in batch.identities]
    own = map(toolkits.__getitem__, batch.image.tolist())
    result = list(map(cache(stack_of), sizes, own))
    return list(map(itemgetter(0), result)), list(map(itemgetter(1), result))


def spills(batch: ImageArrays, frame: Array) -> tuple[Column, Column, Column]:
    """Return stores, loads and exactness; refuses images whose code is not there."""
    notes = batch.fact(nv_info.ANNOTATIONS)
    noted, counts, at = (np.zeros(len(frame), np.int64) for _ in range(3))
    noted[notes.lane], counts[notes.lane], at[notes.lane] = 1, notes.count, notes.at
    debug = batch.per_function(identity.debug for identity in batch.identities)
    annotated = batch.per_function(map(annotates, batch.identities))
    sm = batch.per_function((identity.sm for identity in batch.identities), int)
    instruction_size = np.where(sm >= WIDE_SM, WIDE_SIZE, NARROW_SIZE)
    large = batch.text("size") >= MAX_ANNOTATIONS * instruction_size
    judged = ~debug & ((frame != _UNKNOWN) | (noted > 0))
    coded = judged & ((counts > 0) | ((frame > 0) & (large | ~annotated)))
    coded[coded] = batch.tables.readable(batch.functions.text[coded])
    stores, loads, exact = (batch.column(judged, value) for value in (0, 0, Exactness.EXACT))
    vectorizable = coded & ((counts > 0) | annotated) & (sm >= WIDE_SM)
    remaining = coded & ~vectorizable
    columns = (row[remaining].tolist() for row in (at, counts, sm, annotated))
    result = [
        *spills_in(
            batch.codes(vectorizable), Notes(notes.words, at[vectorizable], counts[vectorizable])
        ),
        *(
            spills_alone(code, notes.words[first : first + count], of, annotated=annotating)
            for code, first, count, of, annotating in zip(
                batch.codes(remaining), *columns, strict=True
            )
        ),
    ]
    lanes = (*np.flatnonzero(vectorizable).tolist(), *np.flatnonzero(remaining).tolist())
    for lane, (stored, loaded, sure) in zip(lanes, result, strict=True):
        stores[lane], loads[lane], exact[lane] = stored, loaded, sure
    return stores, loads, exact


def caps(batch: ImageArrays) -> Column:
    """Return the register cap of each function."""
    records = batch.fact(nv_info.REGISTER_CAP)
    real = (records.value > 0) & (records.value < reader.NO_CAP)
    return batch.column(records.lane[real], records.value[real])


def triples(batch: ImageArrays, attribute: int) -> Column:
    """Return the first three words of the record of each function."""
    records = batch.fact(attribute, 3)
    result: Column = [None] * len(batch.functions.text)
    words = (records.word(number).tolist() for number in range(3))
    for lane, triple in zip(records.lane.tolist(), zip(*words, strict=True), strict=True):
        result[lane] = triple
    return result


def values(batch: ImageArrays, attribute: int) -> Array:
    """Return the value of the record of each function, 0 without one."""
    result = np.zeros(len(batch.functions.text), np.int64)
    records = batch.fact(attribute)
    result[records.lane] = records.value
    return result


def barriers(batch: ImageArrays) -> Column:
    """Return the named barriers of each function."""
    new = batch.per_function(identity.new_abi for identity in batch.identities)
    counted = batch.text("flags") >> 20 & 0x7F
    result: Column = np.where(new, values(batch, nv_info.BARRIERS), counted).tolist()
    return result


def constants(batch: ImageArrays) -> Column:
    """Return the constant banks of each function, sorted."""
    lanes, banks, sizes = batch.functions.constants.T.tolist()
    pairs = tuple(zip(banks, sizes, strict=True))
    ends = np.searchsorted(lanes, np.arange(len(batch.functions.text) + 1)).tolist()
    return [pairs[start:end] for start, end in pairwise(ends)]
