"""How true the judgement of recorded runs is: the answers over public recordings, held against a reader's.

    python benchmarks/recorded_runs.py FOLDER [--labels tests/truth/runs/labels.jsonl] [--missed] [--wrong]

FOLDER holds recordings in any layout; they are found by the checksums of the labels, which also say
where each is to be had (a public repository: ``source``, ``commit``, ``path``, git's ``blob``). A label whose
``file`` ends in a slash is of all the ranks whose files stand under that name.

A line of the labels is what a reader who had not seen the rules says of one recording: its ``limiter``,
and what is to be said of it (``expected``: a kind, and whether loudly), and what is not (``must_not``).
A loud finding, one of high or medium priority, is right where the reader expects a kind that its rule
stands for. What is expected loudly is found where a finding of any priority or a row of the timeline
says it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LABELS = Path(__file__).parent.parent / "tests" / "truth" / "runs" / "labels.jsonl"
START_UP = "start-up / allocation / module loading"
LAUNCHES = "host: python/framework overhead (launch bound, eager)"
HOST_CODE = "host: other code"
WAITS = "host: synchronisation"
LOADING = "host: data loading"
EXPOSED = "communication: exposed"
RANKS = "imbalance between ranks"
STRAGGLER = "straggler"
SMALL = "gpu: small kernels / underfilled device"
ONE_KERNEL = "gpu: one dominant kernel"
MANY_KERNELS = "gpu: many kernels, well used"
FUSION = "fusion of small kernels"
TENSOR = "tensor cores unused"
PINNED = "pinned memory"
PAGEABLE = "copies: pageable"
VOLUME = "copies: volume"
FAULTS = "page faults of managed memory"
ALLOCATION = "memory allocation in the loop"
GRAPHS = "CUDA graphs"
WORKERS = "num_workers"
UNKNOWN = "unknown"
ATTENTION = "unfused attention"

# What each rule says of a run, in the reader's kinds. Of a kernel that is the run a rule says what to
# do about it, so that it stands for the kernel too.
RULES: dict[str, frozenset[str]] = {
    "idle-gaps": frozenset({HOST_CODE}),
    "idle-gaps: what a program does once": frozenset({START_UP}),
    "idle-gaps: DataLoader": frozenset({HOST_CODE, LOADING, WORKERS}),
    "idle-gaps: which reads files": frozenset({HOST_CODE, LOADING}),
    "idle-gaps: before the GPU's first work": frozenset({HOST_CODE, LOADING}),
    "idle-gaps: inside of calls that copy": frozenset({WAITS, PAGEABLE}),
    "idle-gaps: had queued": frozenset({UNKNOWN}),
    "idle-gaps: communication on the host": frozenset({EXPOSED}),
    "launch-bound: too few to judge": frozenset({LAUNCHES, GRAPHS, SMALL}),
    "launch-bound": frozenset({LAUNCHES, GRAPHS}),
    "frequent-synchronization": frozenset({WAITS}),
    "uneven-ranks": frozenset({EXPOSED, RANKS, STRAGGLER}),
    "exposed-communication": frozenset({EXPOSED}),
    "exposed-communication: ranks included": frozenset({EXPOSED, RANKS, STRAGGLER}),
    "memory-bound": frozenset({FUSION}),
    "unfused-attention": frozenset({ATTENTION}),
    "fp32-products": frozenset({TENSOR}),
    "fp64-products": frozenset({TENSOR}),
    "unused-tf32": frozenset({TENSOR}),
    "pageable-transfers": frozenset({PINNED, PAGEABLE}),
    "small-transfers": frozenset({VOLUME, WAITS, LAUNCHES}),
    "serial-transfers": frozenset({VOLUME}),
    "transfer-bound-run": frozenset({VOLUME, PAGEABLE}),
    "blocking-copies": frozenset({PINNED, PAGEABLE, WAITS}),
    "repeated-allocations": frozenset({ALLOCATION}),
    "unprefetched-managed-memory": frozenset({FAULTS}),
    "underfilled-device": frozenset({SMALL, ONE_KERNEL}),
    "few-blocks-per-sm": frozenset({SMALL, ONE_KERNEL}),
    "lone-small-kernel": frozenset({SMALL}),
    "tiny-blocks": frozenset({SMALL, ONE_KERNEL}),
    "tail-effect": frozenset({SMALL, ONE_KERNEL}),
    "low-occupancy": frozenset({SMALL, ONE_KERNEL}),
    "partial-warp": frozenset({SMALL, ONE_KERNEL}),
    "costly-operators": frozenset({ONE_KERNEL, FUSION}),
    "layout-conversions": frozenset({TENSOR, FUSION}),
    "odd-gemm-shape": frozenset({TENSOR}),
    "growing-memory": frozenset({ALLOCATION}),
}
# A rule whose findings say different things, by words of their messages.
WORDS = (
    "what a program does once",
    "DataLoader",
    "which reads files",
    "before the GPU's first work",
    "inside of calls that copy",
    "had queued",
    "communication on the host",
    "ranks included",
    "too few to judge",
)
# Rows of "what could be won" that name the same. A kernel's row says that it is the run from a half on.
ROWS: dict[str, frozenset[str]] = {
    "pin-memory": frozenset({PINNED, PAGEABLE}),
    "merge-copies": frozenset({VOLUME}),
    "overlap-copies": frozenset({VOLUME}),
    "keep-on-gpu": frozenset({VOLUME}),
    "launch-graphs": frozenset({LAUNCHES, GRAPHS}),
    "wait-less": frozenset({WAITS}),
    "shorten-host-work": frozenset({HOST_CODE}),
    "reuse-memory": frozenset({ALLOCATION}),
    "avoid-copies": frozenset({VOLUME}),
    "hide-communication": frozenset({EXPOSED}),
    "fuse-kernels": frozenset({FUSION, LAUNCHES}),
    "fuse-passes": frozenset({FUSION}),
    "fuse-attention": frozenset({ATTENTION}),
    "use-tensor-cores": frozenset({TENSOR}),
    "leave-fp64": frozenset({TENSOR}),
    "pad-products": frozenset({TENSOR}),
    "keep-layout": frozenset({TENSOR, FUSION}),
    "prefetch-memory": frozenset({FAULTS}),
    "even-ranks": frozenset({RANKS, STRAGGLER, EXPOSED}),
}
KERNEL_IS_THE_RUN = 0.5
# What the timeline says limits the run, in the reader's kinds.
LIMITERS: dict[str, frozenset[str]] = {
    "start-up": frozenset({START_UP}),
    "launches": frozenset({LAUNCHES}),
    "host-code": frozenset({HOST_CODE}),
    "waits": frozenset({WAITS}),
    "data-loading": frozenset({LOADING}),
    "communication": frozenset({EXPOSED}),
    "ranks": frozenset({RANKS, STRAGGLER}),
    "few-blocks": frozenset({SMALL}),
    "one-kernel": frozenset({ONE_KERNEL}),
    "many-kernels": frozenset({MANY_KERNELS}),
    "copies": frozenset({VOLUME}),
    "pageable-copies": frozenset({PAGEABLE, PINNED}),
    "allocation": frozenset({ALLOCATION}),
}
# Words of `must_not` by what they forbid; "loud" there allows a low finding.
FORBIDDEN: tuple[tuple[str, frozenset[str]], ...] = (
    ("launch bound", frozenset({"launch-bound"})),
    ("CUDA graphs", frozenset({"launch-bound"})),
    ("communication", frozenset({"uneven-ranks", "exposed-communication"})),
    ("pin memory", frozenset({"pageable-transfers", "blocking-copies"})),
    ("pinned memory", frozenset({"pageable-transfers", "blocking-copies"})),
    ("pageable", frozenset({"pageable-transfers", "blocking-copies"})),
    ("tensor cores", frozenset({"fp32-products", "fp64-products", "unused-tf32"})),
    ("overlap", frozenset({"serial-transfers"})),
    ("start-up loud", frozenset({"idle-gaps: what a program does once"})),
    ("page faults", frozenset({"unprefetched-managed-memory"})),
)
ANYTHING = "any loud statement"
AS_FIRST = ("as the first thing", "for the whole", "as launch bound")


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a reader says of one recording."""

    name: str
    file: str
    sha256: str | None
    limiter: str
    expected: tuple[tuple[str, bool], ...]  # kind, and whether loudly
    must_not: tuple[str, ...]
    span_ms: float | None = None
    busy_ms: float | None = None

    @property
    def kinds(self) -> frozenset[str]:
        """Everything that may be said of the recording."""
        return frozenset({self.limiter, *(kind for kind, _ in self.expected)})

    @property
    def loud(self) -> frozenset[str]:
        """What must be said of it."""
        return frozenset(kind for kind, loud in self.expected if loud)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the program says of it: rules of findings, loud ones apart, rows, and the limiter."""

    rules: tuple[str, ...]
    loud: tuple[tuple[str, str], ...]  # rule and message
    rows: tuple[str, ...]
    limiter: str | None
    main_kernel: bool = False
    busy_ms: float = 0.0
    errors: str = ""

    @property
    def kinds(self) -> frozenset[str]:
        """The reader's kinds that it says."""
        said = [RULES.get(rule, frozenset()) for rule in self.rules]
        said += [ROWS.get(row, frozenset()) for row in self.rows]
        said.append(LIMITERS.get(self.limiter or "", frozenset()))
        if self.main_kernel:
            said.append(frozenset({ONE_KERNEL}))
        return frozenset().union(*said)


@dataclass(slots=True)
class Score:
    """Counts over all recordings."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    limiters_right: Counter[str] = field(default_factory=Counter)
    limiters: Counter[str] = field(default_factory=Counter)
    missed_lines: list[str] = field(default_factory=list)
    wrong_lines: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """Loud findings that are right."""
        return _share(self.right, self.right + self.wrong)

    @property
    def recall(self) -> float:
        """What must be said and is."""
        return _share(self.found, self.found + self.missed)

    @property
    def limiter_right(self) -> float:
        """Recordings of which the limiter is named as the reader does."""
        return _share(self.limiters_right, self.limiters)

    def add(self, label: Label, answer: Answer) -> None:
        """Count what is said of one recording."""
        for rule, message in answer.loud:
            reason = forbidden(label, answer, rule)
            if reason is None and not RULES.get(rule, frozenset()) & label.kinds:
                reason = "the reader does not say it"
            if reason is None:
                self.right[rule] += 1
            else:
                self.wrong[rule] += 1
                self.wrong_lines.append(f"{label.name}: {rule} ({reason}): {message[:160]}")
        for kind in sorted(label.loud):
            if kind in answer.kinds:
                self.found[kind] += 1
            else:
                self.missed[kind] += 1
                self.missed_lines.append(f"{label.name}: {kind}{answer.errors}")
        self.limiters[label.limiter] += 1
        if label.limiter in LIMITERS.get(answer.limiter or "", frozenset()):
            self.limiters_right[label.limiter] += 1
        else:
            self.wrong_lines.append(
                f"{label.name}: limiter {answer.limiter}, the reader: {label.limiter}"
            )


def _share(part: Counter[str], whole: Counter[str]) -> float:
    return sum(part.values()) / total if (total := sum(whole.values())) else 1.0


def forbidden(label: Label, answer: Answer, rule: str) -> str | None:
    """Return the words by which the reader forbids a loud finding of *rule*, None where nothing does."""
    for words in label.must_not:
        if ANYTHING in words and f"{ANYTHING} on" not in words:
            return words
        if any(first in words for first in AS_FIRST) and answer.loud[0][0] != rule:
            continue
        for word, rules in FORBIDDEN:
            if word in words and {rule, rule.split(":")[0]} & rules:
                return words
    return None


def read_labels(path: Path) -> Iterator[Label]:
    """Yield the labels of a file, one a line."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            row = json.loads(line)
            yield Label(
                name=row.get("name", row["file"]),
                file=row["file"],
                sha256=row.get("sha256"),
                limiter=row["limiter"],
                expected=tuple((one["kind"], bool(one["loud"])) for one in row["expected"]),
                must_not=tuple(row.get("must_not", ())),
                span_ms=row.get("span_ms"),
                busy_ms=row.get("gpu_busy_ms"),
            )


def find_files(folder: Path) -> dict[str, Path]:
    """Return the files under *folder* by their checksums."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                files[hashlib.file_digest(file, "sha256").hexdigest()] = path
    return files


def place_of(
    label: Label, labels: Iterable[Label], files: dict[str, Path], folder: Path
) -> Path | None:
    """Return the recording of *label*; a folder of ranks is made under *folder*: links are not followed."""
    if label.sha256 is not None:
        return files.get(label.sha256)
    ranks = [one for one in labels if one.sha256 and one.file.startswith(label.file)]
    paths = [files.get(one.sha256 or "") for one in ranks]
    if not ranks or None in paths:
        return None
    target = folder / label.file
    target.mkdir(parents=True)
    for one, path in zip(ranks, paths, strict=True):
        shutil.copyfile(path, target / Path(one.file).name)
    return target


def ask(path: Path) -> Answer:
    """Return what the program says of the recording or folder at *path*."""
    advice, timeline = _run("advise", path), _run("timeline", path)
    findings = advice.get("findings", [])
    result = timeline.get("result", {})
    rows = result.get("what_if", [])
    shares = [row["share"] for row in rows if row["change"] == "speed-up-kernel"]
    loud = [
        (rule_said(finding), finding["message"])
        for finding in findings
        if finding["priority"] in ("high", "medium")
    ]
    limiter = result.get("limiter") or {}
    return Answer(
        rules=tuple(rule_said(finding) for finding in findings),
        loud=tuple(dict(loud).items()) if path.is_dir() else tuple(loud),
        rows=tuple(row["change"] for row in rows),
        limiter=limiter.get("name"),
        main_kernel=max(shares, default=0.0) >= KERNEL_IS_THE_RUN,
        busy_ms=1e3 * result.get("busy_seconds", 0.0),
        errors="" if result else f" ({timeline.get('error')})",
    )


def rule_said(finding: dict[str, Any]) -> str:
    """Return the rule of a finding, with the words that tell what it says where the table has them."""
    rule: str = finding["rule"]
    named = (f"{rule}: {words}" for words in WORDS if words in finding["message"])
    return next((name for name in named if name in RULES), rule)


def _run(verb: str, path: Path) -> dict[str, Any]:
    program = "from gpuadvise.cli.main import run; run()"
    command = [sys.executable, "-c", program, verb, str(path), "--json"]
    ended = subprocess.run(command, capture_output=True, check=False)
    try:
        answer: dict[str, Any] = json.loads(ended.stdout)
    except ValueError:
        return {"error": ended.stderr.decode(errors="replace").strip()[:200]}
    return answer


def score_folder(folder: Path, labels: list[Label], *, at_once: int = 2) -> tuple[Score, list[str]]:
    """Return the score over the recordings found in *folder*, and the names of those that are not there."""
    files, score, absent = find_files(folder), Score(), []
    with tempfile.TemporaryDirectory() as ranks, ThreadPoolExecutor(at_once) as workers:
        places = {}
        for label in labels:
            place = place_of(label, labels, files, Path(ranks))
            if place is None:
                absent.append(label.name)
            else:
                places[label] = place
        for label, answer in zip(places, workers.map(ask, places.values()), strict=True):
            score.add(label, answer)
    return score, absent


def _tables(score: Score) -> Iterator[str]:
    yield "what must be said: found of all, by the reader's kind"
    for kind in sorted(score.found | score.missed):
        yield f"  {score.found[kind]:4} of {score.found[kind] + score.missed[kind]:4}  {kind}"
    yield "loud findings: right of all, by rule"
    for rule in sorted(score.right | score.wrong):
        yield f"  {score.right[rule]:4} of {score.right[rule] + score.wrong[rule]:4}  {rule}"
    yield "limiter: right of all, by the reader's kind"
    for kind in sorted(score.limiters):
        yield f"  {score.limiters_right[kind]:4} of {score.limiters[kind]:4}  {kind}"


def main() -> None:
    """Print the score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labels", type=Path, default=LABELS)
    parser.add_argument("--missed", action="store_true", help="list what must be said and is not")
    parser.add_argument("--wrong", action="store_true", help="list what is said and must not be")
    parser.add_argument("--at-once", type=int, default=2, help="recordings read at once")
    chosen = parser.parse_args()
    labels = list(read_labels(chosen.labels))
    score, absent = score_folder(chosen.folder, labels, at_once=chosen.at_once)
    print(*_tables(score), sep="\n")
    if chosen.missed:
        print("missed:", *score.missed_lines, sep="\n  ")
    if chosen.wrong:
        print("wrong:", *score.wrong_lines, sep="\n  ")
    if absent:
        print(f"{len(absent)} of {len(labels)} recordings are not there: {', '.join(absent[:5])}")
    print(
        f"precision {score.precision:.3f}, recall {score.recall:.3f}, "
        f"limiter right {score.limiter_right:.3f}"
    )


if __name__ == "__main__":
    main()
