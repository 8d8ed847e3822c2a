"""Shared-memory bank conflicts of one warp's access.

Programming Guide, "Shared Memory" in the appendix on compute capabilities: banks are 4 bytes
wide (8 on cc 3.x), lanes that read the same word share it, words of 8 and 16 bytes are served
by half and quarter warps, and cc 1.x serves half-warps with one broadcast word per step.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.word_size import WARP_SIZE, instruction_width, lane_addresses

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.memory.pattern import Pattern

BANKS = 32
OLD_BANKS = 16  # cc 1.x
BANK_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflicts:
    """How often the banks must be visited for one warp's access to one element per lane.

    ``degree`` is the worst n of an n-way conflict, 1 when there is none. ``wavefronts``
    counts the passes of all instructions and phases, ``ideal_wavefronts`` those of the same
    access without a conflict. ``lanes_per_phase`` are served together.
    """

    degree: int
    wavefronts: int
    ideal_wavefronts: int
    instructions: int
    width: int
    lanes_per_phase: int
    busiest_banks: tuple[int, ...]  # banks with that many words, empty without a conflict


def bank_conflicts(
    pattern: Pattern, capability: Capability, *, eight_byte_banks: bool = False
) -> Conflicts:
    """Return the conflicts of *pattern*, whose addresses are offsets into shared memory.

    *eight_byte_banks* is the bank size that cc 3.x can be switched to; others ignore it.
    """
    limit = BANK_BYTES if capability.major == 1 else 16
    width = instruction_width(pattern.element_bytes, pattern.starts, min(pattern.alignment, limit))
    calls = lane_addresses(pattern.starts, pattern.element_bytes, width)
    group = lanes_per_phase(capability, width)
    extra = 1 if capability.major == 2 and width == 16 else 0  # guide: 128-bit words on cc 2.x
    degree, wavefronts, phases = 1, 0, 0
    busiest: tuple[int, ...] = ()
    for call in calls:
        for members in _phases(call, pattern.lanes, group):
            passes, banks = _serve(members, width, capability, eight_byte_banks)
            wavefronts += passes + extra
            phases += 1
            if passes + extra > degree:
                degree, busiest = passes + extra, banks
    return Conflicts(
        degree=degree,
        wavefronts=wavefronts,
        ideal_wavefronts=phases,
        instructions=len(calls),
        width=width,
        lanes_per_phase=group,
        busiest_banks=busiest,
    )


def lanes_per_phase(capability: Capability, width: int) -> int:
    """Return how many lanes one pass over the banks serves: 32, or fewer for wide words."""
    if capability.major == 1:
        return WARP_SIZE // 2
    row = BANKS * (8 if capability.major == 3 else BANK_BYTES)
    return min(WARP_SIZE, row // width)


def bank_count(capability: Capability) -> int:
    """Return the number of banks: 16 on cc 1.x, else 32."""
    return OLD_BANKS if capability.major == 1 else BANKS


def bank_of(address: int, capability: Capability, *, eight_byte_banks: bool = False) -> int:
    """Return the bank that holds the byte at *address*."""
    wide = eight_byte_banks and capability.major == 3
    return address // (8 if wide else BANK_BYTES) % bank_count(capability)


def _phases(call: Sequence[int], lanes: Sequence[int], group: int) -> Iterable[list[int]]:
    for first in range(0, WARP_SIZE, group):
        members = [a for a, lane in zip(call, lanes, strict=True) if first <= lane < first + group]
        if members:
            yield members


def _serve(
    members: list[int], width: int, capability: Capability, wide: bool
) -> tuple[int, tuple[int, ...]]:
    """Return the passes that one phase takes and the banks that need the most."""
    if capability.major == 1:
        return _one_broadcast([address // BANK_BYTES for address in members])
    touched = {a + byte for a in members for byte in range(0, width, BANK_BYTES)}
    rows = {_row(a, capability, wide) for a in touched}
    count = Counter(bank for bank, _ in rows)
    worst = max(count.values())
    return worst, tuple(sorted(bank for bank, n in count.items() if n == worst > 1))


def _row(address: int, capability: Capability, wide: bool) -> tuple[int, int]:
    """Return bank and row: two addresses of one bank conflict when their rows differ.

    On cc 3.x a row of a bank holds 8 bytes: one 64-bit word, or in 32-bit mode the words
    i and i + 32 of an aligned segment of 64 words.
    """
    bank = bank_of(address, capability, eight_byte_banks=wide)
    row_bytes = BANKS * (8 if capability.major == 3 else BANK_BYTES)
    return bank, address // row_bytes


def _one_broadcast(words: list[int]) -> tuple[int, tuple[int, ...]]:
    """Return the steps of a cc 1.x half-warp.

    Each step serves every lane of one broadcast word, the first one left, and one lane of
    each other bank.
    """
    steps = 0
    left = list(words)
    last: list[int] = []
    while left:
        shared, taken = left[0], {left[0] % OLD_BANKS}
        last, rest = left, []
        for word in left:
            if word == shared:
                continue
            if word % OLD_BANKS in taken:
                rest.append(word)
            taken.add(word % OLD_BANKS)
        left = rest
        steps += 1
    return steps, tuple(sorted({word % OLD_BANKS for word in last})) if steps > 1 else ()
