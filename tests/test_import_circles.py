"""No module imports another that imports it, directly or by way of others."""

from __future__ import annotations

import os
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

TYPING = Path(__file__).resolve().parent.parent / ".typing"
# Imports inside of functions count; those for types only do not run, and do not count.
IMPORTS = """
import grimp
graph = grimp.build_graph("gpuadvise", exclude_type_checking_imports=True, cache_dir=None)
for name in sorted(graph.modules):
    print(name, *sorted(graph.find_modules_directly_imported_by(name)))
"""


def imports() -> dict[str, list[str]]:
    """Return what each module of the checkout imports, also where the wheel is tested."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS],
        env={**os.environ, "PYTHONPATH": str(TYPING)},
        capture_output=True,
        text=True,
        check=True,
    )
    rows = (line.split() for line in done.stdout.splitlines())
    return {name: imported for name, *imported in rows}


def circle(graph: dict[str, list[str]]) -> list[str]:
    """Return one circle of *graph*, in the order of its imports; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = imports()
    assert "gpuadvise.cli.main" in graph
    names = circle(graph)
    assert not names, "these import each other: " + " -> ".join(names)


@pytest.mark.parametrize(
    ("graph", "length"),
    [({"a": ["b"], "b": ["c"], "c": []}, 0), ({"a": ["b"], "b": ["c"], "c": ["a"]}, 4)],
)
def test_circles_are_found(graph: dict[str, list[str]], length: int) -> None:
    assert len(circle(graph)) == length
