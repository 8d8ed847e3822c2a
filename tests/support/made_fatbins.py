"""Fatbins made on the spot: real headers, contents that no listing looks into."""

from __future__ import annotations

import struct

KINDS = {"ptx": 1, "sass": 2, "lto": 8}
_REGION = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_SPECIFIC, _FAMILY = 0x100000, 0x200000


def _entry(word: str) -> bytes:
    kind, _, rest = word.partition(":")
    target, _, version = rest.partition("@")
    number = int(target.rstrip("af+"))
    flags = _SPECIFIC * target.endswith("a") + _FAMILY * target.endswith("f")
    major, minor = (
        int(part) for part in (version or ("1.8" if "+" in target else "1.7")).split(".")
    )
    payload = bytes(4096)
    head = (
        KINDS[kind],
        0x0101,
        _ENTRY.size,
        len(payload),
        0,
        0,
        minor,
        major,
        number,
        0,
        0,
        flags,
        0,
        0,
    )
    return _ENTRY.pack(*head) + payload


def fatbin_of(text: str) -> bytes:
    """Return a fatbin with the entries ``sass:80 ptx:90@8.4 | sass:90a``: a bar between regions."""
    regions = [b"".join(map(_entry, words.split())) for words in text.split("|")]
    return b"".join(_REGION.pack(0xBA55ED50, 1, 16, len(body)) + body for body in regions)
