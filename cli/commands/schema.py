"""``gpuadvise schema NAME``: the JSON Schema of a command's JSON output, in one piece."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Annotated

import typer

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.cli import complete
from gpuadvise.cli.emit import stream
from gpuadvise.cli.exits import Exit

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

EXAMPLES = """\
  gpuadvise schema occupancy > occupancy.schema.json
  gpuadvise schema             # the names"""

# A schema file refers to common.json by this; the printed schema carries it along.
_COMMON = "common.json#/$defs/"


def command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A command.", autocompletion=complete.schemas),
    ] = None,
) -> Exit:
    """Print the JSON Schema of command NAME, or the names that have one."""
    known = names()
    if name is None:
        stream(f"{each}\n" for each in known)
    elif name in known:
        stream([bundled(name)])
    else:
        raise BadInput(f"There is no schema {quoted(name)}.", hint=f"Known: {and_list(known)}.")
    return Exit.RAN


def names() -> list[str]:
    """Return the names of all schemas that ship with the package."""
    shipped = (path.name.removesuffix(".json") for path in _folder() if path.name.endswith(".json"))
    return sorted(set(shipped) - {"common"})


def bundled(name: str) -> str:
    """Return schema *name* as JSON text, self-contained: shared definitions are moved in."""
    import json

    schema = json.loads(_read(name).replace(_COMMON, "#/$defs/"))
    schema["$defs"] = {**json.loads(_read("common"))["$defs"], **schema.get("$defs", {})}
    return json.dumps(schema, indent=2) + "\n"


def _folder() -> list[Traversable]:
    return list(files("gpuadvise.cli.schemas").iterdir())


def _read(name: str) -> str:
    return (files("gpuadvise.cli.schemas") / f"{name}.json").read_text(encoding="utf-8")
