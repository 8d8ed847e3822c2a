"""The lists of kernels and entries as people read them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.binaries.kernel_occupancy import BlockFrom
from gpuadvise.advisor.binaries.model import Source
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.cli.blocks import Block, Cell, Column, Line, Table, Tone
from gpuadvise.cli.devices import device_line

if TYPE_CHECKING:
    from gpuadvise.advisor.backends.choose import Choice
    from gpuadvise.cli.kernels.order import Found

Record = dict[str, Any]

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
    Column("kernel", below=True),
)
_LIMITERS = {"shared_memory": "shared memory"}


def kernels_page(choice: Choice | None, found: list[Found], listed: list[Record]) -> list[Block]:
    """Return the summary of all, the *listed* kernels, and how to read them."""
    blocks: list[Block] = [Line(_summary(found), Tone.STRONG), Line(_basis(choice))]
    if listed:
        blocks.append(_table(listed))
    blocks += [Line(text, Tone.FAINT) for text in _remarks(listed)]
    if len(found) > len(listed):
        rest = plural(len(found) - len(listed), "more kernel")
        blocks.append(Line(f"{rest}: --limit 0 shows all, --filter some.", Tone.FAINT))
    return blocks


def _table(listed: list[Record]) -> Table:
    """Return the kernels as rows, with their file where there are several."""
    files = len({_file(record) for record in listed}) > 1
    columns = (*_KERNEL_COLUMNS, Column("file")) if files else _KERNEL_COLUMNS
    rows = (
        (*_kernel_row(record), Cell(_file(record))) if files else _kernel_row(record)
        for record in listed
    )
    return Table(columns=columns, rows=tuple(rows))


def _file(record: Record) -> str:
    path: str = record["member"] or record["file"]
    return path.rsplit("/", 1)[-1]


def _summary(found: list[Found]) -> str:
    text = plural(len(found), "kernel")
    targets = {one.kernel.capability for one in found if one.kernel.capability}
    if 0 < len(targets) <= _MOST_TARGETS:
        text += f" for {and_list([target.target for target in sorted(targets)])}"
    elif targets:
        text += f" for {len(targets)} targets"
    if all(one.kernel.source is Source.PTX for one in found) and found:
        text += ", all of them PTX"
    parts = _counts(found)
    return f"{text}: {and_list(parts)}." if parts else f"{text}."


def _counts(found: list[Found]) -> list[str]:
    """Return what is worth counting of what is known."""
    alike = Counter([one.residency for one in found])  # a hundredth of the properties to look up
    stuck = sum(count for residency, count in alike.items() if residency.stuck)
    parts = [f"{stuck:,} cannot start"] if stuck else []
    if any(one.kernel.spill_stores is not None for one in found):
        parts.append(f"{sum(one.spilled > 0 for one in found):,} spill")
    shares = [
        (residency.share, count)
        for residency, count in alike.items()
        if not residency.stuck and residency.share is not None
    ]
    if shares:
        low = sum(count for share, count in shares if share < _LOW)
        parts.append(f"{low:,} below {show_share(_LOW)} occupancy")
    return parts


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
        Cell(_target(record)),
        Cell(_short(record["demangled"] or record["name"])),
    )


def _target(record: Record) -> str:
    target: str = record["arch"] or "?"
    return target.replace("sm_", "compute_") if record["source"] == Source.PTX else target


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
    total = record["spill_stores"] + (record["spill_loads"] or 0)
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
