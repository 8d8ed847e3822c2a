"""What our dependencies do to others, and whether every version that we allow works.

    python benchmarks/dependencies.py resolve                # needs uv (pip install uv) and the network
    python benchmarks/dependencies.py matrix [--every 6] [--python 3.11 3.12]

``resolve`` asks uv and pip which versions they choose for packages that people install beside us,
with and without our requirements, on each Python; it ends with 1 where one of them differs.
``matrix`` makes an environment per Python with the oldest and one with the newest of all that we
require, runs every Nth line of ``tests/cli/recorded/lines.txt`` in each, and ends with 1 where data or exit
codes differ from the first's.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from itertools import product
from pathlib import Path

import command_lines

REPOSITORY = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# What people install beside us; the packages whose versions must not change, and others of interest.
NEIGHBOURS = ("torch", "vllm", "jax[cuda13]", "transformers", "spacy", "fastapi[standard]",
              "torch jax[cuda13]")  # fmt: skip
KEPT = ("torch", "vllm", "jax", "jaxlib", "transformers", "spacy", "fastapi")
NOTED = ("triton", "typer", "rich", "numpy", "cuda-bindings", "cuda-python")
PLATFORM = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_24_x86_64",
            "manylinux_2_17_x86_64", "manylinux2014_x86_64", "manylinux_2_5_x86_64")  # fmt: skip
_PATIENCE = 900  # seconds for one resolution


def requirements() -> list[str]:
    """Return what the project requires."""
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        return list(tomllib.load(file)["project"]["dependencies"])


def uv() -> list[str]:
    """Return how uv is called; ends the program where there is none."""
    if path := shutil.which("uv"):
        return [path]
    if subprocess.run([sys.executable, "-m", "uv", "--version"], capture_output=True).returncode:
        sys.exit("uv is not here: pip install uv.")
    return [sys.executable, "-m", "uv"]


def chosen_by_uv(packages: list[str], python: str) -> dict[str, str] | None:
    """Return the versions that uv chooses for *packages* on *python*, None where it finds none."""
    done = subprocess.run(
        [*uv(), "pip", "compile", "--quiet", "--python-version", python,
         "--python-platform", "x86_64-manylinux_2_28", "-"],
        input="\n".join(packages), capture_output=True, text=True, timeout=_PATIENCE,
    )  # fmt: skip
    if done.returncode:
        return None
    return dict(re.findall(r"^([A-Za-z0-9_.-]+)==(\S+)", done.stdout, re.MULTILINE))


def chosen_by_pip(packages: list[str], python: str) -> dict[str, str] | None:
    """Return the versions that pip chooses for *packages* on *python*, None where it finds none."""
    platforms = [word for name in PLATFORM for word in ("--platform", name)]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed",
             "--only-binary=:all:", "--python-version", python, "--implementation", "cp",
             *platforms, "--target", folder, "--report", str(report), *packages],
            capture_output=True, text=True, timeout=_PATIENCE,
        )  # fmt: skip
        if done.returncode:
            return None
        installs = json.loads(report.read_text(encoding="utf-8"))["install"]
    names = [row["metadata"] for row in installs]
    return {row["name"].lower().replace("_", "-"): row["version"] for row in names}


def resolve(pythons: list[str], tools: list[str], neighbours: list[str]) -> int:
    """Print a row per neighbour, Python and tool; return how many have other versions beside us."""
    ways = {"uv": chosen_by_uv, "pip": chosen_by_pip}
    changed = 0
    for neighbour, python, tool in product(neighbours, pythons, tools):
        alone = ways[tool](neighbour.split(), python)
        beside = ways[tool]([*neighbour.split(), *requirements()], python)
        if alone is None:
            outcome = "has no solution alone"
        elif beside is None:
            changed += 1
            outcome = "HAS NO SOLUTION BESIDE US"
        else:
            other = changes(alone, beside, KEPT)
            changed += bool(other)
            first = neighbour.split()[0].partition("[")[0]
            outcome = ", ".join(other) or f"the same ({first} {alone.get(first)})"
            if noted := changes(alone, beside, NOTED):
                outcome += f"; beside that {', '.join(noted)}"
        print(f"{neighbour:20} {python:5} {tool:4} {outcome}", flush=True)
    return changed


def changes(alone: dict[str, str], beside: dict[str, str], names: tuple[str, ...]) -> list[str]:
    """Return which of *names* get another version beside us."""
    return [
        f"{name} {alone[name]} -> {beside.get(name)}"
        for name in names
        if name in alone and beside.get(name) != alone[name]
    ]


def environment(folder: Path, python: str, resolution: str) -> Path | None:
    """Return the Python of a new environment with our requirements; None: it cannot be made here."""
    tool = uv()
    made = subprocess.run([*tool, "venv", "--quiet", "--python", python, "--no-python-downloads",
                           str(folder)], capture_output=True)  # fmt: skip
    if made.returncode:
        return None
    interpreter = folder / "bin" / "python"
    subprocess.run(
        [*tool, "pip", "install", "--quiet", "--python", str(interpreter), "--compile-bytecode",
         "--only-binary", ":all:", "--resolution", resolution, *requirements()],
        check=True,
    )  # fmt: skip
    return interpreter


def versions(interpreter: Path) -> str:
    """Return the versions of what *interpreter* has of our requirements."""
    names = [re.split(r"[<>=!; ]", row, maxsplit=1)[0] for row in requirements()]
    code = "import sys; from importlib.metadata import version as v; print(*(f'{n} {v(n)}' for n in sys.argv[1:]), sep=', ')"
    done = subprocess.run([interpreter, "-c", code, *names], capture_output=True, text=True)
    return done.stdout.strip()


def matrix(pythons: list[str], every: int) -> int:
    """Print how each environment answers; return how many answer otherwise than the first."""
    lines = command_lines.read_lines(command_lines.LINES)[::every]
    first: Path | None = None
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        for python, resolution in product(pythons, ("highest", "lowest-direct")):
            name = f"{python}-{resolution}"
            interpreter = environment(Path(place) / name, python, resolution)
            if interpreter is None:
                print(f"{name}: no Python {python} here", flush=True)
                continue
            answers = Path(place) / f"{name}.jsonl"
            subprocess.run(
                [interpreter, command_lines.__file__, "record", answers, "--every", str(every)],
                check=True, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            first = first or answers
            before, after = command_lines.load(first), command_lines.load(answers)
            # How the system words that a library is missing may differ.
            other = [
                line
                for line in lines
                if {kind for kind, _ in command_lines.differences(before[line], after[line])}
                - {"text"}
            ]
            faults = [line for line in lines if "itself failed" in after[line].err]
            print(f"{name}: {len(lines)} lines, {len(other)} differ, {len(faults)} failed")
            print(f"  {versions(interpreter)}", flush=True)
            for line in [*other, *faults][:10]:
                print(f"    {line}")
                for kind, shown in command_lines.differences(before[line], after[line]):
                    print(*(f"      {kind}: {row[:150]}" for row in shown[:4]), sep="\n")
            wrong += bool(other or faults)
    return wrong


def main() -> int:
    """Run the command line; return 1 where something differs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("job", choices=("resolve", "matrix"))
    parser.add_argument("--python", nargs="+", default=list(PYTHONS))
    parser.add_argument("--tool", nargs="+", default=["uv", "pip"], choices=("uv", "pip"))
    parser.add_argument("--beside", nargs="+", default=list(NEIGHBOURS))
    parser.add_argument("--every", type=int, default=6, help="run every Nth recorded line")
    said = parser.parse_args()
    if said.job == "resolve":
        return int(resolve(said.python, said.tool, said.beside) > 0)
    return int(matrix(said.python, said.every) > 0)


if __name__ == "__main__":
    sys.exit(main())
