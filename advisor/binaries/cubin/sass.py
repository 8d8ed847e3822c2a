"""Spill bytes of a kernel, which no field records, from annotations or the code itself.

From toolkit 12.6 on an annotation names each spill instruction, and the widths of those add up
to what the compiler reports. Before that every access to local memory has to be counted, which
is exact without local arrays and too much with them.

Each instruction becomes one byte, its kind in the high half and its width code in the low half.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries import elf
from gpuadvise.advisor.binaries.cubin import nv_info
from gpuadvise.advisor.binaries.model import Exactness

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuadvise.advisor.binaries.cubin.function_sections import Function, Layout
    from gpuadvise.advisor.binaries.cubin.identity import CubinIdentity
    from gpuadvise.advisor.binaries.cubin.nv_info import NvInfo

    Spills = tuple[int | None, int | None, Exactness | None]


def table(classify: Callable[[int], int]) -> bytes:
    """Return what *classify* makes of every byte, for ``bytes.translate``."""
    return bytes(classify(byte) for byte in range(256))


def overlaid(columns: list[bytes]) -> bytes:
    """Return *columns* combined bit by bit, as long as the shortest."""
    size = min(map(len, columns))
    merged = 0
    for column in columns:
        merged |= int.from_bytes(column[:size], "little")
    return merged.to_bytes(size, "little")


ANNOTATED_SINCE = (12, 6)

MAX_ANNOTATIONS = 1 << 13  # 8 bytes each, in a record of at most 65,535
SPILL = 1  # the annotation of one instruction; its payload is the byte offset
WIDE_SM = 70  # from here on instructions are wide
WIDE_SIZE, NARROW_SIZE = 16, 8  # bytes of an instruction

STORE, LOAD, _OTHER = 0x50, 0xA0, 0x08
WIDTHS = (1, 1, 2, 2, 4, 8, 16)  # bytes by width code
MOVING = [kind | code for kind in (STORE, LOAD) for code in range(len(WIDTHS))]


# (byte of the instruction, its table). Wide: opcode 0x387 or 0x983 in the low 12 bits, width in
# bits 73-75.
LOW_BYTES = (0x87, 0x83)
WIDE = (
    (0, table(lambda byte: dict(zip(LOW_BYTES, (0x10, 0x20), strict=True)).get(byte, _OTHER))),
    (1, table(lambda byte: {0x3: 0x40, 0x9: 0x80}.get(byte & 0xF, _OTHER))),
    (9, table(lambda byte: byte >> 1 & 7)),
)
# Narrow: opcode 0xef50 or 0xef40 in the top 13 bits, width in bits 48-50.
_NARROW = (
    (6, table(lambda byte: {0x50: STORE, 0x40: LOAD}.get(byte & 0xF8, _OTHER) | byte & 7)),
    (7, table(lambda byte: 0 if byte == 0xEF else _OTHER)),
)


def annotated(annotations: Sequence[int], code: bytes, sm: int) -> tuple[int, int]:
    """Return bytes of spill stores and loads, exactly as the compiler counts them.

    *annotations* are pairs of a kind and, for a spill, the byte offset of the instruction.
    """
    wide = sm >= WIDE_SM
    offsets = _offsets(annotations, len(code) - _size(sm))
    columns = []
    for byte, lookup in WIDE if wide else _NARROW:
        shifted = memoryview(code)[byte:]
        columns.append(bytes(map(shifted.__getitem__, offsets)).translate(lookup))
    return _total(overlaid(columns))


def _size(sm: int) -> int:
    return WIDE_SIZE if sm >= WIDE_SM else NARROW_SIZE


def hides(size: int, sm: int, named: int = 0) -> bool:
    """Return whether code of *size* bytes has room for 8192 spills besides the *named* ones."""
    return size >= (named + MAX_ANNOTATIONS) * _size(sm)


def may_be_cut(annotations: Sequence[int], code: bytes, sm: int) -> bool:
    """Return whether *annotations* may lack some spills.

    Their length has 16 bits: of 8192 and more, assemblers write what is left over after whole 8192
    (seen with 12.9 to 13.5). Then as many instructions that move local memory have none.
    """
    named = len(_offsets(annotations, len(code) - _size(sm)))
    if not hides(len(code), sm, named):
        return False
    return sum(map(_local_kinds(code, sm).count, MOVING)) >= named + MAX_ANNOTATIONS


def local_traffic(code: bytes, sm: int) -> tuple[int, int]:
    """Return bytes of all local stores and loads: at most, spills are that many."""
    return _total(_local_kinds(code, sm))


def _local_kinds(code: bytes, sm: int) -> bytes:
    if sm >= WIDE_SM:
        return overlaid([code[byte::16].translate(lookup) for byte, lookup in WIDE])
    # The first of every four words controls the scheduling.
    return b"".join(
        overlaid([code[first + byte :: 32].translate(lookup) for byte, lookup in _NARROW])
        for first in (8, 16, 24)
    )


def _offsets(annotations: Sequence[int], last: int) -> Sequence[int]:
    """Return the offsets of spill instructions, up to *last* and to any other annotation."""
    kinds, offsets = annotations[::2], annotations[1::2]
    if kinds.count(SPILL) != len(kinds):
        offsets = offsets[: next(i for i, kind in enumerate(kinds) if kind != SPILL)]
    if max(offsets, default=0) > last:
        return [offset for offset in offsets if offset <= last]
    return offsets


def _total(kinds: bytes) -> tuple[int, int]:
    return _bytes(kinds, STORE), _bytes(kinds, LOAD)


def _bytes(kinds: bytes, kind: int) -> int:
    return sum(width * kinds.count(kind | code) for code, width in enumerate(WIDTHS))


_WIDE_SM = 70
_DOUBLE, _NOTHING = 0x50, 0xA0
_LOW = table(
    lambda byte: {**dict.fromkeys((0x28, 0x29, 0x2A, 0x2B, 0x3F), 0x10), 0x18: 0x20}.get(byte, 0)
)
_HIGH = table(lambda byte: 0x80 if byte & 1 else 0x40)


def count(code: bytes, sm: int) -> tuple[int, int] | None:
    """Return instructions, and those in double precision; None before sm_70."""
    if sm < _WIDE_SM:
        return None
    kinds = overlaid([code[0::16].translate(_LOW), code[1::16].translate(_HIGH)])
    return len(kinds) - kinds.count(_NOTHING), kinds.count(_DOUBLE)


def doubles_at(code: bytes, sm: int) -> list[int]:
    """Return the byte offsets of the instructions in double precision; none before sm_70."""
    if sm < _WIDE_SM:
        return []
    kinds = overlaid([code[0::16].translate(_LOW), code[1::16].translate(_HIGH)])
    return [WIDE_SIZE * at for at, kind in enumerate(kinds) if kind == _DOUBLE]


def spills_of(layout: Layout, function: Function, facts: NvInfo, frame: int | None) -> Spills:
    """Return spill stores and loads in bytes, and how far to trust them."""
    identity = layout.identity
    if identity.debug or (frame is None and not facts.has(nv_info.ANNOTATIONS)):
        return None, None, None  # a debug build keeps its variables in memory anyway
    annotations, is_annotated = facts.words(nv_info.ANNOTATIONS), annotates(identity)
    if not annotations and (
        not frame or (is_annotated and not hides(function.text.size, identity.sm))
    ):
        return 0, 0, Exactness.EXACT
    code = elf.read_section(layout.span, function.text)
    return spilled(annotations, code, identity.sm, is_annotated=is_annotated)


def annotates(identity: CubinIdentity) -> bool:
    """Return whether the toolkit of an image would have annotated spills."""
    return bool(identity.toolkit and identity.toolkit >= ANNOTATED_SINCE)


def spilled(
    annotations: Sequence[int], code: bytes, sm: int, *, is_annotated: bool = False
) -> Spills:
    """Return the spills in *code*, by its *annotations*, or as all local traffic.

    *is_annotated*: the toolkit annotates, so that none are no spills.
    """
    if (annotations or is_annotated) and not may_be_cut(annotations, code, sm):
        return *annotated(annotations, code, sm), Exactness.EXACT
    stores, loads = local_traffic(code, sm)
    return stores, loads, Exactness.UPPER_BOUND if stores or loads else Exactness.EXACT
