"""The user's settings: ``gpuadvise.toml``, or ``[tool.gpuadvise]`` of ``pyproject.toml``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.user_files import read_small
from gpuadvise.advisor.description.files import refuse_long_keys
from gpuadvise.advisor.description.tables import DescriptionFault, Key, KeyTable
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.values import text, texts

if TYPE_CHECKING:
    from pathlib import Path

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
    file: str = "gpuadvise.toml"  # where they stand, for messages


_TABLE = KeyTable(
    Settings,
    {
        "select": Key("select", texts),
        "ignore": Key("ignore", texts),
        "fail_on": Key("fail_on", text),
        "exclude": Key("exclude", texts),
    },
)


def read_settings(folder: Path) -> Settings:
    """Return the settings of *folder*; ``gpuadvise.toml`` goes before ``pyproject.toml``.

    Raises BadInput with the file's name for settings that cannot be used.
    """
    own = folder / "gpuadvise.toml"
    if own.is_file():
        return _settings(own, _toml(own))
    project = folder / "pyproject.toml"
    tool = _toml(project).get("tool") if project.is_file() else None
    table = tool.get("gpuadvise") if isinstance(tool, dict) else None
    return _settings(project, table) if table is not None else Settings()


def _settings(path: Path, table: object) -> Settings:
    try:
        return replace(_TABLE.value(table, ()), file=path.name)  # type: ignore[no-any-return]
    except DescriptionFault as fault:
        key = f"{fault.path[-1]}: " if fault.path else ""
        raise BadInput(f"{path.name}: {key}{fault.message}", hint=fault.hint) from None


def _toml(path: Path) -> dict[str, Any]:
    import tomllib

    content = read_small(str(path), largest=_LARGEST, name=quoted(path.name))
    try:
        written = content.decode("utf-8")
        refuse_long_keys(written, quoted(path.name))
        return tomllib.loads(written)
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, nested too deeply
        raise BadInput(f"{quoted(path.name)} cannot be used: {str(error)[:200]}.") from None
