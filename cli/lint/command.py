"""``gpuadvise lint``: faults that CUDA and PyTorch source files show."""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING, Annotated, NamedTuple, TextIO

from gpuadvise.advisor.backends.content_cache import cache_folder
from gpuadvise.advisor.backends.remote_files import is_address, located
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, inert, plural, quoted, quoted_path, without_commands
from gpuadvise.advisor.source.observations import SUFFIXES, is_test_name
from gpuadvise.advisor.source.text import most_seconds
from gpuadvise.cli import not_judged
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.emit import note, stream
from gpuadvise.cli.engines import chosen_engine, exit_with_lost, with_lost
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.formats import Format, Output
from gpuadvise.cli.lint.answer import answer, meets, said, verdict
from gpuadvise.cli.lint.file_rules import FileRules, names_in
from gpuadvise.cli.lint.gather import STDIN, SourceFile, linted_source, processes, sources
from gpuadvise.cli.options import EngineOptions, Get, Text, Whole, pick
from gpuadvise.cli.parameters import argument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.cli.not_judged import NotJudged

EXAMPLES = """\
  gpuadvise lint kernel.cu
  gpuadvise lint src/ --fail-on high --format github
  gpuadvise lint train.py --format sarif > lint.sarif
  gpuadvise lint src/ --since main --fail-on medium     # only what is new
  gpuadvise lint --runtime -- python train.py           # waits for the GPU as they happen
  gpuadvise lint kernel.cu --diff
  gpuadvise lint src/ --ignore slow-math,unrestricted-pointers --fix"""

# Fixes of one expression follow each other; a chain of more is a file that nobody wrote.
_MOST_ROUNDS = 8


def command(
    files: Annotated[
        list[str],
        argument("FILE...", ".cu, .cuh, .py, .ipynb, a folder; -: stdin. Of --runtime a program."),
    ],
    select: Annotated[Text, pick("select", "Only these rules, separated by commas.")] = None,
    ignore: Annotated[Text, pick("ignore", "Not these rules, separated by commas.")] = None,
    fail_on: Annotated[Text, pick("fail_on")] = None,
    baseline: Annotated[Text, pick("baseline")] = None,
    since: Annotated[Text, pick("since")] = None,
    fix: Annotated[bool, pick("fix")] = False,
    diff: Annotated[bool, pick("diff")] = False,
    jobs: Annotated[
        Whole, pick("jobs", "Processes that read the files; one for each core unless given.")
    ] = None,
    no_cache: Annotated[bool, pick("no_cache")] = False,
    watch: Annotated[
        float | None,
        pick("watch", "Look after this time, again and again, for files that changed: 1s."),
    ] = None,
    runtime: Annotated[bool, pick("runtime")] = False,
    output: Annotated[Text, pick("output")] = None,
    engine: EngineOptions = EngineOptions(),
    format: Annotated[
        str, pick("format", "text, json, ndjson, csv, markdown, html, sarif, github or gitlab.")
    ] = Format.TEXT,
    get: Get = None,
) -> Answer | Exit:
    """Say which faults FILE shows, where, and what to write instead."""
    files = located(files, SUFFIXES)
    rules = FileRules(select=names_in(select), ignore=names_in(ignore), fail_on=fail_on)
    inputs = {
        "files": files,
        "select": list(rules.select),
        "ignore": list(rules.ignore),
        "fail_on": fail_on,
        "baseline": baseline,
        "since": since,
    }
    shown = Output(format=format, fields=tuple(get or ()))
    if runtime:
        from gpuadvise.cli.lint.runtime import audit

        beside: dict[str, object] = {"--fix": fix, "--diff": diff, "--since": since, "--jobs": jobs}
        beside |= {"--engine": engine.engine, "--watch": watch}
        _refuse(beside, "--runtime, which runs a program and reads no sources")
        audit(files, rules, inputs, shown, output)
    if output:
        raise BadInput("--output is for --runtime; write other answers with > FILE.")
    if fix or diff:
        mending = "--diff" if diff else "--fix"
        _refuse_with_mending(mending, baseline or since, format, get)
        if fix and any(map(is_address, files)):
            raise BadInput(
                "--fix writes files of this machine alone.", hint="--diff says what to change."
            )
    spread = chosen_engine(engine)
    engine_of_files = spread or processes(jobs)
    cache = None if no_cache or spread else cache_folder()

    def linted(rules: FileRules) -> Linted:
        left: list[NotJudged] = []
        notes: list[str] = []  # of what is left out on purpose
        seen = list(
            sources(files, rules, left=left, notes=notes, engine=engine_of_files, cache=cache)
        )
        lacking = [source.lacking for source in seen if source.lacking]
        if lacking and len(lacking) == len(seen):
            raise lacking[0]
        _refuse_idle_gate(files, rules, seen, left)
        return Linted(seen, left, notes)

    def judged(rules: FileRules) -> Answer:
        seen, left, notes = linted(rules)
        notes += _spared(seen)
        new = _only_new(seen, rules, baseline, since)
        return answer([_said_once(source) for source in new], inputs, rules, left, notes)

    if watch is not None:
        from gpuadvise.cli.lint.watch import watch_files

        beside = {"--fix": fix, "--diff": diff, "--engine": spread, "standard input": "-" in files}
        beside |= {"An address": any(map(is_address, files))}
        _refuse(beside, "--watch, which judges files here again and again")
        return watch_files(
            lambda: judged(replace(rules, _settings={}, _rules={})), files, watch, shown
        )
    if fix or diff:
        seen, left, notes = linted(rules)
        code = _mend(seen, rules, write=fix and not diff, left=left, notes=notes)
        return exit_with_lost(code, spread)
    return with_lost(judged(rules), spread)


class Linted(NamedTuple):
    """What was read, what of it is not judged, and notes on what was left out on purpose."""

    read: list[SourceFile]
    left: list[NotJudged]
    notes: list[str]


def _refuse(given: Mapping[str, object], mode: str) -> None:
    """Raise BadInput for what is *given* and is not for *mode*, an option and what it does."""
    for name, value in given.items():
        if value:
            raise BadInput(f"{name} is not for {mode}.")


def _spared(linted: Sequence[SourceFile]) -> list[str]:
    """Return a note on the files that test or measure other code: few rules look at these."""
    named = [file for file in linted if file.python and is_test_name(file.path)]
    if not named:
        return []
    from gpuadvise.rules.source.lint import names_gpu_library

    return not_judged.of_tests(file.path for file in named if names_gpu_library(file.data))


def _refuse_with_mending(
    mending: str, known: str | None, format: str, get: Sequence[str] | None
) -> None:
    """Raise BadInput for what cannot be said beside --fix or --diff."""
    if known:
        raise BadInput(
            f"--baseline and --since are not for {mending}, which mends what is there, new or not."
        )
    if format != Format.TEXT or get:
        given = f"--format {quoted(format)}" if format != Format.TEXT else "--get"
        raise BadInput(
            f"{given} is not for {mending}, which takes --format text alone.",
            hint="Run lint again without it for the faults that are left.",
        )


def _refuse_idle_gate(
    files: list[str], rules: FileRules, read: list[SourceFile], left: Sequence[NotJudged]
) -> None:
    """Raise BadInput for a gate that could not fail: no source, or no rule of its priority."""
    limit = rules.gate([*files, *(source.path for source in read)])
    if limit is None:
        return
    if not read and not left and not any(map(rules.excludes, files)):
        raise BadInput(
            f"{rules.option(files[0])} has nothing to compare: there is no source file in "
            f"{quoted_path(files[0])}.",
            hint=f"lint reads {and_list(SUFFIXES)}.",
        )
    checked = frozenset[str]().union(*(rules.of(path) for path in files))
    if rules.fail_on and not any(meets(limit, rule) for rule in checked):
        raise BadInput(
            f"--fail-on {limit}: no rule that is left has that priority.",
            hint="A check that cannot fail must not look like one that passed.",
        )


def _only_new(
    read: list[SourceFile], rules: FileRules, baseline: str | None, since: str | None
) -> list[SourceFile]:
    """Return *read* without the findings that were there before, where somebody asks for that."""
    if baseline and since:
        raise BadInput("--baseline and --since say twice what was there before.", hint="Give one.")
    if baseline:
        from gpuadvise.cli.lint.baseline import without_saved

        return without_saved(read, baseline)
    if since:
        from gpuadvise.cli.lint.baseline import without_committed

        return without_committed(read, since, rules)
    return read


def _said_once(source: SourceFile) -> SourceFile:
    """Return *source* with one finding for what a function of it repeats; Python's rules see to that themselves."""
    if source.python:
        return source
    from gpuadvise.rules.source.repeated import joined

    linted = source.linted
    return replace(source, linted=replace(linted, diagnostics=joined(linted.diagnostics)))


def _mend(
    read: list[SourceFile], rules: FileRules, *, write: bool, left: Sequence[NotJudged], notes: list[str]
) -> Exit:  # fmt: skip
    """Write the fixes, or show them; the gate judges what is left after them."""
    from gpuadvise.advisor.backends.file_replacement import replace_unchanged

    notes += [
        f"{quoted_path(source.path)}: a notebook is not mended, only judged."
        for source in read
        if source.cells
    ]
    read = [source for source in read if not source.cells]
    fixed = 0
    remaining: list[Diagnostic] = []
    for source in read:
        after, count = (source, 0) if source.lacking else _mended(source, rules.of(source.path))
        if write and count and os.path.islink(source.path):
            note(f"{quoted_path(source.path)}: a link, left alone; name the file itself.")
            after, count = source, 0
        fixed += count
        remaining += after.linted.diagnostics
        if write and source.path == STDIN:
            stream([_source(after)])
        elif count and write:
            replace_unchanged(source.path, after.data, source.data)
        elif count:
            stream(_difference(source, after.data))
    piped = write and any(source.path == STDIN for source in read)
    place = ", standard input on standard output" if piped else ""
    failed, code = verdict(read, remaining, rules, left)
    done = f"{plural(fixed, 'fault')} {'fixed' if write else 'can be fixed'}{place}."
    note(*notes, *said(left), done, *failed)
    return code


def _mended(source: SourceFile, rules: frozenset[str]) -> tuple[SourceFile, int]:
    """Return the file after its fixes and how many there were; one fix may uncover another.

    The first reading and all rounds together take about as long as one file may: what is left then
    stays a fault. A round parses the file before and after its fixes and reads it again.
    """
    from gpuadvise.advisor.source.fixes import mended

    count, end = 0, time.process_time() - source.seconds + most_seconds(len(source.data))
    for _ in range(_MOST_ROUNDS):
        if time.process_time() + 2 * source.seconds > end:
            break
        result = mended(source.data, source.linted.diagnostics, python=source.python)
        if not result.fixed:
            break
        count += len(result.fixed)
        source = linted_source(
            source.path,
            result.data,
            rules,
            python=source.python,
            surroundings=source.surroundings,
        )
    return source, count


def _source(source: SourceFile) -> str:
    try:
        return source.data.decode()
    except UnicodeDecodeError:
        raise BadInput(
            "Standard input is not UTF-8: --fix cannot print it as it was.",
            hint="Name the file.",
        ) from None


_CUT = "\\ No newline at end of file"


def _difference(source: SourceFile, data: bytes) -> list[str]:
    from difflib import unified_diff

    before, after = (
        list(StringIO(d.decode("utf-8", "replace"), newline="\n")) for d in (source.data, data)
    )
    path = source.path.lstrip("/")
    lines = unified_diff(before, after, f"a/{path}", f"b/{path}")
    whole = [line if line.endswith("\n") else f"{line}\n{_CUT}\n" for line in lines]
    if _is_file(sys.stdout):
        return whole  # a patch is the text itself
    shown = [_harmless(line) for line in whole]
    if changed := sum(map(str.__ne__, shown, whole)):
        note(
            f"{quoted_path(source.path)}: {plural(changed, 'line')} of the patch would steer a terminal"
            " or a log and cannot be shown as they are: write it to a file, as in > fix.patch."
        )
    return shown


def _is_file(stream: TextIO) -> bool:
    """Return whether *stream* goes to a file, which shows nothing to anybody."""
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


_HARMLESS = re.compile(r"[\t\f]|\r?\n\Z")  # beside what can be printed
# Lines that runners of CI obey: of GitHub at their start, of Azure anywhere. C++ begins names with "::".
_COMMAND = re.compile(
    r"^(\s+)::(?=(?:error|warning|notice|debug|group|endgroup|echo|stop-commands|set-env"
    r"|set-output|save-state|add-path|add-mask|add-matcher|remove-matcher)\b[^:]*::)"
)


def _harmless(line: str) -> str:
    """Return *line* of a patch as it is, or escaped where a terminal or a log would obey it."""
    if not _HARMLESS.sub("", line).isprintable():
        line = f"{inert(line.rstrip().expandtabs())}\n"
    return _COMMAND.sub(r"\1\\x3a:", without_commands(line))
