"""JSON Schemas of every JSON output, shipped as data; ``docs/generate.py`` writes them."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def names() -> list[str]:
    """Return the names of all schemas that ship with the package."""
    shipped = (path.name for path in files(__name__).iterdir() if path.name.endswith(".json"))
    return sorted({name.removesuffix(".json") for name in shipped} - {"common"})


def text_of(name: str) -> str:
    """Return the file of schema *name* as it is, references to other files included."""
    return (files(__name__) / f"{name}.json").read_text(encoding="utf-8")


def _schema(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return schema *name*, and the definitions that it refers to, shared ones included."""
    import json

    schema, common = json.loads(text_of(name)), json.loads(text_of("common"))
    return schema, {**common["$defs"], **schema.get("$defs", {})}


def columns_of(name: str) -> tuple[str, ...]:
    """Return the columns that each line of CSV of command *name* has, in their order."""
    _, definitions = _schema(name)
    (row,) = definitions["row"]["anyOf"]
    return tuple(definitions.get(row.get("$ref", "").rpartition("/")[2], row)["required"])


def fields_of(name: str) -> list[tuple[str, str]]:
    """Return the fields in ``result`` of command *name* as ``--get`` takes them, and what each is.

    A field inside a list stands for that of each entry.
    """
    if name not in names():
        return []
    schema, definitions = _schema(name)
    described: dict[tuple[str, ...], str] = {}
    for parts, text in _paths(schema["properties"]["result"], definitions, (), ()):
        described[parts] = described.get(parts) or text
    return [(".".join(parts), text.partition("\n")[0]) for parts, text in described.items()]


def _paths(
    schema: dict[str, Any], defs: dict[str, Any], start: tuple[str, ...], inside: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield path and description of the properties in *schema*; *inside*: references around it."""
    reference = schema.get("$ref", "").rpartition("/")[2]
    if reference in inside:
        return
    parts = [schema.get("items"), defs.get(reference)]
    for several in ("allOf", "anyOf", "oneOf"):
        parts += schema.get(several, [])
    for name, value in schema.get("properties", {}).items():
        yield (*start, name), str(value.get("description", ""))
        yield from _paths(value, defs, (*start, name), inside)
    for part in parts:
        if isinstance(part, dict):
            yield from _paths(part, defs, start, (*inside, reference) if reference else inside)
