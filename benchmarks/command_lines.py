"""Record what the program answers to a list of command lines, and compare two such records.

    python benchmarks/command_lines.py record before.jsonl --checkout ../at-main
    python benchmarks/command_lines.py record after.jsonl
    python benchmarks/command_lines.py compare before.jsonl after.jsonl

The list, ``tests/cli/recorded/lines.txt``, holds every command, format and class of error. Each
line runs as a process of its own, in a scratch copy of ``tests/cli/recorded``, with an environment
that says nothing about this machine. The comparison tells what scripts read (exit codes, JSON, CSV,
NDJSON, SARIF, schemas, ``--get``) from text for people, which may improve. It exits with 1 when
something that scripts read differs and ``--explained`` does not name it: a file of lines
``PATTERN | REASON``, whose pattern (as in a shell) matches the command line.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import fnmatch
import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parents[1]
TESTS = REPOSITORY / "tests"
RECORDED = "cli/recorded"
LINES = TESTS / RECORDED / "lines.txt"
DATA_FORMATS = {"json", "csv", "ndjson", "sarif", "code"}
DATA_COMMANDS = {"schema", "completion"}
# One line may take this many seconds; all of them together take two minutes on two cores.
TIMEOUT = 120
# Variables that would change an answer: NVIDIA's, ours, the terminal's.
_FOREIGN = re.compile(r"(CUDA|NVIDIA|GPUADVISE|TERM|COLORTERM|FORCE_COLOR|COLUMNS|LINES|MPL)")
_ASSIGNMENT = re.compile(r"[A-Z_]+=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one command line left behind."""

    line: str
    code: int
    out: str
    err: str


def read_lines(path: Path) -> list[str]:
    """Return the command lines of *path*, without blank lines and comments."""
    rows = (row.strip() for row in path.read_text(encoding="utf-8").splitlines())
    return [row for row in rows if row and not row.startswith("#")]


def is_data(line: str) -> bool:
    """Tell whether a script would read what *line* prints."""
    words = shlex.split(line)
    pairs = itertools.pairwise(words)
    formats = {value for option, value in pairs if option in ("--format", "-f")}
    commands = {word for word in words[:2] if word in DATA_COMMANDS}
    return bool({"--get", "--json"} & {*words} or formats & DATA_FORMATS or commands)


def run(line: str, checkout: Path, scratch: Path) -> Answer:
    """Run *line* (``[NAME=VALUE] ARGUMENT... [< FILE]``) with the program of *checkout*."""
    words = shlex.split(line)
    environment = {name: text for name, text in os.environ.items() if not _FOREIGN.match(name)}
    environment |= {
        "PYTHONPATH": str(checkout / ".typing"),
        "HOME": str(scratch),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
    while words and _ASSIGNMENT.match(words[0]):
        name, _, text = words.pop(0).partition("=")
        environment[name] = text
    folder = scratch / "tests" / RECORDED
    source = Path(os.devnull)
    if "<" in words:
        source = folder / words[words.index("<") + 1]
        words = words[: words.index("<")]
    with source.open("rb") as stdin:
        done = subprocess.run(
            [sys.executable, "-m", "gpuadvise", *words],
            stdin=stdin,
            capture_output=True,
            cwd=folder,
            env=environment,
            timeout=TIMEOUT,
        )
    out, err = (
        stream.decode("utf-8", "backslashreplace").replace(str(scratch), "/scratch")
        for stream in (done.stdout, done.stderr)
    )
    return Answer(line=line, code=done.returncode, out=out, err=err)


def record(target: Path, checkout: Path, lines: list[str]) -> None:
    """Write the answers to *lines*, in their order, to *target* as one JSON object per line."""
    checkout = checkout.resolve()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder).resolve()
        shutil.copytree(TESTS, scratch / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            answers = list(pool.map(lambda line: run(line, checkout, scratch), lines))
    with target.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(asdict(answer)) + "\n" for answer in answers)
    codes = sorted({answer.code for answer in answers})
    print(f"{len(answers)} command lines, exit codes {', '.join(map(str, codes))}: {target}")


def load(path: Path) -> dict[str, Answer]:
    """Return the answers in *path* by command line."""
    with path.open(encoding="utf-8") as file:
        answers = [Answer(**json.loads(row)) for row in file]
    return {answer.line: answer for answer in answers}


def differences(before: Answer, after: Answer) -> Iterator[tuple[str, list[str]]]:
    """Yield each kind of difference with lines that show it.

    ``exit code``, ``data``, ``added`` (data with new keys or last columns alone) or ``text``.
    """
    if before.code != after.code:
        yield "exit code", [f"{before.code} -> {after.code}", *after.err.splitlines()[:2]]
    if before.out != after.out:
        shown = output_difference(before, after)
        added = all(row.startswith("+ ") for row in shown)
        yield ("text" if not is_data(before.line) else "added" if added else "data"), shown
    if before.err != after.err:
        yield "text", text_difference(before.err, after.err)


def output_difference(before: Answer, after: Answer) -> list[str]:
    """Return how standard output differs: by key where both are records, else as a diff."""
    old, new = records(before.out), records(after.out)
    if old is None or new is None:
        return text_difference(before.out, after.out)
    by_key = list(key_differences("", old, new))
    return by_key or ["the same records, written in another way"]


def records(output: str) -> object:
    """Return what *output* says as JSON, lines of JSON or rows with a header; None: neither."""
    try:
        return json.loads(output)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in output.splitlines()]
    except ValueError:
        pass
    header, *rows = csv.reader(output.splitlines())
    if len(header) < 2 or any(len(row) != len(header) for row in rows):
        return None
    # By position: scripts that cut columns count them.
    named = [f"{index} {name}" for index, name in enumerate(header)]
    return [dict(zip(named, row, strict=True)) for row in [header, *rows]]


def key_differences(path: str, old: object, new: object) -> Iterator[str]:
    """Yield a line for each value that differs between two JSON documents."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() | new.keys():
            where = f"{path}.{key}" if path else key
            if key not in new:
                yield f"- {where}: {brief(old[key])}"
            elif key not in old:
                yield f"+ {where}: {brief(new[key])}"
            else:
                yield from key_differences(where, old[key], new[key])
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from key_differences(f"{path}.{index}", left, right)
    elif old != new or type(old) is not type(new):
        yield f"  {path}: {brief(old)} -> {brief(new)}"


def brief(value: object) -> str:
    """Return *value* as JSON, cut to a readable length."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else f"{text[:100]}…"


def text_difference(old: str, new: str) -> list[str]:
    """Return the lines that only one of two texts has."""
    rows = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0)
    return [row for row in rows if not row.startswith(("---", "+++", "@@"))]


def read_explained(path: Path | None) -> list[tuple[str, str]]:
    """Return the patterns and reasons of a file of explained differences."""
    if path is None:
        return []
    rows = (row.partition("|") for row in read_lines(path))
    return [(pattern.strip(), reason.strip()) for pattern, _, reason in rows]


def compare(old: Path, new: Path, explained: Path | None, show_text: bool, rows: int) -> int:
    """Print what differs between two records; return 1 when a difference needs an explanation."""
    before, after = load(old), load(new)
    known = read_explained(explained)
    counts = {"exit code": 0, "data": 0, "added": 0, "text": 0, "explained": 0}
    for line, answer in before.items():
        if line not in after:
            continue
        for kind, shown in differences(answer, after[line]):
            reasons = [text for pattern, text in known if fnmatch.fnmatchcase(line, pattern)]
            if kind in ("exit code", "data") and reasons:
                counts["explained"] += 1
                print(f"explained  {line}\n    {reasons[0]}")
                continue
            counts[kind] += 1
            if kind in ("exit code", "data") or show_text:
                more = [f"... {len(shown) - rows} more"] if len(shown) > rows else []
                print(f"{kind:9}  {line}", *shown[:rows], *more, sep="\n    ")
    single = sorted(before.keys() ^ after.keys())
    for line in single:
        print(f"only in {'the first' if line in before else 'the second'}: {line}")
    print(f"{len(before.keys() & after.keys())} command lines in both records;", end=" ")
    print(", ".join(f"{kind}: {count}" for kind, count in counts.items()))
    return 1 if counts["exit code"] or counts["data"] else 0


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    modes = parser.add_subparsers(dest="mode", required=True)
    recording = modes.add_parser("record", help="run all lines and write the answers")
    recording.add_argument("target", type=Path)
    recording.add_argument("--checkout", type=Path, default=REPOSITORY)
    recording.add_argument(
        "--only", default="*", metavar="PATTERN", help="lines such as 'advise *'"
    )
    recording.add_argument("--every", type=int, default=1, metavar="N", help="each Nth line")
    comparing = modes.add_parser("compare", help="tell what differs between two records")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--explained", type=Path, metavar="FILE")
    comparing.add_argument("--text", action="store_true", help="show differences of text as well")
    comparing.add_argument("--rows", type=int, default=8, help="lines shown of each difference")
    given = parser.parse_args()
    if given.mode == "compare":
        return compare(given.before, given.after, given.explained, given.text, given.rows)
    lines = [line for line in read_lines(LINES) if fnmatch.fnmatchcase(line, given.only)]
    record(given.target, given.checkout, lines[:: given.every])
    return 0


if __name__ == "__main__":
    sys.exit(main())
