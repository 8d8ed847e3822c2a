"""Fatbins made on the spot: real headers, contents that no listing looks into."""

from __future__ import annotations

import struct

KINDS = {"ptx": 1, "sass": 2, "lto": 8}
_REGION = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQIIHHIIIQQQ")
_SPECIFIC, _FAMILY = 0x100000, 0x200000


def old_image(toolkit: str) -> bytes:
    """Return the start of an image of the old ABI that names its *toolkit*, and zeros."""
    major, minor = map(int, toolkit.split("."))
    head = struct.pack("<4s5B7xHHI", b"\x7fELF", 2, 1, 1, 0x33, 7, 2, 190, 10 * major + minor)
    return head.ljust(4096, b"\0")


def _entry(word: str) -> bytes:
    word, _, toolkit = word.partition("=")
    kind, _, rest = word.partition(":")
    target, _, version = rest.partition("@")
    number = int(target.rstrip("af+"))
    flags = _SPECIFIC * target.endswith("a") + _FAMILY * target.endswith("f")
    major, minor = (
        int(part) for part in (version or ("1.8" if "+" in target else "1.7")).split(".")
    )
    payload = old_image(toolkit) if toolkit else bytes(4096)
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


def fatbin_around(images: list[tuple[str, bytes]], modules: int | None = None) -> bytes:
    """Return a fatbin with a region for each image, behind its target: ``90a``; or all in one."""
    bodies = []
    for target, image in images:
        flags = _SPECIFIC * target.endswith("a")
        number = int(target.rstrip("a"))
        head = (2, 0x0101, _ENTRY.size, len(image), 0, 0, 8, 1, number, 0, 0, flags, 0, 0)
        bodies.append(_ENTRY.pack(*head) + image)
    if modules == 1:
        bodies = [b"".join(bodies)]
    return b"".join(_REGION.pack(0xBA55ED50, 1, 16, len(body)) + body for body in bodies)


def fatbin_of(text: str) -> bytes:
    """Return a fatbin with the entries ``sass:80=12.6 ptx:90@8.4 | sass:90a``.

    A bar stands between regions, a toolkit behind ``=``.
    """
    regions = [b"".join(map(_entry, words.split())) for words in text.split("|")]
    return b"".join(_REGION.pack(0xBA55ED50, 1, 16, len(body)) + body for body in regions)
