"""Start-up of the program as whole processes, beside a minimal Typer program in the same run.

    python benchmarks/startup.py [RUNS]

Programs take turns, so that a busy moment hits all of them; figures are medians of wall-clock
time and the peak resident set. Run it with the interpreter of an environment into which the
wheel was installed: an editable install loads import hooks that no user has.
"""

from __future__ import annotations

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


@dataclass(slots=True)
class Program:
    """One command line and what its runs took."""

    name: str
    words: list[str]
    terminal: bool = False
    seconds: list[float] = field(default_factory=list)
    kib: int = 0

    def run(self) -> None:
        """Run once, to its end."""
        begin = perf_counter()
        kib = self._on_a_terminal() if self.terminal else self._into_a_pipe()
        self.seconds.append(perf_counter() - begin)
        self.kib = max(self.kib, kib)

    def _into_a_pipe(self) -> int:
        return _ended(subprocess.Popen(self.words, stdout=subprocess.DEVNULL, env=_environment()))

    def _on_a_terminal(self) -> int:
        ours, theirs = pty.openpty()
        child = subprocess.Popen(self.words, stdout=theirs, env=_environment())
        os.close(theirs)
        try:
            while os.read(ours, 1 << 16):
                pass
        except OSError:
            pass  # the other side is closed
        os.close(ours)
        return _ended(child)


def _ended(child: subprocess.Popen[bytes]) -> int:
    """Return the peak resident set of *child* in KiB; wait for it."""
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{child.args} ended with {child.returncode}")
    return used.ru_maxrss


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
        for program in programs:
            program.run()
            program.seconds.clear()
        for _ in range(runs):
            for program in programs:
                program.run()
    print(f"Python {platform.python_version()}, Typer {version('typer')}, {os.cpu_count()} cores")
    base = median(programs[0].seconds)
    for program in programs:
        time = median(program.seconds)
        print(
            f"{program.name:30} {1000 * time:6.1f} ms  {time / base:4.2f} x  "
            f"{program.kib / 1024:5.1f} MiB"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
