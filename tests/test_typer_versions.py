"""The command line behaves the same with the oldest Typer that we allow and with the one installed."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from nvidia_wheels import missing

ROOT = Path(__file__).resolve().parent.parent
LINES = [
    [],
    ["--version"],
    ["--help"],
    ["help", "occupancy"],
    ["lint", "--help"],
    ["gpus", "--help"],
    ["occupancy", "--regs", "32", "--block", "256", "--gpu", "h100", "--json"],
    ["occupancy", "--regs", "32", "--block", "256", "--gpu", "h100", "--get", "occupancy",
     "--get", "limiters"],
    ["occupancy", "--regs", "32", "--sweep", "block", "--gpu", "h100", "-f", "csv"],
    ["occupancy", "--regs", "32", "--block", "256", "--gpu", "h100", "--sources", "--color", "always"],
    ["occupancy", "--regs", "32", "--block", "256", "--color", "sometimes"],
    ["occupancy", "--regs", "32", "--block", "256", "--gpu", "h100", "--get", "list"],
    ["gpus", "hopper", "h200"],
    ["rules", "tiny-blocks"],
    ["explain", "warp", "scheduler"],
    ["advise", "--regs", "72", "--block", "100", "--gpu", "h200", "--fail-on", "high"],
    ["schema", "latency"],
    ["completion", "bash"],
    ["latency", "--gpu", "h100", "--nope"],
    ["kernels"],
    ["scaling", "--parallel"],
    ["occupancy", "32"],
    ["occupency"],
]  # fmt: skip
COMPLETIONS = ["gpuadvise occ", "gpuadvise occupancy --gpu h1", "gpuadvise occupancy --",
               "gpuadvise lint --format sa"]  # fmt: skip


@pytest.fixture(scope="module")
def oldest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the oldest Typer that pyproject.toml allows."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        rows = tomllib.load(file)["project"]["dependencies"]
    (bound,) = [row.removeprefix("typer>=") for row in rows if row.startswith("typer>=")]
    folder = tmp_path_factory.mktemp("typer")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder),
         f"typer=={bound}.*"],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        missing(f"typer {bound}")
    return folder


def _answer(line: list[str], folder: Path | None, **more: str) -> tuple[int, str, str]:
    environment = {**os.environ, "COLUMNS": "80", **more}
    environment.pop("GPUADVISE_GPU", None)
    if folder is not None:
        environment["PYTHONPATH"] = str(folder)
    done = subprocess.run(
        [sys.executable, "-m", "gpuadvise", *line], capture_output=True, text=True, env=environment
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_the_oldest_answers_as_the_installed_one(line: list[str], oldest: Path) -> None:
    installed = _answer(line, None)
    assert installed[0] in (0, 1, 2)
    assert _answer(line, oldest) == installed


@pytest.mark.parametrize("words", COMPLETIONS)
def test_both_complete_the_same(words: str, oldest: Path) -> None:
    asked = {"_GPUADVISE_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": words}
    installed = _answer([], None, **asked)
    assert installed[1]
    assert _answer([], oldest, **asked) == installed


def test_the_folder_is_what_python_takes(oldest: Path) -> None:
    code = "import typer; print(typer.__file__, typer.__version__)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(oldest)},
    )  # fmt: skip
    assert done.stdout.startswith(str(oldest))


def test_private_names_of_typer_stand_in_one_module() -> None:
    users = [path.name for path in (ROOT / "cli").rglob("*.py") if "typer._" in path.read_text()]
    assert users == ["typer_private.py"]
