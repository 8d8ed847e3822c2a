"""Start-up of the program as whole processes, beside a minimal Typer program in the same run.

    python benchmarks/startup.py [RUNS]
    python benchmarks/startup.py [RUNS] --against CHECKOUT

Programs take turns, so that a busy moment hits all of them; figures are medians of wall-clock
time and the peak resident set. Run it with the interpreter of an environment into which the
wheel was installed: an editable install loads import hooks that no user has.

With ``--against`` ordinary commands of this checkout are compared with those of another one,
``git worktree add CHECKOUT COMMIT``: medians of processor time, which means something on busy cores.
"""

from __future__ import annotations

import argparse
import os
import platform
import pty
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from resource import struct_rusage

BASELINE = """\
import typer

app = typer.Typer(add_completion=False)


@app.command()
def main(name: str = "world") -> None:
    print(f"hello {name}")


if __name__ == "__main__":
    app()
"""
QUESTION = ("occupancy", "--regs", "32", "--block", "256", "--gpu", "h100")
RUNS = 41
REPOSITORY = Path(__file__).resolve().parents[1]
COMMANDS = (
    ("--version",),
    ("kernels", "--help"),
    (*QUESTION, "--format", "json"),
    QUESTION,
    ("bandwidth", "--gpu", "h200", "--format", "json"),
    ("device", "--gpu", "h100", "--get", "name"),
    ("overlap", "--gpu", "h200", "--h2d", "1GiB", "--kernel", "5ms", "--format", "json"),
    ("advise", "--regs", "72", "--block", "100", "--gpu", "h200", "--format", "json"),
    ("compat", "tests/cli/recorded/libsmall.so", "--gpu", "h100"),
)


@dataclass(slots=True)
class Program:
    """One command line and what its runs took."""

    name: str
    words: list[str]
    terminal: bool = False
    checkout: Path | None = None  # whose modules are loaded; None: those installed
    seconds: list[float] = field(default_factory=list)
    processor_seconds: list[float] = field(default_factory=list)
    kib: int = 0

    def run(self) -> None:
        """Run once, to its end."""
        begin = perf_counter()
        used = self._on_a_terminal() if self.terminal else self._into_a_pipe()
        self.seconds.append(perf_counter() - begin)
        self.processor_seconds.append(used.ru_utime + used.ru_stime)
        self.kib = max(self.kib, used.ru_maxrss)

    def forget(self) -> None:
        """Forget the times of runs that warmed up."""
        self.seconds.clear()
        self.processor_seconds.clear()

    def _into_a_pipe(self) -> struct_rusage:
        return _ended(self._started(subprocess.DEVNULL))

    def _started(self, target: int) -> subprocess.Popen[bytes]:
        environment = _environment()
        if self.checkout is None:
            return subprocess.Popen(self.words, stdout=target, env=environment)
        environment["PYTHONPATH"] = str(self.checkout / ".typing")
        return subprocess.Popen(self.words, stdout=target, env=environment, cwd=REPOSITORY)

    def _on_a_terminal(self) -> struct_rusage:
        ours, theirs = pty.openpty()
        child = self._started(theirs)
        os.close(theirs)
        try:
            while os.read(ours, 1 << 16):
                pass
        except OSError:
            pass  # the other side is closed
        os.close(ours)
        return _ended(child)


def _ended(child: subprocess.Popen[bytes]) -> struct_rusage:
    """Return what *child* used; wait for it."""
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{child.args} ended with {child.returncode}")
    return used


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"TERM": "xterm-256color", "COLUMNS": "100"}


def main(runs: int) -> None:
    """Print one line per program."""
    with tempfile.TemporaryDirectory() as folder:
        # As an entry point a program is imported, so its bytecode is cached.
        Path(folder, "baseline.py").write_text(BASELINE)
        start = f"import sys; sys.path.insert(0, {folder!r}); import baseline; baseline.app()"
        ours = [str(Path(sys.executable).with_name("gpuadvise")), *QUESTION]
        programs = [
            Program("minimal Typer program", [sys.executable, "-c", start]),
            Program("occupancy --format json", [*ours, "--format", "json"]),
            Program("occupancy, text into a pipe", ours),
            Program("occupancy, text on a terminal", ours, terminal=True),
        ]
        _run_in_turns(programs, runs)
    print(f"Python {platform.python_version()}, Typer {version('typer')}, {os.cpu_count()} cores")
    base = median(programs[0].seconds)
    for program in programs:
        time = median(program.seconds)
        print(
            f"{program.name:30} {1000 * time:6.1f} ms  {time / base:4.2f} x  "
            f"{program.kib / 1024:5.1f} MiB"
        )


def compare(runs: int, checkout: Path) -> None:
    """Print one line per command: processor time of *checkout*, of this one, and the ratio."""
    if not (checkout / ".typing" / "gpuadvise").is_dir():
        raise SystemExit(
            f"{checkout} is no checkout of this repository: it has no .typing/gpuadvise"
        )
    start = (sys.executable, "-m", "gpuadvise")
    print(f"{'command':82} {'before':>8} {'now':>9}")
    for words in COMMANDS:
        name = " ".join(words)
        before = Program(name, [*start, *words], checkout=checkout.resolve())
        now = Program(name, [*start, *words], checkout=REPOSITORY)
        _run_in_turns([before, now], runs)
        old, new = median(before.processor_seconds), median(now.processor_seconds)
        print(f"{name:82} {1000 * old:5.0f} ms {1000 * new:6.0f} ms  {new / old:4.2f} x")


def _run_in_turns(programs: list[Program], runs: int) -> None:
    for program in programs:
        program.run()
        program.forget()
    for _ in range(runs):
        for program in programs:
            program.run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="?", type=int, default=RUNS)
    parser.add_argument("--against", type=Path, metavar="CHECKOUT")
    given = parser.parse_args()
    if given.against:
        compare(given.runs, given.against)
    else:
        main(given.runs)
