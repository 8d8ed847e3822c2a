"""The files of an installed Python package, from its metadata: nothing of it is imported."""

from __future__ import annotations

import glob
import os
import re
import sys
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.metadata import Distribution

# Names of distributions (packaging.python.org, "Names and normalization").
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,99}[A-Za-z0-9])?")
_BINARY = (".so", ".pyd", ".dll", ".cubin", ".fatbin", ".ptx", ".bin", ".a", ".lib", ".o", ".obj")
_MOST_FILES = 100_000
_FOLDERS = ("lib/python3*/site-packages", "Lib/site-packages")


class InstalledPackage(NamedTuple):
    """A distribution and those of its *files* that may hold device code: path within it, and on disk."""

    name: str
    version: str
    files: tuple[tuple[str, str], ...]


def installed_package(
    name: str, environ: Mapping[str, str] = os.environ
) -> InstalledPackage | None:
    """Return the package *name* of the active environment or of this Python; None: there is none.

    Raises BadInput for metadata that is damaged.
    """
    if not _NAME.fullmatch(name):
        return None
    from csv import Error
    from importlib.metadata import distributions

    for package in distributions(name=name, path=[*_active(environ), *sys.path]):
        try:
            return _described(name, package)
        except (ValueError, TypeError, LookupError, Error, OSError) as error:
            raise BadInput(
                f"{quoted(name)}: the metadata of the installed package is damaged"
                f" ({type(error).__name__}).",
                hint="Install the package again, or name its files.",
            ) from None
    return None


def _described(name: str, package: Distribution) -> InstalledPackage:
    files = tuple(
        (str(file), str(package.locate_file(file)))
        for file in _listed(package)[:_MOST_FILES]
        if file.suffix.lower() in _BINARY or ".so." in file.name
    )
    return InstalledPackage(name, str(package.version), files)


def _listed(package: Distribution) -> Sequence[PurePosixPath]:
    """Return the files that *package* lists, be they there or not: newer Pythons leave out lost ones."""
    from csv import reader

    there = package.files or ()  # raises for a damaged list
    record = package.read_text("RECORD")
    if record is None:
        return there
    return [PurePosixPath(row[0]) for row in reader(record.splitlines()) if row]


def _active(environ: Mapping[str, str]) -> list[str]:
    """Return where the packages of the active environment are: gpuadvise may live in its own."""
    roots = [environ.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    return [
        path
        for root in roots
        if root
        for pattern in _FOLDERS
        for path in glob.glob(os.path.join(glob.escape(root), pattern))
    ]
