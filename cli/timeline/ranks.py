"""Ranks that wait for each other, as fields and in words."""

from __future__ import annotations

from typing import Any

from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_number, show_seconds, show_share
from gpuadvise.advisor.timelines.ranks import WORTH_BALANCING, RankBalance, RankWait
from gpuadvise.cli.blocks import Block, Cell, Heading, Line, Table, Tone, header, left_out

_NS = 1e9
_MOST_RANKS = 16
_MOST_NAMED = 4


def record(balance: RankBalance) -> dict[str, Any]:
    """Return the waits as JSON values: seconds, shares of 0 to 1, the bound on the whole."""
    return {
        "collectives": balance.collectives,
        "unmatched": balance.unmatched,
        "stragglers": [one.rank for one in balance.stragglers],
        "saved_seconds": balance.saved_ns / _NS,
        "share": balance.share,
        "speedup": balance.speedup,
        "waits": [_wait(one) for one in balance.ranks],
    }


def _wait(one: RankWait) -> dict[str, Any]:
    return {
        "rank": one.rank,
        "span_seconds": one.span_ns / _NS,
        "waited_seconds": one.waited_seconds,
        "exposed_wait_seconds": one.exposed_wait_ns / _NS,
        "caused_seconds": one.caused_ns / _NS,
        "last_in": one.last_in,
    }


def verdict(balance: RankBalance) -> str:
    """Return who waits for whom, and what even work would win at most."""
    saved = f"{show_seconds(balance.saved_ns / _NS)} of {show_seconds(balance.span_ns / _NS)}"
    if balance.share < WORTH_BALANCING:
        return f"The ranks are even: each waits {saved} for others, in the mean."
    won = "" if balance.speedup is None else f", at most {show_number(balance.speedup)}x"
    late = balance.stragglers
    if not late:
        return (
            f"The ranks wait {saved} for each other, in the mean, and none is always the last: "
            f"even work in each step saves it{won}."
        )
    names = and_list([str(one.rank) for one in late[:_MOST_NAMED]])
    many = "s" if len(late) > 1 else ""
    holds = "hold" if many else "holds"
    return (
        f"Rank{many} {names} {holds} the others up: the ranks wait {saved}, in the mean. "
        f"Even work saves it{won}."
    )


_COLUMNS = header(">rank", ">waited", ">of its span", ">came last to", ">others then waited")


def blocks(balance: RankBalance) -> list[Block]:
    """Return a table of the ranks, those that hold the others up first."""
    ordered = sorted(balance.ranks, key=lambda one: (-one.caused_ns, one.rank))
    shown = ordered[:_MOST_RANKS]
    late = {one.rank for one in balance.stragglers}
    screen: list[Block] = [
        Heading("Ranks"),
        Table(_COLUMNS, tuple(_row(one, balance, late=one.rank in late) for one in shown)),
    ]
    screen += left_out(len(ordered) - len(shown), "rank", "--format json has all")
    if balance.unmatched:
        screen.append(
            Line(
                f"{plural(balance.unmatched, 'collective')} ran on some ranks only, and were not "
                "compared.",
                Tone.FAINT,
            )
        )
    return screen


def _row(one: RankWait, balance: RankBalance, *, late: bool) -> tuple[Cell, ...]:
    share = one.waited_ns / one.span_ns if one.span_ns else 0.0
    return (
        Cell(str(one.rank), Tone.POOR if late else Tone.PLAIN),
        Cell(show_seconds(one.waited_seconds)),
        Cell(show_share(share)),
        Cell(f"{one.last_in:,} of {balance.collectives:,}"),
        Cell(show_seconds(one.caused_ns / _NS)),
    )
