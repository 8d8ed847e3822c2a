"""Workflow commands of GitHub Actions: one annotation per finding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.prose import inert
from gpuadvise.cli.blocks import Block, Line, Tone

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LEVELS = {"high": "error", "medium": "warning", "low": "notice"}
# What ends a message or a property early, and how the runner wants it written.
_MESSAGE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_MESSAGE, ":": "%3A", ",": "%2C"}


def render(findings: Sequence[Mapping[str, Any]], source: str | None) -> str:
    """Return one line per finding; *source* is the file of findings that name none."""
    return "".join(f"{_line(finding, source)}\n" for finding in findings)


def annotated(command: str, blocks: Iterable[Block]) -> str:
    """Return the verdict of an answer that has no findings as a notice: its first full-toned line."""
    lines = [block for block in blocks if isinstance(block, Line)]
    first = next((line.text for line in lines if line.tone is not Tone.FAINT), "")
    return annotation("notice", f"gpuadvise {command}", first) if first else ""


def annotation(level: str, title: str, message: str) -> str:
    """Return one workflow command; *level* is error, warning or notice."""
    return f"::{level} title={_escaped(title, _PROPERTY)}::{_escaped(message, _MESSAGE)}\n"


def _line(finding: Mapping[str, Any], source: str | None) -> str:
    place = finding["location"] or {}
    kernel = f"{place['kernel']}: " if place.get("kernel") else ""
    values = {
        "file": place.get("file") or source,
        "line": place.get("line"),
        "col": place.get("column"),
        "title": f"{kernel}{finding['title']} ({finding['rule']})",
    }
    properties = ",".join(
        f"{name}={_escaped(str(value), _PROPERTY)}" for name, value in values.items() if value
    )
    message = _escaped(f"{finding['message']} {finding['action']}", _MESSAGE)
    return f"::{LEVELS[finding['priority']]} {properties}::{message}"


def _escaped(text: str, table: Mapping[str, str]) -> str:
    return "".join(table.get(char, char) for char in inert(text))
