"""The picture of a shared-memory access: lanes down, banks across."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.banks import bank_count, bank_of

if TYPE_CHECKING:
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.advisor.memory.banks import Conflicts
    from gpuadvise.advisor.memory.pattern import Pattern

FREE, SERVED, CONFLICT = ".", "#", "X"


def picture(
    pattern: Pattern, conflicts: Conflicts, capability: Capability, *, wide: bool = False
) -> str:
    """Return a row per lane: the banks its first instruction visits, marked in a conflict.

    A bank is marked when more words of it are wanted in the same phase than one pass gives.
    """
    count = bank_count(capability)
    visits = [_visits(start, conflicts.width, capability, wide=wide) for start in pattern.starts]
    crowded = _crowded(pattern, visits, conflicts.lanes_per_phase)
    ruler = "".join(f"{bank:<4}" for bank in range(0, count, 4)).rstrip()
    drawn = [f"{'bank':>7}  {ruler}"]
    for lane, seen in zip(pattern.lanes, visits, strict=True):
        phase = lane // conflicts.lanes_per_phase
        banks = {bank for bank, _ in seen}
        marks = (
            FREE if bank not in banks else CONFLICT if (phase, bank) in crowded else SERVED
            for bank in range(count)
        )
        drawn.append(f"lane {lane:>2}  {''.join(marks)}")
    drawn.append(
        f"{SERVED} served in one pass  {CONFLICT} waits: other words of the bank wanted too"
    )
    return "\n".join(drawn)


def _visits(start: int, width: int, capability: Capability, *, wide: bool) -> set[tuple[int, int]]:
    """Return the banks, and the row of each, that *width* bytes at *start* lie in."""
    row = bank_count(capability) * (8 if capability.major == 3 else 4)
    return {
        (bank_of(byte, capability, eight_byte_banks=wide), byte // row)
        for byte in range(start, start + width)
    }


def _crowded(
    pattern: Pattern, visits: list[set[tuple[int, int]]], group: int
) -> set[tuple[int, int]]:
    """Return (phase, bank) of which two rows or more are wanted."""
    wanted = {
        (lane // group, bank, row)
        for lane, seen in zip(pattern.lanes, visits, strict=True)
        for bank, row in seen
    }
    rows = Counter((phase, bank) for phase, bank, _ in wanted)
    return {place for place, number in rows.items() if number > 1}
