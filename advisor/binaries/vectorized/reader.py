"""The kernels of many images, equal to those that ``read_cubin`` finds one by one."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuadvise.advisor.binaries.cubin import nv_info, reader
from gpuadvise.advisor.binaries.cubin.function_sections import TOTALS
from gpuadvise.advisor.binaries.model import Exactness, Kernel, Source, as_kernel
from gpuadvise.advisor.binaries.vectorized import columns
from gpuadvise.advisor.binaries.vectorized.columns import ImageArrays
from gpuadvise.advisor.binaries.vectorized.functions import read_functions, read_symbols
from gpuadvise.advisor.binaries.vectorized.identities import read_identities
from gpuadvise.advisor.binaries.vectorized.records import read_records
from gpuadvise.advisor.binaries.vectorized.tables import Tables, read_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpuadvise.advisor.binaries.model import Entry


def read_images(
    entries: Sequence[Entry], images: Sequence[memoryview]
) -> list[list[Kernel] | None]:
    """Return the kernels of each image, None for one that only ``read_cubin`` can judge.

    That is every image with any damage, and some oddities that compilers do not write.
    """
    if not images:
        return []
    tables = read_tables(images)
    batch = _batch(tables)
    names, marks = read_symbols(tables, batch.functions.text, batch.symbol)
    frame = batch.total(nv_info.FRAME_SIZE)
    stores, loads, exact = columns.spills(batch, frame)
    fields = {
        "name": names,
        "source": repeat(Source.CUBIN),
        "entry": marks,
        **_origin(entries, batch),
        **_resources(batch),
        **_bounds(batch),
        "frame": batch.or_none(frame),
        "spill_stores": stores,
        "spill_loads": loads,
        "spills_are": exact,
    }
    # The columns that are the same for all have no end.
    rows = zip(*(fields.get(name, repeat(None)) for name in Kernel._fields), strict=False)
    kernels = list(map(as_kernel, rows))
    ends = np.searchsorted(batch.image, np.arange(len(images) + 1)).tolist()
    return [
        None if refused else kernels[start:end]
        for refused, (start, end) in zip(tables.refused.tolist(), pairwise(ends), strict=True)
    ]


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
