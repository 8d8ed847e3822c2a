"""What repairs won, held against what we and Nsight Compute said of them before.

`python benchmarks/gains.py [FOLDER...] [--rules] [--below] [--shipped] [--sets] [--fit]`: of each labelled launch whose
repair was measured and won 1.15x or more, and of which a loud finding is of the labelled kind: our bound and
our expectation, beside the estimates that Nsight Compute printed on the details page of the same launch.
Folders as for `benchmarks/truth.py`, by default all of tests/truth. The expectation of a launch is computed
without the repairs of its own program, those of all other folders included, and with --sets without any of its own
folder; --shipped takes what `rules/expectation.py` holds, which --fit prints afresh. --rules counts by rule, --below names the bounds below
the gain.

Two more tables stand below: of launches with several findings, none of which the fastest version of the program
shows, what that version won against what all findings win together; and of launches with one repaired version,
how often what we say limits then is among the limits that a reader named of it, and how often today's limit is.
"""

from __future__ import annotations

import argparse
import csv
import lzma
import math
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from truth import RECORDED, judged, labelled, labels, launches, loud_rules

from gpuadvise.rules import after_repair
from gpuadvise.rules.expectation import (
    Expectation,
    GainExponents,
    at_length,
    by_length,
    expectation,
    exponents_of,
)
from gpuadvise.rules.model import Priority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from truth import Label

    from gpuadvise.rules.report import Finding, Report

# A repair that wins less is within what times vary by from launch to launch and day to day.
WON = 1.15
# An estimate of 100 % would be an infinite gain.
_MOST = 0.999
# Of the known repairs 88 of 100 win a gain between these; of a set that was left out, about 8 in 10.
QUANTILES = (0.06, 0.5, 0.94)
# What all repairs weigh together, in programs of the rule itself: with 5 to 20 the median is off by as much.
OTHERS = 10.0
# The exponent of a bound near 1 is any number: a bound of this at least.
_LEAST_BOUND = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What was won by a repair of one launch, and what was said of it before.

    *program* is what versions of one program have in common; Nsight Compute's are factors, 1 without any.
    """

    folder: Path
    program: str
    launch: tuple[str, int]
    won: float
    finding: Finding | None
    nsight_global: float
    nsight_any: float
    seconds: float | None = None
    expected: Expectation | None = None

    @property
    def bound(self) -> float:
        """The most that our finding gives."""
        assert self.finding is not None
        return self.finding.bound

    @property
    def usual_bound(self) -> float:
        """The most with numbers of as many bits, of which the expectation is a power."""
        assert self.finding is not None
        return self.finding.usual_bound

    @property
    def rule(self) -> str:
        """The rule that found the fault; "" without a finding."""
        return self.finding.rule.formerly or self.finding.rule.id if self.finding else ""

    @property
    def exponent(self) -> float:
        """What power of the bound was won, as of a launch of 100 us."""
        won = math.log(self.won) / math.log(max(self.usual_bound, _LEAST_BOUND))
        return won / by_length(self.seconds)

    def expected_by(self, exponents: GainExponents) -> Expectation:
        """Return what *exponents* of launches of 100 us say of this one."""
        return expectation(at_length(exponents, self.seconds), self.usual_bound)


def estimates(folder: Path, form: str = "raw.csv") -> Iterator[Estimate]:
    """Yield the launches of *folder* with a measured repair; *finding* is the first loud one of a labelled kind."""
    known = labels(folder)
    nsight = nsight_estimates(folder)
    for launch in launches(folder, form):
        label = known.get(launch.key)
        if label is None or not label.loud or label.speedup is None or label.speedup < WON:
            continue
        wanted = frozenset().union(*label.loud)
        of_kind = (
            finding
            for finding in judged(launch).findings
            if labelled(finding.rule) in wanted
            and finding.priority is not Priority.LOW
            and finding.advice.gain
        )
        of_kernel, of_any = nsight.get(launch.key, (1.0, 1.0))
        yield Estimate(
            folder=folder,
            program=f"{folder.name}/{label.case}",
            launch=launch.key,
            won=label.speedup,
            finding=next(of_kind, None),
            nsight_global=of_kernel,
            nsight_any=of_any,
            seconds=launch.profile.seconds,
        )


def nsight_estimates(folder: Path) -> dict[tuple[str, int], tuple[float, float]]:
    """Return per launch the largest of Nsight Compute's global estimates, and of those of any type, as factors.

    It prints per cent of the kernel's time (global) or of a unit's (local): 50 % is a factor of 2.
    """
    largest: dict[tuple[str, int], tuple[float, float]] = {}
    for path in sorted(folder.glob("*.details.csv.xz")):
        group, number, last = path.name.removesuffix(".details.csv.xz"), -1, None
        with lzma.open(path, "rt", encoding="utf-8", newline="") as page:
            for row in csv.DictReader(page):
                if row["ID"] != last:
                    number, last = number + 1, row["ID"]
                of_kernel, of_any = largest.get((group, number), (1.0, 1.0))
                if row["Estimated Speedup"]:
                    share = float(row["Estimated Speedup"].replace(",", "")) / 100
                    factor = 1 / (1 - min(share, _MOST))
                    if row["Estimated Speedup Type"] == "global":
                        of_kernel = max(of_kernel, factor)
                    of_any = max(of_any, factor)
                largest[group, number] = of_kernel, of_any
    return largest


def fitted(rule: str, repairs: Sequence[Estimate]) -> GainExponents:
    """Return the exponents of *rule* by *repairs*: one program of it weighs 1, all repairs together `OTHERS`."""
    own = [row for row in repairs if row.rule == rule]
    versions = Counter(row.program for row in own)
    pairs = [(row.exponent, OTHERS / len(repairs)) for row in repairs]
    pairs += [(row.exponent, 1 / versions[row.program]) for row in own]
    low, median, high = (weighted_quantile(pairs, share) for share in QUANTILES)
    return GainExponents(
        low=round(low, 2),
        median=round(min(median, 1.0), 2),
        high=round(min(high, 1.0), 2),
        repairs=len(own),
        programs=len({row.program for row in own}),
    )


def weighted_quantile(pairs: Iterable[tuple[float, float]], share: float) -> float:
    """Return the value below which *share* of the weight of *pairs* (value, weight) lies, between neighbours in line."""
    ordered = sorted(pairs)
    total, below, last = sum(weight for _, weight in ordered), 0.0, (0.0, ordered[0][0])
    for value, weight in ordered:
        middle = (below + weight / 2) / total
        if middle >= share:
            part = (share - last[0]) / (middle - last[0]) if middle > last[0] else 1.0
            return last[1] + part * (value - last[1])
        below, last = below + weight, (middle, value)
    return last[1]


def with_expectations(
    rows: Sequence[Estimate], *, shipped: bool, sets: bool = False
) -> list[Estimate]:
    """Return *rows* with what is expected of each, by the repairs of other programs, of other *sets*, or as *shipped*."""
    spoken = [row for row in rows if row.finding]
    others: dict[tuple[str, object], GainExponents] = {}
    result = []
    for row in rows:
        if row.finding is None:
            result.append(row)
            continue
        if shipped:
            result.append(replace(row, expected=row.expected_by(exponents_of(row.rule))))
            continue
        key = row.rule, _left_out(row, sets=sets)
        if key not in others:
            rest = [each for each in spoken if _left_out(each, sets=sets) != key[1]]
            others[key] = fitted(row.rule, rest)
        result.append(replace(row, expected=row.expected_by(others[key])))
    return result


def _left_out(row: Estimate, *, sets: bool) -> object:
    """Return what is left out of the numbers that judge *row*: its set, or its program alone."""
    return row.folder if sets else row.program


def off(said: Iterable[float], won: Iterable[float]) -> list[float]:
    """Return by which factor each of *said* lies beside what was *won*."""
    return [max(s / w, w / s) for s, w in zip(said, won, strict=True)]


def line(name: str, rows: Sequence[Estimate]) -> str:
    """Return one row of the table, as Markdown; of the launches with a finding all columns."""
    spoken = [row for row in rows if row.finding]
    won = [row.won for row in spoken]
    cells = [name, f"{len(spoken)} of {len(rows)}"]
    said: tuple[Callable[[Estimate], float], ...] = (
        lambda row: row.bound,
        lambda row: row.nsight_global,
        lambda row: row.nsight_any,
    )
    for estimate in said:
        factors = [estimate(row) for row in spoken]
        below = sum(factor < gain for factor, gain in zip(factors, won, strict=True))
        cells.append(f"{statistics.median(off(factors, won)):.2f}" if spoken else "-")
        cells.append(f"{below}")
    inside = sum(e.low <= row.won <= e.high for row in spoken if (e := row.expected))
    cells[4:4] = _of_expectation(spoken, won, inside)
    return f"| {' | '.join(cells)} |"


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One of several recorded versions of a program, each of them one launch."""

    folder: Path
    program: str
    seconds: float
    label: Label
    report: Report


@dataclass(frozen=True, slots=True, kw_only=True)
class AllRepaired:
    """A launch with several findings, what the version without any of them *won*, and what was said of it."""

    version: Version
    won: float
    said: after_repair.JointGain

    @property
    def by_cause(self) -> float:
        """The bound of which the expectation is a power."""
        report = self.version.report
        return after_repair.bound_by_bottleneck(report.repairs, report.units)

    @property
    def exponent(self) -> float:
        """What power of that bound was won."""
        return math.log(self.won) / math.log(max(self.by_cause, _LEAST_BOUND))


def programs(folder: Path, form: str = "raw.csv") -> Iterator[list[Version]]:
    """Yield the versions of each program in *folder* of which several are one launch each."""
    known = labels(folder)
    versions: dict[tuple[str, str], dict[str, list[Version]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for launch in launches(folder, form):
        label, seconds = known.get(launch.key), launch.profile.seconds
        if label is None or not seconds:
            continue
        version = Version(
            folder=folder,
            program=f"{folder.name}/{label.case}",
            seconds=seconds,
            label=label,
            report=judged(launch),
        )
        versions[launch.key[0], label.case][label.variant].append(version)
    for by_name in versions.values():
        alone = [version for [version, *more] in by_name.values() if not more]
        if len(alone) > 1:
            yield alone


def all_repaired(versions: Sequence[Version]) -> Iterator[AllRepaired]:
    """Yield those of a program's *versions* with several findings, none of which its fastest one shows."""
    fastest = min(versions, key=lambda version: version.seconds)
    left = set(loud_rules(fastest.report))
    for version in versions:
        said, won = version.report.together, version.seconds / fastest.seconds
        names = _labelled(version.report)
        repaired = left.isdisjoint(names[repair.rule] for repair in version.report.repairs)
        if said is not None and won >= WON and repaired:
            yield AllRepaired(version=version, won=won, said=said)


def _labelled(report: Report) -> dict[str, str]:
    """Return what labels call the rules of the findings of *report*."""
    return {finding.rule.id: labelled(finding.rule) for finding in report.findings}


def joint_exponents(rows: Sequence[AllRepaired]) -> GainExponents:
    """Return what power of their bounds *rows* won, each program with the weight of one."""
    versions = Counter(row.version.program for row in rows)
    pairs = [(row.exponent, 1 / versions[row.version.program]) for row in rows]
    low, median, high = (weighted_quantile(pairs, share) for share in QUANTILES)
    return GainExponents(
        low=round(low, 2),
        median=round(min(median, 1.0), 2),
        high=round(min(high, 1.0), 2),
        repairs=len(rows),
        programs=len(versions),
    )


def joint_table(rows: Sequence[AllRepaired]) -> Iterator[str]:
    """Yield how far off what we say of all repairs together is, each set judged by the numbers of the others."""
    yield "| all findings repaired | launches | off | 8 of 10 | below | in range | bound below |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    factors, below, inside = [], 0, 0
    for folder in dict.fromkeys(row.version.folder for row in rows):
        fit = joint_exponents([row for row in rows if row.version.folder != folder])
        for row in (row for row in rows if row.version.folder == folder):
            said = expectation(fit, row.by_cause)
            factors += off([said.expected], [row.won])
            below += said.expected < row.won
            inside += said.low <= row.won <= said.high
    beyond = sum(row.said.upper_bound < row.won for row in rows)
    yield _joint_line("leaving one set out", factors, below, inside, beyond)
    shipped = [row.said.expected for row in rows]
    yield _joint_line(
        "as shipped",
        off([likely.expected for likely in shipped], [row.won for row in rows]),
        sum(likely.expected < row.won for likely, row in zip(shipped, rows, strict=True)),
        sum(
            likely.low <= row.won <= likely.high for likely, row in zip(shipped, rows, strict=True)
        ),
        beyond,
    )


def _joint_line(name: str, factors: Sequence[float], below: int, inside: int, beyond: int) -> str:
    ordered, count = sorted(factors), len(factors)
    return (
        f"| {name} | {count} | {statistics.median(ordered):.2f} | {ordered[round(0.8 * (count - 1))]:.2f} | {below} "
        f"| {inside / count:.0%} | {beyond} |"
    )


def next_limits(versions: Sequence[Version]) -> Iterator[tuple[bool, bool]]:
    """Yield of a fault with one repaired version whether our next limit fits its label, and whether today's does."""
    if len(versions) != 2:
        return
    repaired, fault = sorted(versions, key=lambda version: version.seconds)
    wanted = frozenset().union(*fault.label.loud)
    report = fault.report
    names = _labelled(report)
    first = next((repair for repair in report.repairs if names[repair.rule] in wanted), None)
    then = after_repair.next_limit(first, report.units) if first else None
    if then is None or (fault.label.speedup or 0.0) < WON or report.limiter is None:
        return
    named = repaired.label.limiters
    waits = then.name == "latency" and any(name.startswith("latency") for name in named)
    yield then.name in named or waits, report.limiter.name in named


def _of_expectation(rows: Sequence[Estimate], won: Sequence[float], inside: int) -> list[str]:
    likely = [row.expected.expected for row in rows if row.expected]
    if not likely:
        return ["-"] * 4
    factors = sorted(off(likely, won))
    below = sum(factor < gain for factor, gain in zip(likely, won, strict=True))
    eighth = factors[min(len(factors) - 1, round(0.8 * len(factors)))]
    return [
        f"{statistics.median(factors):.2f}",
        f"{eighth:.2f}",
        f"{below}",
        f"{inside / len(rows):.0%}",
    ]


_COLUMNS = (
    "set", "launches",
    "bound: off", "below the gain",
    "expected: off", "8 of 10", "below", "in range",
    "Nsight global: off", "below",
    "Nsight any: off", "below",
)  # fmt: skip


def table(rows: Sequence[Estimate], of: Callable[[Estimate], str]) -> Iterator[str]:
    """Yield the table of *rows*, one line per what *of* says of them, and one of all."""
    groups: dict[str, list[Estimate]] = defaultdict(list)
    for row in rows:
        groups[of(row)].append(row)
    yield f"| {' | '.join(_COLUMNS)} |"
    yield f"| --- {'| ---: ' * (len(_COLUMNS) - 1)}|"
    for name, group in groups.items():
        yield line(name, group)
    if len(groups) > 1:
        yield line("all", rows)


def table_of_exponents(rows: Sequence[Estimate]) -> Iterator[str]:
    """Yield what `rules/expectation.py` is to hold, by all of *rows*."""
    spoken = [row for row in rows if row.finding]
    for rule in ["", *sorted({row.rule for row in spoken})]:
        found = fitted(rule, spoken)
        numbers = f"low={found.low:g}, median={found.median:g}, high={found.high:g}"
        if not rule:
            yield f"OTHER_RULES = GainExponents({numbers})"
            continue
        counts = f"repairs={found.repairs}, programs={found.programs}"
        yield f'    "{rule}": GainExponents({numbers}, {counts}),'


def main() -> None:
    """Print the table, medians of the factor by which each estimate is off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=type(RECORDED), nargs="*")
    parser.add_argument("--form", default="raw.csv", help="the page that we read")
    parser.add_argument("--rules", action="store_true", help="by rule as well")
    parser.add_argument("--below", action="store_true", help="name the bounds below the gain")
    parser.add_argument(
        "--shipped", action="store_true", help="expectations as the program gives them"
    )
    parser.add_argument("--sets", action="store_true", help="leave out whole sets")
    parser.add_argument("--fit", action="store_true", help="print the exponents")
    options = parser.parse_args()
    known = [RECORDED, *sorted(path.parent for path in RECORDED.parent.glob("blind/*/labels.toml"))]
    wanted = [folder.resolve() for folder in options.folder] or known
    folders = dict.fromkeys([*known, *wanted])
    rows = [row for folder in folders for row in estimates(folder, options.form)]
    if options.fit:
        print("\n".join(table_of_exponents(rows)))
        found = [versions for folder in folders for versions in programs(folder, options.form)]
        fit = joint_exponents([row for versions in found for row in all_repaired(versions)])
        print(f"ALL_REPAIRS = {fit}")
        return
    rows = with_expectations(rows, shipped=options.shipped, sets=options.sets)
    rows = [row for row in rows if row.folder in wanted]
    print("\n".join(table(rows, lambda row: row.folder.name)))
    spoken = [row for row in rows if row.finding]
    if options.rules:
        print()
        print("\n".join(table(spoken, lambda row: row.rule)))
    known_programs = [versions for folder in folders for versions in programs(folder, options.form)]
    repaired = [row for versions in known_programs for row in all_repaired(versions)]
    fits = [each for versions in known_programs for each in next_limits(versions)]
    print()
    print("\n".join(joint_table(repaired)))
    print()
    ours, todays = (sum(column) for column in zip(*fits, strict=True))
    print(f"limit after the repair: {ours} of {len(fits)} as labelled; today's limit: {todays}")
    if options.below:
        for row in spoken:
            if row.bound < row.won:
                print(f"{row.launch} {row.program} {row.rule}: {row.bound:.2f} below {row.won}")


if __name__ == "__main__":
    main()
