"""Measure the source tree: modules, their sizes, who imports whom, and how far a run travels.

    python benchmarks/house.py                       # of this checkout
    python benchmarks/house.py --checkout ../at-main

The import graph is grimp's, which import-linter uses: imports inside of functions count, those
under TYPE_CHECKING do not. A file is entered when one of its functions runs; what importing alone
executes does not count.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import grimp

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parents[1]
RECORDED = REPOSITORY / "tests" / "cli" / "recorded"
TREES = ("advisor", "cli", "rules")
SMALL = 50  # lines
NOT_COPIED = (".git", ".venv*", "__pycache__", "tests", "build", "*_cache")
RUNS = (
    "occupancy --regs 32 --block 256 --gpu h100 --format json",
    "occupancy --regs 32 --block 256 --gpu h100",
    "overlap --h2d 256MiB --kernel 4ms --gpu h200",
    "kernels 80.cubin --gpu h100",
    "kernels libsmall.so --gpu h100",
    "advise --regs 72 --block 100 --grid 96 --gpu h200",
)
# Run as a process of its own: lists the files whose functions were entered.
TRACE = """
import inspect, sys, threading
entered, moves, last = set(), 0, None
def enter(frame, event, argument):
    global moves, last
    code = frame.f_code
    if event == "call" and code.co_flags & inspect.CO_OPTIMIZED and "/gpuadvise/" in code.co_filename:
        entered.add(code.co_filename)
        moves += code.co_filename != last
        last = code.co_filename
from gpuadvise.cli.main import main
sys.setprofile(enter)
threading.setprofile(enter)
main(sys.argv[1:])
sys.setprofile(None)
print(len(entered), moves, file=sys.stderr)
"""


def sources(checkout: Path) -> dict[str, Path]:
    """Return the file of each module of *checkout* by its dotted name."""
    files = [file for tree in TREES for file in (checkout / tree).rglob("*.py")]
    return {module_name(file.relative_to(checkout)): file for file in files}


def module_name(path: Path) -> str:
    """Return the dotted name of the module at *path*, relative to a checkout."""
    parts = path.with_suffix("").parts
    parts = () if parts[:2] == ("cli", "_root") and parts[-1] == "__init__" else parts
    parts = parts[-1:] if parts[:2] == ("cli", "_root") else parts
    return ".".join(("gpuadvise", *(part for part in parts if part != "__init__")))


def import_graph(checkout: Path, *, of_types: bool = False) -> grimp.ImportGraph:
    """Return who imports whom in *checkout*; with *of_types* what only type checkers see as well."""
    sys.path.insert(0, str(checkout / ".typing"))
    return grimp.build_graph(
        "gpuadvise", exclude_type_checking_imports=not of_types, cache_dir=None
    )


def circles(graph: grimp.ImportGraph) -> list[list[str]]:
    """Return the groups of modules that import each other, directly or by others."""
    groups = set()
    for name in graph.modules:
        if mutual := graph.find_upstream_modules(name) & graph.find_downstream_modules(name):
            groups.add(frozenset(mutual | {name}))
    return sorted(map(sorted, groups))


def single_importers(graph: grimp.ImportGraph) -> list[tuple[str, str]]:
    """Return modules that exactly one module imports, and that lies in the same folder."""
    pairs = []
    for name in sorted(graph.modules):
        importers = graph.find_modules_that_directly_import(name)
        if len(importers) == 1 and not graph.find_children(name):
            (importer,) = importers
            if importer.rpartition(".")[0] == name.rpartition(".")[0]:
                pairs.append((name, importer))
    return pairs


def shared_class_names(files: dict[str, Path]) -> dict[str, list[str]]:
    """Return the public class names that several modules define, with those modules."""
    modules: dict[str, list[str]] = defaultdict(list)
    for name, file in sorted(files.items()):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(name)
    return {name: where for name, where in sorted(modules.items()) if len(where) > 1}


def entered(checkout: Path, line: str) -> tuple[int, int]:
    """Return how many files the run of *line* enters, and how often it changes the file."""
    done = subprocess.run(
        [sys.executable, "-c", TRACE, *line.split()],
        cwd=RECORDED,
        env={**os.environ, "PYTHONPATH": str(checkout / ".typing")},
        capture_output=True,
        text=True,
        check=True,
    )
    files, moves = done.stderr.splitlines()[-1].split()
    return int(files), int(moves)


# A fact of two values as a contributor would add it: the file, the line before it, the text.
FACT = (
    (
        "advisor/facts/application.py",
        "",
        "\n\n@dataclass(frozen=True, slots=True, kw_only=True)\nclass Samples:\n"
        '    """Samples of one pass."""\n\n    count: int\n    seconds: float\n',
    ),
    (
        "advisor/description/program_keys.py",
        "",
        "\nSAMPLES = KeyTable(\n    app.Samples,\n"
        '    {"count": Key("count", COUNT), "time": Key("seconds", v.seconds)},\n)\n',
    ),
    ("advisor/facts/bag.py", "        HotRegion,\n", "        Samples,\n"),
    (
        "advisor/facts/bag.py",
        "class Facts:\n",
        '    samples: Samples | None = fact(\n        "Describe [kernel.samples].",\n'
        '        read=LateTable("program_keys", "SAMPLES"),\n'
        """        toml='samples = { count = 10, time = "3us" }',\n    )\n""",
    ),
)


def files_of_a_fact(checkout: Path) -> list[str]:
    """Return the files that a new fact changes in a copy of *checkout*, the written ones too."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(checkout, copy, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED))
        for name, before, text in FACT:
            source = (copy / name).read_text(encoding="utf-8")
            head, anchor, rest = source.partition(before) if before else (source, "", "")
            (copy / name).write_text(f"{head}{anchor}{text}{rest}", encoding="utf-8")
        run = [sys.executable, "docs/generate.py"]
        environment = {**os.environ, "PYTHONPATH": str(copy / ".typing")}
        subprocess.run(run, cwd=copy, env=environment, check=True)
        names = [path.relative_to(copy) for path in copy.rglob("*") if path.is_file()]
        return sorted(str(name) for name in names if not _same(copy / name, checkout / name))


def _same(changed: Path, first: Path) -> bool:
    if "__pycache__" in changed.parts:
        return True
    return first.exists() and changed.read_bytes() == first.read_bytes()


def report(checkout: Path) -> Iterator[str]:
    """Yield the lines of the report on *checkout*."""
    files = sources(checkout)
    lengths = [len(file.read_text(encoding="utf-8").splitlines()) for file in files.values()]
    graph = import_graph(checkout)
    groups, neighbours, shared = circles(graph), single_importers(graph), shared_class_names(files)
    outside = sum("rules.guide." not in name for name in files)
    yield f"modules                                        {len(files)} ({outside} outside rules/guide)"
    yield f"lines                                          {sum(lengths):,}"
    yield f"median lines of a module, most                 {statistics.median(lengths):g}, {max(lengths)}"
    yield f"modules of at most {SMALL} lines                   {sum(n <= SMALL for n in lengths)}"
    yield f"modules imported only from their folder, once  {len(neighbours)}"
    doors = [
        name for name, _ in neighbours if name.startswith("gpuadvise.cli.") and name.count(".") == 3
    ]
    yield f"  of these rooms of one command                {len(doors)}"
    of_types = circles(import_graph(checkout, of_types=True))
    yield f"import circles, with imports for types only    {len(groups)}, {len(of_types)}"
    yield f"class names with several definitions           {len(shared)}"
    fact = files_of_a_fact(checkout)
    yield f"files that a new fact changes                  {len(fact)}: {', '.join(fact)}"
    for line in RUNS:
        count, moves = entered(checkout, line)
        yield f"{count:3} files, {moves:4} changes of file: {line}"
    yield from ("", "Circles", *(" <-> ".join(group) for group in groups))
    yield from ("", "Circles, types counted", *(" <-> ".join(group) for group in of_types))
    yield from ("", "Class names", *(f"{name}: {', '.join(at)}" for name, at in shared.items()))
    yield from ("", "One importer, next door", *(f"{name} <- {by}" for name, by in neighbours))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--checkout", type=Path, default=REPOSITORY)
    print(*report(parser.parse_args().checkout.resolve()), sep="\n")
