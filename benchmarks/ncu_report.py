"""Reading a large report of Nsight Compute, beside ``cat`` and ``json.load`` of as many bytes.

The report given is grown to SIZE by repeating its launches as a longer program would have them:
code and names once, each launch again. What is timed is every launch with all its metrics and
rules, alone and with the record made of it and its kernel found in the code. Run ``python benchmarks/ncu_report.py REPORT.ncu-rep``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median
from struct import pack, unpack_from
from typing import TYPE_CHECKING

from gpuadvise.advisor.profiles.ncu_report import ReportedLaunch, read_ncu_report
from gpuadvise.advisor.profiles.ncu_report_kernels import report_kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZE = 40_000_000
RUNS = 7


def varint(message: bytes, at: int) -> tuple[int, int]:
    """Return the number at *at* and where it ends."""
    value = shift = 0
    while True:
        byte = message[at]
        at, value, shift = at + 1, value | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:
            return value, at


def fields(message: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, value and bytes of each field of a block's header."""
    at = 0
    while at < len(message):
        begun = at
        key, at = varint(message, at)
        value, at = varint(message, at)
        at += value if key & 7 == 2 else 0
        yield key >> 3, value, message[begun:at]


def grown(report: bytes) -> bytes:
    """Return *report* with the blocks of its launches again until it has SIZE bytes."""
    at = 8 + unpack_from("<I", report, 4)[0]
    again = []
    while at < len(report):
        begun = at + 4 + unpack_from("<I", report, at)[0]
        header = list(fields(report[at + 4 : begun]))
        counts = {number: value for number, value, _ in header}
        at = begun + counts.get(5, 0)
        if counts.get(2):
            short = b"".join(kept for number, _, kept in header if number != 4)
            again.append(pack("<I", len(short)) + short + report[begun:at])
    if not again:
        raise SystemExit("The report has no launches.")
    blocks = b"".join(again)
    return report + blocks * (max(0, SIZE - len(report)) // len(blocks) + 1)


def launches(path: str) -> tuple[int, int]:
    """Return how many launches and metrics the report at *path* has."""
    count = metrics = 0
    with open(path, "rb") as file:
        for entry in read_ncu_report(file, path):
            if isinstance(entry, ReportedLaunch):
                count, metrics = count + 1, metrics + len(entry.metrics)
    return count, metrics


def kernels(path: str) -> int:
    """Return how many launches of the report at *path* have a kernel in its code."""
    with open(path, "rb") as file:
        return sum(kernel is not None for _, kernel in report_kernels(file, path))


def load(path: str) -> object:
    """Return the JSON of the file at *path*."""
    with open(path, encoding="ascii") as file:
        return json.load(file)


def cat(path: str) -> int:
    """Run ``cat``, to nowhere."""
    return subprocess.run(["cat", path], stdout=subprocess.DEVNULL, check=True).returncode


def timed(work: Callable[[str], object], path: str) -> list[float]:
    """Return the seconds of RUNS calls of *work*, after one that is not counted."""
    seconds = []
    for _ in range(RUNS + 1):
        started = time.perf_counter()
        work(path)
        seconds.append(time.perf_counter() - started)
    return seconds[1:]


def main() -> None:
    """Grow the report that is given, and print what reading it takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    report = parser.parse_args().report
    with tempfile.TemporaryDirectory() as folder:
        large, numbers = Path(folder, "large.ncu-rep"), Path(folder, "numbers.json")
        large.write_bytes(grown(report.read_bytes()))
        size = large.stat().st_size
        row = json.dumps({"name": "smsp__inst_executed.sum", "value": 12058624.125})
        numbers.write_text("[" + ",".join([row] * (size // (len(row) + 1))) + "]")
        count, metrics = launches(str(large))
        print(f"{size / 1e6:.1f} MB, {count} launches, {metrics} metrics; median (least)")
        for name, work, path in (
            ("read_ncu_report", launches, large),
            ("report_kernels", kernels, large),
            ("json.load", load, numbers),
            ("cat", cat, large),
        ):
            seconds = timed(work, str(path))
            print(f"{name:16} {median(seconds):7.3f} s ({min(seconds):.3f} s)")


if __name__ == "__main__":
    main()
