"""What the rules could judge and what they could not, in one vocabulary for all answers.

A rule *judged* where it gave a verdict on some subject of the answer; any other *lacked evidence*.
Nothing is said to be right that no rule could see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.facts.library_kernels import base_name
from gpuadvise.advisor.facts.limiter import (
    DID_NOT_RUN,
    NEAR_PEAK,
    AtRoof,
    Imbalance,
    IssueBound,
    LastWave,
    LatencyBound,
    TooLittleWork,
    UnknownLimiter,
)
from gpuadvise.advisor.facts.units import Unit
from gpuadvise.advisor.prose import inert, plural
from gpuadvise.advisor.quantity import show_share
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.report import lacks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.rules.advice import Missing
    from gpuadvise.rules.report import Report


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many rules gave a verdict, and the others with how to supply what each lacked."""

    judged: int
    lacking: tuple[dict[str, object], ...]

    @property
    def words(self) -> str:
        """What stands behind a verdict: ``9 rules judged, 105 lacked evidence``."""
        judged = f"{plural(self.judged, 'rule')} judged"
        return f"{judged}, {len(self.lacking)} lacked evidence" if self.lacking else judged


def coverage_of(reports: Sequence[Report]) -> Coverage:
    """Return what the rules could judge on any of *reports*: of a run's kernels few are asked."""
    judged = {line.rule.id for report in reports for line in report.lines}
    for report in reports:  # those that say the same are told in one
        judged.update(*(finding.advice.also for finding in report.findings))
    lacking: dict[str, dict[str, object]] = {}
    for report in reports:
        if all(rule.id in judged or rule.id in lacking for rule, _ in report.not_evaluated):
            continue
        for entry in not_evaluated_objects(report):
            if entry["rule"] not in judged:
                lacking.setdefault(str(entry["rule"]), entry)
    return Coverage(len(judged), tuple(lacking.values()))


def not_evaluated_objects(report: Report) -> list[dict[str, object]]:
    """Return the rules that lacked evidence, with how to supply each missing fact."""
    return [
        {"rule": rule.id, "missing": [item.fact for item in missing], "how": _how(missing)}
        for rule, missing in report.not_evaluated
    ]


def _how(missing: tuple[Missing, ...]) -> str:
    """Return how to supply what is missing; of alternatives, each after an ``Or``."""
    needed = " ".join(dict.fromkeys(item.how for item in missing if not item.alternative))
    either = " Or: ".join(dict.fromkeys(item.how for item in missing if item.alternative))
    return " ".join(filter(None, (needed, either)))


# Of a run: with more idle time than this, what the GPU waits for is the first question.
_MOSTLY_IDLE = number(0.5, "mostly idle", "share of a run's time", "our judgement")
# What somebody measured of a kernel.
_MEASURED = frozenset({"profile", "work", "traffic"})


def nothing_found(reports: Sequence[Report], coverage: Coverage) -> str:
    """Return what an answer without a finding says: only where the limit was seen, that all is well."""
    idle = max((report.idle_share or 0.0 for report in reports), default=0.0)
    if idle > _MOSTLY_IDLE:
        unknown = f"no change found, but the GPU is idle for {show_share(idle)} of the time"
        return f"{unknown}; {coverage.words}"
    if not coverage.judged:
        return f"nothing was judged: {plural(len(coverage.lacking), 'rule')} lacked evidence"
    if any(map(_has_room, reports)):
        return f"no single change found; {coverage.words}"
    if any(map(_did_not_run, reports)):
        return f"nothing to judge; {coverage.words}"
    if any(map(_is_unexplained, reports)):
        return f"no change found, and the limit is not known; {coverage.words}"
    if any(report.missing_counters for report in reports):
        return f"no change found, but counters are missing; {coverage.words}"
    if any(map(_is_without_accesses, reports)):
        unknown = "whether its accesses are coalesced is not in the profile"
        return f"no change found, but {unknown}; {coverage.words}"
    if all(map(_is_at_its_limit, reports)):
        return f"nothing to change; {coverage.words}"
    return f"no fault found; {coverage.words}"


def _is_at_its_limit(report: Report) -> bool:
    """Return whether the kernel was measured, and what limits it is known."""
    limiter = report.limiter
    return isinstance(limiter, IssueBound | AtRoof) and not report.known.isdisjoint(_MEASURED)


def _has_room(report: Report) -> bool:
    """Return whether a kernel waits, or its busiest unit could be busier."""
    limiter = report.limiter
    if isinstance(limiter, IssueBound | AtRoof):
        return limiter.few_warps is not None or limiter.share < NEAR_PEAK
    return isinstance(limiter, LatencyBound | TooLittleWork | LastWave | Imbalance)


# What carries sectors: whether all of them are needed, only counts of requests tell.
_CARRIES_SECTORS = (Unit.DRAM, Unit.L2, Unit.L1_SHARED, Unit.LSU, Unit.MEMORY)


def _is_without_accesses(report: Report) -> bool:
    """Return whether a profiled kernel is limited by what moves data, of which nobody counted what is needed."""
    limiter = report.limiter
    return (
        isinstance(limiter, AtRoof) and limiter.unit in _CARRIES_SECTORS and report.blind_to_sectors
    )


def _is_unexplained(report: Report) -> bool:
    """Return whether a kernel was measured, and yet its limit is not known."""
    return isinstance(report.limiter, UnknownLimiter) and not report.known.isdisjoint(_MEASURED)


def _did_not_run(report: Report) -> bool:
    return isinstance(report.limiter, UnknownLimiter) and report.limiter.wanted == DID_NOT_RUN


# Kernels that a command has room for: a profile of the longest ones tells most.
_MOST_PROFILED = 3
_LONGEST_NAME = 60
_MANGLED = "_Z"
# What the report of a launch makes known; a test compares this with a recorded one.
FROM_A_PROFILE = frozenset({
    "active_threads", "bank_efficiency", "device", "faster_launches", "fp64_ratio", "grid", "kernel", "launch", "launched", "launches",
    "limiter", "link", "memory_bandwidth", "occupancy", "persisting_l2", "profile", "registers",
    "sector_efficiency", "sm_count", "spill_requests", "stalls",
})  # fmt: skip


def wanted_profile(reports: Sequence[Report], coverage: Coverage, hot: Sequence[str]) -> str:
    """Return how many more rules a profile of the *hot* kernels lets judge, and its command; "" for none.

    Of Python files alone the command that records a run.

    *hot* are in the order of their times, the longest first.
    """
    if any("profile" in report.known for report in reports):
        return ""
    if script := _script(reports):
        return f"A recording says where the time goes: gpuadvise run -- python {script}"
    known = FROM_A_PROFILE.union(*(report.known for report in reports))
    wanted = {str(entry["rule"]) for entry in coverage.lacking}
    rules = {rule for report in reports for rule, _ in report.not_evaluated if rule.id in wanted}
    count = sum(not lacks(rule, known) for rule in rules)
    plain = _patterns(hot)
    chosen = f" -k regex:'^({'|'.join(plain)})$'" if plain else ""
    command = f"ncu --set full{chosen} -o report ./app"
    return f"A profile lets {count} of them judge: {command}" if count else ""


def _patterns(hot: Sequence[str]) -> list[str]:
    """Return what matches the names of the first of the *hot* kernels, each once."""
    found: dict[str, None] = {}
    for kernel in hot:
        if (pattern := _pattern(kernel)) is not None:
            found[pattern] = None
        if len(found) == _MOST_PROFILED:
            break
    return list(found)


def _pattern(kernel: str) -> str | None:
    """Return what matches the name by which a profiler chooses *kernel*; None where that is not known.

    It goes by the function's name alone, without namespaces and arguments; compilers of whole models
    make names of hundreds of letters, of which the begin tells.
    """
    from gpuadvise.advisor.binaries.names import demangle

    name = base_name(demangle(kernel) or kernel)
    if not (name.isidentifier() and name.isascii()) or name.startswith(_MANGLED):
        return None
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}.*"


def _script(reports: Sequence[Report]) -> str:
    """Return the first Python file, quoted for a shell, where nothing but such files was judged."""
    import shlex

    places = [
        next(
            (place.file for finding in report.findings if (place := finding.advice.location)), None
        )
        for report in reports
    ]
    if any(report.kernel or "launch" in report.known for report in reports):
        return ""
    scripts = [place for place in places if place and place.endswith(".py")]
    return shlex.quote(inert(scripts[0])) if scripts and len(scripts) == len(places) else ""
