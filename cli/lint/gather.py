"""The source files that a call names, and what lint sees in each."""

from __future__ import annotations

import os
import re
import sys
import time
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.backends.build_files import build_of
from gpuadvise.advisor.backends.user_files import opened, unreadable
from gpuadvise.advisor.backends.worker_processes import usable_cores
from gpuadvise.advisor.engines.engine import Lost, TaskEngine
from gpuadvise.advisor.engines.processes import Processes
from gpuadvise.advisor.errors import BadInput, TooCostly, Unavailable
from gpuadvise.advisor.prose import and_list, capitalized, quoted_path
from gpuadvise.advisor.source.build import UNKNOWN_BUILD
from gpuadvise.advisor.source.folder import surroundings_of
from gpuadvise.advisor.source.language import SyntaxFault, is_python, syntax_fault
from gpuadvise.advisor.source.linted_file import LintedFile
from gpuadvise.advisor.source.notebook import SUFFIX as NOTEBOOK
from gpuadvise.advisor.source.notebook import read_notebook
from gpuadvise.advisor.source.observations import (
    CPP_SUFFIXES,
    CUDA_SUFFIXES,
    OTHER_SUFFIXES,
    SUFFIXES,
    calls_runtime,
    holds_device_code,
)
from gpuadvise.advisor.source.surroundings import ALONE, Surroundings
from gpuadvise.advisor.source.text import LARGEST, source_text
from gpuadvise.cli.not_judged import NotJudged

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from gpuadvise.advisor.backends.content_cache import ContentCache
    from gpuadvise.advisor.source.python.project import ModuleUse
    from gpuadvise.cli.lint.file_rules import FileRules

STDIN = "<stdin>"
_BATCH = 100  # files that a worker reads together
# A process starts in the time that some files of usual length take.
_WORTH_PROCESS = 10
_MOST_PROCESSES = 16
_MOST_OF_PROJECT = 5000  # Python files that are told of one another: all are held at once
_WORTH_KEEPING = 0.002  # seconds: what takes less is judged again sooner than it is kept and read
_READING = ("gpuadvise.rules.source.lint", "gpuadvise.advisor.source.tree")
# Files that may name a kernel of another: those that lint reads, and others of C and C++.
_NAMING = (*SUFFIXES, *CUDA_SUFFIXES, ".cxx")
# Folders that hold no sources of the project itself.
SKIPPED_FOLDERS = frozenset(
    (".git", ".hg", "__pycache__", "node_modules", ".venv", "venv", "build")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file as it was read, and what was seen in it."""

    path: str
    data: bytes
    linted: LintedFile
    python: bool
    lacking: Unavailable | None = None  # what would have to be installed to read it
    cells: Mapping[int, tuple[int, int]] = field(default_factory=dict)  # of a notebook's lines
    seconds: float = 0.0  # of a processor that reading it took
    known: int = 0  # findings that a baseline has already
    surroundings: Surroundings = ALONE

    def lines(self) -> list[str]:
        """Return the lines of the file as lint counts them, without a byte order mark."""
        text = source_text(self.data.removeprefix(b"\xef\xbb\xbf"), self.path).content
        return text.decode("utf-8", "replace").split("\n")


def processes(jobs: int | None) -> Processes:
    """Return what reads sources here: in *jobs* processes, or one for each core."""
    wanted = min(usable_cores(), _MOST_PROCESSES) if jobs is None else jobs
    return Processes(jobs=wanted, worth=_WORTH_PROCESS, modules=_READING)


def sources(
    files: list[str],
    rules: FileRules,
    *,
    left: list[NotJudged],
    notes: list[str],
    engine: TaskEngine,
    cache: str | None = None,
) -> Iterator[SourceFile]:
    """Yield the files that *files* name, folders searched for SUFFIXES and C++ with device code in order of their names.

    A file that cannot be read is an error when it was named. What else cannot be judged is added
    to *left*: files and folders below a named one that cannot be read, files that would take too
    long, code that the parser did not follow, HIP. *notes* name links to folders, which are not followed, and
    named files that the settings exclude, as hooks of commits name every file. The *engine* reads
    them, and what it loses is not judged. Results are kept in the folder *cache*.
    """
    listed = list(list_places(files, rules, notes))
    uses = _uses([place.path for place in listed if isinstance(place, SourcePlace)])
    places = [
        place
        if isinstance(place, NotJudged)
        else place._replace(cache=cache, use=uses.get(place.path))
        for place in _with_surroundings(listed, files)
    ]
    results = engine.map(
        read_places,
        places,
        batch=_BATCH,
        named=attrgetter("path"),
        here=lambda place: isinstance(place, NotJudged) or place.path == STDIN,
    )
    for place, seen in zip(places, results, strict=True):
        if isinstance(seen, Lost):
            left.append(NotJudged(path=place.path, reason=seen.reason))
            continue
        source, unjudged = seen
        left += unjudged
        if source is not None:
            yield source


class SourcePlace(NamedTuple):
    """A source to read for the rules *select*: STDIN, or a file that was *named* or lies in a folder."""

    path: str
    select: frozenset[str]
    named: bool = True
    cache: str | None = None  # the folder in which results are kept
    use: ModuleUse | None = None  # what the other Python files say of it
    surroundings: Surroundings = ALONE

    def results(self) -> ContentCache | None:
        """Return the results that are kept, None where none are."""
        if self.cache is None or self.path == STDIN:
            return None
        from gpuadvise.advisor.backends.content_cache import ContentCache

        return ContentCache(self.cache)


def _uses(paths: list[str]) -> dict[str, ModuleUse]:
    """Return what the Python files among *paths* say of one another; of very many nothing is told."""
    python = [path for path in paths if path.endswith((".py", NOTEBOOK))]
    if not 1 < len(python) <= _MOST_OF_PROJECT:
        return {}
    read: dict[str, bytes] = {}
    for path in python:
        try:
            read[path] = _read(path)
        except BadInput:
            continue  # reading it again says why it is not judged
    from gpuadvise.advisor.source.python.project import uses_of

    return uses_of(read)


def list_places(
    files: list[str], rules: FileRules, notes: list[str]
) -> Iterator[SourcePlace | NotJudged]:
    """Yield the sources that *files* name, and what below them cannot be listed."""
    for name in files:
        if name == "-":
            yield SourcePlace(STDIN, rules.of(STDIN))
        elif Path(name).is_dir():
            unlisted: list[NotJudged] = []
            for path in _below(name, rules, unlisted, notes):
                yield from unlisted
                unlisted.clear()
                yield SourcePlace(path, rules.of(path), named=False)
            yield from unlisted
        elif rules.excludes(name):
            notes.append(f"{quoted_path(name)}: left out by {rules.settings(name).file}: exclude.")
        else:
            yield SourcePlace(name, rules.of(name))


def _with_surroundings(
    places: Iterable[SourcePlace | NotJudged], files: list[str]
) -> Iterator[SourcePlace | NotJudged]:
    """Yield *places*, those of CUDA in the folders among *files* with what the other files there show of them."""
    listed = list(places)
    found = [p.path for p in listed if isinstance(p, SourcePlace) and _is_of_folder(p)]
    around = surroundings_of(found, _texts_below(files), _read_or_nothing) if found else {}
    for place in listed:
        if isinstance(place, SourcePlace) and place.path in around:
            place = place._replace(surroundings=around[place.path])
        yield place


def _is_of_folder(place: SourcePlace) -> bool:
    return not place.named and not place.path.lower().endswith((".py", NOTEBOOK))


def _texts_below(files: list[str]) -> Iterator[str]:
    """Yield the sources below the folders among *files*, whether lint judges them or not."""
    for folder in filter(os.path.isdir, files):
        for here, below, names in os.walk(folder):
            below[:] = [name for name in below if name not in SKIPPED_FOLDERS]
            for name in names:
                if name.lower().endswith(_NAMING):
                    yield os.path.join(here, name)


def _read_or_nothing(path: str) -> bytes:
    try:
        return _read(path) if os.path.isfile(path) else b""
    except BadInput:
        return b""  # reading it to be judged says why


def read_places(
    places: Iterable[SourcePlace | NotJudged],
) -> Iterator[tuple[SourceFile | None, list[NotJudged]]]:
    """Yield what each of *places* shows, and what of it cannot be judged; raises BadInput as ``sources``."""
    for place in places:
        if isinstance(place, NotJudged):
            yield None, [place]
            continue
        left: list[NotJudged] = []
        yield _read_place(place, left), left


def _read_place(place: SourcePlace, left: list[NotJudged]) -> SourceFile | None:
    path = place.path
    if path == STDIN:
        data = sys.stdin.buffer.read(LARGEST + 1)
        python = _is_python_content("standard input", data)
        source = _parsed(place, data, left, python=python)
        return _checked_python(source, data, left) if source.python else source
    if not place.named:
        try:
            return _source_of(place, left)
        except BadInput as error:
            left.append(_left_out(path, error.message))
            return None
    _refuse_other_kinds(path)
    source = _source_of(place, left)
    # lint_python leaves a file that names no library of GPUs unparsed: it has no faults.
    return _checked_python(source, source.data, left) if source.python else source


def _refuse_other_kinds(name: str) -> None:
    """Raise BadInput for what would be read as CUDA, in which nothing stands that is wrong."""
    if name.lower().endswith(OTHER_SUFFIXES):
        raise BadInput(
            f"{quoted_path(name)} is no source file that lint reads.",
            hint=f"lint reads {and_list(SUFFIXES)}; - reads a source from standard input.",
        )


def _left_out(path: str, message: str) -> NotJudged:
    """Return *path* as not judged for the reason that *message* gives behind the file's name."""
    reason = message.removeprefix(quoted_path(path)).lstrip(": ")
    return NotJudged(path=path, reason=capitalized(reason), said=message)


def _checked_python(source: SourceFile, data: bytes, left: list[NotJudged]) -> SourceFile:
    """Return *source*, or where its text is no Python one stretch that was not parsed."""
    fault = None if source.linted.unparsed else syntax_fault(data)
    return _unparsed(source.path, data, fault, left) if fault else source


def _below(folder: str, rules: FileRules, left: list[NotJudged], notes: list[str]) -> Iterator[str]:
    def unlisted(error: OSError) -> None:
        path = os.fsdecode(error.filename or folder)
        left.append(_left_out(path, unreadable(error, quoted_path(path)).message))

    for here, folders, names in os.walk(folder, onerror=unlisted):
        kept = [f for f in folders if f not in SKIPPED_FOLDERS]
        folders[:] = sorted(f for f in kept if not rules.excludes(os.path.join(here, f)))
        links = [f for f in folders if os.path.islink(os.path.join(here, f))]
        notes += [f"{quoted_path(os.path.join(here, f))}: a link, not followed." for f in links]
        for name in sorted(names):
            path = os.path.join(here, name)
            if _is_source(path) and not rules.excludes(path) and not _leads_below(path, folder):
                yield path


def _leads_below(path: str, folder: str) -> bool:
    """Whether *path* is a link to another file below *folder*, which is read at its own place."""
    if not os.path.islink(path) or not os.path.isfile(path):  # else reading it says what is wrong
        return False
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _is_source(path: str) -> bool:
    """Whether a file in a folder is read: by its name, or C++ that holds device code."""
    name = path.lower()
    if name.endswith(SUFFIXES):
        return True
    if not name.endswith(CPP_SUFFIXES) or not os.path.isfile(path):
        return False
    try:
        data = _read(path)
        return holds_device_code(data) or calls_runtime(data)
    except BadInput:
        return True  # reading it again says why it is not judged


def _read(path: str) -> bytes:
    with opened(path, name=quoted_path(path)) as file:
        return file.read(LARGEST + 1)


def linted_source(
    path: str,
    data: bytes,
    select: Collection[str],
    *,
    python: bool,
    results: ContentCache | None = None,
    use: ModuleUse | None = None,
    surroundings: Surroundings = ALONE,
) -> SourceFile:
    """Return what *data*, the content of *path*, shows of the rules *select*, or what *results* kept of that."""
    began = time.process_time()
    build = UNKNOWN_BUILD if python or path == STDIN else build_of(path)
    linted = None
    if results is not None:
        from gpuadvise.cli.lint import cache

        key = cache.key_of(
            path, data, select, python=python, build=build, use=use, surroundings=surroundings
        )
        linted = cache.kept(results, key, path)
    if linted is None:
        from gpuadvise.rules.source.lint import lint_cuda, lint_python

        if python:
            linted = lint_python(data, path, select=select, use=use)
        else:
            linted = lint_cuda(data, path, select=select, build=build, surroundings=surroundings)
        if results is not None and time.process_time() - began > _WORTH_KEEPING:
            cache.keep(results, key, linted)
    seconds = time.process_time() - began
    return SourceFile(
        path=path,
        data=data,
        linted=linted,
        python=python,
        seconds=seconds,
        surroundings=surroundings,
    )


_OF_CUDA = re.compile(
    rb"__global__|__device__|<<<|\bcuda[A-Z]\w+|^[ \t]*#[ \t]*include\b", re.MULTILINE
)


def _source_of(place: SourcePlace, left: list[NotJudged]) -> SourceFile:
    """Return what the file *place* shows; raises BadInput for one that is no source."""
    path = place.path
    data, name = _read(path), path.lower()
    if name.endswith(NOTEBOOK):
        notebook = read_notebook(data, path)
        source = _parsed(place, notebook.code, left, python=True)
        return replace(source, cells=notebook.cells)
    python = name.endswith(".py")
    if not name.endswith((*SUFFIXES, *CUDA_SUFFIXES)):
        python = _is_python_content(path, data)
    return _parsed(place, data, left, python=python)


def _is_python_content(name: str, data: bytes) -> bool:
    """Return whether *data*, whose name does not tell, is Python; raises BadInput for no source."""
    python = is_python(data)
    if not python and not _OF_CUDA.search(data):
        raise BadInput(
            f"{quoted_path(name)}: nothing in it is CUDA or Python, so nothing was judged.",
            hint=f"lint reads {and_list(SUFFIXES)}, and C++ that calls CUDA.",
        )
    return python


def _parsed(place: SourcePlace, data: bytes, left: list[NotJudged], *, python: bool) -> SourceFile:
    """Return what *data* shows; what could not be parsed or judged shows nothing, and *left* says so."""
    path = place.path
    try:
        source = linted_source(
            path, data, place.select, python=python, results=place.results(), use=place.use, surroundings=place.surroundings
        )  # fmt: skip
    except TooCostly as error:
        left.append(_left_out(path, error.message))
        return _whole_unparsed(path, data, python=python)
    except BadInput:
        fault = syntax_fault(data) if python else None
        if fault is None:
            raise
        return _unparsed(path, data, fault, left)
    except Unavailable as error:
        said = " ".join(filter(None, (error.message, error.hint)))
        left.append(NotJudged(path=path, reason=error.message, said=said))
        return _whole_unparsed(path, data, python=python, lacking=error)
    if source.linted.hip:
        left.append(NotJudged(path=path, reason="It is HIP, and lint knows CUDA.", foreign=True))
    elif source.linted.not_understood:
        reason = "Its kernels stand in syntax that the parser does not know."
        left.append(NotJudged(path=path, reason=reason))
    return source


def _unparsed(path: str, data: bytes, fault: SyntaxFault, left: list[NotJudged]) -> SourceFile:
    """Return the Python file *path* as one stretch that was not parsed, and say why in *left*."""
    place = f", line {fault.line}" if fault.line else ""
    reason = f" Python says: {fault.reason}" if fault.reason else ""
    no_python = f"is not Python that can be parsed.{reason}"
    said = f"{quoted_path(path)}{place}: this {no_python}"
    left.append(NotJudged(path=path, reason=f"It {no_python}", said=said))
    return _whole_unparsed(path, data, python=True)


def _whole_unparsed(
    path: str, data: bytes, *, python: bool, lacking: Unavailable | None = None
) -> SourceFile:
    """Return what is seen in a file that was not parsed."""
    text = source_text(data.removeprefix(b"\xef\xbb\xbf"), path)
    whole = text.where(0, len(text.content))
    linted = LintedFile(file=path, diagnostics=(), unparsed=(whole,))
    return SourceFile(path=path, data=data, linted=linted, python=python, lacking=lacking)
