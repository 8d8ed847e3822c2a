"""Kernels of one cubin: a linked or relocatable image of either ABI."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries import elf
from gpuadvise.advisor.binaries.cubin import nv_info
from gpuadvise.advisor.binaries.cubin.function_sections import Function, Layout, read_layout
from gpuadvise.advisor.binaries.cubin.nv_info import NvInfo
from gpuadvise.advisor.binaries.cubin.sass import spills_of
from gpuadvise.advisor.binaries.model import (
    Content,
    Damage,
    Entry,
    Exactness,
    Kernel,
    Place,
    Source,
)
from gpuadvise.advisor.binaries.reserved_shared import split_smem
from gpuadvise.advisor.binaries.span import Damaged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.binaries.cubin.identity import CubinIdentity
    from gpuadvise.advisor.binaries.cubin.line_table import LineTable
    from gpuadvise.advisor.binaries.model import Item
    from gpuadvise.advisor.binaries.options import ReadOptions
    from gpuadvise.advisor.binaries.span import Span
    from gpuadvise.advisor.capability import Capability


_UNBOUNDED = 0xFFFFFFFF
# These toolkits write 0 for recursion, too.
_SILENT_SINCE, _SILENT_BEFORE = (12, 6), (13, 5)


def stack_of(
    recorded: int | None, toolkit: tuple[int, int] | None
) -> tuple[int | None, bool | None]:
    """Return bytes per thread, and whether recursion leaves them without a bound; None: not known."""
    if recorded is None:
        return None, None
    if recorded == _UNBOUNDED:
        return None, True
    silent = toolkit is None or _SILENT_SINCE <= toolkit < _SILENT_BEFORE
    return recorded, None if silent and not recorded else False


# From these on, the section of a function does not tell its registers.
RECORD_ONLY_SINCE = 90
NO_CAP = 255
_REGISTERS_PER_SM = 65536  # every capability that ptxas bounds by min blocks
_MAX_THREADS = 1024
MAX_INFO = 1 << 22
WANTED = frozenset(
    {
        nv_info.MAX_THREADS,
        nv_info.REQUIRED_THREADS,
        nv_info.PARAM_BYTES,
        nv_info.REGISTER_CAP,
        nv_info.CLUSTER,
        nv_info.MAX_CLUSTER_RANK,
        nv_info.BARRIERS,
        nv_info.REGISTER_RECONFIGURED,
        nv_info.ANNOTATIONS,
    }
)


def read_cubin(
    span: Span,
    place: Place,
    *,
    target: Capability | None = None,
    debug: bool = False,
    instructions: bool = False,
) -> Iterator[Kernel | Damage]:
    """Yield the kernels and device functions of a cubin, and what of it is damaged.

    *target* and *debug* are what its container says, which knows more than the image.
    *instructions* asks to count them, and where each function begins in its source.
    """
    try:
        layout = read_layout(span)
    except Damaged as damage:
        yield Damage(place=place, message=f"The image cannot be read. {damage.message}")
        return
    identity = layout.identity
    make = partial(
        Kernel,
        source=Source.CUBIN,
        place=place,
        capability=target or identity.capability,
        linked=identity.linked,
        toolkit=identity.release,
        debug=debug or identity.debug,
    )
    tables: dict[str, LineTable] = {}
    if instructions:
        from gpuadvise.advisor.binaries.cubin.instruction_mix import counted
        from gpuadvise.advisor.binaries.cubin.line_table import line_tables_in

        tables = line_tables_in(span)
    for function in layout.functions:
        try:
            kernel = _kernel(make, layout, function)
            if kernel.name in tables:
                kernel = kernel._replace(defined_at=tables[kernel.name].first)
            yield counted(kernel, layout, function) if instructions else kernel
            if function.repeated:
                raise Damaged("Two sections describe the same function; the first was used.")
        except Damaged as damage:
            yield Damage(place=place, message=f"A function cannot be read. {damage.message}")
            if layout.span.spent:
                return


def read_bare_cubin(span: Span, place: Place, options: ReadOptions) -> Iterator[Item]:
    """Yield the entry of a cubin that is in no container, and its kernels where *options* pick it.

    Raises Damaged when its tables cannot be read.
    """
    entry = describe(span, place)
    yield entry
    if options.pick((entry,)):
        yield from read_cubin(span, place, instructions=options.instructions)


def describe(span: Span, place: Place) -> Entry:
    """Return what a bare cubin is; raises Damaged when its tables cannot be read."""
    layout = read_layout(span)
    return Entry(
        content=Content.SASS if layout.functions else Content.STUB,
        place=place,
        capability=layout.identity.capability,
        size=span.size,
        unpacked_size=span.size,
        new_abi=layout.identity.new_abi,
        debug=layout.identity.debug,
        link_input=not layout.identity.linked,
        toolkit=layout.identity.toolkit,
    )


def _kernel(make: partial[Kernel], layout: Layout, function: Function) -> Kernel:
    index = function.text.info & 0xFFFFFF
    name, entry = layout.symbol(index)
    facts = NvInfo(_records(layout, function), WANTED)
    static, reserved = _shared(function, layout.identity)
    stack, unbounded = stack_of(layout.stacks.get(index), layout.identity.toolkit)
    frame = layout.frames.get(index)
    stores, loads, spills_are = spills_of(layout, function, facts, frame)
    cap = facts.value(nv_info.REGISTER_CAP)
    cap = cap if cap and cap < NO_CAP else None
    block = facts.triple(nv_info.MAX_THREADS)
    required = facts.triple(nv_info.REQUIRED_THREADS)
    min_blocks = min_blocks_of(required or block, cap)
    return make(
        name=name,
        entry=entry,
        registers=_registers(layout, function, index),
        register_cap=cap,
        reconfigures_registers=facts.has(nv_info.REGISTER_RECONFIGURED),
        static_smem=static,
        reserved_smem=reserved,
        dynamic_smem=True if function.shared is not None and not static else None,
        stack=stack,
        stack_unbounded=unbounded,
        frame=frame,
        spill_stores=stores,
        spill_loads=loads,
        spills_are=spills_are,
        max_block=block,
        required_block=required,
        min_blocks=min_blocks,
        min_blocks_are=Exactness.INFERRED if min_blocks else None,
        cluster=facts.triple(nv_info.CLUSTER),
        max_cluster_rank=facts.number(nv_info.MAX_CLUSTER_RANK),
        barriers=_barriers(function, facts, new_abi=layout.identity.new_abi),
        param_bytes=facts.value(nv_info.PARAM_BYTES) or 0,
        constant_banks=tuple(sorted(function.constants)),
        code_bytes=function.text.size,
    )


def _records(layout: Layout, function: Function) -> bytes:
    if function.info is None:
        return b""
    if function.info.size > MAX_INFO:
        raise Damaged(f"Its attributes claim {function.info.size:,} bytes.", function.info.offset)
    return elf.read_section(layout.span, function.info)


def _registers(layout: Layout, function: Function, symbol: int) -> int | None:
    count = layout.registers.get(symbol)
    if count is None and layout.identity.sm < RECORD_ONLY_SINCE:
        # Hand-written code has no record. After device linking this field is stale, so it is second.
        count = function.text.info >> 24 or None
    return count


def _shared(function: Function, identity: CubinIdentity) -> tuple[int | None, int | None]:
    size = function.shared or 0
    return split_smem(size, identity.capability) if identity.linked else (size, 0)


def _barriers(function: Function, facts: NvInfo, *, new_abi: bool) -> int:
    if new_abi:
        return facts.value(nv_info.BARRIERS) or 0
    return function.text.flags >> 20 & 0x7F


def min_blocks_of(block: tuple[int, int, int] | None, cap: int | None) -> int | None:
    """Return the blocks per SM that explain a register cap; None when there is nothing to explain."""
    threads = block[0] * block[1] * block[2] if block else 0
    if not cap or not 0 < threads <= _MAX_THREADS:
        return None
    return _REGISTERS_PER_SM // (cap * threads) or None
