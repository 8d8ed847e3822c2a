"""Many machines and many files: time, peak memory, and whether what was planted is found.

Dumps are copies of one recorded ``nvidia-smi -q -x``, each with other readings; five have a fault.
``--of ranks`` makes traces of so many ranks from two recorded ones, of which the second came late, and
reads them with ``timeline``; ``--of cubins`` copies recorded cubins for ``kernels``. Whole processes as
a user starts them. Run ``python benchmarks/fleet.py [--of dumps] [--counts 100,1000,10000]``; with
``--workers 1,2,4`` on the workers of a Dask cluster over loopback instead: what they take of the
processor, and what is left to whoever joins the answers. ``--hta PYTHON`` has Holistic Trace Analysis
look for stragglers and overlap in the same ranks, with a Python that has it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import resource
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

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
RECORDINGS = ROOT / "tests" / "recordings"
# Two ranks, of which the second came late to 9 of 12 collectives.
RANKS = ("ddp_ranks/rank0.json.gz", "ddp_ranks/rank1.json.gz")
SHIFT = 0.5  # microseconds from one rank's clock to the next one's
HTA = """
import json, logging, os, sys, warnings
from pathlib import Path
os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
files = {int(path.name[4:8]): str(path) for path in sorted(Path(sys.argv[1]).iterdir())}
analysis = TraceAnalysis(trace_files=files, include_last_profiler_step=True)
overlap = analysis.get_comm_comp_overlap(visualize=False)
late = analysis.get_potential_stragglers(num_candidates=1)
late = late[late > 0].index.tolist() if hasattr(late, "index") and not isinstance(late, list) else list(late)
hidden = dict(zip(overlap["rank"].tolist(), overlap["comp_comm_overlap_pctg"].tolist()))
print(json.dumps({"stragglers": sorted(map(int, late)), "hidden": hidden}))
"""
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
    planted = FAULTS if count >= len(FAULTS) else ()
    faulty = {count * (2 * n + 1) // (2 * len(FAULTS)): fault for n, fault in enumerate(planted)}
    for number in range(count):
        dump = text.replace("<gpu_temp>40 C", f"<gpu_temp>{30 + number % 20} C")
        before, after = faulty.get(number, ("", ""))
        if before:
            if before not in dump:
                raise SystemExit(f"The recorded dump lacks {before}.")
            dump = dump.replace(before, after, 1)
        (folder / f"node{number:05}.xml").write_text(dump)
    return {f"node{number:05}" for number in faulty}


def write_ranks(folder: Path, count: int) -> int:
    """Write the traces of *count* ranks to *folder*, and return the one that comes late."""
    with tarfile.open(RECORDINGS / "ranks.tar.xz") as archive:
        even, late = (_rank_text(archive, name) for name in RANKS)
    straggler = count * 2 // 3
    for number in range(count):
        text = late if number == straggler else even
        text = text.replace(b'"world_size": 2', b'"world_size": %d' % count)
        text = text.replace(b'"Group size": 2', b'"Group size": %d' % count)
        text = re.sub(
            rb'("distributedInfo": \{"backend": "nccl", "rank": )\d', rb"\g<1>%d" % number, text
        )
        text = re.sub(rb'"ts": (\d+\.\d+)', partial(_later, SHIFT * number), text)
        (folder / f"rank{number:04}.json.gz").write_bytes(gzip.compress(text, 1))
    return straggler


def _rank_text(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(f"./{name}")
    if file is None:
        raise SystemExit(f"{name} is not recorded.")
    # As NCCL called it up to 2.18: the name that HTA knows.
    return gzip.decompress(file.read()).replace(b"ncclDevKernel_", b"ncclKernel_")


def _later(shift: float, match: re.Match[bytes]) -> bytes:
    whole, _, rest = match[1].partition(b".")
    return b'"ts": %.3f' % (int(whole) % 10**9 + float(b"0." + rest) + shift)


def write_cubins(folder: Path, count: int) -> None:
    """Write *count* cubins to *folder*, which differ in the bytes behind their end."""
    with tarfile.open(RECORDINGS / "caches.tar.xz") as archive:
        members = [member for member in archive if member.name.endswith(".cubin")]
        images = [file.read() for member in members if (file := archive.extractfile(member))]
    for number in range(count):
        image = images[number % len(images)] + number.to_bytes(8, "little")
        (folder / f"kernel{number:05}.cubin").write_bytes(image)


def measured(*options: str, program: tuple[str, ...] = (PROGRAM, "fleet")) -> Run:
    """Return what *program* with *options* took."""
    with tempfile.TemporaryFile() as output:
        started, before = time.perf_counter(), _processor()
        child = subprocess.Popen((*program, *options), stdout=output)
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
    """Return *pid* and the processes that it and those started."""
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [pid]
    return [pid, *(one for child in listed for one in _family(int(child)))]


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


def ranks_row(count: int, hta: str | None) -> str:
    """Return a row of the table: *count* ranks, and the same by HTA's Python *hta*."""
    with tempfile.TemporaryDirectory() as name:
        straggler = write_ranks(Path(name), count)
        run = measured(name, "--format", "json", program=(PROGRAM, "timeline"))
        result = json.loads(run.output)["result"]
        lines = [result, *result["others"]]
        hidden = {line["rank"]: _hidden_percent(line["communication"]) for line in lines}
        named = result["ranks"]["stragglers"] if result["ranks"] else []
        cells = [count, *_cells(run), f"{named}, late: {straggler}" if count > 1 else "-"]
        if hta is not None and count > 1:
            theirs = measured(name, program=(hta, "-c", HTA))
            said = json.loads(theirs.output)
            most = max(abs(hidden[int(rank)] - share) for rank, share in said["hidden"].items())
            ratio = f"{run.processor / theirs.processor:.2f}, {run.peak / theirs.peak:.2f}"
            cells += [*_cells(theirs), said["stragglers"], f"{most:.3f}", ratio]
    return f"| {' | '.join(map(str, cells))} |"


def _hidden_percent(communication: dict[str, float]) -> float:
    return 100 * communication["hidden_seconds"] / communication["seconds"]


def cubins_row(count: int) -> str:
    """Return a row of the table: *count* cubins in a folder."""
    with tempfile.TemporaryDirectory() as name:
        write_cubins(Path(name), count)
        run = measured(name, "--format", "ndjson", program=(PROGRAM, "kernels"))
    return f"| {count} | {' | '.join(_cells(run))} | {len(run.output.splitlines())} |"


def _cells(run: Run) -> tuple[str, str, str]:
    return f"{run.seconds:.1f}", f"{run.processor:.1f}", str(run.peak >> 20)


class Files(NamedTuple):
    """Files to read: what writes so many of them to a folder, and the command that reads them."""

    write: Callable[[Path, int], object]
    command: tuple[str, ...]


KINDS = {
    "dumps": Files(write_dumps, ("fleet", "--show-hosts", "--format", "json")),
    "ranks": Files(write_ranks, ("timeline", "--format", "json")),
    "cubins": Files(write_cubins, ("kernels", "--format", "ndjson")),
}


def spread(files: Files, counts: list[int], workers: int) -> None:
    """Print a row for each of *counts* of *files*, read by so many *workers* of one thread."""
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
                files.write(Path(warm), 10)
                # The first answer waits for the workers.
                measured(warm, *engine, program=(PROGRAM, *files.command))
            for count in counts:
                print(_spread_row(files, count, workers, engine, nanny.pid), flush=True)
        finally:
            for process in (nanny, scheduler):
                process.terminate()
                process.wait()


def _spread_row(
    files: Files, count: int, workers: int, engine: tuple[str, ...], session: int
) -> str:
    program = (PROGRAM, *files.command)
    with tempfile.TemporaryDirectory() as name:
        files.write(Path(name), count)
        before = _of_session(session)
        run = measured(name, *engine, program=program)
        theirs = _of_session(session) - before
        one = ("--jobs", "1") if files.command[0] == "fleet" else ()
        here = measured(name, *one, program=program)
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
    parser.add_argument("--of", choices=KINDS, default="dumps")
    parser.add_argument("--counts", default="100,1000,10000")
    parser.add_argument("--jobs", default="1,2")
    parser.add_argument("--workers")
    parser.add_argument("--hta", metavar="PYTHON")
    given = parser.parse_args()
    counts = list(map(int, given.counts.split(",")))
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}")
    if given.workers:
        print(
            f"| {given.of} | workers | s | workers' CPU s | own CPU s | MiB | here s | CPU s | same |"
        )
        print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
        for workers in map(int, given.workers.split(",")):
            spread(KINDS[given.of], counts, workers)
        return
    if given.of == "ranks":
        print("| ranks | s | CPU s | MiB | stragglers | HTA s | CPU s | MiB | stragglers |"
              " hidden, most apart, % | of HTA's CPU time, memory |")  # fmt: skip
        print(f"|{' ---: |' * 11}")
        for count in counts:
            print(ranks_row(count, given.hta), flush=True)
        return
    if given.of == "cubins":
        print("| cubins | s | CPU s | MiB | rows |\n| ---: | ---: | ---: | ---: | ---: |")
        for count in counts:
            print(cubins_row(count), flush=True)
        return
    print("| dumps | processes | text s | CPU s | MiB | JSON s | CPU s | MiB | faults accused |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for count in counts:
        for jobs in map(int, given.jobs.split(",")):
            print(judged(count, jobs), flush=True)


if __name__ == "__main__":
    main()
