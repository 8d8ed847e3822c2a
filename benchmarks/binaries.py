"""``gpuadvise kernels`` on large libraries, beside NVIDIA's cuobjdump in the same run.

    python benchmarks/binaries.py FOLDER_OR_LIBRARY...

Prints a Markdown table. Of a folder (site-packages/nvidia, say) the largest libraries with device
code are measured, eight unless --largest says otherwise. Programs run as whole processes, start-up
included, in turns, on two cores; figures are of the fastest run. Below them the rows of both are
compared: registers, stack and shared memory of every function. cuobjdump comes with the toolkit or
the wheel nvidia-cuda-cuobjdump.
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
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = (sys.executable, "-m", "gpuadvise")
READER = """
import collections, sys
from gpuadvise.advisor.binaries.read import read
from gpuadvise.advisor.binaries.options import ReadOptions
collections.deque(read(sys.argv[1], ReadOptions(processes=int(sys.argv[2]))), 0)
"""
LIBRARY = re.compile(r"\.so(\.\d+)*$")
SMALLEST = 32 << 20  # bytes; of less, most of our time is start-up
REGION = b"\x50\xed\x55\xba\x01\x00\x10\x00"  # what device code in a library starts with
# What must be reached: cuobjdump's time in ours, our memory in its.
GOALS = {"full": "1.2 x", "GPU": "3 x", "list": "start-up", "memory": "0.33"}


class Cost(NamedTuple):
    """What one process took: seconds, seconds of processor time, peak bytes of memory."""

    wall: float
    cpu: float
    memory: int

    def least(self, run: Cost) -> Cost:
        """Return the least of both in each respect."""
        return Cost(min(self.wall, run.wall), min(self.cpu, run.cpu), min(self.memory, run.memory))


def cost(command: tuple[str, ...]) -> Cost:
    """Run *command*, its output thrown away; modules are compiled once, as users have them."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    child = subprocess.Popen(
        command, env=kept, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, _, used = os.wait4(child.pid, 0)
    child.returncode = 0
    wall = time.perf_counter() - start
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def measured(
    commands: dict[str, tuple[str, ...]], repetitions: int, seconds: float
) -> dict[str, Cost]:
    """Run *commands* in turns and return the least cost of each; stop early after *seconds*."""
    costs: dict[str, Cost] = {}
    end = time.monotonic() + seconds
    for round_number in range(repetitions + 1):
        for name, command in commands.items():
            run = cost(command)
            if round_number:  # the first warms the page cache, and the bytecode
                costs[name] = run if name not in costs else costs[name].least(run)
        if costs and time.monotonic() > end:
            break
    return costs


def commands_for(
    path: str, cuobjdump: str, gpus: list[str], processes: list[int]
) -> dict[str, tuple[str, ...]]:
    """Return what is run on the library at *path*, by the name of its column."""
    return {
        "cuobjdump": (cuobjdump, "--dump-resource-usage", path),
        "full": (*PROGRAM, "kernels", path),
        **{gpu: (*PROGRAM, "kernels", path, "--gpu", gpu) for gpu in gpus},
        **{
            f"read by {count}": (sys.executable, "-c", READER, path, str(count))
            for count in processes
        },
        "cuobjdump --list-elf": (cuobjdump, "--list-elf", path),
        "list": (*PROGRAM, "kernels", path, "--list"),
    }


def cells(path: str, costs: dict[str, Cost], start_up: Cost) -> list[str]:
    """Return the row of the library at *path*."""
    full, listed = costs["cuobjdump"], costs["cuobjdump --list-elf"]
    row = [f"{Path(path).name}, {os.path.getsize(path) / 1e6:.0f} MB"]
    for name, spent in costs.items():
        base = listed if name == "list" else full
        text = f"{spent.wall:.2f} s ({spent.cpu:.2f})"
        if not name.startswith("cuobjdump"):
            text += f": {base.wall / spent.wall:.2f} x ({base.cpu / spent.cpu:.2f})"
        if name == "list":
            text += f", {spent.cpu - start_up.cpu:.2f} s above start-up"
        row.append(text)
    ours = costs["full"].memory
    row.append(f"{ours >> 20:,} of {full.memory >> 20:,} MiB: {ours / full.memory:.2f}")
    return row


def goal_of(column: str, gpus: list[str]) -> str:
    """Return what the ratio in *column* must reach."""
    return GOALS["GPU"] if column in gpus else GOALS.get(column, "")


def print_row(row: list[str]) -> None:
    """Print one line of a Markdown table."""
    print("|", " | ".join(row), "|", flush=True)


Rows = Counter[tuple[str, str, int, str, int]]
_ROW = re.compile(r"\s+REG:(\d+) STACK:(\S+) SHARED:(\d+)")


def our_rows(path: str) -> tuple[Rows, int]:
    """Return our functions as cuobjdump prints them, and how many kernels it does not see."""
    from gpuadvise.advisor.binaries.model import Kernel
    from gpuadvise.advisor.binaries.read import read

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


def their_rows(path: str, cuobjdump: str) -> Rows:
    """Return cuobjdump's functions."""
    rows: Rows = Counter()
    target = name = ""
    with tempfile.TemporaryFile("w+") as out:
        subprocess.run([cuobjdump, "--dump-resource-usage", path], stdout=out, check=False)
        out.seek(0)
        for line in out:
            if line.startswith("arch = "):
                target = line.split()[2].rstrip("f")
            elif line.startswith(" Function "):
                name = line[10:].rstrip().removesuffix(":")
            elif match := _ROW.match(line):
                rows[target, name, int(match[1]), match[2], int(match[3])] += 1
    return rows


def print_comparison(path: str, cuobjdump: str) -> None:
    """Print how many rows of both differ."""
    ours, unseen = our_rows(path)
    theirs = their_rows(path, cuobjdump)
    different = sum((ours - theirs).values()) + sum((theirs - ours).values())
    count = sum(theirs.values())
    print(
        f"- {Path(path).name}: {different:,} of {count:,} functions differ;"
        f" {unseen:,} kernels that cuobjdump does not see",
        flush=True,
    )


def libraries_in(place: Path, largest: int) -> list[str]:
    """Return *place* itself, or the *largest* libraries with device code in the folder that it is."""
    if not place.is_dir():
        return [str(place)]
    files = {
        os.path.realpath(path)
        for path in place.rglob("*.so*")
        if LIBRARY.search(path.name) and path.is_file() and path.stat().st_size >= SMALLEST
    }
    by_size = sorted(files, key=os.path.getsize, reverse=True)
    chosen = (path for path in by_size if has_device_code(path))
    return [path for path, _ in zip(chosen, range(largest), strict=False)]


def has_device_code(path: str) -> bool:
    """Return whether a container lies in the file at *path*."""
    with open(path, "rb") as file:
        tail = b""
        while piece := file.read(1 << 24):
            if REGION in tail + piece:
                return True
            tail = piece[-len(REGION) :]
    return False


def cuobjdump_path() -> str | None:
    """Return the cuobjdump of a wheel beside this Python, else that of the toolkit."""
    wheels = Path(sysconfig.get_path("purelib")) / "nvidia"
    in_wheels: Iterator[Path] = wheels.glob("*/bin/cuobjdump")
    return next(map(str, in_wheels), None) or shutil.which("cuobjdump")


def keep_to(cores: int) -> None:
    """Run this process, and all that it starts, on *cores* cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])


def main() -> None:
    """Print the table of all libraries that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("places", nargs="+", type=Path, metavar="FOLDER_OR_LIBRARY")
    parser.add_argument("--largest", type=int, default=8, help="libraries of a folder")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--gpu", nargs="+", default=["a100"], help="what --gpu is given")
    parser.add_argument("--processes", type=int, nargs="+", default=[], help="bare readers, too")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=150, help="for all runs but the first")
    parser.add_argument("--cuobjdump", default=cuobjdump_path())
    parser.add_argument("--compare", action="store_true", help="compare the rows, and nothing else")
    args = parser.parse_args()
    if args.cuobjdump is None:
        parser.error("there is no cuobjdump: pip install nvidia-cuda-cuobjdump, or name it.")
    libraries = [path for place in args.places for path in libraries_in(place, args.largest)]
    if args.compare:
        for path in libraries:
            print_comparison(path, args.cuobjdump)
        return
    keep_to(args.cores)
    start_up = measured({"version": (*PROGRAM, "--version")}, 5, 5)["version"]
    columns = list(commands_for("", args.cuobjdump, args.gpu, args.processes))
    print(
        f"{args.cores} cores; seconds of the fastest run (of processor time); `gpuadvise --version`"
        f" takes {start_up.wall:.2f} s ({start_up.cpu:.2f})\n"
    )
    print_row(["library", *columns, "memory"])
    print_row(["---"] * (len(columns) + 2))
    for path in libraries:
        commands = commands_for(path, args.cuobjdump, args.gpu, args.processes)
        costs = measured(commands, args.repetitions, args.seconds / len(libraries))
        print_row(cells(path, costs, start_up))
    print_row(["must reach", *(goal_of(column, args.gpu) for column in columns), GOALS["memory"]])
    print()
    for path in libraries:
        # A process of its own: what a parent holds counts as its children's memory.
        command = [sys.executable, __file__, "--compare", "--cuobjdump", args.cuobjdump, path]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
