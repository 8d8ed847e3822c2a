"""Broken files by the ten thousand: nothing may crash, hang or eat memory.

Each case is a real file with a few bytes changed, moved, cut or forged, and the same case
again for the same number. Run ``python benchmarks/mutations.py --cases 50000 SEED...`` with
files to start from: the readers alone, or with ``--commands`` whole runs of ``kernels``, ``compat`` and
``diff`` in this process, up to what they print. tests/advisor/binaries/images/test_hostile.py and
tests/cli/test_mutations.py run a part of it.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import resource
import struct
import sys
import tempfile
import time
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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


# One of these for each case, {} being the file and SEED the one that it was made of.
COMMANDS = (
    "kernels {}",
    "kernels {} --format json",
    "kernels {} --gpu h100 --format csv",
    "kernels {} --list",
    "kernels {} --functions --format ndjson --fail-under 50%",
    "kernels {} --advise",
    "kernels {} --fail-on-spills --format github",
    "compat {} --gpu rtx4090",
    "compat {} --all-gpus",
    "compat {} --cc 9.0 --driver 12.4 --format json",
    "compat {} SEED --gpu l4 --fail-on jit --format github",
    "diff SEED {}",
    "diff {} SEED --format json --fail-on-regression",
    "diff SEED {} --gpu a100 --format markdown --fail-on-spills",
)
_ANSWERED = (0, 1)


class Ran(NamedTuple):
    """What one command left behind."""

    args: list[str]
    code: int
    out: str
    err: str

    @property
    def fault(self) -> str | None:
        """What no command may do; None: all is well."""
        if self.code not in range(4):
            return f"exit code {self.code}"
        if self.code in _ANSWERED and not self.out:
            return f"exit code {self.code} without an answer"
        if self.code not in _ANSWERED and not self.err:
            return f"exit code {self.code} without a reason"
        if self.out and "json" in self.args:
            json.loads(self.out)
        return None


def run_command(seed: Path, data: bytes, number: int, folder: Path) -> Ran:
    """Run the command that *number* chooses over *data*, made of *seed*; a fault may raise."""
    from gpuadvise.cli.main import main as run

    case = folder / f"case{seed.suffix}"
    case.write_bytes(data)
    names = {"{}": str(case), "SEED": str(seed)}
    line = random.Random(number).choice(COMMANDS)
    args = [names.get(word, word) for word in line.split()]
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(args)
    return Ran(args, int(code), out.getvalue(), err.getvalue())


def keep_parsers() -> None:
    """Build the parser of each command once: half of a short run is building it."""
    import typer

    from gpuadvise.cli import app

    app._loaded = cache(app._loaded)
    typer.main.get_command = cache(typer.main.get_command)


def main() -> int:
    """Run the cases that the command line asks for; 1 when any is a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--commands", action="store_true", help="whole commands, not readers alone")
    parser.add_argument("--keep", type=Path, help="a folder for the files that are faults")
    parser.add_argument("seeds", nargs="+", type=Path)
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (4 * MOST_MEMORY, 4 * MOST_MEMORY))
    seeds = [path.read_bytes() for path in args.seeds]
    keep_parsers()
    seen: Counter[str] = Counter()
    slowest, faults = 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        for number, data in cases(seeds, args.cases, args.start):
            seed = args.seeds[number % len(seeds)]
            began, fault = time.process_time(), None
            try:
                if args.commands:
                    ran = run_command(seed, data, number, Path(folder))
                    seen[f"{ran.args[0]}: {ran.code}"] += 1
                    fault = ran.fault
                else:
                    seen[outcome(data)] += 1
            except Exception as error:  # the very thing that is looked for
                fault = repr(error)
            took = time.process_time() - began
            slowest = max(slowest, took)
            if took > MOST_SECONDS:
                fault = f"{took:.1f} s"
            if fault:
                faults += 1
                print(f"case {number} ({seed.name}): {fault}", file=sys.stderr, flush=True)
                if args.keep:
                    (args.keep / f"{number}{seed.suffix}").write_bytes(data)
            if number % 10_000 == 0:
                print(f"{number:,}: slowest {slowest:.2f} s, {faults} faults", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"{args.cases:,} cases {dict(sorted(seen.items()))}; slowest {slowest:.2f} s; "
        f"peak {peak >> 20} MiB; {faults} faults"
    )
    return 1 if faults or peak > MOST_MEMORY else 0


if __name__ == "__main__":
    raise SystemExit(main())
