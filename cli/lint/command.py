"""``gpuadvise lint``: faults that CUDA and PyTorch source files show."""

from __future__ import annotations

from typing import Annotated

import typer

from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import and_list, plural, quoted, quoted_path
from gpuadvise.advisor.source.fixes import Mended, mended
from gpuadvise.cli import completion
from gpuadvise.cli.emit import emit, note, stream
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format, Output
from gpuadvise.cli.lint.answer import LINT_RULES, answer
from gpuadvise.cli.lint.gather import Source, sources
from gpuadvise.cli.options import Get, Text, pick
from gpuadvise.rules.model import Priority

EXAMPLES = """\
  gpuadvise lint kernel.cu
  gpuadvise lint src/ --fail-on high --format github
  gpuadvise lint train.py --format sarif > lint.sarif
  gpuadvise lint kernel.cu --diff
  gpuadvise lint src/ --ignore slow-math,unrestricted-pointers --fix"""


def command(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help=".cu, .cuh, .py, a folder; -: stdin.")
    ],
    select: Annotated[Text, pick("select", "Only these rules, separated by commas.")] = None,
    ignore: Annotated[Text, pick("ignore", "Not these rules, separated by commas.")] = None,
    fail_on: Annotated[
        Text, pick("fail_on", "Exit 1 on high, medium, low.", complete=completion.priorities)
    ] = None,
    fix: Annotated[bool, pick("fix")] = False,
    diff: Annotated[bool, pick("diff")] = False,
    format: Annotated[
        str, pick("format", "text, json, ndjson, csv, markdown, sarif or github.")
    ] = Format.TEXT,
    get: Get = None,
) -> Exit:
    """Say which faults FILE shows, where, and what to write instead."""
    limit = _priority(fail_on)
    notes: list[str] = []
    chosen, left_out = _ids("--select", select), _ids("--ignore", ignore)
    read = list(sources(files, select=chosen, ignore=left_out, notes=notes))
    if fix or diff:
        return _mend(read, write=fix and not diff, notes=notes)
    inputs = {"files": files, "select": chosen, "ignore": left_out, "fail_on": fail_on}
    return emit(answer(read, inputs, limit, notes), Output(format=format, fields=tuple(get or ())))


def _priority(words: str | None) -> Priority | None:
    if words is None:
        return None
    try:
        return Priority(words)
    except ValueError:
        known = and_list([str(p) for p in Priority], "or")
        raise BadInput(
            f"--fail-on: {quoted(words)} is not a priority.", hint=f"Use {known}."
        ) from None


def _ids(option: str, words: str | None) -> list[str]:
    ids = [word.strip() for word in (words or "").split(",") if word.strip()]
    for name in ids:
        if name not in LINT_RULES:
            raise BadInput(
                f"{option}: there is no rule {quoted(name)}.", hint="See gpuadvise rules."
            )
    return ids


def _mend(read: list[Source], *, write: bool, notes: list[str]) -> Exit:
    fixed = 0
    for source in read:
        result = mended(source.data, source.linted.diagnostics, python=source.python)
        fixed += len(result.fixed)
        if not result.fixed:
            continue
        if write and source.path != "<stdin>":
            _write(source.path, result)
        else:
            stream(_difference(source, result))
    note(*notes, f"{plural(fixed, 'fault')} {'fixed' if write else 'can be fixed'}.")
    return Exit.RAN


def _write(path: str, result: Mended) -> None:
    try:
        with open(path, "r+b") as file:
            file.write(result.data)
            file.truncate()
    except OSError as error:
        raise Unavailable(f"{quoted_path(path)}: {error.strerror}.") from None


def _difference(source: Source, result: Mended) -> list[str]:
    from difflib import unified_diff

    before, after = (
        d.decode("utf-8", "replace").splitlines(keepends=True) for d in (source.data, result.data)
    )
    lines = unified_diff(before, after, f"a/{source.path}", f"b/{source.path}")
    return [line if line.endswith("\n") else f"{line}\n" for line in lines]
