"""Schedulers and workers of Dask as a user starts them: processes, on loopback alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

# The documented command lines; dashboards listen on every address unless they are told not to.
LOOPBACK = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0", "--no-dashboard")
SUPPORT = Path(__file__).parent
_PATIENCE = 60.0


class DaskProcesses:
    """A scheduler and its workers, and what stops them; *folder* holds its file and their logs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self._processes: list[subprocess.Popen[bytes]] = []

    def scheduler(self, port: int = 0, **environment: str) -> subprocess.Popen[bytes]:
        """Start the scheduler and wait for the file that has its address."""
        self.file.unlink(missing_ok=True)
        started = self._start(
            "scheduler", *LOOPBACK, "--port", str(port), "--scheduler-file", str(self.file),
            **environment,
        )  # fmt: skip
        until(self.file.exists)
        return started

    @property
    def address(self) -> str:
        """Where the scheduler listens."""
        return json.loads(self.file.read_text())["address"]

    def workers(self, count: int, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start *count* workers of one thread, each under its nanny."""
        return self._start(
            "worker", self.address, *LOOPBACK, "--nworkers", str(count), "--nthreads", "1",
            "--local-directory", str(self.folder), *options, **environment,
        )  # fmt: skip

    def _start(self, *command: str, **environment: str) -> subprocess.Popen[bytes]:
        paths = environment.pop("PYTHONPATH", str(SUPPORT))
        with (self.folder / f"{len(self._processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *command],
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": paths, **environment},
                cwd=self.folder,  # where no other gpuadvise lies
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def stop(self) -> None:
        """End every process, and what it started."""
        for process in self._processes:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def pids(self) -> set[int]:
        """Return the processes of the sessions that were started here."""
        sessions = {process.pid for process in self._processes}
        found = set()
        for entry in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                pid = int(entry.name)
                if os.getsid(pid) in sessions:
                    found.add(pid)
        return found


def until(holds, patience: float = _PATIENCE) -> None:
    """Wait until *holds* returns something true."""
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline, f"not within {patience} s"
        time.sleep(0.05)
