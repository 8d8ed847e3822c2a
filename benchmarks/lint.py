"""Measure how fast lint reads CUDA sources: megabytes per second of processor time on one core.

    python benchmarks/lint.py ../cutlass ../cuda-samples
    python benchmarks/lint.py ../cutlass --digest        # the same before and after a change?

Files that were written for HIP are not counted: lint does not check them.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.rules.source.lint import lint_cuda

if TYPE_CHECKING:
    from gpuadvise.advisor.source.linted_file import LintedFile


def linted(data: bytes, path: Path) -> LintedFile | None:
    """Return what lint says of a file, None where it refuses it."""
    try:
        return lint_cuda(data, str(path))
    except BadInput:
        return None


def main() -> None:
    """Print one line for each folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many counts")
    parser.add_argument("--digest", action="store_true", help="also print a hash of all answers")
    options = parser.parse_args()
    lint_cuda(b"__global__ void warm(float *a) { a[0] = 0.5; }", "warm.cu")
    for folder in options.folder:
        paths = sorted(p for p in folder.rglob("*.cu*") if p.suffix in (".cu", ".cuh"))
        files = [(path, path.read_bytes()) for path in paths if path.is_file()]
        answers = [linted(data, path) for path, data in files]
        files = [f for f, answer in zip(files, answers, strict=True) if answer and not answer.hip]
        size = sum(len(data) for _, data in files) / 1e6
        best = min(timed(files) for _ in range(options.rounds))
        seen = sum(len(answer.diagnostics) for answer in answers if answer)
        print(
            f"{folder.name}: {len(files)} files, {size:.2f} MB, {seen} findings, {size / best:.2f} MB/s"
        )
        if options.digest:
            print(hashlib.sha256("\n".join(map(repr, answers)).encode()).hexdigest())


def timed(files: list[tuple[Path, bytes]]) -> float:
    """Return the seconds of processor time that *files* take."""
    start = time.process_time()
    for path, data in files:
        linted(data, path)
    return time.process_time() - start


if __name__ == "__main__":
    main()
