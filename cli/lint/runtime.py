"""``lint --runtime``: a program is run, and the places where it waits for the GPU are findings."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from gpuadvise.advisor.backends.recorded_program import AuditedProgram, GpuUse, record_waits
from gpuadvise.advisor.backends.temporary_folder import temporary_folder
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import plural, quoted_path
from gpuadvise.advisor.source.text import LARGEST
from gpuadvise.cli.blocks import Line, Tone
from gpuadvise.cli.emit import complain, emit
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format, Output
from gpuadvise.cli.lint.answer import answer
from gpuadvise.cli.lint.gather import SourceFile
from gpuadvise.rules.source.waits import lint_waits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuadvise.advisor.source.waits import Wait
    from gpuadvise.cli.answer import Answer
    from gpuadvise.cli.lint.file_rules import FileRules

_WHY = {
    GpuUse.UNUSED: "The program never used the GPU through PyTorch, so nothing was counted.",
    GpuUse.MISSING: "PyTorch sees no GPU here: what waits for one can only be counted where there is one.",
}


def audit(
    program: list[str],
    rules: FileRules,
    inputs: Mapping[str, Any],
    output: Output,
    target: str | None,
) -> NoReturn:
    """Run *program*, say where it waited for the GPU on stderr or in the file *target*, and end as it ended.

    Where the program ends with 0 the exit code is that of ``lint``. Raises BadInput before the program runs.
    """
    _refuse_mixed_output(output, target)
    rules.gate([os.curdir])
    with temporary_folder() as folder:
        audited = record_waits(program, folder)
    if audited.gpu is not GpuUse.USED or (audited.fault and not audited.waits):
        hint = "gpuadvise lint FILE... finds waits in the sources without running them."
        complain(_nothing(audited), hint if audited.gpu is GpuUse.MISSING else None)
        sys.exit(audited.exit_code or Exit.UNAVAILABLE)
    said = _answer(audited, rules, inputs)
    try:
        if target is None:
            with redirect_stdout(sys.stderr):
                code = emit(said, output)
        else:
            with open(target, "w", encoding="utf-8") as file, redirect_stdout(file):
                code = emit(said, output)
    except OSError as error:
        name = quoted_path(target or "")
        complain(f"--output: {name} cannot be written: {error.strerror}.")
        code = Exit.UNAVAILABLE
    sys.exit(audited.exit_code or code)


def _refuse_mixed_output(output: Output, target: str | None) -> None:
    """Raise BadInput where the answer would stand among what the program prints, or cannot be written."""
    if target is None and (output.format != Format.TEXT or output.fields):
        asked = f"--format {output.format}" if output.format != Format.TEXT else "--get"
        raise BadInput(
            f"--runtime: {asked} needs --output FILE, since the program prints on the same streams.",
            hint="gpuadvise lint --runtime --format sarif --output waits.sarif -- python train.py",
        )
    if target is not None and (
        not Path(target).absolute().parent.is_dir() or os.path.isdir(target)
    ):
        raise BadInput(
            f"--output: {quoted_path(target)} is no file that could be written.",
            hint="Name a file in a folder that is there.",
        )


def _nothing(audited: AuditedProgram) -> str:
    """Return why nothing was counted."""
    if audited.fault is not None:
        return f"Waits for the GPU could not be counted: {audited.fault}."
    if not audited.uses_torch:
        return "The program did not import torch, so nothing was counted."
    if audited.gpu is None:
        return "The program ended before it could say where it waits for the GPU."
    return _WHY[audited.gpu]


def _answer(audited: AuditedProgram, rules: FileRules, inputs: Mapping[str, Any]) -> Answer:
    by_file: dict[str, list[Wait]] = defaultdict(list)
    for wait in audited.waits:
        by_file[_shown_path(wait.frames[0].file)].append(wait)
    by_file = {path: waits for path, waits in by_file.items() if not rules.excludes(path)}
    # What waited most stands first.
    ordered = sorted(by_file, key=lambda path: (-sum(w.count for w in by_file[path]), path))
    read = [_source(path, by_file[path], rules) for path in ordered]
    baseline = inputs["baseline"]
    if baseline:
        from gpuadvise.cli.lint.baseline import without_saved

        read = without_saved(read, baseline)
    said = answer(read, inputs, rules, (), _notes(audited))
    if any(source.linted.diagnostics for source in read):
        return said
    silent = "No wait for the GPU" if not read else "No wait for the GPU that is not accepted"
    return said._replace(blocks=lambda: (Line(f"{silent}.", Tone.STRONG),))


def _shown_path(file: str) -> str:
    """Return *file* below the working folder as relative to it, as ``lint`` would name it."""
    try:
        below = os.path.relpath(file)
    except (OSError, ValueError):  # the working folder is gone, or on another drive
        return file
    return file if below.startswith(os.pardir) else below


def _source(path: str, waits: Sequence[Wait], rules: FileRules) -> SourceFile:
    """Return *path* with its *waits*; what cannot be read has places, and no text."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST)
        linted = lint_waits(data, path, waits, rules.of(path))
    except (OSError, BadInput):
        data = b""
        linted = lint_waits(data, path, waits, rules.of(path))
    return SourceFile(path=path, data=data, linted=linted, python=True)


def _notes(audited: AuditedProgram) -> list[str]:
    total = sum(wait.count for wait in audited.waits)
    places = {(wait.frames[0].file, wait.frames[0].line) for wait in audited.waits}
    notes = [f"{plural(total, 'wait')} for the GPU at {plural(len(places), 'line')} while it ran."]
    if audited.fault is not None:
        notes.append(f"Not all could be counted: {audited.fault}.")
    if audited.uncounted:
        notes.append(f"{plural(audited.uncounted, 'more wait')} from other places not counted.")
    return notes
