"""Texts of errors that people paste, from errors.toml, and Xids of the driver's log."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class ErrorText(NamedTuple):
    """An error: other phrases it is told by, its meaning, the usual causes, what to run first."""

    name: str
    text: str
    said: tuple[str, ...]
    causes: tuple[str, ...]
    command: str


@cache
def error_texts() -> tuple[ErrorText, ...]:
    """Return every error of errors.toml, in its order."""
    import tomllib

    text = (files("gpuadvise.cli.explain") / "errors.toml").read_text(encoding="utf-8")
    return tuple(
        ErrorText(
            name=record["name"],
            text=record["text"],
            said=tuple(record["said"]),
            causes=tuple(record["causes"]),
            command=record["command"],
        )
        for record in tomllib.loads(text)["error"]
    )


def error_in(pasted: str) -> ErrorText | None:
    """Return the error that *pasted* tells of, by the longest phrase it holds; None: of none known."""
    if xid := _XID.search(pasted):
        return xid_text(int(xid[1]))
    words = f" {_words(pasted)} "
    phrases = (
        (_words(phrase), error) for error in error_texts() for phrase in (error.name, *error.said)
    )
    found = [(len(phrase), error) for phrase, error in phrases if f" {phrase} " in words]
    return max(found, key=lambda it: it[0])[1] if found else None


def xid_text(code: int) -> ErrorText:
    """Return what the Xid *code* means, and what to do about it."""
    from gpuadvise.advisor.xids import XidKind, kind_of, meaning_of
    from gpuadvise.rules.guide.device_state.xid_errors import ACTIONS

    kind = kind_of(code)
    return ErrorText(
        name=f"Xid {code}",
        text=f"NVIDIA's driver wrote into the kernel's log: {meaning_of(code)}.",
        said=(),
        causes=(_NO_ACTION if kind is XidKind.HARMLESS else ACTIONS[kind],),
        command="gpuadvise doctor",
    )


_NO_ACTION = "NVIDIA's catalogue asks for no action on it alone: read the lines beside it."
# "Xid 79", "XID: 79", and the driver's line: NVRM: Xid (PCI:0000:06:00): 79, pid=...
_XID = re.compile(r"\bxids?\b(?:\s*\([^()]{0,40}\))?[\s:=#]{0,4}(\d{1,4})\b", re.IGNORECASE)


def _words(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))
