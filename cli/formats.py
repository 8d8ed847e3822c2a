"""The output formats and the options that choose them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Format(StrEnum):
    """Formats every command can give."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    NDJSON = "ndjson"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """How the user wants the answer: a format, or single fields."""

    format: str = Format.TEXT
    fields: tuple[str, ...] = ()
