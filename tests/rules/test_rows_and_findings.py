"""What could be won by `timeline`, and what `advise` says: one account of each recording."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import recordings

from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.facts.timeline import WORTH_SAYING
from gpuadvise.advisor.timelines.case import among_ranks, ranks_in, timelines_in
from gpuadvise.advisor.timelines.evidence import facts_of_ranks, run_among_ranks, run_facts
from gpuadvise.advisor.timelines.what_if import Change
from gpuadvise.rules.engine import run
from gpuadvise.rules.guide import RULES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gpuadvise.advisor.timelines.case import TimelineCase

# The rule with whose arithmetic each row is listed; `speed-up-kernel` is all of a kernel's time, and no rule's.
RULE_OF = {
    Change.PIN_MEMORY: "pageable-transfers",
    Change.MERGE_COPIES: "small-transfers",
    Change.OVERLAP_COPIES: "serial-transfers",
    Change.KEEP_ON_GPU: "transfer-bound-run",
    Change.AVOID_COPIES: "transfer-bound-run",
    Change.PREFETCH_MEMORY: "unprefetched-managed-memory",
    Change.REUSE_MEMORY: "repeated-allocations",
    Change.LAUNCH_GRAPHS: "launch-bound",
    Change.WAIT_LESS: "frequent-synchronization",
    Change.SHORTEN_HOST_WORK: "idle-gaps",
    Change.SHORTEN_CALLS: "idle-gaps",
    Change.FUSE_KERNELS: "idle-gaps",
    Change.USE_TENSOR_CORES: "fp32-products",
    Change.LEAVE_FP64: "fp64-products",
    Change.PAD_PRODUCTS: "odd-gemm-shape",
    Change.KEEP_LAYOUT: "layout-conversions",
    Change.FUSE_ATTENTION: "unfused-attention",
    Change.FUSE_PASSES: "memory-bound",
    Change.REPLACE_OPERATORS: "costly-operators",
    Change.EVEN_RANKS: "uneven-ranks",
    Change.HIDE_COMMUNICATION: "exposed-communication",
}
# Idle time goes with whichever rule is about it; what wins less than this is no row.
_LEAST = 1 / (1 - WORTH_SAYING)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[Sequence[TimelineCase]]:
    """Return all recordings, those of the ranks of a program together."""
    folder = recordings.unpack(
        tmp_path_factory.mktemp("recordings"), recordings.KINDS + recordings.LOOPS
    )
    files = [
        path
        for kind in recordings.KINDS + recordings.LOOPS
        for path in recordings.cases(folder / kind).values()
    ]
    files += [path for path in (folder / "ranks").iterdir() if path.is_dir()]
    assert len(files) > 90
    programs = [_cases(path) for path in files]
    return [among_ranks(cases, ranks_in(cases).balance()) for cases in programs]


def _cases(path: Path) -> list[TimelineCase]:
    jax = find("h200-sxm") if "jax" in path.parent.name else None
    return list(timelines_in(str(path), jax))


def _bounds(cases: Sequence[TimelineCase]) -> set[tuple[str, float]]:
    """Return the rules that find something about a program as a whole, with what it wins at most."""
    balance = ranks_in(cases).balance()
    bags = [run_facts(case.timeline) for case in cases]
    if balance is not None:
        bags = [
            replace(bag, timeline=run_among_ranks(case.run))
            for bag, case in zip(bags, cases, strict=True)
        ]
        bags.append(facts_of_ranks(balance, [case.timeline for case in cases]))
    found = [finding for bag in bags for finding in run(RULES, bag).findings]
    return {
        (one.rule.id, round(one.advice.gain.upper_bound, 3))
        for one in found
        if one.advice.gain is not None and one.advice.gain.upper_bound >= _LEAST
    }


def test_each_row_is_a_finding_with_the_same_bound_and_each_finding_a_row(
    programs: list[Sequence[TimelineCase]],
) -> None:
    seen: set[Change] = set()
    for cases in programs:
        rows = {
            (RULE_OF[one.change], round(one.speedup or 1e6, 3))
            for case in cases
            for one in case.changes
            if one.change is not Change.FASTEN_KERNEL
        }
        assert rows == _bounds(cases), cases[0].place
        seen |= {one.change for case in cases for one in case.changes}
    assert len(seen) >= 17, set(Change) - seen


def test_the_first_row_is_the_largest(programs: list[Sequence[TimelineCase]]) -> None:
    for cases in programs:
        for case in cases:
            known = [one.speedup for one in case.changes if one.speedup is not None]
            assert known == sorted(known, reverse=True), case.place


def test_no_idle_time_is_in_two_rows_that_do_not_say_so(
    programs: list[Sequence[TimelineCase]],
) -> None:
    """The rows that are about nothing but idle time add up to no more of it than there is."""
    of_idle_time = {
        Change.LAUNCH_GRAPHS,
        Change.WAIT_LESS,
        Change.SHORTEN_HOST_WORK,
        Change.SHORTEN_CALLS,
        Change.FUSE_KERNELS,
        Change.REUSE_MEMORY,
    }
    said = 0
    for cases in programs:
        for case in cases:
            rows = [one for one in case.changes if one.change in of_idle_time]
            idle = case.run.span_seconds - case.run.busy_seconds
            alone = [one for one in rows if "idle time of rows above" not in one.how]
            slack = WORTH_SAYING * case.run.span_seconds * len(rows)
            values = case.run.values_read_seconds
            assert sum(one.saved_ns for one in alone) / 1e9 <= idle + values + slack, case.place
            said += len(rows) - len(alone)
    assert said >= 2
