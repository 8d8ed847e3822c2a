"""Ranks that wait for each other, as fields and in words."""

from __future__ import annotations

from typing import Any

from gpuadvise.advisor.facts.timeline import NOTICEABLE
from gpuadvise.advisor.json_records import named_fields
from gpuadvise.advisor.prose import and_list, plural
from gpuadvise.advisor.quantity import show_number, show_seconds, show_share
from gpuadvise.advisor.timelines.ranks import WORTH_BALANCING, RankBalance, RankWait
from gpuadvise.cli.blocks import Block, Cell, Heading, Line, Tone, left_out, table

_NS = 1e9
_MOST_RANKS = 16
_MOST_NAMED = 4


def record(balance: RankBalance) -> dict[str, Any]:
    """Return the waits as JSON values: seconds, shares of 0 to 1, the bound on the whole."""
    waits = (
        "rank span_seconds=span_ns waited_seconds exposed_wait_seconds=exposed_wait_ns "
        "caused_seconds=caused_ns last_in"
    )
    return {
        **named_fields(balance, "collectives unmatched"),
        "stragglers": [one.rank for one in balance.stragglers],
        **named_fields(balance, "saved_seconds=saved_ns share speedup"),
        "waits": [named_fields(one, waits) for one in balance.ranks],
    }


def verdict(balance: RankBalance) -> str:
    """Return who waits for whom, and what even work would win at most."""
    saved = f"{show_seconds(balance.saved_ns / _NS)} of {show_seconds(balance.span_ns / _NS)}"
    if balance.share < WORTH_BALANCING:
        return f"The ranks are even: each waits {saved} for others, in the mean."
    if balance.share < NOTICEABLE:
        return f"The ranks are nearly even: each waits {saved} ({show_share(balance.share)}) for others, in the mean."
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


def blocks(balance: RankBalance) -> list[Block]:
    """Return a table of the ranks, those that hold the others up first."""
    ordered = sorted(balance.ranks, key=lambda one: (-one.caused_ns, one.rank))
    shown = ordered[:_MOST_RANKS]
    late = {one.rank for one in balance.stragglers}

    def share(one: RankWait) -> float:
        return one.waited_ns / one.span_ns if one.span_ns else 0.0

    rows = table(
        shown,
        (">rank", lambda one: Cell(str(one.rank), Tone.POOR if one.rank in late else Tone.PLAIN)),
        (">waited", lambda one: show_seconds(one.waited_seconds)),
        (">of its span", lambda one: show_share(share(one))),
        (">came last to", lambda one: f"{one.last_in:,} of {balance.collectives:,}"),
        (">others then waited", lambda one: show_seconds(one.caused_ns / _NS)),
    )
    screen: list[Block] = [Heading("Ranks"), rows]
    screen += left_out(len(ordered) - len(shown), "rank", "--format json has all")
    if balance.unmatched:
        count = plural(balance.unmatched, "collective")
        told = f"{count} ran on some ranks only, and were not compared."
        screen.append(Line(told, Tone.FAINT))
    return screen
