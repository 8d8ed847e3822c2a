"""The user's settings: ``gpuadvise.toml``, or ``[tool.gpuadvise]`` of ``pyproject.toml``."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.user_files import read_small, unreadable
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpuadvise.advisor.kernel_limits import KernelLimit

# A file of settings has a few lines; a pyproject.toml rarely a hundred times that.
_LARGEST = 4 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Which rules run, what makes a run fail, and which files of a folder ``lint`` leaves out.

    Rules of the user's own are not among the settings: they are code, and the folder that one
    happens to stand in must not decide what runs.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str | None = None
    exclude: tuple[str, ...] = ()  # patterns of paths below a folder, such as "third_party/*"
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    limits: tuple[KernelLimit, ...] = ()  # of kernels, by patterns of their names
    exceptions: tuple[KernelLimit, ...] = ()
    baselines: Mapping[str, str] = field(default_factory=dict)  # saved answers by their names
    file: str = "gpuadvise.toml"  # where they stand, for messages
    folder: Path = field(default_factory=Path)  # what patterns and baselines are relative to


_MARK = b"[tool.gpuadvise"  # what begins our tables in pyproject.toml
_NAME = b"gpuadvise"  # what a file that has any names
_ROOTS = (".git", ".hg")  # what the root of a repository holds


def limits_are_set(folder: Path) -> bool:
    """Return whether a file of settings for *folder* may hold limits; nothing is parsed."""
    for place in _searched(folder):
        for name, marks in (("gpuadvise.toml", ()), ("pyproject.toml", (_MARK,))):
            content = _content(place / name)
            if content is not None and all(mark in content for mark in (*marks, b"limits")):
                return True
    return False


def _searched(folder: Path) -> tuple[Path, ...]:
    """Return *folder* and the folders above it, up to the root of the repository.

    Without a repository up to the working folder; where that is not above, *folder* alone: what
    stands higher may be anybody's, as in /tmp.
    """
    try:
        here, call = folder.absolute(), Path().absolute()
    except FileNotFoundError:  # the working folder is gone
        return (folder,)
    above: list[Path] = []
    for place in (here, *here.parents):
        if place != here:
            above.append(place)
        if any(os.path.exists(place / mark) for mark in _ROOTS):
            return (folder, *above)
    return (folder, *(place for place in above if place.is_relative_to(call)))


def _content(path: Path) -> bytes | None:
    """Return what the file of settings *path* holds, None where there is none of that name.

    Raises BadInput for a broken link, a folder, a pipe and for what this user may not read: the
    gates behind it must not go without a word.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if path.is_symlink():
            raise BadInput(f"{quoted(path.name)} is a link to a file that is not there.") from None
        return None
    except OSError as error:
        raise unreadable(error, quoted(path.name)) from None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise BadInput(f"{quoted(path.name)} is {kind}, and no file of settings.")
    return read_small(str(path), largest=_LARGEST, name=quoted(path.name))


def read_settings(folder: Path) -> Settings:
    """Return the settings nearest to *folder*: its own, else of a folder above in its repository.

    They stand in ``gpuadvise.toml`` or ``pyproject.toml``. Raises BadInput with the file's name for
    settings that cannot be used, and where both files hold some: a gate that stands in one must not
    go for the other's sake.
    """
    return next(filter(None, map(_settings_in, _searched(folder))), Settings())


def _settings_in(folder: Path) -> Settings | None:
    own, project = folder / "gpuadvise.toml", folder / "pyproject.toml"
    ours, theirs = _content(own), _content(project)
    if ours is not None:
        if theirs is not None and _MARK in theirs:
            raise BadInput(
                "gpuadvise.toml and pyproject.toml both hold settings of gpuadvise.",
                hint="Keep them in one of the two.",
            )
        return _settings(own, _toml(own.name, ours))
    tool = _toml(project.name, theirs).get("tool") if theirs and _NAME in theirs else None
    table = tool.get("gpuadvise") if isinstance(tool, dict) else None
    return _settings(project, table) if table is not None else None


def _settings(path: Path, table: object) -> Settings:
    # Most folders hold no settings: what reads them is loaded where there are some.
    from gpuadvise.advisor.description.tables import DescriptionFault, Key, KeyTable
    from gpuadvise.advisor.kernel_limits import exceptions, limits
    from gpuadvise.advisor.values import text, texts

    def baseline_files(value: object) -> dict[str, str]:
        if not isinstance(value, dict):
            raise BadInput("A table of names and files belongs here.")
        return {str(name): text(file) for name, file in value.items()}

    def rules_by_pattern(value: object) -> dict[str, tuple[str, ...]]:
        if not isinstance(value, dict):
            raise BadInput("A table of patterns and lists of rules belongs here.")
        return {str(pattern): texts(rules) for pattern, rules in value.items()}

    keys = KeyTable(
        Settings,
        {
            "select": Key("select", texts),
            "ignore": Key("ignore", texts),
            "fail_on": Key("fail_on", text),
            "exclude": Key("exclude", texts),
            "per_file_ignores": Key("per_file_ignores", rules_by_pattern),
            "limits": Key("limits", limits),
            "exceptions": Key("exceptions", exceptions),
            "baselines": Key("baselines", baseline_files),
        },
    )
    try:
        return replace(keys.value(table, ()), file=path.name, folder=path.parent)  # type: ignore[no-any-return]
    except DescriptionFault as fault:
        key = f"{fault.path[-1]}: " if fault.path else ""
        raise BadInput(f"{path.name}: {key}{fault.message}", hint=fault.hint) from None


def _toml(name: str, content: bytes) -> dict[str, Any]:
    import tomllib

    from gpuadvise.advisor.description.files import refuse_long_keys

    try:
        written = content.decode("utf-8")
        refuse_long_keys(written, quoted(name))
        return tomllib.loads(written)
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, nested too deeply
        raise BadInput(f"{quoted(name)} cannot be used: {str(error)[:200]}.") from None
