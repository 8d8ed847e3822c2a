"""Findings that were there before: in a saved answer, or in the sources of a commit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput, TooCostly, Unavailable
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.source.known_diagnostics import KnownDiagnostics, key_of, plain_path
from gpuadvise.cli.lint.answer import FURTHER
from gpuadvise.cli.lint.gather import STDIN, SourceFile, linted_source

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.cli.lint.file_rules import FileRules


def without_saved(read: Iterable[SourceFile], path: str) -> list[SourceFile]:
    """Return *read* with the findings that the saved answer *path* does not have; raises BadInput."""
    from gpuadvise.cli.saved_answer import saved_answer

    answer = saved_answer(path, command="lint", option="--baseline")
    known = KnownDiagnostics()
    try:
        for finding in answer["findings"]:
            place = finding["location"]
            rule, file = str(finding["rule"]), plain_path(place["file"])
            first, *further = finding["evidence"]
            known.add((rule, file, place["kernel"]), str(first["value"]))
            for other in further:
                kernel = str(other["label"]).removeprefix(FURTHER) or None
                known.add((rule, file, kernel), str(other["value"]))
    except (KeyError, TypeError, AttributeError, ValueError):
        name = f"--baseline: {quoted(path)}"
        raise BadInput(f"{name} is not an answer of `gpuadvise lint --format json`.") from None
    return [_with_new(source, known) for source in read]


def without_committed(
    read: Iterable[SourceFile], commit: str, rules: FileRules
) -> list[SourceFile]:
    """Return *read* with the findings that the same files did not have in *commit*.

    Raises BadInput and Unavailable as git_commit does. A file that was not there, or could not be
    judged as it was, has new findings only.
    """
    from gpuadvise.advisor.backends.git_commit import content_in

    left = []
    for source in read:
        if source.path == STDIN:
            raise BadInput("--since compares files with a commit, and standard input is none.")
        known, before = KnownDiagnostics(), content_in(commit, source.path)
        if before is not None:
            for diagnostic in _diagnostics(source, before, rules):
                known.add(key_of(diagnostic), diagnostic.seen)
        left.append(_with_new(source, known))
    return left


def _diagnostics(source: SourceFile, before: bytes, rules: FileRules) -> tuple[Diagnostic, ...]:
    if before == source.data:
        return source.linted.diagnostics
    if source.cells:
        from gpuadvise.advisor.source.notebook import read_notebook

        try:
            before = read_notebook(before, source.path).code
        except BadInput:
            return ()
    try:
        old = linted_source(
            source.path,
            before,
            rules.of(source.path),
            python=source.python,
            surroundings=source.surroundings,
        )
    except (BadInput, TooCostly, Unavailable):
        return ()
    return old.linted.diagnostics


def _with_new(source: SourceFile, known: KnownDiagnostics) -> SourceFile:
    new = known.new_among(source.linted.diagnostics)
    count = len(source.linted.diagnostics) - len(new)
    return replace(source, linted=replace(source.linted, diagnostics=new), known=count)
