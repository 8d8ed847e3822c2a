"""Two recordings of the same work, by how long each kernel took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import gpuadvise
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.quantity import show_seconds, show_share
from gpuadvise.advisor.short_names import shortened
from gpuadvise.cli.blocks import Cell, Column, Line, Table
from gpuadvise.cli.render import markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpuadvise.api.answers.ledger import LedgerKernel

# Less is what times vary by from run to run.
_SAME = 0.02
_LONGEST_NAME = 48


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTime:
    """All launches of one kernel in one recording."""

    launches: int
    seconds: float
    busiest: float | None  # the larger of SM and memory, share of the peak


def compared(before: str, after: str, *, rows: int) -> str:
    """Return as Markdown what became of the times from *before* to *after*; raises GpuAdviseError."""
    old, new = _times(before), _times(after)
    total_old, total_new = _sum(old.values()), _sum(new.values())
    names = sorted({*old, *new}, key=lambda name: -abs(_seconds(new, name) - _seconds(old, name)))
    shown = shortened(names[:rows], _LONGEST_NAME)
    cells = (
        _row(text, old.get(name), new.get(name))
        for text, name in zip(shown, names[:rows], strict=True)
    )
    lines = [_headline(total_old, total_new)]
    if not old.keys() & new.keys():
        lines.append("No kernel has the same name in both: only the sums can be compared.")
    lines += _remarks(old, new)
    if left := len(names) - len(shown):
        lines.append(f"{left} more kernels changed less.")
    return markdown.render([*map(Line, lines), Table(_COLUMNS, tuple(cells))]).strip()


_COLUMNS = (
    Column("kernel"), Column("before", right=True), Column("after", right=True),
    Column("change", right=True), Column("factor", right=True),
)  # fmt: skip


def _times(path: str) -> dict[str, KernelTime]:
    sums: dict[str, KernelTime] = {}
    for row in gpuadvise.ledger(path).result.kernels:
        if row.seconds is None:
            continue
        name = row.name or "(no name)"
        had = sums.get(name, KernelTime(launches=0, seconds=0.0, busiest=None))
        sums[name] = KernelTime(
            launches=had.launches + row.launches,
            seconds=had.seconds + row.seconds,
            busiest=_larger(had.busiest, _busiest(row)),
        )
    if not sums:
        raise BadInput(
            f"{path} holds no times of kernels.",
            hint="Compare reports of ncu, their CSV pages, or traces; diff compares builds.",
        )
    return sums


def _busiest(row: LedgerKernel) -> float | None:
    return _larger(row.sm, row.memory)


def _larger(one: float | None, other: float | None) -> float | None:
    known = [share for share in (one, other) if share is not None]
    return max(known, default=None)


def _sum(times: Iterable[KernelTime]) -> float:
    return sum(time.seconds for time in times)


def _seconds(times: Mapping[str, KernelTime], name: str) -> float:
    return times[name].seconds if name in times else 0.0


def _headline(old: float, new: float) -> str:
    change = new - old
    if abs(change) <= _SAME * old:
        word = "Same within 2 %"
    else:
        word = f"Faster, {old / new:.3g}x" if change < 0 and new else "Slower"
        word = f"Slower, {new / old:.3g}x the time" if change > 0 and old else word
    return f"{word}: all kernels took {show_seconds(old)} before and {show_seconds(new)} after."


def _remarks(old: Mapping[str, KernelTime], new: Mapping[str, KernelTime]) -> list[str]:
    """Return what may mislead: other counts of launches, and shares of a roof that moved the other way."""
    both = [(name, old[name], new[name]) for name in old if name in new]
    remarks = []
    counts = [name for name, was, now in both if was.launches != now.launches]
    if counts:
        remarks.append(
            f"{len(counts)} kernels were launched another number of times: see that both recordings "
            "hold the same steps."
        )
    for _, was, now in both:
        if was.busiest is None or now.busiest is None or now.seconds >= was.seconds * (1 - _SAME):
            continue
        if now.busiest < was.busiest:
            remarks.append(
                f"A kernel became faster while its busiest unit fell from {show_share(was.busiest)} to "
                f"{show_share(now.busiest)}: the time is what counts."
            )
            break
    return remarks


def _row(name: str, old: KernelTime | None, new: KernelTime | None) -> tuple[Cell, ...]:
    was, now = (old.seconds if old else None), (new.seconds if new else None)
    change = "null"
    if was is not None and now is not None:
        sign = "-" if now < was else "+"
        change = f"{sign}{show_seconds(abs(now - was))}"
    factor = f"{was / now:.3g}x" if was and now else "null"
    texts = (name, _time(was), _time(now), change, factor)
    return tuple(map(Cell, texts))


def _time(seconds: float | None) -> str:
    return "not there" if seconds is None else show_seconds(seconds)
