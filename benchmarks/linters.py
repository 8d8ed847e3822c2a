"""Run lint and other linters, those that are installed, over the same files: findings, time, memory.

    python benchmarks/linters.py ../bases/* --semgrep-rules semgrep-rules/python

Of each folder the first CUDA files and the first Python files that name torch are taken, in order of their
paths. Others: TorchFix, ruff, semgrep (with rules of your choice: it has none with it) and clang-tidy, as
they are found on PATH. Each runs once, as one process over all files of its language; prints a table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CLANG_TIDY = "-*,performance-*,bugprone-*"
_COMMON = 3  # rules that are named, those with most findings


class Linter(NamedTuple):
    """A tool: its command before the files, the suffix of what it reads, and the rule of each finding in its output."""

    name: str
    command: list[str]
    suffix: str
    rules: Callable[[str], list[str]]
    after: tuple[str, ...] = ()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="+", type=Path)
    parser.add_argument("--each", type=int, default=3, help="files of each language and folder")
    parser.add_argument("--semgrep-rules", help="a folder of rules of semgrep")
    parser.add_argument(
        "--cuda", default="/usr/local/cuda", help="the toolkit that clang-tidy reads"
    )
    options = parser.parse_args()
    files = [path for folder in options.folder for path in sample(folder, options.each)]
    for suffix in (".cu", ".py"):
        chosen = [path for path in files if path.suffix == suffix]
        print(
            f"{len(chosen)} files of {suffix}, {sum(p.stat().st_size for p in chosen) / 1e6:.2f} MB"
        )
    print("| tool | files | findings | seconds | memory | most often |")
    print("| --- | --- | --- | --- | --- | --- |")
    for linter in linters(options.semgrep_rules, options.cuda):
        if shutil.which(linter.command[0]) is None:
            print(f"{linter.name}: not installed", file=sys.stderr)
            continue
        chosen = [str(path) for path in files if path.suffix == linter.suffix]
        print(row(linter, chosen), flush=True)


def sample(folder: Path, each: int) -> Iterator[Path]:
    """Yield the first *each* CUDA files, and Python files that name torch, of *folder*."""
    yield from [path for path in sorted(folder.rglob("*.cu")) if path.is_file()][:each]
    python = (path for path in sorted(folder.rglob("*.py")) if path.is_file())
    named = (path for path in python if b"torch" in path.read_bytes())
    yield from [path for path, _ in zip(named, range(each), strict=False)]


def linters(semgrep_rules: str | None, cuda: str) -> Iterator[Linter]:
    """Yield every tool with the languages that it reads."""
    lint = [sys.executable, "-m", "gpuadvise", "lint", "--jobs", "1", "--format", "json"]
    for suffix in (".py", ".cu"):
        yield Linter(f"gpuadvise lint ({suffix})", lint, suffix, of_lint)
    yield Linter("TorchFix", ["torchfix"], ".py", of_lines(r":\d+:\d+: (TOR\d+)"))
    ruff = ["ruff", "check", "--isolated", "--output-format", "json", "--no-cache"]
    yield Linter("ruff, its default rules", ruff, ".py", of_ruff)
    yield Linter("ruff, performance (PERF)", [*ruff, "--select", "PERF"], ".py", of_ruff)
    if semgrep_rules:
        semgrep = ["semgrep", "scan", "--config", semgrep_rules, "--json", "--metrics=off"]
        quiet = ["--disable-version-check", "--no-git-ignore", "--jobs", "1", "--quiet"]
        yield Linter("semgrep, PyTorch rules", [*semgrep, *quiet], ".py", of_semgrep)
    yield Linter(
        "clang-tidy, performance and bugprone",
        ["clang-tidy", f"-checks={_CLANG_TIDY}", "--quiet"],
        ".cu",
        of_lines(r"^/.*:\d+:\d+: warning: .*\[([\w.,-]+)\]$"),
        ("--", "-x", "cuda", f"--cuda-path={cuda}", "--cuda-gpu-arch=sm_80", "-std=c++17"),
    )


def of_lint(output: str) -> list[str]:
    """Return the rules of lint's JSON."""
    return [finding["rule"] for finding in json.loads(output)["findings"]]


def of_ruff(output: str) -> list[str]:
    """Return the rules of ruff's JSON."""
    return [str(finding["code"]) for finding in json.loads(output)]


def of_semgrep(output: str) -> list[str]:
    """Return the rules of semgrep's JSON."""
    return [found["check_id"].rpartition(".")[2] for found in json.loads(output)["results"]]


def of_lines(pattern: str) -> Callable[[str], list[str]]:
    """Return what takes the rule of each line that *pattern* finds; a line that is repeated counts once."""
    return lambda output: [
        match[1]
        for line in dict.fromkeys(output.splitlines())
        if (match := re.search(pattern, line))
    ]


def row(linter: Linter, files: list[str]) -> str:
    """Return a line of the table: run *linter* over *files* and count."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        start = time.monotonic()
        process = subprocess.Popen(
            [*linter.command, *files, *linter.after], stdout=output, stderr=subprocess.DEVNULL
        )
        _, _, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        output.seek(0)
        rules = Counter(linter.rules(output.read()))
    common = ", ".join(f"{name} {count}" for name, count in rules.most_common(_COMMON))
    memory = f"{usage.ru_maxrss / 1024:.0f} MiB"
    return (
        f"| {linter.name} | {len(files)} | {rules.total()} | {usage.ru_utime + usage.ru_stime:.1f} "
        f"({seconds:.1f}) | {memory} | {common} |"
    )


if __name__ == "__main__":
    main()
