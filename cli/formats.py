"""The output formats and the options that choose them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Format(StrEnum):
    """Formats every command can give."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"
    NDJSON = "ndjson"
    MARKDOWN = "markdown"
    HTML = "html"


# Annotations of GitHub Actions: every command has its gate's, some one for each finding.
GITHUB = "github"


class Output(NamedTuple):
    """How the user wants the answer: a format, or single fields."""

    format: str = Format.TEXT
    fields: tuple[str, ...] = ()
