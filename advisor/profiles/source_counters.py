"""What a report counts instruction by instruction, added up by the lines of the source.

A report with source counters holds for each instruction how often warps were found waiting there,
and what its accesses took of L2 and shared memory, by the instruction's address. With the line
table of the code (``-lineinfo``) that is a share of each line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.counted_lines import CountedLine, LineCount

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from gpuadvise.advisor.binaries.cubin.line_table import LineTable, SourceLine
    from gpuadvise.advisor.profiles.ncu_report import Instances

_STALLED = "smsp__pcsamp_warps_issue_stalled_"
# Every reason why a warp waits; `selected` is none.
_WAITS = tuple(
    _STALLED + reason
    for reason in (
        "barrier", "branch_resolving", "dispatch_stall", "drain", "imc_miss", "lg_throttle",
        "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc",
        "no_instructions", "short_scoreboard", "sleeping", "tex_throttle", "wait",
        "warpgroup_arrive",
    )
)  # fmt: skip
# What is counted, and what is taken off it: the sectors and passes that are needed anyway.
_COUNTERS: dict[LineCount, tuple[str, str]] = {
    LineCount.SECTORS: (
        "memory_l2_theoretical_sectors_global",
        "memory_l2_theoretical_sectors_global_ideal",
    ),
    LineCount.PASSES: ("memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"),
    LineCount.LOCAL: ("memory_l2_theoretical_sectors_local", ""),
}
# Each instruction that ran at all, the first of the kernel among them.
_EXECUTED = "inst_executed"
SOURCE_COUNTERS = frozenset({_EXECUTED, *_WAITS}.union(*_COUNTERS.values()) - {""})
# Lines that are kept of each count, and the least share worth a name.
_MOST_LINES, _LEAST_SHARE = 3, 0.1


def counted_lines(
    instances: Mapping[str, Instances],
    table: LineTable,
    code_bytes: int | None,
    operations: Mapping[LineCount, Collection[int]] | None = None,
) -> dict[LineCount, tuple[CountedLine, ...]]:
    """Return the lines with the largest shares of each count; none where addresses cannot be told apart.

    *operations* are the offsets of instructions, each counted as often as warps executed it.

    The lowest address that ran is the kernel's first instruction, unless functions that it calls
    lie elsewhere: then what lies outside of its *code_bytes* says so, and nothing is returned.
    """
    by_address = {name: _by_address(instances.get(name, ())) for name in SOURCE_COUNTERS}
    ran = by_address[_EXECUTED]
    if not ran or code_bytes is None or max(ran) - min(ran) >= code_bytes:
        return {}
    start = min(ran)
    values = {
        count: {
            address: value - (by_address[less].get(address, 0.0) if less else 0.0)
            for address, value in by_address[name].items()
        }
        for count, (name, less) in _COUNTERS.items()
    }
    values[LineCount.WAITS] = _summed(by_address[name] for name in _WAITS)
    for count, offsets in (operations or {}).items():
        values[count] = {start + offset: ran.get(start + offset, 0.0) for offset in offsets}
    lines = {count: _largest(taken, start, table) for count, taken in values.items()}
    return {count: kept for count, kept in lines.items() if kept}


def executed_shares(
    instances: Mapping[str, Instances], table: LineTable, code_bytes: int | None
) -> dict[tuple[str, int], float]:
    """Return the share of a kernel's executed instructions at each line that has any, by file and line.

    Nothing where addresses cannot be told apart, as `counted_lines` says.
    """
    ran = _by_address(instances.get(_EXECUTED, ()))
    total = sum(ran.values())
    if not total or code_bytes is None or max(ran) - min(ran) >= code_bytes:
        return {}
    start, shares = min(ran), dict[tuple[str, int], float]()
    for address, value in ran.items():
        if value > 0 and (line := table.at(address - start)):
            shares[line.file, line.line] = shares.get((line.file, line.line), 0.0) + value / total
    return shares


def _summed(counters: Iterable[Mapping[int, float]]) -> dict[int, float]:
    totals: dict[int, float] = {}
    for counter in counters:
        for address, value in counter.items():
            totals[address] = totals.get(address, 0.0) + value
    return totals


def _largest(values: Mapping[int, float], start: int, table: LineTable) -> tuple[CountedLine, ...]:
    """Return the lines that take most of *values*, which are by address."""
    totals: dict[SourceLine, float] = {}
    total = 0.0
    for address, value in values.items():
        if value <= 0:
            continue
        total += value
        if line := table.at(address - start):
            totals[line] = totals.get(line, 0.0) + value
    largest = sorted(totals, key=lambda line: (-totals[line], line))[:_MOST_LINES]
    return tuple(
        CountedLine(file=line.file, line=line.line, share=totals[line] / total)
        for line in largest
        if totals[line] >= _LEAST_SHARE * total
    )


def _by_address(instances: Instances) -> dict[int, float]:
    return {
        address: float(value)
        for address, value in instances
        if isinstance(address, int) and not isinstance(value, str)
    }
