"""Xid errors of GPUs: what the NVIDIA kernel driver wrote into the kernel's log."""

from __future__ import annotations

import os
import re

from gpuadvise.advisor.backends.pci_tree import pci_id

_LOG = "dev/kmsg"
# NVRM: Xid (PCI:0000:06:00): 79, pid=1234, name=..., GPU has fallen off the bus.
# Old drivers leave "PCI:" out.
_XID = re.compile(
    rb"NVRM: Xid \((?:PCI:)?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})[^)]*\): (\d{1,4})"
)
_LONGEST_LINE = 8192
_MOST_LINES = 1_000_000


class Unreadable(Exception):
    """The log may not be read; the message says why."""


def xids(root: str = "/") -> dict[str, tuple[int, ...]]:
    """Return the codes of each GPU by PCI id (domain in eight digits), oldest first.

    Raises Unreadable. Who sent a process' name into the log cannot forge an entry of another
    line: each read gives one line.
    """
    codes: dict[str, list[int]] = {}
    for line in _lines(os.path.join(root, _LOG)):
        if match := _XID.search(line):
            codes.setdefault(pci_id(match[1].decode()), []).append(int(match[2]))
    return {gpu: tuple(of_gpu) for gpu, of_gpu in codes.items()}


def _lines(path: str) -> list[bytes]:
    try:
        log = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        raise Unreadable(
            f"the kernel's log cannot be read ({error.strerror}); an administrator may: "
            "dmesg | grep Xid"
        ) from None
    lines: list[bytes] = []
    try:
        while len(lines) < _MOST_LINES and (line := _line(log)):
            lines.append(line)
    finally:
        os.close(log)
    return lines


def _line(log: int) -> bytes:
    """Return the next line, empty at the end."""
    while True:
        try:
            return os.read(log, _LONGEST_LINE)
        except BrokenPipeError:  # the line was overwritten before it was read
            continue
        except OSError:  # EAGAIN: no more
            return b""
