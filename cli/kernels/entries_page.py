"""The entries of containers as people read them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.model import Content
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.cli.blocks import Block, Cell, Column, Line, Table, Tone

if TYPE_CHECKING:
    from gpuadvise.cli.kernels.asked import Asked

Record = dict[str, Any]

_ENTRY_COLUMNS = (
    Column("count", right=True),
    Column("content"),
    Column("arch"),
    Column("packed"),
    Column("bytes", right=True),
    Column("where"),
)
_IMAGES = (Content.SASS.value, Content.STUB.value)


def entries_page(asked: Asked, records: list[Record]) -> list[Block]:
    """Return the entries, those of one kind counted together."""
    counts: Counter[tuple[Any, ...]] = Counter()
    sizes: Counter[tuple[Any, ...]] = Counter()
    for record in records:
        key = (record["content"], _target(record), record["compression"], _where(record, asked))
        counts[key] += 1
        sizes[key] += record["size"]
    rows = sorted(counts, key=lambda key: (key[3], key[0], _target_order(key[1])))
    table = Table(
        columns=_ENTRY_COLUMNS,
        rows=tuple(
            (
                Cell(f"{counts[key]:,}"),
                Cell(key[0]),
                Cell(key[1]),
                Cell(key[2]),
                Cell(show_bytes(sizes[key])),
                Cell(key[3]),
            )
            for key in rows
        ),
    )
    total = f"{plural(len(records), 'entry', 'entries')}, {show_bytes(sum(sizes.values()))}."
    return [Line(total, Tone.STRONG), *([table] if rows else [])]


def _target(record: Record) -> str:
    target: str = record["arch"] or "-"
    return target if record["content"] in _IMAGES else target.replace("sm_", "compute_")


def _where(record: Record, asked: Asked) -> str:
    file = record["file"] if len(asked.files) > 1 else None
    return " ".join(part for part in (file, record["member"], record["section"]) if part)


def _target_order(target: str) -> tuple[int, str]:
    digits = "".join(char for char in target if char.isdigit())
    return int(digits or 0), target
