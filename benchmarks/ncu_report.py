"""Reading a large report of Nsight Compute, beside ``cat`` and ``json.load`` of as many bytes.

The report given is grown to SIZE by repeating its launches as a longer program would have them:
code and names once, each launch again. What is timed is every launch with all its metrics and
rules, alone and with the record made of it and its kernel found in the code; in processor time.
Run ``python benchmarks/ncu_report.py [--dense] REPORT.ncu-rep``: a dense report has no copy of the
sections' definitions in each launch, which are stepped over, and so nine times as many metrics.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import tempfile
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
# Fields of a block's header; of a launch.
SOURCES, LAUNCHES, STRINGS, PAYLOAD = 1, 2, 4, 5
SECTIONS = 17


def varint(message: bytes, at: int) -> tuple[int, int]:
    """Return the number at *at* and where it ends."""
    value = shift = 0
    while True:
        byte = message[at]
        at, value, shift = at + 1, value | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:
            return value, at


def fields(message: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, value or size, and bytes of each field of a message."""
    at = 0
    while at < len(message):
        begun = at
        key, at = varint(message, at)
        value, fixed = 0, {1: 8, 5: 4}.get(key & 7)
        if fixed is None:
            value, at = varint(message, at)
        at += fixed or (value if key & 7 == 2 else 0)
        yield key >> 3, value, message[begun:at]


def sized(content: bytes) -> bytes:
    """Return *content* behind its size, as entries and headers stand in a report."""
    return pack("<I", len(content)) + content


def whole_number(number: int, value: int) -> bytes:
    """Return the field *number* with *value*."""
    pieces = bytearray([number << 3])
    while value >= 0x80:
        pieces.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(pieces) + bytes([value])


def dense(report: bytes) -> bytes:
    """Return *report* without the definitions of sections in its launches."""
    at = 8 + unpack_from("<I", report, 4)[0]
    pieces = [report[:at]]
    while at < len(report):
        begun = at + 4 + unpack_from("<I", report, at)[0]
        header = list(fields(report[at + 4 : begun]))
        counts = {number: value for number, value, _ in header}
        at, entries = begun, b""
        for entry in range(counts.get(SOURCES, 0) + counts.get(LAUNCHES, 0)):
            size = unpack_from("<I", report, at)[0]
            content, at = report[at + 4 : at + 4 + size], at + 4 + size
            if entry >= counts.get(SOURCES, 0):
                content = b"".join(kept for n, _, kept in fields(content) if n != SECTIONS)
            entries += sized(content)
        kept = b"".join(
            whole_number(PAYLOAD, len(entries)) if number == PAYLOAD else field
            for number, _, field in header
        )
        pieces += [sized(kept), entries]
    return b"".join(pieces)


def grown(report: bytes) -> bytes:
    """Return *report* with the blocks of its launches again until it has SIZE bytes."""
    at = 8 + unpack_from("<I", report, 4)[0]
    again = []
    while at < len(report):
        begun = at + 4 + unpack_from("<I", report, at)[0]
        header = list(fields(report[at + 4 : begun]))
        counts = {number: value for number, value, _ in header}
        at = begun + counts.get(PAYLOAD, 0)
        if counts.get(LAUNCHES):
            short = b"".join(kept for number, _, kept in header if number != STRINGS)
            again.append(sized(short) + report[begun:at])
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


def processor_time() -> float:
    """Return the seconds that this process and those it started have computed."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def timed(work: Callable[[str], object], path: str) -> list[float]:
    """Return the processor seconds of RUNS calls of *work*, after one that is not counted."""
    seconds = []
    for _ in range(RUNS + 1):
        started = processor_time()
        work(path)
        seconds.append(processor_time() - started)
    return seconds[1:]


def main() -> None:
    """Grow the report that is given, and print what reading it takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("--dense", action="store_true", help="leave sections' definitions out")
    options = parser.parse_args()
    report = options.report.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        large, numbers = Path(folder, "large.ncu-rep"), Path(folder, "numbers.json")
        large.write_bytes(grown(dense(report) if options.dense else report))
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
