"""How true lint is on public code: its findings held against what readers saw in the same files.

`python benchmarks/sources.py FOLDER [--labels cuda|python] [--missed] [--wrong]`: FOLDER holds a clone of
each code base as OWNER+NAME, at the commit that the labels name (`--clone` prints the lines of git that
make them). Files whose bytes are not those that were labelled are left out and counted.

The labels stand in tests/truth/sources. NAME.labels.jsonl: what readers who had not seen the rules wrote
down before anything ran, each with the findings (`rules`) that say it, if there is one. NAME.judged.jsonl:
a sample of lint's findings on the same code bases that such a reader judged `right`, `arguable` or `wrong`.
The recall is of the labels, the precision of those judged findings that lint still reports as they were judged:
one that was arguable at a higher priority than it has now, or that says something else `since`, is counted apart, as
`changed`: nobody has judged it anew.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

LABELS = Path(__file__).parent.parent / "tests" / "truth" / "sources"
NEAR = 3  # lines between a label and the finding that says it
VERDICTS = ("right", "arguable", "wrong")
LOUDNESS = ("low", "medium", "high")

Row = dict[str, Any]


def rows(name: str, kind: str) -> list[Row]:
    """Return the labels, or the judged findings, of *name*."""
    path = LABELS / f"{name}.{kind}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Bases:
    """Clones of the code bases, and what lint says of each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.findings = cache(self._findings)

    def root(self, base: str) -> Path:
        """Return where the clone of *base* lies."""
        return self.folder / base.replace("/", "+")

    def holds(self, row: Row) -> bool:
        """Say whether the file of *row* is the one that was labelled."""
        path = self.root(row["base"]) / row["file"]
        return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == row["sha256"]

    def _findings(self, base: str) -> dict[str, list[Row]]:
        run = subprocess.run(
            [sys.executable, "-m", "gpuadvise", "lint", ".", "--json"],
            cwd=self.root(base),
            capture_output=True,
            text=True,
            check=False,
        )
        by_file = defaultdict(list)
        for finding in json.loads(run.stdout)["findings"]:
            by_file[finding["location"]["file"].removeprefix("./")].append(finding)
        return by_file

    def says(self, row: Row, rules: set[str]) -> list[Row]:
        """Return the findings of *rules* that lint reports at the lines of *row*."""
        first, last = row["line"] - NEAR, row.get("end", row["line"]) + NEAR
        return [
            finding
            for finding in self.findings(row["base"])[row["file"]]
            if finding["rule"] in rules and any(first <= line <= last for line in lines_of(finding))
        ]


def lines_of(finding: Row) -> list[int]:
    """Return the lines of all places of which *finding* speaks."""
    return [int(place["source"].rpartition(":")[2]) for place in finding["evidence"]]


def recall(bases: Bases, labels: list[Row]) -> list[Row]:
    """Print the recall of *labels* by kind; return those that lint does not say."""
    missed = []
    kinds: dict[str, Counter[bool]] = defaultdict(Counter)
    for label in labels:
        said = bool(bases.says(label, set(label["rules"])))
        kinds[label["kind"]][said] += 1
        kinds["loud" if label["loud"] else "not loud"][said] += 1
        kinds["all"][said] += 1
        if not said:
            missed.append(label)
    for kind, counts in sorted(kinds.items(), key=lambda item: item[1].total()):
        print(f"{kind[:44]:44} {counts[True]:4} of {counts.total():4}")
    return missed


def precision(bases: Bases, findings: list[Row]) -> list[Row]:
    """Print how those of *findings* that lint still reports were judged; return the wrong ones."""
    wrong = []
    rules: dict[str, Counter[str]] = defaultdict(Counter)
    for finding in findings:
        said = bases.says(finding, {finding["rule"]})
        if not said:
            rules[finding["rule"]]["gone"] += 1
            continue
        now = max(LOUDNESS.index(other["priority"]) for other in said)
        quieter = finding["verdict"] == "arguable" and now < LOUDNESS.index(finding["priority"])
        if quieter or "since" in finding:
            rules[finding["rule"]]["changed"] += 1
            rules["all"]["changed"] += 1
            continue
        rules[finding["rule"]][finding["verdict"]] += 1
        rules["high" if finding["priority"] == "high" else "not high"][finding["verdict"]] += 1
        rules["all"][finding["verdict"]] += 1
        if finding["verdict"] == "wrong":
            wrong.append(finding)
    for rule, counts in sorted(rules.items(), key=lambda item: item[1].total()):
        judged = sum(counts[verdict] for verdict in VERDICTS)
        share = f"{counts['right'] / judged:6.2f}" if judged else "     -"
        print(f"{rule:44} {share}", *(f"{counts[v]:4} {v}" for v in (*VERDICTS, "changed", "gone")))
    return wrong


def main() -> None:
    """Print both scores."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labels", choices=("cuda", "python"), nargs="+")
    parser.add_argument("--missed", action="store_true", help="also list what lint does not say")
    parser.add_argument("--wrong", action="store_true", help="also list what is judged wrong")
    parser.add_argument("--clone", action="store_true", help="print what makes the clones")
    options = parser.parse_args()
    names = options.labels or ("cuda", "python")
    bases = Bases(options.folder)
    if options.clone:
        every = {(row["base"], row["commit"]) for name in names for row in rows(name, "labels")}
        for base, commit in sorted(every):
            root = bases.root(base)
            print(f"git clone https://github.com/{base} {root} && git -C {root} checkout {commit}")
        return
    for name in names:
        labels, judged = rows(name, "labels"), rows(name, "judged")
        there = [row for row in labels if bases.holds(row)]
        print(f"\n{name}: {len(there)} of {len(labels)} labels, the others' files are not here\n")
        for label in recall(bases, there) if there else ():
            if options.missed:
                print("  missed", label["base"], f"{label['file']}:{label['line']}", label["what"])
        print()
        for finding in precision(bases, [row for row in judged if bases.holds(row)]):
            if options.wrong:
                place = f"{finding['file']}:{finding['line']}"
                print("  wrong", finding["base"], place, finding["rule"], finding["why"])


if __name__ == "__main__":
    main()
