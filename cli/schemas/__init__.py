"""JSON Schemas of every JSON output, shipped as data."""

from __future__ import annotations

from importlib.resources import files


def names() -> list[str]:
    """Return the names of all schemas that ship with the package."""
    shipped = (path.name for path in files(__name__).iterdir() if path.name.endswith(".json"))
    return sorted({name.removesuffix(".json") for name in shipped} - {"common"})


def text_of(name: str) -> str:
    """Return the file of schema *name* as it is, references to other files included."""
    return (files(__name__) / f"{name}.json").read_text(encoding="utf-8")
