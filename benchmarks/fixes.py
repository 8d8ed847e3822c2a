"""Mend public code with ``lint --fix`` and see that what compiled before compiles after.

    python benchmarks/fixes.py /tmp/mended ../bases/* --include /usr/include/python3.11

Each folder is copied below the first, and the copy is mended. A changed CUDA file is compiled with nvcc
before and after (its own folder and those above, up to its base, are searched for headers, then
``--include``); a changed Python file is parsed before and after. Prints one line for each base and a sum.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_SECONDS = 180  # of one compilation
_LAST_LINE = 300  # characters of a compiler's error


def main() -> None:
    """Print what became of each base, and the sum; exit 1 where a file does not compile any more."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path)
    parser.add_argument("base", type=Path, nargs="+")
    parser.add_argument("--include", action="append", default=[], help="another folder of headers")
    parser.add_argument("--arch", default="sm_80")
    options = parser.parse_args()
    total: Counter[str] = Counter()
    for base in options.base:
        copy = options.target / base.name
        shutil.copytree(base, copy, symlinks=True)
        mend(copy)
        counts = Counter(dict.fromkeys(("python files", "python broken"), 0))
        for path in changed(base, copy):
            if path.suffix in (".py", ".ipynb"):
                counts["python files"] += 1
                counts["python broken"] += parses(base / path) and not parses(copy / path)
                continue
            counts["cuda files"] += 1
            before = compiles(base, path, options.include, options.arch)
            after = before is None and compiles(copy, path, options.include, options.arch)
            if before is not None:
                counts["cuda not compiled here before"] += 1
                print(f"  {base.name}/{path}: {before}", file=sys.stderr)
            elif after is None:
                counts["cuda compiled before and after"] += 1
            else:
                counts["cuda broken"] += 1
                print(f"  BROKEN {base.name}/{path}: {after}", file=sys.stderr)
        total += counts
        if any(counts.values()):
            print(base.name, dict(+counts), flush=True)
    print(f"{len(options.base)} bases", dict(total))
    raise SystemExit(bool(total["cuda broken"] or total["python broken"]))


def mend(folder: Path) -> None:
    """Have lint write its fixes into *folder*."""
    line = [sys.executable, "-m", "gpuadvise", "lint", str(folder), "--fix"]
    subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def changed(base: Path, copy: Path) -> Iterator[Path]:
    """Yield the files, below *base*, that *copy* has with other content."""
    for path in sorted(copy.rglob("*")):
        below = path.relative_to(copy)
        is_file = path.is_file() and not path.is_symlink()
        if is_file and path.read_bytes() != (base / below).read_bytes():
            yield below


def parses(path: Path) -> bool:
    """Return whether Python parses *path*."""
    try:
        ast.parse(path.read_bytes())
    except SyntaxError:
        return False
    return True


def compiles(base: Path, path: Path, include: list[str], arch: str) -> str | None:
    """Return None where nvcc compiles *path* below *base*, else the first error it prints."""
    folders = [base / path.parent, *(base / above for above in path.parents)]
    folders += [
        folder for above in folders for folder in (above / "include", above / "inc", above / "src")
    ]
    searched = [
        f"-I{folder}" for folder in dict.fromkeys(map(str, folders)) if Path(folder).is_dir()
    ]
    line = ["nvcc", "-c", "-x", "cu", "-std=c++17", f"-arch={arch}", "-w", "-o", "/dev/null"]
    try:
        done = subprocess.run(
            [*line, *searched, *(f"-I{folder}" for folder in include), str(base / path)],
            capture_output=True, text=True, errors="replace", timeout=_MOST_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "takes too long"
    if done.returncode == 0:
        return None
    errors = [text for text in done.stderr.splitlines() if "error" in text]
    return (errors or ["no error was printed"])[0][-_LAST_LINE:]


if __name__ == "__main__":
    main()
