"""The lists of kernels and entries as people read them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.model import Content
from gpuadvise.advisor.binaries.residency import BlockFrom
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_bytes, show_share
from gpuadvise.cli.blocks import Block, Cell, Column, Line, Table, Tone
from gpuadvise.cli.devices import device_line
from gpuadvise.cli.kernels.order import Record, spills

if TYPE_CHECKING:
    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.cli.kernels.asked import Asked

_SHOWN = 40
_LONGEST_NAME = 72
_MOST_TARGETS = 12
_LOW = 0.5  # guide, "Occupancy": below this, latency is hard to hide
_KERNEL_COLUMNS = (
    Column("occupancy", right=True),
    Column("limited by"),
    Column("regs", right=True),
    Column("smem", right=True),
    Column("stack", right=True),
    Column("spills", right=True),
    Column("block", right=True),
    Column("arch"),
    Column("kernel"),
)
_ENTRY_COLUMNS = (
    Column("count", right=True),
    Column("content"),
    Column("arch"),
    Column("packed"),
    Column("bytes", right=True),
    Column("where"),
)
_IMAGES = (Content.SASS.value, Content.STUB.value)
_LIMITERS = {"shared_memory": "shared memory"}


def kernels_page(asked: Asked, choice: Choice | None, records: list[Record]) -> list[Block]:
    """Return the summary, the most telling kernels, and how to read them."""
    limit = _SHOWN if asked.limit is None else asked.limit or len(records)
    shown = records[:limit]
    blocks: list[Block] = [Line(_summary(records), Tone.STRONG), Line(_basis(choice))]
    if shown:
        blocks.append(Table(columns=_KERNEL_COLUMNS, rows=tuple(map(_kernel_row, shown))))
    blocks += [Line(text, Tone.FAINT) for text in _remarks(shown)]
    if len(records) > len(shown):
        rest = plural(len(records) - len(shown), "more kernel")
        blocks.append(Line(f"{rest}: --limit 0 shows all, --filter some.", Tone.FAINT))
    return blocks


def _summary(records: list[Record]) -> str:
    text = plural(len(records), "kernel")
    targets = sorted({record["arch"] or "?" for record in records}, key=_target_order)
    if 0 < len(targets) <= _MOST_TARGETS:
        text += f" for {and_list(targets)}"
    elif targets:
        text += f" for {len(targets)} targets"
    stuck = sum(record["launchable"] is False for record in records)
    spilling = sum(spills(record) > 0 for record in records)
    low = sum(bool(record["launchable"]) and record["occupancy"] < _LOW for record in records)
    parts = [f"{stuck:,} cannot start"] if stuck else []
    parts += [f"{spilling:,} spill", f"{low:,} below {show_share(_LOW)} occupancy"]
    return f"{text}: {and_list(parts)}."


def _basis(choice: Choice | None) -> str:
    if choice is None:
        return "Occupancy of each kernel on the target it was built for."
    return f"Occupancy on {device_line(choice.device)}, of the code that it would load."


def _kernel_row(record: Record) -> tuple[Cell, ...]:
    return (
        _occupancy(record),
        Cell(", ".join(_LIMITERS.get(name, name) for name in record["limiters"] or ())),
        _number(record["registers"]),
        _number(record["static_smem"]),
        Cell("unbounded", Tone.POOR) if record["stack_unbounded"] else _number(record["stack"]),
        _spilled(record),
        _block(record),
        Cell(record["arch"] or "?"),
        Cell(_short(record["demangled"] or record["name"])),
    )


def _occupancy(record: Record) -> Cell:
    if record["launchable"] is False:
        return Cell("cannot start", Tone.BAD)
    share = record["occupancy"]
    if share is None:
        return Cell("-", Tone.FAINT)
    return Cell(show_share(share), Tone.POOR if share < _LOW else Tone.GOOD)


def _number(value: int | None) -> Cell:
    return Cell("-", Tone.FAINT) if value is None else Cell(f"{value:,}")


def _spilled(record: Record) -> Cell:
    if record["spill_stores"] is None:
        return Cell("-", Tone.FAINT)
    total = spills(record)
    bound = "≤" if record["spills_are"] == "upper bound" else ""
    return Cell(f"{bound}{total:,}", Tone.POOR if total else Tone.PLAIN)


def _block(record: Record) -> Cell:
    if record["block_threads"] is None:
        return Cell("-", Tone.FAINT)
    mark = "*" if record["block_from"] == BlockFrom.BEST else ""
    return Cell(f"{mark}{record['block_threads']:,}")


def _short(name: str) -> str:
    if len(name) <= _LONGEST_NAME:
        return name
    keep = _LONGEST_NAME // 3
    return f"{name[: _LONGEST_NAME - keep - 1]}…{name[-keep:]}"


def _remarks(records: list[Record]) -> list[str]:
    remarks = []
    if any(record["block_from"] == BlockFrom.BEST for record in records):
        remarks.append(
            "* No launch bounds: the block that keeps most threads resident; give --block."
        )
    if any(record["spills_are"] == "upper bound" for record in records):
        remarks.append("≤ An upper bound: the file does not tell every spill from local arrays.")
    if any(r["dynamic_smem"] and r["launched_dynamic_smem"] is None for r in records):
        remarks.append("Dynamic shared memory is not in the file; give --dynamic-smem.")
    reasons = dict.fromkeys(record["reason"] for record in records if record["reason"])
    remarks += [f"No occupancy: {reason.rstrip('.')}." for reason in list(reasons)[:3]]
    return remarks


def entries_page(asked: Asked, choice: Choice | None, records: list[Record]) -> list[Block]:
    """Return the entries, those of one kind counted together."""
    counts: Counter[tuple[Any, ...]] = Counter()
    sizes: Counter[tuple[Any, ...]] = Counter()
    for record in records:
        key = (record["content"], _target(record), record["compression"], _where(record, asked))
        counts[key] += 1
        sizes[key] += record["size"]
    rows = sorted(counts, key=lambda key: (key[3], key[0], _target_order(key[1])))
    limit = asked.limit or len(rows)
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
            for key in rows[:limit]
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
