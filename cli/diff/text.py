"""``diff`` in words: one sentence and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuadvise.advisor.binaries.model import Exactness
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.resource_diff.change import Status
from gpuadvise.cli.blocks import Block, Cell, Column, Line, Table, Tone, table
from gpuadvise.cli.render import kernel_names

Record = Mapping[str, Any]

_TONES = {
    Status.WORSE: Tone.BAD,
    Status.SPILLS_MORE: Tone.POOR,
    Status.MORE_STACK: Tone.POOR,
    Status.TRADE_OFF: Tone.POOR,
    Status.BETTER: Tone.GOOD,
    Status.UNCHANGED: Tone.FAINT,
}
_PHRASES = {
    Status.BETTER: "{} gained occupancy",
    Status.SPILLS_MORE: "{} spill more",
    Status.MORE_STACK: "{} took more stack",
    Status.TRADE_OFF: "{} traded occupancy against spills or stack",
    Status.SAME_TIER: "{} changed within the same tier",
    Status.UNKNOWN: "{} changed without an occupancy to compare",
    Status.UNCHANGED: "{} unchanged",
    Status.NEW: "{} new",
    Status.REMOVED: "{} removed",
}


def summary(
    records: Sequence[Record],
    counts: Mapping[str, int],
    where: str,
    members: Mapping[str, Sequence[str]],
) -> str:
    """Return the outcome in a sentence; *where* says on which GPU."""
    worse = counts[Status.WORSE]
    paid = [record for record in records if _lower(record) and record["status"] != Status.WORSE]
    freed = sum(record["status"] == Status.BETTER for record in paid)
    alone = counts[Status.NEW] + counts[Status.REMOVED]
    compared = sum(counts.values()) - alone
    total = f"{plural(compared, 'kernel')}{' in both builds' if alone else ''}"
    for_nothing = " for nothing" if paid else ""
    lead = f"{f'{worse:,}' if worse else 'None'} of {total} lost occupancy{for_nothing}"
    if not compared:
        gone = counts[Status.REMOVED] and not counts[Status.NEW]
        lead = "The new build has no kernel" if gone else "No kernel is in both builds"
    counts = {**counts, Status.BETTER: counts[Status.BETTER] - freed}
    parts = [f"{freed:,} spill far less with fewer warps"] if freed else []
    parts += [text.format(f"{counts[s]:,}") for s, text in _PHRASES.items() if counts[s]]
    return f"{lead} {where}{': ' if parts else ''}{and_list(parts)}.{_one_sided(members)}"


def _lower(record: Record) -> bool:
    """Return whether the new build of a kernel has a lower occupancy."""
    before, now = ((record[side] or {}).get("occupancy") for side in ("old", "new"))
    return before is not None and now is not None and now < before


def _one_sided(members: Mapping[str, Sequence[str]]) -> str:
    said = [
        f"{plural(len(members[side]), 'member')} only in the {side} build"
        for side in ("old", "new")
        if members.get(side)
    ]
    return f" {and_list(said)}, which nothing is compared with." if said else ""


# Members of one build only that a person reads; the JSON has all.
_MOST_MEMBERS = 10


def blocks(
    summary: str,
    records: Sequence[Record],
    members: Mapping[str, Sequence[str]],
    limit: int,
    unchanged: bool,
) -> list[Block]:
    """Return the sentence and the table of what changed."""
    tone = Tone.BAD if any(r["status"] == Status.WORSE for r in records) else Tone.STRONG
    listed = [r for r in records if unchanged or r["status"] != Status.UNCHANGED]
    shown = listed[:limit] if limit else listed
    page: list[Block] = [Line(summary, tone)]
    for side, paths in members.items():
        page += [Line(f"only in the {side} build: {path}") for path in paths[:_MOST_MEMBERS]]
        if len(paths) > _MOST_MEMBERS:
            page.append(Line(f"and {len(paths) - _MOST_MEMBERS:,} more in the {side} build"))
    if shown:
        page.append(_table(shown))
    if len(listed) > len(shown):
        page.append(Line(f"and {len(listed) - len(shown):,} more (--limit 0 shows all)"))
    if any((r[side] or {}).get("block_from") == "best" for r in shown for side in ("old", "new")):
        page.append(Line("Without launch bounds, at the best block size; --block names one."))
    return page


def _table(shown: Sequence[Record]) -> Table:
    """Return the kernels as rows, with their member where there are several."""
    several = len({record["member"] for record in shown}) > 1
    member = ((Column("member"), lambda record: record["member"] or "-"),) if several else ()
    whole = table(
        shown,
        ("status", lambda r: Cell(r["status"], _TONES.get(Status(r["status"]), Tone.PLAIN))),
        (">occupancy", lambda record: moved(record, tier)),
        (">regs", lambda record: moved(record, lambda side: number(side["registers"]))),
        (">smem", lambda record: moved(record, lambda side: number(side["static_smem"]))),
        (">stack", lambda record: moved(record, stack)),
        (">spills", lambda record: moved(record, spills)),
        ("arch", lambda record: record["arch"] or "?"),
        *member,
        (Column("kernel", below=True), lambda _: ""),
    )
    return kernel_names.named(whole, [called(record) for record in shown])


def moved(record: Record, show: Any) -> str:
    """Return how a number went from old to new, or what both say."""
    old, new = (show(record[side]) if record[side] else "" for side in ("old", "new"))
    if old == new or not new:
        return old
    return f"{old} → {new}" if old else new


def tier(side: Record) -> str:
    """Return the occupancy of one side."""
    return "-" if side["occupancy"] is None else show_share(side["occupancy"])


def stack(side: Record) -> str:
    """Return the bytes of stack of one side, of the frame where that is all there is."""
    return number(side["stack"] if side["stack"] is not None else side["frame"])


def spills(side: Record) -> str:
    """Return the bytes one side spills and reads back."""
    if side["spill_stores"] is None and side["spill_loads"] is None:
        return "-"
    bound = "" if side["spills_are"] == Exactness.EXACT else "≤"
    return f"{bound}{(side['spill_stores'] or 0) + (side['spill_loads'] or 0):,}"


def number(value: int | None) -> str:
    """Return *value*, or a dash for what is not known."""
    return "-" if value is None else f"{value:,}"


def called(record: Record) -> str:
    """Return the kernel's whole name, for what tells templates apart may stand anywhere in it."""
    name: str = record["demangled"] or record["name"]
    return f"{name} (was {record['old_name']})" if record["old_name"] else name
