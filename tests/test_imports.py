"""Import is free: what a fresh interpreter holds after an import or a command."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    "rich",
    "numpy",
    "pynvml",
    "cuda",
    "plotext",
    "matplotlib",
    "tree_sitter",
    "jsonschema",
    "tomllib",
}


def loaded(code: str) -> set[str]:
    """Return the heavy top-level modules in memory after *code* ran."""
    script = (
        f"{code}\nimport sys; print('\\n' + ' '.join({{m.split('.')[0] for m in sys.modules}}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return HEAVY & set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "module", ["gpuadvise", "gpuadvise.cli.main", "gpuadvise.cli.app", "gpuadvise.rules.guide"]
)
def test_imports_load_nothing_heavy(module: str) -> None:
    assert loaded(f"import {module}") == set()


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["completion", "bash"]])
def test_commands_load_nothing_heavy(args: list[str]) -> None:
    assert loaded(f"from gpuadvise.cli.main import main; main({args!r})") == set()


@pytest.mark.parametrize(
    "line",
    [
        "bandwidth --gpu h200",
        "access --gpu h200 --stride 2 --show",
        "banks --gpu h200 --tile 32x32 --show",
        "overlap --gpu h200 --h2d 64MiB --kernel 1ms --show --skeleton cuda",
        "roofline --gpu h200 --flops 1e9 --bytes 1GB",
        "scaling --parallel 0.9 --processors 8",
        "latency --gpu h200",
    ],
)
@pytest.mark.parametrize("form", ["json", "text"])
def test_predictions_load_nothing_heavy(line: str, form: str) -> None:
    args = [*line.split(), "--format", form]
    assert loaded(f"from gpuadvise.cli.main import main; main({args!r})") == set()


def test_occupancy_in_json_loads_only_what_it_needs() -> None:
    args = ["occupancy", "--regs", "72", "--block", "256", "--gpu", "h100", "--format", "json"]
    run = f"from gpuadvise.cli.main import main; main({args!r})"
    assert loaded(run) == set()
    assert loaded(f"{run}\nimport sys; assert 'csv' not in sys.modules") == set()
