"""Speed of ``gpuadvise occupancy --batch`` as whole processes, start-up included.

    python benchmarks/batch.py [CONFIGURATIONS]

Two inputs, in CSV and NDJSON: a grid of registers, block sizes and whole KiB of shared memory,
and configurations with any number of threads and bytes, which repeat next to nothing. No two
lines of the grid are equal. Half of the lines of both are launches that cannot start.
"""

from __future__ import annotations

import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = 500_000
COLUMNS = ("name", "regs", "block", "smem", "dynamic_smem")
Line = tuple[str, int, int, int, int]


def grid(count: int) -> Iterator[Line]:
    """Yield *count* distinct points of 16-255 registers, 32-1024 threads, 0-227 KiB, shuffled."""
    for number in random.Random(1).sample(range(240 * 32 * 228), count):
        rest, kib = divmod(number, 228)
        registers, warps = divmod(rest, 32)
        yield f"k{number}", registers + 16, 32 * warps + 32, 0, 1024 * kib


def anything(count: int) -> Iterator[Line]:
    """Yield *count* random configurations to the thread and to the byte."""
    draw = random.Random(2).randrange
    for number in range(count):
        yield f"k{number}", draw(16, 256), draw(1, 1025), draw(49_152), draw(180_000)


def write(path: Path, lines: Iterator[Line]) -> None:
    """Write *lines* as CSV or as NDJSON, as the name of *path* says."""
    with path.open("w") as file:
        if path.suffix == ".csv":
            print(*COLUMNS, sep=",", file=file)
            file.writelines(f"{','.join(map(str, line))}\n" for line in lines)
        else:
            rows = (dict(zip(COLUMNS, line, strict=True)) for line in lines)
            file.writelines(json.dumps(row) + "\n" for row in rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run took: seconds to the first and the last line, of processor time, and MiB."""

    lines: int
    first: float
    last: float
    processor: float
    mib: float


def answered(path: Path) -> Run:
    """Answer the batch at *path* and return what that took."""
    program = str(Path(sys.executable).with_name("gpuadvise"))
    words = [program, "occupancy", "--batch", str(path), "--gpu", "h100"]
    begin = perf_counter()
    child = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert child.stdout
    lines = int(bool(child.stdout.readline()))
    first = perf_counter() - begin
    while chunk := child.stdout.read1(1 << 20):
        lines += chunk.count(b"\n")
    last = perf_counter() - begin
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return Run(
        lines=lines - (path.suffix == ".csv"),
        first=first,
        last=last,
        processor=used.ru_utime + used.ru_stime,
        mib=used.ru_maxrss / 1024,
    )


SOURCES = {"grid": grid, "anything": anything}


def main(count: int) -> None:
    """Print one line per input."""
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {count:,} lines each")
    with tempfile.TemporaryDirectory() as folder:
        for name in SOURCES:
            for form in ("csv", "ndjson"):
                path = Path(folder, f"{name}.{form}")
                # In a process of its own: what this one holds would count as the program's peak.
                writer = [sys.executable, __file__, str(count), name, str(path)]
                subprocess.run(writer, check=True)
                run = answered(path)
                assert run.lines == count
                print(
                    f"{name:9} {form:7} {count / run.last:9,.0f} per second, "
                    f"{count / run.processor:9,.0f} per second of processor time   "
                    f"first line after {1000 * run.first:4.0f} ms   peak {run.mib:4.1f} MiB"
                )
                path.unlink()


if __name__ == "__main__":
    if len(sys.argv) == 4:
        write(Path(sys.argv[3]), SOURCES[sys.argv[2]](int(sys.argv[1])))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT)
