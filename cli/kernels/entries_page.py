"""The entries of containers as people read them."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.model import Content
from gpuadvise.advisor.binaries.tally import EntryTally
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.cli.blocks import Block, Cell, Column, Line, Table, Tone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.capability import Capability
    from gpuadvise.cli.kernels.asked import Asked

Key = tuple[str, str, str, str]

_ENTRY_COLUMNS = (
    Column("count", right=True),
    Column("content"),
    Column("arch"),
    Column("packed"),
    Column("bytes", right=True),
    Column("where"),
)
_IMAGES = (Content.SASS, Content.STUB)
# Looked up for every entry, and only then put into words.
_KIND = attrgetter(
    "content", "capability", "compression", "place.path", "place.member", "place.section"
)


def entries_page(asked: Asked, entries: Iterable[Entry | EntryTally]) -> list[Block]:
    """Return the entries, those of one kind counted together."""
    counts: Counter[Key] = Counter()
    sizes: Counter[Key] = Counter()
    for (content, target, compression, *place), (count, size) in _kinds(entries).items():
        where = " ".join(part for part in place[len(asked.files) == 1 :] if part)
        key = (content.value, _target(content, target), compression.value, where)
        counts[key] += count
        sizes[key] += size
    rows = sorted(counts, key=lambda key: (key[3], key[0], _target_order(key[1])))
    table = Table(
        columns=_ENTRY_COLUMNS,
        rows=tuple(
            (
                Cell(f"{counts[key]:,}"),
                *map(Cell, key[:3]),
                Cell(show_bytes(sizes[key])),
                Cell(key[3]),
            )
            for key in rows
        ),
    )
    total = f"{plural(counts.total(), 'entry', 'entries')}, {show_bytes(sizes.total())}."
    return [Line(total, Tone.STRONG), *([table] if rows else [])]


def _kinds(entries: Iterable[Entry | EntryTally]) -> dict[Any, list[int]]:
    """Return how many there are of each kind in each place, and their bytes together."""
    kinds: dict[Any, list[int]] = {}
    for one in entries:
        entry, count, size = one if isinstance(one, EntryTally) else (one, 1, one.size)
        kind = kinds.setdefault(_KIND(entry), [0, 0])
        kind[0] += count
        kind[1] += size
    return kinds


def _target(content: Content, capability: Capability | None) -> str:
    target = capability.target if capability else "-"
    return target if content in _IMAGES else target.replace("sm_", "compute_")


def _target_order(target: str) -> tuple[int, str]:
    digits = "".join(char for char in target if char.isdigit())
    return int(digits or 0), target
