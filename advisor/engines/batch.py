"""What a worker of a cluster runs: a batch of inputs in a child process with limits."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from enum import StrEnum
from typing import IO, NamedTuple

from gpuadvise.advisor.engines.child import OUT_OF_MEMORY, frames

PACKAGE = "gpuadvise"
_CHILD = "gpuadvise.advisor.engines.child"
_PIECE = 1 << 20  # bytes read at once
_LAST = 1000  # bytes of what it wrote that are looked at
_FAREWELL_SECONDS = 1.0


class Fate(StrEnum):
    """How a child ended before it had answered all of its inputs."""

    TIME = "time"
    MEMORY = "memory"
    DIED = "died"


class BatchAnswer(NamedTuple):
    """What came of a batch: pickled *results* of its first inputs, and what ended it before the rest.

    *refused* is why this worker runs nothing at all. *memory*, bytes, is what a child may take.
    """

    worker: str
    results: list[bytes]
    fate: Fate | None = None
    detail: str = ""
    refused: str = ""
    memory: int | None = None


def own_version() -> str:
    """Return the version of this program as it is installed: a child would run that one."""
    from importlib.metadata import version

    return version(PACKAGE)


def run_batch(version: str, folder: str, payload: bytes, seconds: float) -> BatchAnswer:
    """Return what the pickled work and inputs in *payload* came to, each within *seconds*.

    They run in *folder*, which the worker must have too, and by *version* of this program alone.
    """
    worker, memory = _place()
    if (own := own_version()) != version:
        refused = f"has gpuadvise {own}, and here is {version}"
        return BatchAnswer(worker, [], refused=refused)
    if not os.path.isdir(folder):
        return BatchAnswer(worker, [], refused=f"has no folder {folder}")
    results: list[bytes] = []
    try:
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
            given.write(payload)
            given.seek(0)
            child = _started(given, errors, folder, memory)
            in_time = _read(child, results, seconds)
            fate, detail = _end(child, errors, in_time=in_time)
    except OSError as error:
        return BatchAnswer(worker, [], refused=f"can start no process: {error.strerror}")
    return BatchAnswer(worker, results, fate, detail, memory=memory)


def _place() -> tuple[str, int | None]:
    """Return the address of this worker, and the bytes that each of its threads may use."""
    from distributed import get_worker

    worker = get_worker()
    limit = worker.memory_manager.memory_limit
    return worker.address, limit // worker.state.nthreads if limit else None


def _started(
    given: IO[bytes], errors: IO[bytes], folder: str, memory: int | None
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", _CHILD, str(memory or 0)],
        stdin=given,
        stdout=subprocess.PIPE,
        stderr=errors,
        cwd=folder,
        # A pool of threads for each core takes more memory than reading does.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,  # so that what it starts ends with it
    )


def _read(child: subprocess.Popen[bytes], results: list[bytes], seconds: float) -> bool:
    """Add the results of *child* to *results*; return whether each came within *seconds*."""
    assert child.stdout is not None
    pipe = child.stdout.fileno()
    waiting = bytearray()
    deadline = time.monotonic() + seconds
    while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        piece = os.read(pipe, _PIECE)
        if not piece:
            return True
        waiting += piece
        before = len(results)
        frames(waiting, results.append)
        if len(results) > before:
            deadline = time.monotonic() + seconds
    return False


def _end(
    child: subprocess.Popen[bytes], errors: IO[bytes], *, in_time: bool
) -> tuple[Fate | None, str]:
    """End *child* and all that it started; return why it gave no more results."""
    code = None
    with suppress(subprocess.TimeoutExpired):
        code = child.wait(_FAREWELL_SECONDS if in_time else 0)
    with suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):  # one that is stuck in the kernel stays
        child.wait(_FAREWELL_SECONDS)
    assert child.stdout is not None
    child.stdout.close()
    if not in_time or code is None:
        return Fate.TIME, ""
    if code == OUT_OF_MEMORY:
        return Fate.MEMORY, ""
    if code:
        return Fate.DIED, f"signal {-code}" if code < 0 else f"exit code {code}{_last_line(errors)}"
    return None, ""


def _last_line(errors: IO[bytes]) -> str:
    """Return what a child wrote last in brackets, where it wrote anything."""
    end = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, end - _LAST))
    line = errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
    return f" ({line})" if line else ""
