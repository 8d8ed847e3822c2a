"""What repairs won, held against what we and Nsight Compute said of them before.

`python benchmarks/gains.py [FOLDER...] [--rules] [--below]`: of each labelled launch whose repair was measured
and won 1.15x or more, and of which a loud finding is of the labelled kind: our bound and our expectation,
beside the estimates that Nsight Compute printed on the details page of the same launch. Folders as for
`benchmarks/truth.py`, by default all of tests/truth. --rules counts by rule, --below names the bounds below
the gain.
"""

from __future__ import annotations

import argparse
import csv
import lzma
import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truth import RECORDED, judged, labels, launches

from gpuadvise.rules.model import Priority

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from gpuadvise.rules.report import Finding

# A repair that wins less is within what times vary by from launch to launch and day to day.
WON = 1.15
# An estimate of 100 % would be an infinite gain.
_MOST = 0.999


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

    @property
    def bound(self) -> float:
        """The most that our finding gives."""
        assert self.finding is not None
        return self.finding.bound


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
            if finding.rule.id in wanted
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
    return f"| {' | '.join(cells)} |"


_COLUMNS = (
    "set", "launches",
    "bound: off", "below the gain",
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


def main() -> None:
    """Print the table, medians of the factor by which each estimate is off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=type(RECORDED), nargs="*")
    parser.add_argument("--form", default="raw.csv", help="the page that we read")
    parser.add_argument("--rules", action="store_true", help="by rule as well")
    parser.add_argument("--below", action="store_true", help="name the bounds below the gain")
    options = parser.parse_args()
    blind = (path.parent for path in RECORDED.parent.glob("blind/*/labels.toml"))
    folders = options.folder or [RECORDED, *sorted(blind)]
    rows = [row for folder in folders for row in estimates(folder, options.form)]
    print("\n".join(table(rows, lambda row: row.folder.name)))
    spoken = [row for row in rows if row.finding]
    if options.rules:
        print()
        print("\n".join(table(spoken, lambda row: row.finding.rule.id if row.finding else "")))
    if options.below:
        for row in spoken:
            if row.finding and row.bound < row.won:
                print(
                    f"{row.launch} {row.program} {row.finding.rule.id}: {row.bound:.2f} below {row.won}"
                )


if __name__ == "__main__":
    main()
