"""What lint saw in a file, kept by all that it depends on: content, path, build, rules and this program.

A file is judged by itself, by what the build files say of it, by how other Python files use it, and by what the other files
of a folder name and declare, so nothing else can make a kept result wrong. Results are JSON, of which only values of the
declared types are taken.
"""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import gpuadvise
from gpuadvise.advisor import source as readers
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.json_records import plain, rebuilt
from gpuadvise.advisor.source.diagnostic import Diagnostic, FurtherPlace, SourceRange, TextEdit
from gpuadvise.advisor.source.linted_file import LintedFile
from gpuadvise.advisor.source.suppressions import Suppression
from gpuadvise.advisor.source.surroundings import ALONE
from gpuadvise.rules import source as rules

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gpuadvise.advisor.backends.content_cache import ContentCache
    from gpuadvise.advisor.source.build import Build
    from gpuadvise.advisor.source.python.project import ModuleUse
    from gpuadvise.advisor.source.surroundings import Surroundings

_PARSERS = ("tree-sitter", "tree-sitter-cuda")


def key_of(
    path: str,
    data: bytes,
    select: Collection[str],
    *,
    python: bool,
    build: Build,
    use: ModuleUse | None = None,
    surroundings: Surroundings = ALONE,
) -> str:
    """Return the digest of all that decides what lint sees in *data*, the content of *path*."""
    told = [
        *program(), path, str(python), str(build.fast_math), *map(str, sorted(build.definitions.items())),
        "around", *_told_of(surroundings), "rules", *sorted(select),
        *_told_by_others(use),
    ]  # fmt: skip
    digest = sha256(json.dumps(told).encode())
    digest.update(sha256(data).digest())
    return digest.hexdigest()


def _told_by_others(use: ModuleUse | None) -> Iterator[str]:
    if use is not None:
        for name, told in (("named", use.named), ("step", use.each_step), ("loader", use.loaders)):
            yield name
            yield from sorted(told)
        yield str(use.on_gpu)


def _told_of(surroundings: Surroundings) -> Iterator[str]:
    declared = surroundings.declared
    yield f"{surroundings.in_folder} {surroundings.of_program} {surroundings.of_torch}"
    effects = surroundings.effects
    for names in (surroundings.unnamed, effects.launching, effects.waiting, effects.reading):
        yield from ("names", *sorted(names))
    for words in (declared.macros, declared.aliases, declared.results):
        yield from (f"{name} {said}" for name, said in sorted(words.items()))
    yield from (f"{name} {sorted(of.items())}" for name, of in sorted(declared.records.items()))


@cache
def program() -> tuple[str, ...]:
    """Return what tells this program from others: versions, and the files that read and judge sources."""
    return (gpuadvise.__version__, sys.version, *map(_version, _PARSERS), *_own_files())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _own_files() -> Iterator[str]:
    """Yield name, size and time of each module: in a checkout they change without a new version."""
    for package in (readers, rules):
        for folder in package.__path__:
            for here, _, names in sorted(os.walk(folder)):
                for name in sorted(names):
                    if name.endswith(".py"):
                        status = os.stat(os.path.join(here, name))
                        yield f"{name} {status.st_size} {status.st_mtime_ns}"


def kept(cache: ContentCache, key: str, path: str) -> LintedFile | None:
    """Return what was kept as *key*, None where nothing usable was."""
    content = cache.get(key)
    if content is None:
        return None
    names = {
        kind.__name__: kind
        for kind in (Diagnostic, FurtherPlace, SourceRange, Suppression, TextEdit)
    }
    try:
        linted = rebuilt(LintedFile, json.loads(content), names)
    except (BadInput, ValueError, TypeError, RecursionError):
        return None
    return linted if linted.file == path else None


def keep(cache: ContentCache, key: str, linted: LintedFile) -> None:
    """Keep *linted* as *key*."""
    cache.put(key, json.dumps(plain(linted), separators=(",", ":")).encode())
