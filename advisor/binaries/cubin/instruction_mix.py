"""What a kernel's machine code asks of memory and other slow units, by the opcodes of its instructions.

From sm_70 on an instruction has 16 bytes: its operation in bits 0 to 8, the form of its operands in bits 9
to 11, and, of one that moves memory, the width in bits 73 to 75. Nothing else is decoded: operands,
addresses and what a loop repeats are not looked at. Read off nvdisasm 13.5, sm_75 to sm_121; the tests
compare the counts with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries import elf
from gpuadvise.advisor.binaries.cubin.sass import (
    WIDE_SIZE,
    WIDE_SM,
    WIDTHS,
    count,
    overlaid,
    table,
)
from gpuadvise.advisor.binaries.model import InstructionMix

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuadvise.advisor.binaries.cubin.function_sections import Function, Layout
    from gpuadvise.advisor.binaries.model import Kernel

# What counts as one thing: the operations, the low 8 of their 9 bits. The ninth is set in all of them.
_LOADS, _STORES, _LOCAL_LOADS, _LOCAL_STORES, _ATOMICS, _BARRIERS, _WIDE_LOADS, _WIDE_STORES = (
    range(1, 9)
)
_OPERATIONS = {
    0x81: _LOADS,  # LDG
    0x86: _STORES,  # STG
    0x83: _LOCAL_LOADS,  # LDL
    0x87: _LOCAL_STORES,  # STL
    **dict.fromkeys((0x8A, 0x8B), _ATOMICS),  # ATOM, of generic addresses
    **dict.fromkeys((0x8C, 0x8D), _ATOMICS),  # ATOMS
    **dict.fromkeys((0xA8, 0xA9), _ATOMICS),  # ATOMG
    **dict.fromkeys((0x8E, 0xA6), _ATOMICS),  # RED, REDG
    0x1D: _BARRIERS,  # BAR
    0x7E: _WIDE_LOADS,  # LDG of 32 bytes, from sm_100 on
    0x7F: _WIDE_STORES,  # STG of 32 bytes
}
_NINTH = 0x80
_WIDEST = 32
_KINDS = (
    (0, table(lambda byte: _OPERATIONS.get(byte, 0) << 3)),
    (1, table(lambda byte: _NINTH * (byte & 1))),
    (9, table(lambda byte: byte >> 1 & 7)),
)
# A division is where its quotient is estimated: FCHK guards that of floats; an integer is converted
# with rounding up, and a double's reciprocal begins in its high half. 64-bit integers convert as well.
_FLOAT, _INTEGER, _SPECIAL = 0x10, 0x20, 0x40
_ROUNDED_UP, _HIGH_HALF = 0x01, 0x02
_DIVIDING = (
    (
        0,
        table(
            lambda byte: {0x02: _FLOAT, 0x06: _INTEGER, 0x12: _INTEGER, 0x08: _SPECIAL}.get(byte, 0)
        ),
    ),
    (1, table(lambda byte: _NINTH * (byte & 1))),
    (
        9,
        table(lambda byte: _ROUNDED_UP * (byte >> 6 == 2) | _HIGH_HALF * ((byte >> 2 & 0xF) == 6)),
    ),
)
_INTEGER_DIVISIONS = tuple(_NINTH | _INTEGER | _ROUNDED_UP | bits for bits in (0, _HIGH_HALF))
_DIVISIONS = (
    *(_NINTH | _FLOAT | bits for bits in range(4)),
    *_INTEGER_DIVISIONS,
    *(_NINTH | _SPECIAL | _HIGH_HALF | bits for bits in (0, _ROUNDED_UP)),
)


def instruction_mix(code: bytes, sm: int) -> InstructionMix | None:
    """Return how many instructions in *code* ask for what; None before sm_70."""
    if sm < WIDE_SM:
        return None
    kinds = _overlaid(code, _KINDS)
    dividing = _overlaid(code, _DIVIDING)
    loads, stores = _by_width(kinds, _LOADS), _by_width(kinds, _STORES)
    if wide := _count(kinds, _WIDE_LOADS):
        loads[_WIDEST] = wide
    if wide := _count(kinds, _WIDE_STORES):
        stores[_WIDEST] = wide
    return InstructionMix(
        global_loads=_pairs(loads),
        global_stores=_pairs(stores),
        local_loads=_count(kinds, _LOCAL_LOADS),
        local_stores=_count(kinds, _LOCAL_STORES),
        atomics=_count(kinds, _ATOMICS),
        barriers=_count(kinds, _BARRIERS),
        divisions=sum(map(dividing.count, _DIVISIONS)),
    )


def integer_divisions_at(code: bytes, sm: int) -> list[int]:
    """Return the byte offsets at which the quotients of integers are estimated; none before sm_70."""
    if sm < WIDE_SM:
        return []
    kinds = _overlaid(code, _DIVIDING)
    return [WIDE_SIZE * at for at, kind in enumerate(kinds) if kind in _INTEGER_DIVISIONS]


def _overlaid(code: bytes, columns: Sequence[tuple[int, bytes]]) -> bytes:
    return overlaid([code[byte::16].translate(lookup) for byte, lookup in columns])


def _count(kinds: bytes, operation: int) -> int:
    return sum(kinds.count(_NINTH | operation << 3 | width) for width in range(8))


def _by_width(kinds: bytes, operation: int) -> dict[int, int]:
    counts: dict[int, int] = {}
    for code, width in enumerate(WIDTHS):
        if count := kinds.count(_NINTH | operation << 3 | code):
            counts[width] = counts.get(width, 0) + count
    return counts


def _pairs(counts: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(counts.items()))


def counted(kernel: Kernel, layout: Layout, function: Function) -> Kernel:
    """Return *kernel* with its instructions counted, where they can be."""
    code = elf.read_section(layout.span, function.text)
    counts = count(code, layout.identity.sm)
    if counts is None:
        return kernel
    mix = instruction_mix(code, layout.identity.sm)
    return kernel._replace(instructions=counts[0], fp64_instructions=counts[1], mix=mix)
