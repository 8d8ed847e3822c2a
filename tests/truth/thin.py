"""Thin Nsight Compute reports: the numbers stay, what is bulky or personal goes.

A report of `--set full` holds values per instruction, whole modules of machine code, and the
host's name, paths and environment. The layout is that of NVIDIA's `ProfilerReport.proto` and its
neighbours, shipped beside the tool in `extras/FileFormat`.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"NVR\0"
SIZE = struct.Struct("<I")

SOURCES, RESULTS, SESSION, PAYLOAD, PROCESS = 1, 2, 3, 5, 6  # of a block's header
METRICS, METRIC, INSTANCES = 13, 1, (3, 4)  # of a result; a metric's lists per instruction
MACHINE_CODE, SOURCE_FILES = 4, 8  # of a source

LARGEST_MODULE = 256 << 10
"""Machine code above this size is dropped: modules of libraries, not the samples of this corpus."""


def thin(report: bytes) -> bytes:
    """Return a report without lists per instruction, large modules, sources and the session."""
    if report[:4] != MAGIC:
        raise ValueError("not a report of Nsight Compute")
    header, at = _sized(report, 4)
    pieces = [MAGIC, SIZE.pack(len(header)), header]
    while at < len(report):
        block, at = _sized(report, at)
        messages, at = _payload(report, at, block)
        payload = b"".join(SIZE.pack(len(message)) + message for message in messages)
        kept = b"".join(
            _tagged(PAYLOAD, len(payload)) if number == PAYLOAD else raw
            for number, _, raw in _fields(block)
            if number not in (SESSION, PROCESS)
        )
        pieces += [SIZE.pack(len(kept)), kept, payload]
    return b"".join(pieces)


def _payload(report: bytes, at: int, block: bytes) -> tuple[list[bytes], int]:
    """Return the thinned messages after a block's header, and where the next block begins."""
    counts = {number: value for number, value, _ in _fields(block) if isinstance(value, int)}
    messages = []
    for _ in range(counts.get(SOURCES, 0)):
        message, at = _sized(report, at)
        messages.append(_source(message))
    for _ in range(counts.get(RESULTS, 0)):
        message, at = _sized(report, at)
        messages.append(_result(message))
    return messages, at


def _source(message: bytes) -> bytes:
    """Return a source without source text, and without machine code that is large."""
    return b"".join(
        raw
        for number, value, raw in _fields(message)
        if number != SOURCE_FILES
        and not (
            number == MACHINE_CODE and isinstance(value, bytes) and len(value) > LARGEST_MODULE
        )
    )


def _result(message: bytes) -> bytes:
    """Return a result whose metrics keep their values alone."""
    return b"".join(
        _message(METRICS, _metrics(value))
        if number == METRICS and isinstance(value, bytes)
        else raw
        for number, value, raw in _fields(message)
    )


def _metrics(message: bytes) -> bytes:
    """Return a list of metrics, or one metric, without its lists per instruction."""
    return b"".join(raw for number, _, raw in _fields(message) if number not in INSTANCES)


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes, bytes]]:
    """Yield number, value and all bytes of each field."""
    at = 0
    while at < len(message):
        start = at
        tag, at = _varint(message, at)
        value: int | bytes
        match tag & 7:
            case 0:
                value, at = _varint(message, at)
            case 1:
                value, at = message[at : at + 8], at + 8
            case 2:
                size, at = _varint(message, at)
                value, at = message[at : at + size], at + size
            case 5:
                value, at = message[at : at + 4], at + 4
            case kind:
                raise ValueError(f"a field of kind {kind}")
        yield tag >> 3, value, message[start:at]


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place, and where the next field begins."""
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def _encoded(number: int) -> bytes:
    """Return a number in seven-bit pieces."""
    pieces = bytearray()
    while number >= 0x80:
        pieces.append(number & 0x7F | 0x80)
        number >>= 7
    pieces.append(number)
    return bytes(pieces)


def _tagged(field: int, number: int) -> bytes:
    """Return a field that holds a number."""
    return _encoded(field << 3) + _encoded(number)


def _message(field: int, content: bytes) -> bytes:
    """Return a field that holds bytes."""
    return _encoded(field << 3 | 2) + _encoded(len(content)) + content


def _sized(report: bytes, at: int) -> tuple[bytes, int]:
    """Return what a size announces, and what comes after."""
    (size,) = SIZE.unpack_from(report, at)
    at += SIZE.size
    return report[at : at + size], at + size


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.with_suffix(".thin.ncu-rep").write_bytes(thin(path.read_bytes()))
