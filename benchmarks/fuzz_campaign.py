"""Whole commands over mutated files by the million, in many processes.

``python benchmarks/fuzz_campaign.py --cases 1000000 --jobs 16 --seconds 520 --totals totals.json`` runs
numbered cases: each is one mutated file and one command line over it, in this process's children. A
number gives the same case on every machine, and the cases that were run are those from ``--start`` to
the number that is printed, without gaps, so that runs add up: ``--sum a.json b.json`` does that.
``--reader python`` runs those of one reader alone, to look for what keeps it busy.

The files come from three places: ``tests/fuzz/corpus`` as fuzz.py changes it, recorded binaries as
mutations.py forges their headers, and traces and exports as timeline_mutations.py edits them. It ends 1
where a run shows a traceback, calls itself failed, takes more than two seconds of a processor or
300 MiB, kills its process, prints a control character or broken JSON, or answers otherwise the second
time; ``--keep FOLDER`` keeps the files. ``--start N --cases 1`` runs one case again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
from collections import deque
from contextlib import suppress
from functools import cache
from itertools import pairwise
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests" / "support")]

import fuzz  # noqa: E402 - beside this file
import mutations  # noqa: E402

RECORDED = ROOT / "tests" / "cli" / "recorded"
BINARIES = (
    "80.cubin", "90a.cubin", "libsmall.so", "mixed.fatbin", "small-1.0-py3-none-any.whl", "small.a",
    "small.o", "spilling.cubin", "relocatable.cubin", "two.fatbin", "two.ptx", "ptx-only.fatbin",
)  # fmt: skip
FORGED, EDITED = "binary, forged", "timeline, edited"
READERS = (*fuzz.TARGETS, FORGED, EDITED)
MOST_MEMORY = 300 << 20
MOST_WAIT = 120  # seconds, however busy the machine is
CHUNK = 100  # cases that a process is given at once


class Case(NamedTuple):
    """One mutated file and the command line over it."""

    reader: str
    data: bytes
    suffix: str
    line: str  # {} is the file


def case(number: int) -> Case:
    """Return the case of *number*: the same on every machine."""
    rng, reader = random.Random(number), READERS[number % len(READERS)]
    if reader == FORGED:
        seed = RECORDED / rng.choice(BINARIES)
        line = rng.choice(mutations.COMMANDS).replace("SEED", str(seed))
        return Case(reader, mutations.mutated(seed.read_bytes(), rng), seed.suffix, line)
    if reader == EDITED:
        import timeline_mutations

        data, words = timeline_mutations.case(number)
        names = {"FILE": "{}", "SEED": "{trace}"}
        return Case(reader, data, "", " ".join(names.get(word, word) for word in words))
    path = rng.choice(seeds(reader))
    data = fuzz.mutated(path.read_bytes(), rng)
    return Case(reader, data, path.suffix, rng.choice(fuzz.TARGETS[reader]))


@cache
def seeds(target: str) -> list[Path]:
    """Return the files of *target* in the corpus."""
    return fuzz.seeds(target)


class Totals:
    """What the cases of each reader did; totals of runs can be added."""

    def __init__(self, readers: dict[str, dict[str, Any]] | None = None) -> None:
        self.readers = readers or {}
        self.faults: list[str] = []

    def count(self, reader: str, code: int, seconds: float, number: int, *, twice: bool) -> None:
        """Count one case."""
        more = {"cases": 1, "twice": int(twice), "codes": {str(code): 1}}
        self._add(reader, more | {"slowest": [round(seconds, 3), number], "peak_mib": 0})

    def reached(self, reader: str, peak_mib: int) -> None:
        """Take that a process had *peak_mib* after a case of *reader*."""
        mine = self.readers[reader]
        mine["peak_mib"] = max(mine["peak_mib"], peak_mib)

    def add(self, other: Totals) -> None:
        """Count what *other* counted as well."""
        for reader, more in other.readers.items():
            self._add(reader, more)
        self.faults += other.faults

    def _add(self, reader: str, more: dict[str, Any]) -> None:
        mine = self.readers.setdefault(
            reader, {"cases": 0, "twice": 0, "codes": {}, "slowest": [0.0, -1], "peak_mib": 0}
        )
        mine["cases"] += more["cases"]
        mine["twice"] += more["twice"]
        for code, times in more["codes"].items():
            mine["codes"][code] = mine["codes"].get(code, 0) + times
        mine["slowest"] = max(mine["slowest"], more["slowest"])
        mine["peak_mib"] = max(mine["peak_mib"], more["peak_mib"])

    def text(self) -> str:
        """Return a table with a line for each reader, and one of them all."""
        every = Totals()
        for more in self.readers.values():
            every._add("all", more)
        lines = [
            f"{'reader':18} {'cases':>10} {'twice':>8} {'slowest s':>9} {'its case':>9} {'MiB':>5}"
            "  exit codes"
        ]
        for reader, row in [*sorted(self.readers.items()), *every.readers.items()]:
            codes = ", ".join(f"{code}: {row['codes'][code]:,}" for code in sorted(row["codes"]))
            lines.append(
                f"{reader:18} {row['cases']:10,} {row['twice']:8,} {row['slowest'][0]:9.2f}"
                f" {row['slowest'][1]:9} {row['peak_mib']:5}  {codes}"
            )
        return "\n".join(lines)


def cases_of(reader: str | None, start: int, most: int) -> range:
    """Return the numbers of at most *most* cases from *start* on: all, or those of *reader*."""
    if reader is None:
        return range(start, start + most)
    first = start + (READERS.index(reader) - start) % len(READERS)
    return range(first, first + most * len(READERS), len(READERS))


def run_case(number: int, room: fuzz.Room, totals: Totals, keep: Path | None) -> None:
    """Run the case of *number* in *room* and count it in *totals*."""
    made = case(number)
    name = room.file(made.reader, made.data, made.suffix)
    words = fuzz.words_of(made.line, name)
    before, began = peak_memory(), time.process_time()
    try:
        first = fuzz.run(words)
        wrong = list(fuzz.wrong(words, *first))
    except Exception as error:  # the very thing that is looked for
        first, wrong = (-1, "", ""), [repr(error)[:300]]
    seconds = time.process_time() - began
    if seconds > fuzz.MOST_SECONDS:
        wrong.append(f"it took {seconds:.1f} s")
    twice = number % fuzz.TWICE == 0 and not wrong
    if twice and fuzz.run(words) != first:
        wrong.append(fuzz.OTHERWISE)
    totals.count(made.reader, first[0], seconds, number, twice=twice)
    peak = peak_memory()
    if peak > before:
        totals.reached(made.reader, peak >> 20)
    if peak > MOST_MEMORY:
        wrong.append(f"it took {peak >> 20} MiB")
    with suppress(OSError):
        (room.folder / name).unlink()
    if wrong:
        totals.faults += [f"case {number}: {' '.join(words)}: {what}" for what in wrong]
        if keep:
            (keep / f"{number}{made.suffix}").write_bytes(made.data)


def peak_memory() -> int:
    """Return the most bytes that this process has had; a new process begins anew."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def work(ends: Connection, at: Any, keep: Path | None) -> None:
    """Run each range of cases that comes through *ends*; send back where it stopped, and totals.

    It ends after a case that took too much memory: a new process tells the next peak.
    """
    resource.setrlimit(resource.RLIMIT_AS, (16 * MOST_MEMORY, 16 * MOST_MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        fuzz.stand_in(Path(folder))
        room = fuzz.Room(Path(folder))
        while (cases := ends.recv()) and peak_memory() <= MOST_MEMORY:
            totals = Totals()
            for number in cases:
                at[:] = number, time.monotonic()
                run_case(number, room, totals, keep)
                if peak_memory() > MOST_MEMORY:
                    break
            ends.send((number + cases.step, totals, peak_memory() > MOST_MEMORY))
        os.chdir("/")


class Worker:
    """A process that runs ranges of cases."""

    def __init__(self, keep: Path | None) -> None:
        context = multiprocessing.get_context("fork")
        self.ends, theirs = context.Pipe()
        self.at = context.Array("d", 2)  # the number of its case, and when that began
        self.cases = range(0)
        self.process = context.Process(target=work, args=(theirs, self.at, keep))
        self.process.start()
        theirs.close()

    def give(self, cases: range) -> None:
        """Let it run *cases*."""
        self.cases, self.at[:] = cases, (cases.start, time.monotonic())
        self.ends.send(cases)

    def finish(self, totals: Totals) -> tuple[bool, list[range]]:
        """Add what it did to *totals*; return whether it can do more, and what it left undone."""
        try:
            stopped, part, spent = self.ends.recv()
        except (EOFError, OSError):
            number = int(self.at[0])
            totals.faults.append(f"case {number}: {case(number).line}: its process died")
            at = self.cases.index(number)
            undone = [self.cases[:at], self.cases[at + 1 :]]
            return False, undone
        totals.add(part)
        return not spent, [range(stopped, self.cases.stop, self.cases.step)]

    def end(self) -> None:
        """End the process."""
        with suppress(OSError):
            self.ends.send(None)
        self.ends.close()
        self.process.join(MOST_WAIT)


def campaign(cases: range, jobs: int, seconds: float, keep: Path | None) -> tuple[int, Totals]:
    """Run *cases* for at most *seconds*; return the first that was not begun, and what they did."""
    totals, undone = Totals(), deque[range]()
    shown = time.monotonic()
    end = shown + seconds
    idle, busy = [Worker(keep) for _ in range(jobs)], list[Worker]()
    while True:
        while idle and (undone or (cases and time.monotonic() < end)):
            chunk = undone.popleft() if undone else cases[:CHUNK]
            if chunk.start == cases.start:
                cases = cases[CHUNK:]
            worker = idle.pop()
            worker.give(chunk)
            busy.append(worker)
        if not busy:
            break
        wait([worker.ends for worker in busy], timeout=1)
        for worker in list(busy):
            if time.monotonic() - worker.at[1] > MOST_WAIT:
                worker.process.kill()
            elif not worker.ends.poll():
                continue
            busy.remove(worker)
            goes_on, rest = worker.finish(totals)
            undone += filter(None, rest)
            if not goes_on:
                worker.end()
                worker = Worker(keep)
            idle.append(worker)
        if time.monotonic() - shown > 30:
            shown = time.monotonic()
            done = sum(row["cases"] for row in totals.readers.values())
            print(f"{done:,} cases, {len(totals.faults)} faults", flush=True)
    for worker in idle:
        worker.end()
    return cases.start, totals


def warm_up() -> None:
    """Run each command once over a file that is as it should be: the processes share what it loads."""
    from gpuadvise.advisor.backends import driver_presence

    driver_presence.driver_present = lambda *_, **__: False  # before what asks it is loaded
    mutations.keep_parsers()
    with tempfile.TemporaryDirectory() as folder:
        fuzz.stand_in(Path(folder))
        room = fuzz.Room(Path(folder))
        for target in fuzz.TARGETS:
            path = seeds(target)[0]
            list(room.faults(target, path.read_bytes(), path.suffix))
        os.chdir("/")


def summed(paths: Sequence[Path]) -> Totals:
    """Return the totals that the files *paths* hold, added; their cases must not overlap."""
    totals, ranges = Totals(), []
    for path in paths:
        saved = json.loads(path.read_text(encoding="utf-8"))
        ranges.append(range(*saved["cases"]))
        part = Totals(saved["readers"])
        part.faults = saved["faults"]
        totals.add(part)
    ranges.sort(key=lambda each: each.start)
    for one, other in pairwise(ranges):
        if one.stop > other.start:
            raise SystemExit(f"Cases {other.start:,} to {one.stop:,} were run twice.")
    return totals


def main() -> int:
    """Run what the command line asks for; return 1 where something was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--start", type=int, default=0, help="number of the first case")
    parser.add_argument("--reader", choices=READERS, help="run cases of this one alone")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=540, help="no case begins later")
    parser.add_argument("--totals", type=Path, help="a file to write the totals to")
    parser.add_argument("--keep", type=Path, help="a folder for the files that were wrong")
    parser.add_argument("--sum", type=Path, nargs="+", help="totals of earlier runs: add them")
    options = parser.parse_args()
    if options.reader and options.totals:
        parser.error("totals of --reader do not add up: leave out --totals")
    if options.sum:
        totals = summed(options.sum)
    else:
        cases, began = cases_of(options.reader, options.start, options.cases), time.monotonic()
        keep, file = (path and path.resolve() for path in (options.keep, options.totals))
        warm_up()
        stop, totals = campaign(cases, options.jobs, options.seconds, keep)
        took = time.monotonic() - began
        saved = {"cases": [cases.start, stop], "seconds": round(took), "jobs": options.jobs}
        saved |= {"readers": totals.readers, "faults": totals.faults}
        if file:
            file.write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")
        print(f"cases {cases.start:,} to {stop:,} in {took:.0f} s, {options.jobs} processes")
    print(totals.text())
    for fault in totals.faults[:200]:
        print(fault)
    print(f"{len(totals.faults)} faults")
    return 1 if totals.faults else 0


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "100")
    sys.exit(main())
