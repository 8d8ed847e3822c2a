"""The kernels of many images, equal to those that ``read_cubin`` finds one by one."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuadvise.advisor.binaries.cubin import nv_info, reader
from gpuadvise.advisor.binaries.cubin.function_sections import TOTALS
from gpuadvise.advisor.binaries.kernel_table import KernelTable, as_resources
from gpuadvise.advisor.binaries.model import Exactness, Kernel, Source, as_kernel
from gpuadvise.advisor.binaries.vectorized import columns
from gpuadvise.advisor.binaries.vectorized.columns import ImageArrays
from gpuadvise.advisor.binaries.vectorized.functions import read_functions, read_symbols
from gpuadvise.advisor.binaries.vectorized.identities import read_identities
from gpuadvise.advisor.binaries.vectorized.records import read_records
from gpuadvise.advisor.binaries.vectorized.tables import Tables, read_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpuadvise.advisor.binaries.kernel_table import Resources
    from gpuadvise.advisor.binaries.model import Entry, Place
    from gpuadvise.advisor.binaries.vectorized.tables import Array


def read_images(
    entries: Sequence[Entry], images: Sequence[memoryview]
) -> list[list[Kernel] | None]:
    """Return the kernels of each image, None for one that only ``read_cubin`` can judge.

    That is every image with any damage, and some oddities that compilers do not write.
    """
    if not images:
        return []
    functions = _Functions(entries, images)
    kernels = functions.kernels()
    return [
        None if refused else kernels[start:end]
        for refused, (start, end) in zip(functions.refused(), functions.bounds(), strict=True)
    ]


def read_table(
    entries: Sequence[Entry], images: Sequence[memoryview], copies: Sequence[tuple[int, Place]]
) -> KernelTable | None:
    """Return the kernels of all images as one table, None where ``read_cubin`` must judge one.

    *copies* says which of *images* comes where: an image may come again at another place.
    """
    functions = _Functions(entries, images)
    if any(functions.refused()):
        return None
    bounds = functions.bounds()
    spans = [np.arange(*bounds[image]) for image, _ in copies]
    lanes = np.concatenate(spans)
    places = np.repeat(np.arange(len(copies)), [len(span) for span in spans])

    def kernels(rows: Sequence[int]) -> list[Kernel]:
        wanted, which = np.unique(lanes[rows], return_inverse=True)
        made = functions.kernels(wanted)
        return [
            made[number]._replace(place=copies[copy][1])
            for number, copy in zip(which.tolist(), places[rows].tolist(), strict=True)
        ]

    return KernelTable(functions.resources(lanes), kernels, copies[-1][1] if copies else None)


class _Functions:
    """The functions of many images: what may refuse an image, and names, are read at once."""

    def __init__(self, entries: Sequence[Entry], images: Sequence[memoryview]) -> None:
        self._entries = entries
        self._tables = read_tables(images)
        self._batch = _batch(self._tables)
        text, symbol = self._batch.functions.text, self._batch.symbol
        self._names, self._marks = read_symbols(self._tables, text, symbol)
        self._spills = columns.spills(self._batch, self._batch.total(nv_info.FRAME_SIZE))

    def refused(self) -> list[bool]:
        """Return which images only ``read_cubin`` can judge."""
        refused: list[bool] = self._tables.refused.tolist()
        return refused

    def bounds(self) -> list[tuple[int, int]]:
        """Return the first function of each image, and the first of the next."""
        ends = np.searchsorted(self._batch.image, np.arange(len(self._tables.images) + 1))
        return list(pairwise(ends.tolist()))

    def kernels(self, lanes: Array | None = None) -> list[Kernel]:
        """Return all functions, or *lanes* of them, which are in order and differ."""
        batch = self._batch if lanes is None else self._batch.only(lanes)
        own: tuple[list[Any], ...] = (self._names, self._marks, *self._spills)
        if lanes is not None:
            numbers = lanes.tolist()
            own = tuple([list(map(column.__getitem__, numbers)) for column in own])
        names, marks, stores, loads, exact = own
        fields = {
            "name": names,
            "source": repeat(Source.CUBIN),
            "entry": marks,
            **_origin(self._entries, batch),
            **_resources(batch),
            **_bounds(batch),
            "frame": batch.or_none(batch.total(nv_info.FRAME_SIZE)),
            "spill_stores": stores,
            "spill_loads": loads,
            "spills_are": exact,
        }
        # The columns that are the same for all have no end.
        rows = zip(*(fields.get(name, repeat(None)) for name in Kernel._fields), strict=False)
        return list(map(as_kernel, rows))

    def resources(self, lanes: Array) -> list[Resources]:
        """Return what decides the order of the functions *lanes*, which may come again."""
        batch = self._batch
        stores, loads, _ = self._spills
        every: tuple[list[Any], ...] = (
            self._marks,
            list(_origin(self._entries, batch)["capability"]),
            columns.registers(batch),
            columns.shared(batch)[0],
            columns.barriers(batch),
            columns.triples(batch, nv_info.MAX_THREADS),
            columns.triples(batch, nv_info.REQUIRED_THREADS),
            columns.triples(batch, nv_info.CLUSTER),
            stores,
            loads,
        )
        if len(lanes) == len(self._marks):  # no image comes again: all, in their order
            return list(map(as_resources, zip(*every, strict=True)))
        numbers = lanes.tolist()
        picked = (map(column.__getitem__, numbers) for column in every)
        return list(map(as_resources, zip(*picked, strict=True)))


def _batch(tables: Tables) -> ImageArrays:
    functions = read_functions(tables)
    identities = read_identities(tables)
    informed = np.flatnonzero(functions.info >= 0)
    whole = tables.image[functions.totals]
    # Of two tables of the same, the order would count.
    tables.refuse(whole[np.bincount(whole, minlength=len(tables.images))[whole] > 1])
    return ImageArrays(
        tables=tables,
        functions=functions,
        identities=identities,
        facts=read_records(tables, functions.info[informed], informed, reader.WANTED),
        totals=read_records(tables, functions.totals, whole, TOTALS),
    )


def _origin(entries: Sequence[Entry], batch: ImageArrays) -> dict[str, Iterable[Any]]:
    """Return where each function comes from, and what it was made for."""
    pairs = list(zip(entries, batch.identities, strict=True))
    by_image: dict[str, list[Any]] = {
        "place": [entry.place for entry in entries],
        "capability": [entry.capability or identity.capability for entry, identity in pairs],
        "linked": [identity.linked for identity in batch.identities],
        "toolkit": [identity.release for identity in batch.identities],
        "debug": [entry.debug or identity.debug for entry, identity in pairs],
    }
    image = batch.image.tolist()
    return {name: map(values.__getitem__, image) for name, values in by_image.items()}


def _resources(batch: ImageArrays) -> dict[str, Iterable[Any]]:
    static, reserved, dynamic = columns.shared(batch)
    stack, unbounded = columns.stacks(batch)
    return {
        "registers": columns.registers(batch),
        "static_smem": static,
        "reserved_smem": reserved,
        "dynamic_smem": dynamic,
        "stack": stack,
        "stack_unbounded": unbounded,
        "barriers": columns.barriers(batch),
        "param_bytes": columns.values(batch, nv_info.PARAM_BYTES).tolist(),
        "constant_banks": columns.constants(batch),
        "code_bytes": batch.text("size").tolist(),
    }


def _bounds(batch: ImageArrays) -> dict[str, Iterable[Any]]:
    """Return what each function was compiled for."""
    block = columns.triples(batch, nv_info.MAX_THREADS)
    required = columns.triples(batch, nv_info.REQUIRED_THREADS)
    cap = columns.caps(batch)
    stated = (
        required_block or max_block
        for required_block, max_block in zip(required, block, strict=True)
    )
    least = list(map(cache(reader.min_blocks_of), stated, cap))
    rank = batch.fact(nv_info.MAX_CLUSTER_RANK, 1)
    changed = np.zeros(len(cap), bool)
    changed[batch.fact(nv_info.REGISTER_RECONFIGURED).lane] = True
    return {
        "register_cap": cap,
        "reconfigures_registers": changed.tolist(),
        "max_block": block,
        "required_block": required,
        "min_blocks": least,
        "min_blocks_are": [Exactness.INFERRED if blocks else None for blocks in least],
        "cluster": columns.triples(batch, nv_info.CLUSTER),
        "max_cluster_rank": batch.column(rank.lane, rank.word(0)),
    }
