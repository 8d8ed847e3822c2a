"""Measure how fast lint reads sources of CUDA and Python: megabytes per second of processor time on one core.

    python benchmarks/lint.py ../cutlass ../pytorch-lightning
    python benchmarks/lint.py ../cutlass --digest        # the same before and after a change?

Files that were written for HIP, and Python that names no library of a GPU, are not counted: lint does
not check them.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.rules.source.lint import lint_cuda, lint_python, names_gpu_library

if TYPE_CHECKING:
    from gpuadvise.advisor.source.linted_file import LintedFile


def linted(data: bytes, path: Path) -> LintedFile | None:
    """Return what lint says of a file, None where it refuses it."""
    try:
        return (lint_python if path.suffix == ".py" else lint_cuda)(data, str(path))
    except BadInput:
        return None


def main() -> None:
    """Print one line for each folder and language."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many counts")
    parser.add_argument("--digest", action="store_true", help="also print a hash of all answers")
    options = parser.parse_args()
    lint_cuda(b"__global__ void warm(float *a) { a[0] = 0.5; }", "warm.cu")
    lint_python(b"import torch", "warm.py")
    for folder in options.folder:
        for language, suffixes in (("CUDA", (".cu", ".cuh")), ("Python", (".py",))):
            paths = (p for p in sorted(folder.rglob("*")) if p.suffix in suffixes and p.is_file())
            files = [(path, path.read_bytes()) for path in paths]
            if language == "Python":
                files = [(path, data) for path, data in files if names_gpu_library(data)]
            if files:
                measure(folder.name, language, files, rounds=options.rounds, digest=options.digest)


def measure(
    folder: str, language: str, files: list[tuple[Path, bytes]], *, rounds: int, digest: bool
) -> None:
    """Print how fast *files* are read."""
    answers = [linted(data, path) for path, data in files]
    files = [f for f, answer in zip(files, answers, strict=True) if answer and not answer.hip]
    size = sum(len(data) for _, data in files) / 1e6
    best = min(timed(files) for _ in range(rounds))
    seen = sum(len(answer.diagnostics) for answer in answers if answer)
    print(
        f"{folder}, {language}: {len(files)} files, {size:.2f} MB, {seen} findings, {size / best:.2f} MB/s"
    )
    if digest:
        print(hashlib.sha256("\n".join(map(repr, answers)).encode()).hexdigest())


def timed(files: list[tuple[Path, bytes]]) -> float:
    """Return the seconds of processor time that *files* take."""
    start = time.process_time()
    for path, data in files:
        linted(data, path)
    return time.process_time() - start


if __name__ == "__main__":
    main()
