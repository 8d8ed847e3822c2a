"""``gpuadvise schema NAME``: the JSON Schema of a command's JSON output, in one piece."""

from __future__ import annotations

from typing import Annotated

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import and_list, quoted
from gpuadvise.cli import completion
from gpuadvise.cli.emit import stream
from gpuadvise.cli.exits import Exit
from gpuadvise.cli.parameters import argument
from gpuadvise.cli.schemas import names, text_of

EXAMPLES = """\
  gpuadvise schema occupancy > occupancy.schema.json
  gpuadvise schema             # the names"""

# A schema file refers to common.json by this; the printed schema carries it along.
_COMMON = "common.json#/$defs/"


def command(
    name: Annotated[
        str | None,
        argument("[NAME]", "A command.", complete=completion.schema_names),
    ] = None,
) -> Exit:
    """Print the JSON Schema of command NAME, or the names that have one."""
    known = names()
    if name is None:
        stream(f"{name}\n" for name in known)
    elif name in known:
        stream([bundled(name)])
    else:
        raise BadInput(f"There is no schema {quoted(name)}.", hint=f"Known: {and_list(known)}.")
    return Exit.RAN


def bundled(name: str) -> str:
    """Return schema *name* as JSON text, self-contained: shared definitions are moved in."""
    import json

    schema = json.loads(text_of(name).replace(_COMMON, "#/$defs/"))
    schema["$defs"] = {**json.loads(text_of("common"))["$defs"], **schema.get("$defs", {})}
    return json.dumps(schema, indent=2) + "\n"
