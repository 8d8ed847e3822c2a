"""``gpuadvise compat`` and ``kernels --list`` beside ``cuobjdump --list-elf``, in one run.

Whole processes on libraries of any size, in turns, beside a minimal Typer program: medians of
RUNS, and peak memory. Run ``python benchmarks/listing.py FILE...`` with the wheel
nvidia-cuda-cuobjdump installed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

RUNS = 11
CUOBJDUMP = Path(sysconfig.get_path("purelib"), "nvidia", "cu13", "bin", "cuobjdump")
PROGRAM = (str(Path(sysconfig.get_path("scripts"), "gpuadvise")),)
MINIMAL = (
    "import typer; app = typer.Typer(add_completion=False); app.command()(lambda: None); app()"
)


class Run(NamedTuple):
    """What one process took."""

    seconds: float
    processor: float  # seconds; other work on the machine changes them least
    peak: int  # bytes


def measured(command: tuple[str, ...]) -> Run:
    """Return what one run of *command* took; modules are compiled once, as users have them."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    child = subprocess.Popen(
        command, env=kept, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, _, usage = os.wait4(child.pid, 0)
    child.returncode = 0
    seconds = time.perf_counter() - started
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def compare(path: str) -> None:
    """Print what each program took with the file at *path*, and how many times less ours did."""
    programs = {
        "Typer": (sys.executable, "-c", MINIMAL),
        "compat": (*PROGRAM, "compat", path, "--gpu", "rtx4090"),
        "kernels --list": (*PROGRAM, "kernels", "--list", path),
    }
    if CUOBJDUMP.exists():
        programs["cuobjdump"] = (str(CUOBJDUMP), "--list-elf", path)
    runs: dict[str, list[Run]] = {name: [] for name in programs}
    for number in range(RUNS + 1):
        for name, command in programs.items():
            run = measured(command)
            if number:  # the first warms the page cache
                runs[name].append(run)
    took = {name: median(run.processor for run in of_program) for name, of_program in runs.items()}
    for name, of_program in runs.items():
        print(
            f"  {name:16} processor {took[name]:.3f} s  wall {median(r.seconds for r in of_program):.3f} s"
            f"  best {min(run.processor for run in of_program):.3f} s"
            f"  {max(run.peak for run in of_program) / 2**20:6.0f} MiB{_times(name, took)}"
        )


def _times(name: str, took: dict[str, float]) -> str:
    if "cuobjdump" not in took or name in ("Typer", "cuobjdump"):
        return ""
    whole, own = took[name], took[name] - took["Typer"]
    return f"  1/{took['cuobjdump'] / whole:.1f} of it, 1/{took['cuobjdump'] / own:.0f} above Typer"


def main() -> None:
    """Compare them on each file named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    for path in parser.parse_args().files:
        print(f"{Path(path).name}: {os.path.getsize(path) / 1e6:,.0f} MB")
        compare(path)


if __name__ == "__main__":
    main()
