"""Questions to drivers, asked by child processes so that none can hang or crash this one."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from gpuadvise.advisor.backends.driver_presence import driver_present

if TYPE_CHECKING:
    from collections.abc import Sequence

# A cold driver without persistence mode takes one to three seconds per GPU.
PATIENCE_SECONDS = 30.0
_FAREWELL_SECONDS = 0.5
# What a child that has answered in time gets to hand its answer over.
_GRACE_SECONDS = 0.2
_PAUSE_SECONDS = 0.002
_SPAWNED = (
    "import sys; from gpuadvise.advisor.backends.probe_child import main; main(*sys.argv[1:])"
)


class Probe(StrEnum):
    """What can be asked."""

    DRIVER = "driver"
    LAUNCH = "launch"  # see ask_about
    NVML = "nvml"
    NVML_LIVE = "nvml-live"
    NVML_IDENTITY = "nvml-identity"


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """The JSON value that a probe printed, or the *problem* as a sentence."""

    answer: Any = None
    problem: str | None = None


class _Child(Protocol):
    """A process that answers one question: spawned or forked."""

    returncode: Any

    def communicate(self, *, timeout: float) -> tuple[bytes, bytes]:
        """Return what it wrote; raises subprocess.TimeoutExpired."""

    def kill(self) -> None:
        """End it."""

    def poll(self) -> int | None:
        """Return its exit status if it has ended."""


# Children that were asked before anybody wanted to know: see ``ask_ahead``.
_ahead: dict[Probe, _Child] = {}
# Forks that have answered or were ended; how long the driver takes to let them go is not waited for.
_leaving: list[_Forked] = []


def ask_ahead(probes: Sequence[Probe]) -> None:
    """Ask *probes* now, for an ``ask_all`` to come: drivers start while Python imports modules.

    Only where a driver is and a fork is safe; elsewhere nothing happens.
    """
    if driver_present() and _can_fork():
        atexit.register(_forget)
        with contextlib.suppress(OSError):  # no process is left: whoever wants to know says so
            _ahead.update((probe, _Forked(probe)) for probe in probes)


def _forget() -> None:
    """End the children whose answer nobody fetched."""
    while _ahead:
        _, child = _ahead.popitem()
        child.kill()


def ask_all(
    probes: Sequence[Probe],
    *,
    patience: float = PATIENCE_SECONDS,
    python: Sequence[str] = (),
) -> list[ProbeOutcome]:
    """Return the outcome of each of *probes*; they run side by side, *patience* seconds at most.

    A child is forked where that is safe, else a new Python is started: *python*, where given.
    """
    _leaving[:] = [child for child in _leaving if child.poll() is None]
    deadline = time.monotonic() + patience
    children = [_ahead.pop(probe) if probe in _ahead else _child(probe, python) for probe in probes]
    pairs = zip(probes, children, strict=True)
    return [_outcome(probe, child, patience, deadline) for probe, child in pairs]


def ask_about(
    probe: Probe, question: Any, *, patience: float = PATIENCE_SECONDS, python: Sequence[str] = ()
) -> ProbeOutcome:
    """Return the outcome of *probe* about *question*, a JSON value; as ``ask_all`` otherwise."""
    deadline = time.monotonic() + patience
    return _outcome(probe, _child(probe, python, json.dumps(question)), patience, deadline)


def _child(probe: Probe, python: Sequence[str], *question: str) -> _Child:
    try:
        return _started(probe, python, *question)
    except OSError as error:
        return _Unstarted(error)


def _started(probe: Probe, python: Sequence[str], *question: str) -> _Child:
    if not python and _can_fork():
        return _Forked(probe, *question)
    return subprocess.Popen(
        [*(python or (sys.executable, "-P", "-c", _SPAWNED)), probe, *question],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _can_fork() -> bool:
    """Return whether a fork of this process may use the drivers.

    Other threads may hold locks that a fork never gets, and CUDA refuses to work in the child
    of a process that has loaded it. Python itself takes longer to start than NVML.
    """
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            return len(os.listdir("/proc/self/task")) == 1 and "libcuda." not in maps.read()
    except OSError:  # no Linux
        return False


class _Unstarted:
    """A process that the system did not give, at a limit of processes or for want of memory."""

    returncode = 0

    def __init__(self, error: OSError) -> None:
        self._why = f"no process can be started ({error.strerror})"

    def communicate(self, *, timeout: float) -> tuple[bytes, bytes]:
        """Return no answer, and why there is none, within any *timeout*."""
        return b"", self._why.encode()

    def kill(self) -> None:
        """Do nothing: there is nothing to end."""

    def poll(self) -> int:
        """Return that it has ended."""
        return self.returncode


class _Forked:
    """A fork of this process that answers *probe*, about a *question*, through a pipe."""

    def __init__(self, probe: Probe, *question: str) -> None:
        self._pipe, writing = os.pipe()
        self.returncode: int | None = None
        try:
            self.pid = os.fork()
        except OSError:
            os.close(self._pipe)
            os.close(writing)
            raise
        if not self.pid:
            _answer(writing, probe, *question)
        os.close(writing)

    def communicate(self, *, timeout: float) -> tuple[bytes, bytes]:
        """Return what it wrote until it closed its end; raises subprocess.TimeoutExpired."""
        import select

        parts: list[bytes] = []
        deadline = time.monotonic() + timeout
        while select.select([self._pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            part = os.read(self._pipe, 1 << 16)
            if not part:
                os.close(self._pipe)
                self._leave(deadline, answered=bool(parts))
                return b"".join(parts), b""
            parts.append(part)
        raise subprocess.TimeoutExpired("probe", timeout)

    def _leave(self, deadline: float, *, answered: bool) -> None:
        """Take the exit status; of a child without an answer it says whether it crashed."""
        if answered:
            self.returncode = 0
            _leaving.append(self)
            return
        while self.poll() is None and time.monotonic() < deadline:
            time.sleep(_PAUSE_SECONDS)

    def kill(self) -> None:
        """End it, and hear no more of it; a process stuck in the kernel stays."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.close(self._pipe)
        _leaving.append(self)

    def poll(self) -> int | None:
        """Return its exit status if it has ended."""
        with contextlib.suppress(ChildProcessError):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if not pid:
                return None
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


def _answer(pipe: int, probe: Probe, *question: str) -> NoReturn:
    """Write the answer to *probe* into *pipe* and end this process, which is a fork.

    What a library prints is no part of the answer. Nothing of the parent's is flushed or closed.
    """
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        text = _answered(probe, *question)
        with open(pipe, "w", encoding="utf-8") as file:
            file.write(text)
    finally:
        os._exit(0)


def _answered(probe: Probe, *question: str) -> str:
    from gpuadvise.advisor.backends.probe_child import answer

    try:
        return answer(probe, *question)
    except Exception as error:  # ours or a library's: the parent says it in a sentence
        return json.dumps({"problem": f"{_label(probe)} could not be asked: {error}."})


def _label(probe: Probe) -> str:
    return "The CUDA driver" if probe in (Probe.DRIVER, Probe.LAUNCH) else "NVML"


def _outcome(probe: Probe, child: _Child, patience: float, deadline: float) -> ProbeOutcome:
    label = _label(probe)
    try:
        out, errors = child.communicate(timeout=max(_GRACE_SECONDS, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        _abandon(child)
        return ProbeOutcome(
            problem=f"{label} did not answer within {patience:g} s and was left alone."
        )
    if (child.returncode or 0) < 0:
        return ProbeOutcome(problem=f"{label} crashed when asked (signal {-child.returncode}).")
    try:
        return ProbeOutcome(answer=json.loads(out))
    except ValueError:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        return ProbeOutcome(problem=f"{label} could not be asked: {last or 'no answer'}.")


def _abandon(child: _Child) -> None:
    # A child stuck inside the kernel cannot be killed; waiting for it would hang us as well.
    child.kill()
    if isinstance(child, subprocess.Popen):
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.communicate(timeout=_FAREWELL_SECONDS)
        for pipe in filter(None, (child.stdout, child.stderr)):
            pipe.close()
    child.poll()
