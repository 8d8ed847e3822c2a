"""``gpuadvise FILE...`` without a command: the command that such files are for, told by content.

The command line is written out as somebody would have typed it, and runs as if typed. What the
program then says last is that command line.
"""

from __future__ import annotations

import os
import shlex
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.backends.remote_files import is_address, named
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.evidence.kinds import FileContent, content_of, is_evidence
from gpuadvise.advisor.prose import and_list, quoted, quoted_path

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Kind(NamedTuple):
    """What files of one content are for: a *command*, which may *take folders* of them whole."""

    command: str
    noun: str
    nouns: str
    takes_folders: str | None = None


_KINDS = {
    FileContent.TRACE: _Kind("advise", "trace", "traces", "timeline"),
    FileContent.REPORT: _Kind("advise", "report", "reports", "advise"),
    FileContent.BUILD_LOG: _Kind("advise", "build log", "build logs"),
    FileContent.DESCRIPTION: _Kind("advise", "description", "descriptions"),
    FileContent.CUDA: _Kind("lint", "CUDA source", "CUDA sources", "lint"),
    FileContent.PYTHON: _Kind("lint", "Python source", "Python sources", "lint"),
    FileContent.LIBRARY: _Kind("compat", "library", "libraries", "compat"),
    FileContent.IMAGE: _Kind("kernels", "device image", "device images", "kernels"),
    FileContent.MACHINE: _Kind("doctor", "dump of a machine", "dumps of machines"),
}
# In a folder the first of these that it holds is what it is about.
_FIRST = (
    FileContent.REPORT, FileContent.TRACE, FileContent.MACHINE, FileContent.LIBRARY,
    FileContent.IMAGE, FileContent.BUILD_LOG, FileContent.CUDA, FileContent.PYTHON,
    FileContent.DESCRIPTION,
)  # fmt: skip
# What `advise` joins: a report with its sources, code and logs.
_JOINED = _KINDS.keys() - {FileContent.MACHINE}
# What of a folder goes with its reports.
_BESIDE_REPORTS = (FileContent.REPORT, FileContent.CUDA, FileContent.BUILD_LOG)
_JOINED_SOURCES = (".cu", ".cuh")
_MOST_FILES, _DEEPEST = 2_000, 4  # where no command takes the folder whole
# Options for which an answer is a document.
_DATA = ("--format", "-f", "--get", "--json", "--report", "--csv")
_HIDDEN = (".", "__pycache__", "node_modules", "venv", "build")


class DefaultCommand(NamedTuple):
    """The arguments that files stand for, and what to say of a folder among them."""

    args: list[str]
    notes: tuple[str, ...] = ()
    following: tuple[list[str], ...] = ()  # to run after it, one for each machine more

    @property
    def words(self) -> str:
        """The command lines as somebody would type them."""
        lines = (self.args, *self.following)
        return "; ".join(shlex.join(["gpuadvise", *args]) for args in lines)


def default_command(args: Sequence[str]) -> DefaultCommand | None:
    """Return what *args* stand for where they begin with a file or an installed package; else None.

    Raises BadInput for files that no one command is for.
    """
    count = next((n for n, arg in enumerate(args) if arg.startswith("-") and arg != "-"), len(args))
    names, options = [named(arg) for arg in args[:count]], list(args[count:])
    if not names:
        return None
    if not (names[0] == "-" or is_address(names[0]) or os.path.lexists(names[0])):
        from gpuadvise.advisor.backends.installed_package import installed_package

        package = installed_package(names[0])
        return DefaultCommand(["compat", *args]) if package and package.files else None
    if len(names) == 1 and os.path.isdir(names[0]):
        return _of_folder(names[0], options)
    contents = {name: content_of(name) for name in names}
    kinds = set(contents.values())
    if FileContent.FOLDER in kinds:
        folder = next(name for name in names if contents[name] is FileContent.FOLDER)
        raise BadInput(
            f"{quoted_path(folder)} is a folder beside other files.",
            hint="Name the folder alone, or a command: gpuadvise advise takes reports and sources.",
        )
    commands = {_KINDS[kind].command for kind in kinds}
    if commands == {"doctor"}:
        return _of_machines(names, options)
    if len(commands) > 1 and kinds <= _JOINED:
        commands = {"advise"}
    if len(commands) > 1:
        held = and_list(
            [f"{quoted_path(name)} is for {_KINDS[contents[name]].command}" for name in names]
        )
        raise BadInput(f"No one command is for all of these: {held}.", hint="Name the command.")
    return DefaultCommand([*commands, *names, *options])


def _of_machines(names: Sequence[str], options: Sequence[str]) -> DefaultCommand:
    """Return what judges each machine of the dumps *names*; raises BadInput where one document is wanted."""
    data = [option for option in options if option.startswith(_DATA)]
    if len(names) > 1 and data:
        raise BadInput(
            f"{data[0]}: {len(names)} machines make no one document.",
            hint="Ask for one at a time: gpuadvise doctor --from FILE --json.",
        )
    first, *others = (["doctor", *options, "--from", name] for name in names)
    return DefaultCommand(first, following=tuple(others))


def _of_folder(folder: str, options: Sequence[str]) -> DefaultCommand:
    """Return the command for what *folder* holds, and say what that is."""
    files = evidence_below(folder)
    counts = Counter(files.values())
    kind = next((kind for kind in _FIRST if counts[kind]), None)
    if kind is None:
        raise BadInput(
            f"{quoted_path(folder)} holds nothing that a command is for.",
            hint="Reports, traces, sources, libraries, build logs or saved machines are told by content.",
        )
    said = f"{quoted_path(folder)} holds {held_words(counts)}"
    if kind is FileContent.REPORT and (counts[FileContent.CUDA] or counts[FileContent.BUILD_LOG]):
        names = [
            path
            for path, content in files.items()
            if content in _BESIDE_REPORTS
            and (content is not FileContent.CUDA or path.endswith(_JOINED_SOURCES))
        ]
        together = and_list(
            [_KINDS[each].nouns for each in _KINDS if each in _BESIDE_REPORTS and counts[each]]
        )
        note = f"{said}: {together} are judged together."
        return DefaultCommand(["advise", *names, *options], (note,))
    if command := _KINDS[kind].takes_folders:
        args = [command, folder, *options]
    else:
        names = [path for path, content in files.items() if content is kind]
        if kind is FileContent.MACHINE:
            notes = (f"{said}.",) if len(counts) > 1 or len(names) > 1 else ()
            return _of_machines(names, options)._replace(notes=notes)
        args = ["advise", *names, *options]
    judged = [
        other
        for other in counts
        if other is kind or (command and _KINDS[other].takes_folders == command)
    ]
    left = len(counts.keys() - set(judged))
    nouns = and_list([_KINDS[other].nouns for other in _KINDS if other in judged])
    return DefaultCommand(args, (f"{said}: {nouns} are judged.",) if left else ())


def evidence_below(folder: str) -> dict[str, FileContent]:
    """Return the files below *folder* that a command is for, in order; hidden ones are left out."""
    contents: dict[str, FileContent] = {}
    left = _MOST_FILES
    for here, folders, names in os.walk(folder):
        depth = os.path.relpath(here, folder).count(os.sep) + 1
        folders[:] = sorted(f for f in folders if not f.startswith(_HIDDEN) and depth < _DEEPEST)
        for name in sorted(names):
            path = os.path.normpath(os.path.join(here, name))
            if left and not name.startswith(".") and os.path.isfile(path):
                left -= 1
                if content := _content(path):
                    contents[path] = content
    return contents


def _content(path: str) -> FileContent | None:
    """Return what the file *path* of a folder is; None of one that no command is for."""
    try:
        content = content_of(path)
        return content if is_evidence(path, content) else None
    except BadInput:
        return None


def held_words(counts: Counter[FileContent]) -> str:
    """Return how many files of each content there are: ``2 reports and 1 CUDA source``."""
    return and_list(
        [
            f"{counts[kind]} {each.noun if counts[kind] == 1 else each.nouns}"
            for kind, each in _KINDS.items()
            if counts[kind]
        ]
    )


def offer(folder: str = ".") -> str | None:
    """Return what the program would do with the evidence right in *folder*; None: there is none."""
    counts: Counter[FileContent] = Counter()
    for entry in _entries(folder):
        if content := _content(entry.path):
            counts[content] += 1
    kind = next((kind for kind in _FIRST if counts[kind]), None)
    if kind is None:
        return None
    holds = f"This folder holds {held_words(counts)}"
    with os.scandir(folder) as entries:
        if any(entry.is_dir() and not entry.name.startswith(_HIDDEN) for entry in entries):
            return f"{holds}: gpuadvise . judges what is here and below."
    command = _KINDS[kind].takes_folders or _KINDS[kind].command
    return f"{holds}: gpuadvise . judges {_KINDS[kind].nouns} with {command}."


_MOST_OFFERED = 200


def _entries(folder: str) -> Sequence[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            files = [entry for entry in entries if entry.is_file() and entry.name[:1] != "."]
    except OSError:
        return ()
    return sorted(files, key=lambda entry: entry.name)[:_MOST_OFFERED]


def neither(name: str) -> BadInput | None:
    """Return the error of a *name* that looks like a file, which is not there; None for a word."""
    if "." not in name and "/" not in name and os.sep not in name:
        return None
    return BadInput(
        f"{quoted(name)} is no command, and there is no such file.",
        hint="gpuadvise FILE tells what a file is; gpuadvise --help lists the commands.",
    )
