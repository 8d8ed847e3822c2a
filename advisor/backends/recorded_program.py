"""Programs that are run as somebody would run them, and recorded meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.source.waits import StackFrame, Wait

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import FrameType

_HOOK = Path(__file__).parent / "torch_hook"
_FORWARDED = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
)
_IMPORTS_TORCH = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
_PYTHON_STARTERS = ("torchrun", "accelerate", "deepspeed", "pytest", "ipython", "uv", "poetry")
# What starts other programs, of which one may be a Python with PyTorch.
_STARTERS = frozenset(
    ("sh", "bash", "dash", "zsh", "fish", "env", "nice", "taskset", "numactl", "timeout", "make", "just",
     "srun", "mpirun", "mpiexec", "conda", "mamba", "micromamba", "pixi", "hatch", "pdm", "tox", "nox")
)  # fmt: skip
_MOST_SECONDS = 30  # to ask an interpreter
# The first ones of a program also load and allocate; the median of three has one of them at most.
_FEWEST_STEPS = 3
# 128 and the signal's number: what a shell says of a program that a signal ended.
_ENDED_BY_SIGNAL = 128


class ProgramRecorder(StrEnum):
    """What records a program."""

    TORCH = "torch"
    NSYS = "nsys"
    NCU = "ncu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How much of a program to record: *steps* of PyTorch after *warmup* of them."""

    warmup: int = 5
    steps: int = 3
    stacks: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Seconds of the host from one step of PyTorch to the next, the median before and in a recording."""

    before: float
    recorded: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedProgram:
    """A program that has ended: its exit code, what it was recorded with, and the recordings.

    *pace* is None where too few steps were counted. *fault* says why PyTorch's profiler wrote none, where it was tried. *started_python*: a Python
    that could be recorded started; *uses_torch*: one of them imported torch.
    """

    exit_code: int
    recorder: ProgramRecorder
    recordings: tuple[Path, ...]
    started_python: bool = False
    uses_torch: bool = False
    pace: Pace | None = None
    fault: str | None = None


class GpuUse(StrEnum):
    """What a program had of a GPU, the most telling first."""

    USED = "used"
    UNUSED = "unused"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedProgram:
    """A program that has ended, and where it waited for the GPU; *uncounted* waits are of stacks beyond a bound.

    *gpu* is None where no process of it lived to say.
    """

    exit_code: int
    waits: tuple[Wait, ...]
    uncounted: int
    uses_torch: bool
    gpu: GpuUse | None
    fault: str | None


def recorder_for(command: Sequence[str]) -> ProgramRecorder:
    """Return what can record *command*.

    Raises BadInput where there is no such program, Unavailable where nothing here records it.
    """
    name = command[0]
    program = shutil.which(name)
    if program is None:
        hint = (
            "Name its Python, too: gpuadvise run -- python SCRIPT."
            if name.endswith(".py")
            else None
        )
        raise BadInput(f"{quoted(name)} is not a program that can be run here.", hint=hint)
    if _starts_torch(program):
        return ProgramRecorder.TORCH
    if shutil.which(ProgramRecorder.NSYS):
        return ProgramRecorder.NSYS
    if _starts_programs(program):
        return ProgramRecorder.TORCH
    if shutil.which(ProgramRecorder.NCU):
        return ProgramRecorder.NCU
    raise Unavailable(
        f"Nothing here can record {quoted(os.path.basename(program))}: it starts no Python with "
        "PyTorch, and neither nsys nor ncu is on PATH.",
        hint="Install Nsight Systems, or record elsewhere: nsys profile --trace=cuda,nvtx,osrt ...",
    )


def _starts_programs(program: str) -> bool:
    """Return whether *program* starts others: a launcher, or a script of another language than Python."""
    if os.path.basename(program) in _STARTERS:
        return True
    with suppress(OSError), open(program, "rb") as file:
        return file.read(2) == b"#!" and _interpreter_of(program) is None
    return False


def _starts_torch(program: str) -> bool:
    """Return whether *program* is a Python, or starts one, that has PyTorch."""
    name = os.path.basename(program)
    if name.startswith(_PYTHON_STARTERS):
        return True
    interpreter = program if name.startswith("python") else _interpreter_of(program)
    if interpreter is None:
        return False
    with suppress(OSError, subprocess.TimeoutExpired):
        asked = subprocess.run(
            [*interpreter.split(), "-c", _IMPORTS_TORCH],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_MOST_SECONDS,
            check=False,
        )
        return asked.returncode == 0
    return False


def _interpreter_of(program: str) -> str | None:
    """Return the Python that a script names in its first line."""
    try:
        with open(program, "rb") as file:
            first = file.readline(500)
    except OSError:
        return None
    words = first[2:].decode("utf-8", "replace").split() if first.startswith(b"#!") else []
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-")]
    return words[0] if words and os.path.basename(words[0]).startswith("python") else None


def record_program(command: Sequence[str], folder: str, recipe: Recipe) -> RecordedProgram:
    """Run *command* with this process's input, output and error, and record it to *folder*.

    Raises as ``recorder_for`` does, and BadInput where the program cannot be started.
    """
    recorder = recorder_for(command)
    environment = dict(os.environ)
    if recorder is ProgramRecorder.TORCH:
        environment |= _hooked(environment, folder) | {
            "GPUADVISE_RUN_WARMUP": str(recipe.warmup),
            "GPUADVISE_RUN_STEPS": str(recipe.steps),
            "GPUADVISE_RUN_STACKS": str(int(recipe.stacks)),
        }
        exit_code = _run(list(command), environment)
        recordings = sorted(Path(folder).glob("rank*.json"))
    elif recorder is ProgramRecorder.NSYS:
        exit_code, recordings = _with_nsys(command, folder, environment)
    else:
        report = os.path.join(folder, "report")
        profiled = ["ncu", "--quiet", "--launch-count", "50", "--force-overwrite", "-o", report]
        exit_code = _run([*profiled, *command], environment)
        recordings = sorted(Path(folder).glob("report.ncu-rep*"))
    return RecordedProgram(
        exit_code=exit_code,
        recorder=recorder,
        recordings=tuple(recordings),
        started_python=(Path(folder) / "python-started").exists(),
        uses_torch=_imported_torch(folder),
        pace=_pace(folder),
        fault=_fault(folder),
    )


def _pace(folder: str) -> Pace | None:
    """Return the pace of the first process that was recorded."""
    for path in sorted(Path(folder).glob("pace-*.json")):
        times = json.loads(path.read_text("utf-8"))
        if len(times["before"]) >= _FEWEST_STEPS and times["recorded"]:
            return Pace(before=median(times["before"]), recorded=median(times["recorded"]))
    return None


def _imported_torch(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, "torch-imported"))


def _fault(folder: str) -> str | None:
    """Return the first thing that the hook says went wrong."""
    fault = Path(folder) / "fault.txt"
    return fault.read_text("utf-8", "replace").splitlines()[0] if fault.exists() else None


def record_waits(command: Sequence[str], folder: str) -> AuditedProgram:
    """Run *command* with this process's input, output and error, and count where PyTorch waits for the GPU.

    Raises BadInput where there is no such program, Unavailable where it starts no Python with PyTorch.
    """
    program = shutil.which(command[0])
    if program is None:
        raise BadInput(f"{quoted(command[0])} is not a program that can be run here.")
    if not _starts_torch(program):
        raise Unavailable(
            f"{quoted(os.path.basename(program))} starts no Python that has PyTorch, which is what says "
            "where a program waits for the GPU.",
            hint="Name the Python of the environment that the program runs in.",
        )
    environment = dict(os.environ)
    environment |= _hooked(environment, folder) | {"GPUADVISE_RUN_WAITS": "1"}
    exit_code = _run(list(command), environment)
    counted = [_counted(path) for path in sorted(Path(folder).glob("waits-*.json"))]
    states = {state for state, _, _ in counted}
    return AuditedProgram(
        exit_code=exit_code,
        waits=tuple(wait for _, waits, _ in counted for wait in waits),
        uncounted=sum(uncounted for _, _, uncounted in counted),
        uses_torch=_imported_torch(folder),
        gpu=next((state for state in GpuUse if state in states), None),
        fault=_fault(folder),
    )


def _counted(path: Path) -> tuple[GpuUse, list[Wait], int]:
    """Return what one process of the program wrote: its use of a GPU, its waits, and how many more there were."""
    written = json.loads(path.read_text("utf-8"))
    waits = [
        Wait(
            frames=tuple(
                StackFrame(str(file), int(line), str(name)) for file, line, name in stack["frames"]
            ),
            through=stack["through"],
            count=int(stack["count"]),
        )
        for stack in written["stacks"]
    ]
    return GpuUse(written["gpu"]), waits, int(written["uncounted"])


def _hooked(environment: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return the variables that have a Python record itself to *folder*."""
    paths = [str(_HOOK), *filter(None, [environment.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths), "GPUADVISE_RUN_FOLDER": folder}


def _with_nsys(
    command: Sequence[str], folder: str, environment: Mapping[str, str]
) -> tuple[int, list[Path]]:
    """Run *command* below Nsight Systems, and export what it recorded."""
    report = os.path.join(folder, "report")
    profiled = [
        "nsys", "profile", "--trace=cuda,nvtx,osrt", "--sample=none", "--cpuctxsw=none",
        "--force-overwrite=true", "--output", report,
    ]  # fmt: skip
    exit_code = _run([*profiled, *command], environment)
    exported = Path(f"{report}.sqlite")
    export = ["nsys", "export", "--type", "sqlite", "--force-overwrite=true"]
    subprocess.run(
        [*export, "--output", str(exported), f"{report}.nsys-rep"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return exit_code, [exported] if exported.exists() else []


def _run(command: list[str], environment: Mapping[str, str]) -> int:
    """Run *command* to its end, pass signals on to it, and return its exit code as a shell would."""
    sys.stdout.flush()
    try:
        process = subprocess.Popen(command, env=dict(environment))
    except OSError as error:
        raise BadInput(f"{quoted(command[0])} cannot be started: {error.strerror}.") from None
    with _passing_on(process):
        code = process.wait()
    return code if code >= 0 else _ENDED_BY_SIGNAL - code


@contextmanager
def _passing_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass the signals that this process gets on to *process*."""

    def pass_on(number: int, _: FrameType | None) -> None:
        # A terminal sends those of its keys to the program as well.
        if number not in _OF_KEYS or not _in_foreground():
            process.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in _FORWARDED}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_OF_KEYS = frozenset(
    getattr(signal, name) for name in ("SIGINT", "SIGQUIT") if hasattr(signal, name)
)


def _in_foreground() -> bool:
    """Return whether the keys of the terminal reach this process, wherever its input comes from."""
    with suppress(OSError), open("/dev/tty", "rb") as terminal:
        return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    return False
