"""Reading kernels out of libraries, beside NVIDIA's cuobjdump in the same run.

    python benchmarks/binaries.py LIBRARY...

Needs the development dependencies, which bring cuobjdump. Each program is run in turns with the
others; figures are of the fastest run, as whole processes, start-up included. The rows of both
are compared first: every kernel's registers, stack and shared memory.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from gpuadvise.advisor.binaries.model import Kernel
from gpuadvise.advisor.binaries.read import read

WHEEL = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "bin" / "cuobjdump"
CUOBJDUMP = WHEEL if WHEEL.exists() else Path(shutil.which("cuobjdump") or WHEEL)
GPUS = ("h100", "t4", "b200")
PROGRAM = [sys.executable, "-m", "gpuadvise"]
READER = """
import collections, sys
from gpuadvise.advisor.binaries.read import read
from gpuadvise.advisor.binaries.options import ReadOptions
collections.deque(read(sys.argv[1], ReadOptions(processes=int(sys.argv[2]))), 0)
"""


_ROW = re.compile(r"\s+REG:(\d+) STACK:(\S+) SHARED:(\d+)")
Rows = Counter[tuple[str, str, int, str, int]]


@dataclass(frozen=True)
class Cost:
    """What one process took: seconds, seconds of processor time, peak bytes of memory."""

    wall: float
    cpu: float
    memory: int


def cost(command: list[str]) -> Cost:
    """Run *command*, its output thrown away."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, used = os.wait4(child.pid, 0)
    child.returncode = 0
    wall = time.perf_counter() - start
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def best(commands: dict[str, list[str]], repetitions: int) -> dict[str, Cost]:
    """Run *commands* in turns and return the fastest run of each."""
    runs = [{name: cost(command) for name, command in commands.items()} for _ in range(repetitions)]
    return {name: min((run[name] for run in runs), key=lambda one: one.wall) for name in commands}


def our_rows(path: str) -> tuple[Rows, int]:
    """Return our functions as cuobjdump prints them, and how many kernels it does not see."""
    rows: Rows = Counter()
    unseen = 0
    for item in read(path):
        if not isinstance(item, Kernel) or item.capability is None:
            continue
        if item.place.section != ".nv_fatbin" or item.source != "cubin":
            unseen += item.entry
            continue
        registers = item.registers if item.entry or item.capability.major < 9 else 0
        stack = "UNKNOWN" if item.stack_unbounded else str(item.stack or 0)
        smem = (item.static_smem or 0) + (item.reserved_smem or 0)
        rows[item.capability.target.rstrip("f"), item.name, registers or 0, stack, smem] += 1
    return rows, unseen


def their_rows(path: str) -> Rows:
    """Return cuobjdump's functions."""
    rows: Rows = Counter()
    target = name = ""
    with tempfile.TemporaryFile("w+") as out:
        subprocess.run([CUOBJDUMP, "--dump-resource-usage", path], stdout=out, check=False)
        out.seek(0)
        for line in out:
            if line.startswith("arch = "):
                target = line.split()[2].rstrip("f")
            elif line.startswith(" Function "):
                name = line[10:].rstrip().removesuffix(":")
            elif found := _ROW.match(line):
                rows[target, name, int(found[1]), found[2], int(found[3])] += 1
    return rows


def report(path: str, repetitions: int, processes: list[int]) -> None:
    """Print one library's rows of the table."""
    # Before the rows: a child's peak memory starts with what its parent has at that time.
    costs = best(
        {
            "cuobjdump --dump-resource-usage": [str(CUOBJDUMP), "--dump-resource-usage", path],
            **{
                f"all kernels, read by {count}": [sys.executable, "-c", READER, path, str(count)]
                for count in processes
            },
            "all kernels, shown": [*PROGRAM, "kernels", path],
            **{  # of some libraries a GPU loads machine code, of others megabytes of PTX
                f"what a GPU loads, shown ({gpu})": [*PROGRAM, "kernels", path, "--gpu", gpu]
                for gpu in GPUS
            },
            "cuobjdump --list-elf": [str(CUOBJDUMP), "--list-elf", path],
            "entries, shown": [*PROGRAM, "kernels", path, "--list"],
        },
        repetitions,
    )
    ours, unseen = our_rows(path)
    theirs = their_rows(path)
    different = sum((ours - theirs).values()) + sum((theirs - ours).values())
    print(
        f"\n{Path(path).name}: {os.path.getsize(path) / 1e6:.0f} MB, {sum(theirs.values()):,} functions"
    )
    print(f"  {different} rows differ; {unseen:,} kernels that cuobjdump does not see")
    base = costs["cuobjdump --dump-resource-usage"]
    for name, one in costs.items():
        if name == "cuobjdump --list-elf":
            base = one
        times, share = base.wall / one.wall, one.memory / base.memory
        print(
            f"  {name:32} {one.wall:6.2f} s  {one.cpu:6.2f} s cpu  {one.memory >> 20:5} MiB"
            f"  {times:5.1f} x faster, {share:.2f} of the memory"
        )


def main() -> None:
    """Print the table of all libraries that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()
    if len(args.libraries) == 1:
        report(args.libraries[0], args.repetitions, args.processes)
        return
    options = ["--repetitions", str(args.repetitions), "--processes", *map(str, args.processes)]
    for path in args.libraries:  # a process each, whose peak memory is of this library only
        subprocess.run([sys.executable, __file__, path, *options], check=True)


if __name__ == "__main__":
    main()
