"""``gpuadvise fleet`` on many machines: time, peak memory, and whether it finds what was planted.

Dumps are copies of one recorded ``nvidia-smi -q -x``, each with other readings; five have a fault.
Whole processes as a user starts them. Run ``python benchmarks/fleet.py [--counts 100,1000,10000]``;
with ``--workers 1,2,4`` on the workers of a Dask cluster over loopback instead: what they take of the
processor, and what is left to whoever joins the answers.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "tests" / "advisor" / "backends" / "recorded" / "nvidia-smi-h200.xml"
PROGRAM = str(Path(sysconfig.get_path("scripts"), "gpuadvise"))
FAULTS = (
    ("<driver_version>580.159.04", "<driver_version>575.57.08"),
    ("<current_link_width>16x", "<current_link_width>8x"),
    ("<persistence_mode>Enabled", "<persistence_mode>Disabled"),
    ("<total>143771 MiB", "<total>141171 MiB"),
    ("<gpu_recovery_action>None", "<gpu_recovery_action>Reset"),
)
_EVERY = 0.1  # seconds between looks at the memory of all its processes


class Run(NamedTuple):
    """What one call took: seconds, those of the processor, and the most memory of all its processes together, bytes."""

    seconds: float
    processor: float
    peak: int
    output: bytes


def write_dumps(folder: Path, count: int) -> set[str]:
    """Write *count* dumps to *folder* and return the names of those with a fault."""
    text = RECORDED.read_text()
    faulty = {count * (2 * n + 1) // (2 * len(FAULTS)): fault for n, fault in enumerate(FAULTS)}
    for number in range(count):
        dump = text.replace("<gpu_temp>40 C", f"<gpu_temp>{30 + number % 20} C")
        before, after = faulty.get(number, ("", ""))
        if before:
            if before not in dump:
                raise SystemExit(f"The recorded dump lacks {before}.")
            dump = dump.replace(before, after, 1)
        (folder / f"node{number:05}.xml").write_text(dump)
    return {f"node{number:05}" for number in faulty}


def measured(*options: str) -> Run:
    """Return what ``gpuadvise fleet`` with *options* took."""
    with tempfile.TemporaryFile() as output:
        started, before = time.perf_counter(), _processor()
        child = subprocess.Popen((PROGRAM, "fleet", *options), stdout=output)
        most = [0]
        watcher = threading.Thread(target=_watch, args=(child, most), daemon=True)
        watcher.start()
        child.wait()
        seconds = time.perf_counter() - started
        watcher.join()
        output.seek(0)
        return Run(seconds, _processor() - before, most[0], output.read())


def _processor() -> float:
    """Return the processor's seconds of all processes that ended; other work changes them least."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _watch(child: subprocess.Popen[bytes], most: list[int]) -> None:
    while child.poll() is None:
        most[0] = max(most[0], sum(map(_proportional, _family(child.pid))))
        time.sleep(_EVERY)


def _family(pid: int) -> list[int]:
    """Return *pid* and the processes that it started."""
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [pid]
    return [pid, *map(int, listed)]


def _proportional(pid: int) -> int:
    """Return the memory of a process in bytes, what it shares with others divided among them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def judged(count: int, jobs: int) -> str:
    """Return a row of the table: *count* dumps read by *jobs* processes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        faulty = write_dumps(folder, count)
        page = measured(name, "--jobs", str(jobs))
        data = measured(name, "--jobs", str(jobs), "--show-hosts", "--format", "json")
    machines = json.loads(data.output)["result"]["machines"]
    accused = {machine["host"] for machine in machines if machine["verdict"] != "healthy"}
    found = f"{len(faulty & accused)} of {len(faulty)}, {len(accused - faulty)} others"
    runs = [cell for run in (page, data) for cell in _cells(run)]
    cells = (count, jobs, *runs)
    return f"| {' | '.join(map(str, cells))} | {found} |"


def _cells(run: Run) -> tuple[str, str, str]:
    return f"{run.seconds:.1f}", f"{run.processor:.1f}", str(run.peak >> 20)


def spread(counts: list[int], workers: int) -> None:
    """Print a row for each of *counts* dumps, read by so many *workers* of one thread."""
    closed = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0", "--no-dashboard")
    dask = str(Path(sysconfig.get_path("scripts"), "dask"))
    with tempfile.TemporaryDirectory() as name:
        file = Path(name, "scheduler.json")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": name}
        scheduler = subprocess.Popen(
            (dask, "scheduler", *closed, "--port", "0", "--scheduler-file", str(file)), **quiet
        )
        while not file.exists():
            time.sleep(_EVERY)
        options = ("--nworkers", str(workers), "--nthreads", "1", "--local-directory", name)
        nanny = subprocess.Popen(
            (dask, "worker", "--scheduler-file", str(file), *closed, *options),
            start_new_session=True,
            **quiet,
        )
        engine = ("--engine", "dask", "--scheduler", str(file))
        try:
            with tempfile.TemporaryDirectory() as warm:
                write_dumps(Path(warm), 10)
                measured(warm, *engine)  # the first answer waits for the workers
            for count in counts:
                print(_spread_row(count, workers, engine, nanny.pid), flush=True)
        finally:
            for process in (nanny, scheduler):
                process.terminate()
                process.wait()


def _spread_row(count: int, workers: int, engine: tuple[str, ...], session: int) -> str:
    with tempfile.TemporaryDirectory() as name:
        faulty = write_dumps(Path(name), count) if count >= len(FAULTS) else set()
        if not faulty:
            for number in range(count):
                (Path(name) / f"node{number:05}.xml").write_text(RECORDED.read_text())
        before = _of_session(session)
        run = measured(name, "--show-hosts", "--format", "json", *engine)
        theirs = _of_session(session) - before
        here = measured(name, "--show-hosts", "--format", "json", "--jobs", "1")
    same = "yes" if run.output == here.output else "NO"
    cells = (
        count, workers, f"{run.seconds:.1f}", f"{theirs:.1f}", f"{run.processor:.2f}",
        run.peak >> 20, f"{here.seconds:.1f}", f"{here.processor:.1f}", same,
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def _of_session(session: int) -> float:
    """Return the processor's seconds of the processes of *session*, and of those that they started."""
    total = 0
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and os.getsid(int(entry.name)) == session:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                total += sum(map(int, fields[11:15]))
        except OSError:
            continue
    return total / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", default="100,1000,10000")
    parser.add_argument("--jobs", default="1,2")
    parser.add_argument("--workers")
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}")
    if given.workers:
        print("| dumps | workers | s | workers' CPU s | own CPU s | MiB | here s | CPU s | same |")
        print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
        for workers in map(int, given.workers.split(",")):
            spread(list(map(int, given.counts.split(","))), workers)
        return
    print("| dumps | processes | text s | CPU s | MiB | JSON s | CPU s | MiB | faults accused |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for count in map(int, given.counts.split(",")):
        for jobs in map(int, given.jobs.split(",")):
            print(judged(count, jobs), flush=True)


if __name__ == "__main__":
    main()
