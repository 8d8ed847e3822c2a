"""Words put together: lists, plurals, and foreign text made harmless."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Longest piece of a user's own text that a message repeats.
SHOWN = 60


def and_list(words: Sequence[str], joiner: str = "and", *, most: int | None = None) -> str:
    """Return *words* as an English list: ``a``, ``a and b``, ``a, b and c``; beyond *most* they are counted."""
    if most is not None and len(words) > most:
        words = [*words[:most], f"{len(words) - most:,} more"]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joiner} {words[-1]}"


def plural(count: int, noun: str, many: str | None = None) -> str:
    """Return *count* and *noun*, in the plural unless the count is one."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def capitalized(text: str) -> str:
    """Return *text* with a large first letter, as sentences begin: a device may be named by its capability."""
    return f"{text[:1].upper()}{text[1:]}"


def inert(text: str) -> str:
    r"""Return *text* with every character that could steer a terminal written as ``\x1b``.

    Controls, line breaks, bidirectional overrides, lone surrogates and other unprintable
    characters of kernel, device and file names are data, never commands. So are commands that some
    runners of continuous integration take from anywhere in a line: ``##vso[task.complete]``.
    """
    if "##" in text:
        text = without_commands(text)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def without_commands(text: str) -> str:
    r"""Return *text* with ``##[``, ``##vso[`` and ``##teamcity[`` written as ``#\x23[``."""
    return re.sub(r"##(?=(?:vso|teamcity)?\[)", r"#\\x23", text, flags=re.IGNORECASE)


def _escaped(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quoted(text: str) -> str:
    """Return *text* inert, shortened to what fits a message, in quotation marks."""
    short = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return f'"{inert(short)}"'


def quoted_path(path: str) -> str:
    """Return *path* inert in quotation marks; of a long one the end, where the name is."""
    short = path if len(path) <= SHOWN else "…" + path[1 - SHOWN :]
    return f'"{inert(short)}"'
