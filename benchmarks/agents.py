"""Does it help an agent: what our ledger, Nsight Compute's rules and its page say first, and at what length.

`python benchmarks/agents.py [FOLDER...] [--form raw.csv|details.csv] [--missed]`: one task for each labelled program
with a measured repair that won 1.15x or more, its slow launch that the repair helped most. Each source's first advice is
right where it names the repair that was measured. Ours is the first action of the ledger; that of Nsight
Compute the rule with the largest estimated speed-up among those that ask for a change, which counts for every fault that
an expert may take it to mean. Pages of counters name none. A token is four bytes of text.

Folders as for `benchmarks/truth.py`, by default all of tests/truth.
"""

from __future__ import annotations

import argparse
import csv
import io
import lzma
import statistics
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gains import WON
from truth import RECORDED, judged, labelled, labels, launches

from gpuadvise.advisor.facts.bag import Facts
from gpuadvise.cli.advise.answer import AdviceReports
from gpuadvise.cli.advise.ledger import NAME, ledger_answer
from gpuadvise.cli.exits import Exit
from gpuadvise.rules.guide import RULES
from gpuadvise.rules.judge import ranked
from gpuadvise.rules.ledger import figures_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from truth import Label, Launch

BYTES_PER_TOKEN = 4
_LATENCY = frozenset({"latency-bound", "unhidden-latency", "global-memory-latency"})
_SHAPE = frozenset({"underfilled-device", "lone-small-kernel", "launch-bound", "tail-effect"})
_FEW_WARPS = frozenset({
    "low-occupancy", "register-limited-occupancy", "shared-memory-limited-occupancy", "lone-resident-block", "tiny-blocks",
})  # fmt: skip
# What each rule of Nsight Compute may be taken to mean, with good will.
NSIGHT = {
    "UncoalescedGlobalAccess": frozenset({"uncoalesced-access", "wasted-throughput", "unaligned-words", "unpadded-rows", "narrow-elements"}),
    "MemoryCacheAccessPattern": frozenset({"uncoalesced-access", "wasted-throughput", "narrow-loads", "unaligned-words", "unpadded-rows", "narrow-elements", "register-spills"}),
    "SharedMemoryConflicts": frozenset({"bank-conflicts", "unpadded-rows"}),
    "UncoalescedSharedAccess": frozenset({"bank-conflicts", "unpadded-rows"}),
    "ThreadDivergence": frozenset({"divergent-branches", "partial-warp"}),
    "LaunchConfiguration": _SHAPE | {"partial-warp", "tiny-blocks", "unusual-block-size"},
    "TheoreticalOccupancy": _FEW_WARPS | {"unhidden-latency"},
    "AchievedOccupancy": _FEW_WARPS | _SHAPE | {"load-imbalance"},
    "WorkloadImbalance": _SHAPE | {"load-imbalance"},
    "FPInstructions": frozenset({"slow-math", "general-math-functions", "implicit-double"}),
    "HighPipeUtilization": frozenset({"compute-bound", "unused-tensor-cores", "full-precision-matmuls", "implicit-double", "scarce-fp64", "integer-division", "slow-math", "atomic-contention"}),
    "SOLFPRoofline": frozenset({"implicit-double", "scarce-fp64"}),
    "CPIStall": _LATENCY | {"atomic-contention", "narrow-loads", "redundant-global-loads", "synchronous-staging"},
    "IssueSlotUtilization": _LATENCY | _FEW_WARPS,
    "SOLBottleneck": _LATENCY | _SHAPE | {"memory-bound", "compute-bound", "low-effective-bandwidth", "far-from-roof"},
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one source says of one launch: the faults of its advice, the first first, and its length."""

    advice: tuple[frozenset[str], ...]
    tokens: int

    def right(self, wanted: frozenset[str], first: int) -> bool:
        """Return whether one of the *first* pieces of advice names a *wanted* repair."""
        return any(wanted & each for each in self.advice[:first])


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One slow launch with a measured repair, and what each source says of it."""

    folder: str
    name: str
    wanted: frozenset[str]
    ours: Said
    nsight: Said
    details: int  # tokens of the details page
    raw: int  # tokens of the raw page


def tokens(text: str) -> int:
    """Return about how many tokens *text* is."""
    return len(text.encode()) // BYTES_PER_TOKEN


def tasks(folder: Path, form: str) -> Iterator[Task]:
    """Yield a task for each program of *folder* whose repair was measured."""
    known = labels(folder)
    best: dict[str, Label] = {}
    for label in known.values():
        if label.loud and (label.speedup or 0) >= WON:
            other = best.get(label.case)
            if other is None or (other.speedup or 0) < (label.speedup or 0):
                best[label.case] = label
    wanted = {label.key: label for label in best.values()}
    pages = {form: _pages(folder, form) for form in ("details.csv", "raw.csv")}
    for launch in launches(folder, form):
        label = wanted.get(launch.key)
        if label is None:
            continue
        details = pages["details.csv"][launch.key]
        yield Task(
            folder=folder.name,
            name=f"{label.case} {label.variant}",
            wanted=frozenset().union(*label.loud),
            ours=_ours(launch),
            nsight=_nsight(details),
            details=tokens(_text(details)),
            raw=tokens(_text(pages["raw.csv"][launch.key])),
        )


def _ours(launch: Launch) -> Said:
    report = judged(launch)
    advised = AdviceReports(
        rules=RULES, reports=[report], findings=ranked([(report, report.findings)], 0.0)
    )
    answer = ledger_answer(
        advised, [figures_of(Facts(profile=launch.profile))], [1.0], (), inputs={}, notes=(), exit_code=Exit.RAN
    )  # fmt: skip
    by_id = {rule.id: rule for rule in RULES}
    advice = tuple(
        frozenset({labelled(by_id[action["rule"]]), action["rule"]})
        for action in answer.result["actions"]
    )
    text = answer.documents[NAME]()
    return Said(advice=advice, tokens=tokens(text if isinstance(text, str) else "".join(text)))


def _pages(folder: Path, form: str) -> Mapping[tuple[str, int], list[dict[str, str]]]:
    """Return the lines of each launch of every page of *folder*, by group and number."""
    by_launch: dict[tuple[str, int], list[dict[str, str]]] = defaultdict(list)
    for path in sorted(folder.glob(f"*.{form}.xz")):
        group = path.name.removesuffix(f".{form}.xz")
        numbers: dict[str, int] = {}
        for row in csv.DictReader(io.StringIO(lzma.decompress(path.read_bytes()).decode())):
            if row["ID"]:  # not the line of units
                number = numbers.setdefault(row["ID"], len(numbers))
                by_launch[group, number].append(row)
    return by_launch


def _text(rows: Sequence[Mapping[str, str]]) -> str:
    """Return what of a launch's *rows* a model would be given: names, units and values, without the launch's columns."""
    if "Metric Name" in rows[0]:
        columns = ("Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Description")
        return "\n".join(",".join(row[name] for name in columns if row[name]) for row in rows)
    return "\n".join(f"{name},{value}" for row in rows for name, value in row.items() if value)


def _nsight(rows: Sequence[Mapping[str, str]]) -> Said:
    asking = [row for row in rows if row["Rule Name"] and row["Rule Type"] in ("OPT", "WRN")]
    asking.sort(key=lambda row: -float(row["Estimated Speedup"] or 0))
    text = "\n".join(row["Rule Description"] for row in asking)
    return Said(
        advice=tuple(NSIGHT.get(row["Rule Name"], frozenset()) for row in asking),
        tokens=tokens(text),
    )


def table(rows: Sequence[Task]) -> Iterator[str]:
    """Yield the figures by folder and over all, as Markdown."""
    yield (
        "| set | tasks | ledger: first | first three | tokens | Nsight's rules: first | first three | tokens "
        "| details page, tokens | raw page, tokens |"
    )
    yield "| --- |" + " ---: |" * 9
    folders: dict[str, list[Task]] = defaultdict(list)
    for row in rows:
        folders[row.folder].append(row)
    for name, some in [*sorted(folders.items()), ("all", list(rows))]:
        cells = [
            name,
            f"{len(some)}",
            *_cells([(task.ours, task.wanted) for task in some]),
            *_cells([(task.nsight, task.wanted) for task in some]),
            f"{statistics.median(task.details for task in some):,.0f}",
            f"{statistics.median(task.raw for task in some):,.0f}",
        ]
        yield f"| {' | '.join(cells)} |"


def _cells(said: Sequence[tuple[Said, frozenset[str]]]) -> Iterator[str]:
    for first in (1, 3):
        right = sum(each.right(wanted, first) for each, wanted in said)
        yield f"{100 * right / len(said):.0f} %"
    yield f"{statistics.median(each.tokens for each, _ in said):,.0f}"


def main() -> None:
    """Print the figures, and with --missed where our first advice is another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--form", default="raw.csv", choices=["raw.csv", "details.csv"])
    parser.add_argument("--missed", action="store_true")
    asked = parser.parse_args()
    folders = asked.folders or [RECORDED, *(RECORDED.parent / "blind").glob("*/")]
    rows = [task for folder in folders for task in tasks(folder, asked.form)]
    print(*table(rows), sep="\n")
    for task in rows if asked.missed else ():
        if not task.ours.right(task.wanted, 1):
            first = sorted(task.ours.advice[0]) if task.ours.advice else "nothing"
            print(f"{task.folder} {task.name}: {first}, measured {sorted(task.wanted)}")


if __name__ == "__main__":
    main()
