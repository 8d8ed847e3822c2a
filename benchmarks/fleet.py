"""``gpuadvise fleet`` on many machines: time, peak memory, and whether it finds what was planted.

Dumps are copies of one recorded ``nvidia-smi -q -x``, each with other readings; five have a fault.
Whole processes as a user starts them. Run ``python benchmarks/fleet.py [--counts 100,1000,10000]``.
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", default="100,1000,10000")
    parser.add_argument("--jobs", default="1,2")
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}")
    print("| dumps | processes | text s | CPU s | MiB | JSON s | CPU s | MiB | faults accused |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for count in map(int, given.counts.split(",")):
        for jobs in map(int, given.jobs.split(",")):
            print(judged(count, jobs), flush=True)


if __name__ == "__main__":
    main()
