"""Import is free: what a fresh interpreter holds after an import or a command."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import traces

from gpuadvise.cli.app import COMMANDS

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = {
    "asyncio",
    "cuda",
    "jsonschema",
    "lz4",
    "matplotlib",
    "mcp",
    "multiprocessing",
    "numpy",
    "plotext",
    "pydantic",
    "pynvml",
    "rich",
    "tomllib",
    "tree_sitter",
    "zstandard",
}
PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) { ret; }
"""
# One ordinary call of each command, on a machine without a GPU, and the heavy packages that
# the job itself needs.
CALLS: dict[str, tuple[str, set[str]]] = {
    "device": ("--gpu h100", set()),
    "gpus": ("h100 h200", set()),
    "occupancy": ("--regs 72 --block 256 --gpu h100 --sweep smem", set()),
    "bandwidth": ("--gpu h200", set()),
    "access": ("--gpu h200 --stride 2 --show", set()),
    "banks": ("--gpu h200 --tile 32x32 --show", set()),
    "overlap": ("--gpu h200 --h2d 64MiB --kernel 1ms --show", set()),
    "roofline": ("--gpu h200 --flops 1e9 --bytes 1GB", set()),
    "scaling": ("--parallel 0.9 --processors 8", set()),
    "latency": ("--gpu h200", set()),
    "measure": ("--help", set()),
    "kernels": ("k.ptx", set()),
    "compat": ("k.ptx --gpu h100", set()),
    "timeline": ("t.json --show", set()),
    "run": ("--help", set()),
    "diff": ("k.ptx k.ptx", set()),
    "baseline": ("list", set()),
    "lint": ("k.cu", {"tree_sitter"}),
    "whatif": ("k.cu --arch sm_90", {"tree_sitter", "cuda"}),
    "advise": ("--regs 72 --block 100 --grid 96 --gpu h200", set()),
    "rules": ("low-occupancy", {"tomllib"}),
    "doctor": ("--help", set()),
    "fleet": ("--help", set()),
    "schema": ("occupancy", set()),
    "explain": ("wave", {"tomllib"}),
    "completion": ("bash", set()),
    "help": ("occupancy", set()),
    "demo": ("trace", set()),
    "lsp": ("--help", set()),
    "mcp": ("--help", set()),
    "skill": ("", set()),
    "tui": ("--help", set()),
    "learn": ("transpose", set()),
}


def loaded(code: str, folder: Path | None = None) -> set[str]:
    """Return the heavy top-level modules in memory after *code* ran in *folder*."""
    script = (
        f"{code}\nimport sys; print('\\n' + ' '.join({{m.split('.')[0] for m in sys.modules}}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=folder
    )
    assert not done.stderr, done.stderr
    return HEAVY & set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("name", [entry.name for entry in COMMANDS])
def test_every_command_loads_what_its_job_needs(name: str, tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(PTX)
    (tmp_path / "t.json").write_text(traces.kineto([traces.kernel(0, 10)]))
    (tmp_path / "k.cu").write_text(
        "__global__ void k(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 0; }\n"
    )
    assert name in CALLS, f"enter an ordinary call of {name} in CALLS, and the packages it needs"
    options, needed = CALLS[name]
    run = (
        f"from gpuadvise.cli.main import main; assert main({[name, *options.split()]!r}) in (0, 1)"
    )
    assert loaded(run, tmp_path) <= needed


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


@pytest.mark.parametrize(
    "line",
    [
        "advise --regs 72 --block 100 --grid 96 --gpu h200",
        "overlap --gpu h200 --h2d 64MiB --kernel 1ms",
        "device --gpu h100",
    ],
)
def test_without_a_file_no_reader_of_files_is_loaded(line: str, tmp_path: Path) -> None:
    run = f"from gpuadvise.cli.main import main; main({[*line.split(), '--format', 'json']!r})"
    readers = "('gpuadvise.advisor.timelines', 'gpuadvise.advisor.profiles.ncu')"
    modules = f"[m for m in sys.modules if m.startswith({readers})]"
    assert loaded(f"{run}\nimport sys; assert not {modules}, {modules}", tmp_path) == set()


@pytest.mark.parametrize("form", ["ndjson", "csv"])
def test_a_few_described_kernels_load_nothing_to_start_processes(form: str, tmp_path: Path) -> None:
    (tmp_path / "k.ndjson").write_text('{"gpu": "h200", "regs": 72, "block": 100}\n' * 20)
    args = ["advise", "k.ndjson", "--format", form]
    assert loaded(f"from gpuadvise.cli.main import main; main({args!r})", tmp_path) == set()


# Command lines, and modules that serve other questions: each costs a start 1 to 10 ms.
UNASKED = {
    "--version": ("cli.options", "advisor.values"),
    "device --gpu h100 --get name": ("advisor.features", "advisor.telemetry", "advisor.topology"),
    "bandwidth --gpu h200 --format json": ("advisor.memory.number_types", "advisor.peaks"),
    "advise --regs 72 --block 100 --gpu h200 --format json": (
        "advisor.binaries",
        "advisor.compatibility",
        "advisor.facts.kernel_profile",
        "advisor.telemetry",
        "advisor.topology",
        "advisor.transfers.overlap",
    ),
}


@pytest.mark.parametrize("line", UNASKED)
def test_what_the_line_does_not_ask_about_is_not_loaded(line: str, tmp_path: Path) -> None:
    names = tuple(f"gpuadvise.{module}" for module in UNASKED[line])
    run = f"from gpuadvise.cli.main import main; main({line.split()!r})"
    modules = f"[m for m in sys.modules if m.startswith({names!r})]"
    assert loaded(f"{run}\nimport sys; assert not {modules}, {modules}", tmp_path) == set()


def test_lint_loads_no_rule_on_other_facts(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("__global__ void k(float *x) { x[threadIdx.x] *= 2; }\n")
    script = (
        "from gpuadvise.cli.main import main; import sys; sys.argv = ['gpuadvise', 'lint', 'k.cu']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print(*(m for m in sys.modules if m.startswith('gpuadvise.rules.guide.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True
    )
    assert done.stdout.splitlines()[-1] == ""


@pytest.mark.parametrize("line", ["rules", "rules --select high --format json"])
def test_the_list_of_rules_loads_none_of_them(line: str) -> None:
    run = f"from gpuadvise.cli.main import main; main({line.split()!r})"
    rules = ("gpuadvise.rules.guide.execution", "gpuadvise.rules.source", "gpuadvise.rules.engine")
    modules = f"[m for m in sys.modules if m.startswith({rules!r})]"
    assert loaded(f"{run}\nimport sys; assert not {modules}, {modules}") == set()


def test_without_a_source_no_rule_on_sources_is_loaded(tmp_path: Path) -> None:
    line = ["advise", "--regs", "72", "--block", "100", "--grid", "96", "--gpu", "h200"]
    run = f"from gpuadvise.cli.main import main; main({line!r})"
    modules = "[m for m in sys.modules if m.startswith('gpuadvise.rules.source.')]"
    assert loaded(f"{run}\nimport sys; assert not {modules}, {modules}", tmp_path) == set()
