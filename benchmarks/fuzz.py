"""Whole commands over mutated files of every kind that is read: what may never happen, sought for.

``python benchmarks/fuzz.py --seconds 60`` takes the files in ``tests/fuzz/corpus`` (a folder for each
target), changes bytes, tokens, numbers and JSON values, and runs each result through the commands of
its target in this process. It ends 1, and keeps the file, where a run shows a traceback, calls itself
failed, takes longer than two seconds of the processor, prints a control character or broken JSON, or
answers otherwise the second time. ``--seed`` makes a run repeatable, ``--target NAME`` takes one. `fuzz_campaign.py` does it by the million.

With Atheris (``pip install --group fuzz``) and ``--coverage``, what a file reaches in the readers guides
the changes, and files that reach more are kept in ``--keep FOLDER``.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import re
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
MOST_SECONDS = 2.0
MOST_BYTES = 100_000  # larger files may take longer
ANSWERED = (0, 1, 2, 3)
TWICE = 20  # one run of so many is done again
OTHERWISE = "it answered otherwise the second time"
_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_DIGIT = re.compile(rb"\d")
_TOKEN = re.compile(rb"\w+|[^\w\s]|\s+")
_NUMBERS = (
    b"0", b"-1", b"1", b"2147483648", b"4294967296", b"9223372036854775807", b"18446744073709551616",
    b"1e308", b"1e400", b"-1e400", b"0.1", b"9" * 400, b"NaN", b"Infinity", b"null", b'""', b"[]", b"true",
)  # fmt: skip
_TEXTS = (
    b"::error::x", b"\x1b[31m", b"=1+1", b"@a", b"\xe2\x80\xae", b"\xff", b"\x00", b"{", b"}", b"[" * 50, b"]",
    b"(", b")", b'"', b"'", b"\\", b"<<<", b"#if ", b"#define X(", b"A<B>::", b"/*", b"\n",
)  # fmt: skip
# The commands of each target; {} is the file.
TARGETS: dict[str, tuple[str, ...]] = {
    "advise-baseline": ("advise --regs 72 --block 100 --gpu h200 --fail-on low --baseline {}",),
    "autotune": ("kernels cache --json", "advise cache --gpu h100 --format markdown"),
    "batch": (
        "occupancy --cc 9.0 --fail-under 50% --batch {}",
        "occupancy --gpu l4 --batch {} --format ndjson", "advise {} --gpu l4 --format ndjson",
    ),
    "binary": ("kernels {} --json", "compat {} --cc 9.0 --fail-on fails", "diff {} {} --json"),
    "cache": ("kernels cache --json", "advise cache --fail-on low", "compat cache --cc 9.0 --json"),
    "calibration": (
        "overlap --gpu h200 --h2d 1GiB --kernel 40ms --calibration {}",
        "bandwidth --gpu h200 --h2d 1GiB --time 20ms --calibration {} --json",
        "roofline --gpu h200 --flops 1G --bytes 4GB --time 1ms --calibration {} --json",
    ),
    "cuda": (
        "lint {} --fail-on low --json", "advise {} --gpu h100 --csv", "lint {} --diff",
        "lint {} --format sarif", "{} --format github",
    ),
    "description": (
        "advise {} --fail-on low --json", "advise {} --format markdown", "roofline --describe {}",
    ),
    "device": (
        "device --all --telemetry --json --from {}", "doctor --fail-on low --from {}",
        "occupancy --regs 32 --block 256 --smem 1K --from {}", "advise --regs 72 --block 100 --from {}",
        "doctor --report markdown --from {}", "compat {log} --json --from {}", "bandwidth --from {}",
        "latency --word 4 --warps 8 --from {}", "access --stride 2 --from {} --json",
    ),
    "fleet": ("fleet {} --fail-on low --json", "fleet {} --all", "fleet {} --show-hosts --format prometheus"),
    "kernels-baseline": (
        "kernels {log} --fail-on-spills --baseline {}", "kernels {log} --max-regs 8 --baseline {} --json",
    ),
    "package": ("compat some-thing --cc 9.0 --fail-on fails", "kernels some-thing --json"),
    "profile": (
        "advise {} --json", "diff {} {} --fail-on-regression", "kernels {} --max-regs 8",
        "advise {} --format sarif", "roofline --gpu h100 --ncu {}", "{}",
    ),
    "python": (
        "lint {} --fail-on low --json", "advise {} --gpu h100 --json", "lint {} --diff",
        "lint {} --format github", "advise {} {trace}",
    ),
    "report": (
        "advise {} --json", "kernels {} --json", "diff {} {} --fail-on-regression",
        "roofline --gpu h100 --ncu {} --json", "advise {} --with-ncu-rules --format markdown",
    ),
    "settings": ("lint {source} --json", "kernels {log} --json", "advise {log} --fail-on low"),
    "text": (
        "kernels {} --format csv", "kernels {} --fail-on-spills --json", "kernels {} --advise",
        "compat {} --gpu l4 --fail-on jit", "diff {log} {}", "advise {} --gpu h100 --format github",
    ),
    "timeline": (
        "timeline {} --json", "advise {} --format markdown", "diff {} {} --fail-on-regression",
        "timeline {} {trace} --fail-under 1%", "overlap --from-timeline {} --json", "diff {trace} {}",
    ),
}  # fmt: skip
# Files that are read only under a name of their own.
NAMES = {
    "autotune": "cache/add.autotune.json",
    "cache": "cache/add.json",
    "package": "some_thing-2.1.dist-info/RECORD",
    "settings": "gpuadvise.toml",
}


class Fault(NamedTuple):
    """What a run did that none may do."""

    command: str
    what: str


def seeds(target: str, corpus: Path = CORPUS) -> list[Path]:
    """Return the files of *target* in the corpus, in order of their names."""
    return sorted(path for path in (corpus / target).iterdir() if path.is_file())


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return *data* with one to eight changes; one is most likely to leave what can be read."""
    for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
        data = rng.choice(_CHANGES)(data, rng)[:MOST_BYTES]
    return data


def _bytes(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data or b"\0")
    for _ in range(rng.randrange(1, 9)):
        out[rng.randrange(len(out))] = rng.randrange(256)
    return bytes(out)


def _number(data: bytes, rng: random.Random) -> bytes:
    return _replaced(data, list(_NUMBER.finditer(data)), rng.choice(_NUMBERS), rng)


def _digit(data: bytes, rng: random.Random) -> bytes:
    """Return *data* with one digit changed: mostly a number that is still possible."""
    return _replaced(data, list(_DIGIT.finditer(data)), b"%d" % rng.randrange(10), rng)


def _token(data: bytes, rng: random.Random) -> bytes:
    tokens = list(_TOKEN.finditer(data))
    new = rng.choice(tokens)[0] if tokens and rng.random() < 0.5 else rng.choice(_TEXTS)
    return _replaced(data, tokens, new, rng)


def _replaced(data: bytes, matches: list[re.Match[bytes]], new: bytes, rng: random.Random) -> bytes:
    if not matches:
        return data + new
    match = rng.choice(matches)
    return data[: match.start()] + new + data[match.end() :]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    piece = data[start : start + (1 << rng.randrange(8))]
    return data[:start] + piece * (1 << rng.randrange(12)) + data[start:]


def _cut(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data) + 1)
    return data[:start] if rng.random() < 0.5 else data[:start] + data[start + rng.randrange(64) :]


def _json(data: bytes, rng: random.Random) -> bytes:
    """Return *data* with a value of its JSON exchanged; as it is where it is none."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return _token(data, rng)
    places: list[tuple[dict[str, object] | list[object], str | int]] = []
    stack = [document]
    while stack:
        node = stack.pop()
        keys = (
            node.keys()
            if isinstance(node, dict)
            else range(len(node))
            if isinstance(node, list)
            else ()
        )
        places += [(node, key) for key in keys]
        stack += [node[key] for key in keys]
    if not places:
        return data
    node, key = rng.choice(places)
    if rng.random() < 0.2 and isinstance(node, dict):
        del node[key]
    else:
        node[key] = rng.choice(  # type: ignore[index]  # a key of its own
            [
                0,
                -1,
                1,
                2**31,
                2**63,
                10**400,
                1e300,
                float("inf"),
                "",
                "x" * 300,
                None,
                True,
                [],
                {},
                [[]],
            ]
        )
    return json.dumps(document).encode()


_CHANGES = (_bytes, _digit, _digit, _number, _number, _token, _token, _repeat, _cut, _json, _json)


class Room:
    """A folder in which the files of single runs stand; Python finds packages in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        log, code = CORPUS / "text" / "ptxas.log", CORPUS / "binary" / "80.cubin"
        copies = {
            "kernels.log": log,
            "source.cu": CORPUS / "cuda" / "kernel.cu",
            "run.json": CORPUS / "timeline" / "pinned.trace.json",
            "cache/add.cubin": code,
            "some_thing/lib.so": code,
        }
        for name, path in copies.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(path.read_bytes())
        described = folder / "some_thing-2.1.dist-info" / "METADATA"
        described.parent.mkdir(exist_ok=True)
        described.write_text("Metadata-Version: 2.1\nName: some-thing\nVersion: 2.1\n")

    def file(self, target: str, data: bytes, suffix: str) -> str:
        """Write *data* where the commands of *target* look for it; return its name."""
        name = NAMES.get(target, f"input{suffix}")
        (self.folder / name).write_bytes(data)
        return name

    def faults(
        self, target: str, data: bytes, suffix: str, *, twice: bool = False
    ) -> Iterator[Fault]:
        """Run *data* through the commands of *target*; yield what none may do."""
        name = self.file(target, data, suffix)
        for line in TARGETS[target]:
            words = words_of(line, name)
            began = time.process_time()
            first = run(words)
            seconds = time.process_time() - began
            for what in wrong(words, *first):
                yield Fault(" ".join(words), what)
            if seconds > MOST_SECONDS:
                yield Fault(" ".join(words), f"it took {seconds:.1f} s")
            if twice and run(words) != first:
                yield Fault(" ".join(words), OTHERWISE)
        (self.folder / name).unlink()


def words_of(line: str, name: str) -> list[str]:
    """Return the words of a command line of ``TARGETS`` over the file *name*."""
    line = line.format(*[name] * 2, log="kernels.log", source="source.cu", trace="run.json")
    return line.split()


def run(words: Sequence[str]) -> tuple[int, str, str]:
    """Run the program in this process; return exit code, stdout and stderr."""
    from gpuadvise.cli.main import main

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace") for _ in "12")
    with redirect_stdout(out), redirect_stderr(err):
        code = int(main(list(words)))
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8", "replace"))  # type: ignore[attr-defined]
    return code, texts[0], texts[1]


def wrong(words: Sequence[str], code: int, out: str, err: str) -> Iterator[str]:
    """Yield what a run of *words* that left this behind must not do."""
    if code not in ANSWERED:
        yield f"exit code {code}"
    for word in ("Traceback", "itself failed"):
        if word in err:
            yield err.strip()[-300:]
    if code >= 2 and not err:
        yield f"exit code {code} without a word"
    shown = "" if "--diff" in words else out.replace("\r", "")  # a patch is the text itself
    if _STEERS.search(shown) or _STEERS.search(err):
        yield "it printed a control character"
    if "--json" in words and out:
        try:
            json.loads(out, parse_constant=_refused)
        except ValueError as error:
            yield f"it printed broken JSON: {error}"


def _refused(word: str) -> None:
    raise ValueError(word)


def stand_in(folder: Path) -> None:
    """Work in *folder*, with its packages, and without the settings of this machine."""
    os.environ["GPUADVISE_CALIBRATIONS"] = str(folder / "none.json")
    os.environ.pop("GPUADVISE_GPU", None)
    os.chdir(folder)
    sys.path.insert(0, str(folder))


def fuzz(
    targets: Sequence[str], seconds: float, seed: int, room: Room
) -> tuple[int, list[tuple[str, bytes, str, Fault]]]:
    """Return how many files were run within *seconds*, and those at which something was wrong."""
    rng, end, count = random.Random(seed), time.monotonic() + seconds, 0
    found: list[tuple[str, bytes, str, Fault]] = []
    files = {target: seeds(target) for target in targets}
    while time.monotonic() < end:
        target = targets[count % len(targets)]
        path = rng.choice(files[target])
        data = mutated(path.read_bytes(), rng)
        faults = room.faults(target, data, path.suffix, twice=rng.randrange(TWICE) == 0)
        found += [(target, data, path.suffix, fault) for fault in faults]
        count += 1
    return count, found


def _guided(target: str, seconds: float, keep: Path | None, room: Room) -> None:
    """Let Atheris change the files of *target*, guided by what they reach; it ends the program."""
    import atheris

    with atheris.instrument_imports(include=["gpuadvise"]):  # most modules are imported when used
        for path in seeds(target):
            list(room.faults(target, path.read_bytes(), path.suffix))
    suffix = seeds(target)[0].suffix

    def one(data: bytes) -> None:
        for fault in room.faults(target, data, suffix):
            raise AssertionError(f"{fault.command}: {fault.what}")

    def custom(data: bytes, size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.5:
            return bytes(atheris.Mutate(data, size))
        return mutated(data, rng)[:size]

    folders = [str(keep)] if keep else []
    limits = [f"-max_total_time={int(seconds)}", f"-max_len={MOST_BYTES}", "-timeout=30"]
    atheris.Setup(
        [sys.argv[0], *limits, *folders, str(CORPUS / target)], one, custom_mutator=custom
    )
    atheris.Fuzz()


def main() -> int:
    """Run what the command line asks for; return 1 where something was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--coverage", action="store_true", help="with Atheris, one target")
    parser.add_argument("--keep", type=Path, help="files that were wrong, or that reach more")
    options = parser.parse_args()
    targets = options.target or list(TARGETS)
    with tempfile.TemporaryDirectory() as folder:
        room, keep = Room(Path(folder)), options.keep and options.keep.resolve()
        stand_in(Path(folder))
        if options.coverage:
            _guided(targets[0], options.seconds, keep, room)
        count, found = fuzz(targets, options.seconds, options.seed, room)
        for number, (target, data, suffix, fault) in enumerate(found):
            print(f"{target}: {fault.command}: {fault.what}")
            if keep:
                (keep / f"{target}-{options.seed}-{number}{suffix}").write_bytes(data)
    print(f"{count:,} files, {len(found)} faults, seed {options.seed}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
