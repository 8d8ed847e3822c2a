"""What the build files above a source say of its compilation: CMake, Make, setup.py, compile_commands.json.

They are read as text and never run; a file that is large or cannot be read says nothing.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
from pathlib import Path

from gpuadvise.advisor.source.build import Build

_FILES = (
    "CMakeLists.txt", "Makefile", "makefile", "GNUmakefile", "setup.py", "pyproject.toml", "meson.build",
    "BUILD", "BUILD.bazel", ".bazelrc", "build.sh",
)  # fmt: skip
_COMMANDS = ("compile_commands.json", os.path.join("build", "compile_commands.json"))
_END = ".git"  # of the folder where a repository begins, above which nothing is looked at
_MOST_FOLDERS = 8  # above a source, where no repository ends the search
_LARGEST = 1 << 20
_LARGEST_COMMANDS = 16 << 20
_FAST_MATH = re.compile(r"(?<![\w-])--?use_fast_math(?![\w=-])(?!=false)")
_DEFINITION = re.compile(r"(?<![\w-])-D\s?([A-Za-z_]\w*)=(\d{1,9})(?![\w.])")
_COMMENT = re.compile(r"^[ \t]*(?:#|//).*$", re.MULTILINE)


def build_of(source: str) -> Build:
    """Return what the build files from the folder of *source* up to its repository's say of it."""
    path = os.path.abspath(source)
    folders = _folders(os.path.dirname(path))
    for folder in folders:
        if build := _compiled(folder).get(path):
            return build
    builds = [_written_in(folder) for folder in folders]
    definitions: dict[str, str] = {}
    for build in builds:  # the nearest file stands
        for name, value in build.definitions.items():
            definitions.setdefault(name, value)
    return Build(fast_math=any(build.fast_math for build in builds), definitions=definitions)


@functools.lru_cache(maxsize=1024)
def _folders(folder: str) -> tuple[str, ...]:
    """Return *folder* and those above it that may belong to the same program, from the inside out."""
    path = Path(folder)
    above = [path, *path.parents]
    for count, parent in enumerate(above, 1):
        if (parent / _END).exists():
            return tuple(map(str, above[:count]))
    return tuple(map(str, above[:_MOST_FOLDERS]))


@functools.lru_cache(maxsize=1024)
def _written_in(folder: str) -> Build:
    """Return what the build files of *folder* itself say."""
    text = "\n".join(
        _COMMENT.sub("", _text(os.path.join(folder, name), _LARGEST)) for name in _FILES
    )
    values: dict[str, set[str]] = {}
    for name, value in _DEFINITION.findall(text):
        values.setdefault(name, set()).add(value)
    definitions = {name: value.pop() for name, value in values.items() if len(value) == 1}
    return Build(fast_math=_FAST_MATH.search(text) is not None, definitions=definitions)


@functools.lru_cache(maxsize=1024)
def _compiled(folder: str) -> dict[str, Build]:
    """Return how each file is compiled that the compilation database of *folder* lists."""
    for name in _COMMANDS:
        text = _text(os.path.join(folder, name), _LARGEST_COMMANDS)
        if text:
            return _commands(text)
    return {}


def _commands(text: str) -> dict[str, Build]:
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    builds: dict[str, Build] = {}
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        file, folder = entry.get("file"), entry.get("directory", "")
        if isinstance(file, str) and isinstance(folder, str):
            builds[os.path.normpath(os.path.join(folder, file))] = _of_words(_words(entry))
    return builds


def _words(entry: dict[str, object]) -> list[str]:
    arguments, command = entry.get("arguments"), entry.get("command")
    if isinstance(arguments, list):
        return [word for word in arguments if isinstance(word, str)]
    if not isinstance(command, str):
        return []
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _of_words(words: list[str]) -> Build:
    definitions: dict[str, str] = {}
    for word, following in zip(words, (*words[1:], ""), strict=False):
        text = following if word == "-D" else word[2:] if word.startswith("-D") else ""
        name, _, value = text.partition("=")
        if name.isidentifier():
            definitions[name] = value or "1"
    return Build(
        fast_math=any(_FAST_MATH.fullmatch(word) for word in words), definitions=definitions
    )


def _text(path: str, largest: int) -> str:
    """Return the text of a file, "" where it is large or cannot be read."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > largest:
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(largest)
    except OSError:
        return ""
