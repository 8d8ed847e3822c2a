"""``gpuadvise run -- python train.py``: run a program, record it meanwhile, say where its time went."""

from __future__ import annotations

import shlex
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

from gpuadvise.advisor.backends.recorded_program import (
    ProgramRecorder,
    Recipe,
    RecordedProgram,
    record_program,
)
from gpuadvise.advisor.backends.temporary_folder import temporary_folder
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import plural, quoted_path
from gpuadvise.advisor.quantity import show_seconds
from gpuadvise.cli.emit import complain, note
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.options import Text, pick
from gpuadvise.cli.parameters import argument

# Below it the median of three steps says little: they differ by as much from each other.
SLOWED = 1.3
# Options behind the program's name are the program's own, with and without "--" before it.
SETTINGS = {"allow_interspersed_args": False}
EXAMPLES = """\
  gpuadvise run -- python train.py --epochs 1
  gpuadvise run --stacks --keep trace.json -- python train.py
  gpuadvise run --warmup 20 --steps 5 -- torchrun --nproc-per-node 8 train.py"""


def command(
    program: Annotated[list[str], argument("-- COMMAND...", "The program and its arguments.")],
    warmup: Annotated[int | None, pick("warmup")] = None,
    steps: Annotated[int | None, pick("steps")] = None,
    stacks: Annotated[bool, pick("stacks")] = False,
    keep: Annotated[Text, pick("keep")] = None,
) -> Exit:
    """Run COMMAND, record it, and say on stderr where its time went; its exit code stays."""
    usual = Recipe()
    recipe = Recipe(warmup=warmup or usual.warmup, steps=steps or usual.steps, stacks=stacks)
    kept = None if keep is None else _checked(keep)
    with temporary_folder() as folder:
        recorded = record_program(program, folder, recipe)
        if not recorded.recordings:
            hint = "nsys profile --trace=cuda,nvtx,osrt records any program that uses a GPU."
            if recorded.recorder is ProgramRecorder.TORCH and recorded.uses_torch:
                hint = "Give fewer: gpuadvise run --warmup 1 --steps 1 -- COMMAND."
            complain(_nothing(recorded, recipe), hint)
            sys.exit(recorded.exit_code or Exit.UNAVAILABLE)
        left = kept is None or _keep(recorded, kept)
        answered = _answer(recorded, kept if left else None)
    sys.exit(recorded.exit_code or (Exit.RAN if left and answered else Exit.UNAVAILABLE))


def _checked(keep: str) -> Path:
    """Return where to leave the recording; raises BadInput before the program runs."""
    path = Path(keep)
    if not path.parent.is_dir() or path.is_dir():
        raise BadInput(
            f"--keep: {quoted_path(keep)} is no file that could be written.",
            hint="Name a file in a folder that is there.",
        )
    return path


def _nothing(recorded: RecordedProgram, recipe: Recipe) -> str:
    """Return why there is no recording."""
    if recorded.recorder is not ProgramRecorder.TORCH:
        return f"{recorded.recorder} wrote no recording."
    if recorded.fault is not None:
        return f"PyTorch's profiler did not record: {recorded.fault}."
    if not recorded.started_python:
        return (
            "No Python that could be recorded was started: one with -I, -E or -S ignores PYTHONPATH, "
            "so nothing was recorded."
        )
    if not recorded.uses_torch:
        return "The program did not import torch, so nothing was recorded."
    return (
        f"The program took no step after a warm-up of {plural(recipe.warmup, 'step')}: nothing was "
        "recorded. A step is one of its first optimizer, or a call of a module where nothing is trained."
    )


def _keep(recorded: RecordedProgram, target: Path) -> bool:
    """Leave the recording as *target*, several of them in a folder of that name; return whether it is there."""
    try:
        if len(recorded.recordings) == 1:
            _copy(recorded.recordings[0], target)
            return True
        target.mkdir(exist_ok=True)
        for path in recorded.recordings:
            shutil.copyfile(path, target / path.name)
    except OSError as error:
        complain(f"--keep: {quoted_path(str(target))} cannot be written: {error.strerror}.", None)
        return False
    return True


def _copy(recording: Path, target: Path) -> None:
    """Copy *recording* to *target*, packed where its name says so: other viewers go by the name."""
    if target.suffix != ".gz":
        shutil.copyfile(recording, target)
        return
    import gzip

    with recording.open("rb") as plain, gzip.open(target, "wb", compresslevel=3) as packed:
        shutil.copyfileobj(plain, packed)


def _answer(recorded: RecordedProgram, kept: Path | None) -> bool:
    """Say on stderr where the time went, as ``timeline`` or ``advise`` does; return whether it could."""
    from gpuadvise.cli.main import main

    verb = "advise" if recorded.recorder is ProgramRecorder.NCU else "timeline"
    if recorded.fault is not None:
        note(f"{recorded.fault}.")
    pace = recorded.pace
    if pace is not None and pace.recorded > SLOWED * pace.before:
        note(
            f"Recording slowed the host: it took {show_seconds(pace.recorded)} for a step, and {show_seconds(pace.before)} "
            "before. Without it the GPU idles less; measure what a change wins on the program itself."
        )
    with redirect_stdout(sys.stderr):
        first, *others = recorded.recordings
        # Of several ranks the folder that holds a recording for each.
        code = main([verb, str(first.parent if others else first)])
    if kept is not None:
        note(f"The recording is kept: {shlex.join(['gpuadvise', 'advise', str(kept)])}")
    return code == Exit.RAN
