"""Broken files by the ten thousand: no reader may crash, hang or eat memory.

Each case is a real binary with a few bytes changed, moved, cut or forged, and the same case
again for the same number. Run ``python benchmarks/mutations.py --cases 50000 SEED...`` with
files to start from; tests/advisor/binaries/images/test_hostile.py runs a part of it.
"""

from __future__ import annotations

import argparse
import io
import random
import resource
import struct
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.model import Damage, Entry
from gpuadvise.advisor.binaries.options import ReadOptions
from gpuadvise.advisor.binaries.read import read_stream
from gpuadvise.advisor.binaries.tally import EntryTally
from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_SECONDS = 2.0
MOST_MEMORY = 1 << 30
# Values at which sizes, counts, offsets and signs turn over.
_EDGES = (0, 1, 7, 8, 63, 64, 255, 0xFFFF, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 63, (1 << 64) - 1)


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return *data* with one to four changes."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        rng.choice((_flip, _forge, _forge, _forge, _cut, _copy, _clear, _insert))(out, rng)
    return bytes(out)


def _place(out: bytearray, rng: random.Random) -> int:
    # Headers lie at the start and, in ELF files, at the end: half of all changes hit those.
    where = rng.random()
    if where < 0.25:
        return rng.randrange(min(len(out), 512))
    if where < 0.5:
        return rng.randrange(max(0, len(out) - 4096), len(out))
    return rng.randrange(len(out))


def _flip(out: bytearray, rng: random.Random) -> None:
    if out:
        out[_place(out, rng)] ^= 1 << rng.randrange(8)


def _forge(out: bytearray, rng: random.Random) -> None:
    if len(out) < 16:
        return
    width = rng.choice((1, 2, 4, 8))
    at = _place(out, rng) // width * width
    value = rng.choice(_EDGES) + rng.randint(-2, 2)
    out[at : at + width] = struct.pack("<Q", value & (1 << 64) - 1)[:width]


def _cut(out: bytearray, rng: random.Random) -> None:
    if rng.random() < 0.3:
        del out[rng.randrange(len(out) + 1) :]


def _copy(out: bytearray, rng: random.Random) -> None:
    if len(out) > 64:
        size, start = rng.randint(1, 256), rng.randrange(len(out))
        at = _place(out, rng)
        out[at : at + size] = out[start : start + size]


def _clear(out: bytearray, rng: random.Random) -> None:
    if out:
        at, size = _place(out, rng), rng.randint(1, 64)
        out[at : at + size] = bytes(size)


def _insert(out: bytearray, rng: random.Random) -> None:
    if out:
        at = _place(out, rng)
        out[at:at] = rng.randbytes(rng.randint(1, 16))


def cases(seeds: list[bytes], count: int, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield numbered cases; a number always gives the same bytes."""
    for number in range(start, start + count):
        rng = random.Random(number)
        yield number, mutated(seeds[number % len(seeds)], rng)


def outcome(data: bytes) -> str:
    """Read *data* to the end and return how that went; any other exception is a fault."""
    try:
        items = list(read_stream(io.BytesIO(data), "case"))
    except BadInput:
        return "refused"
    _list(data, sum(isinstance(item, Entry) for item in items))
    return "damaged" if any(isinstance(item, Damage) for item in items) else "read"


def _list(data: bytes, entries: int) -> None:
    """Read *data* as a listing does, which must find as many *entries*."""
    items = read_stream(io.BytesIO(data), "case", ReadOptions(kernels=False, tally=True))
    for item in items:
        entries -= item.times if isinstance(item, EntryTally) else isinstance(item, Entry)
    if entries:
        raise AssertionError(f"A listing finds {-entries:+,} entries.")


def main() -> int:
    """Run the cases that the command line asks for; 1 when any is a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("seeds", nargs="+", type=Path)
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (4 * MOST_MEMORY, 4 * MOST_MEMORY))
    seeds = [path.read_bytes() for path in args.seeds]
    seen: Counter[str] = Counter()
    slowest, faults = 0.0, 0
    for number, data in cases(seeds, args.cases, args.start):
        began = time.monotonic()
        try:
            seen[outcome(data)] += 1
        except Exception as error:  # the very thing that is looked for
            faults += 1
            print(
                f"case {number} ({args.seeds[number % len(seeds)].name}): {error!r}",
                file=sys.stderr,
            )
        took = time.monotonic() - began
        slowest = max(slowest, took)
        if took > MOST_SECONDS:
            faults += 1
            print(f"case {number}: {took:.1f} s", file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"{args.cases:,} cases {dict(seen)}; slowest {slowest:.2f} s; peak {peak >> 20} MiB; {faults} faults"
    )
    return 1 if faults or peak > MOST_MEMORY else 0


if __name__ == "__main__":
    raise SystemExit(main())
