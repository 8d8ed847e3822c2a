"""Saved ``device`` answers as files."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.snapshot import read_machine

if TYPE_CHECKING:
    from gpuadvise.advisor.gpu import Machine

# A record with telemetry is about 8 KB; this is a thousand of them.
_LARGEST_BYTES = 8 << 20


def read_snapshot(path: str) -> Machine:
    """Return the machine saved in the file *path* (``-``: stdin); raises BadInput naming it."""
    try:
        return read_machine(json.loads(_content(path)))
    except (ValueError, RecursionError):
        raise BadInput(f"--from: {quoted(path)} is not JSON.") from None
    except BadInput as error:
        raise BadInput(f"--from: {quoted(path)}: {error.message}", hint=error.hint) from None


def _content(path: str) -> bytes:
    try:
        if path == "-":
            content = sys.stdin.buffer.read(_LARGEST_BYTES + 1)
        else:
            with open(path, "rb") as file:
                content = file.read(_LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no usable file name"
        raise BadInput(f"{quoted(path)} cannot be read: {reason}.") from None
    if len(content) > _LARGEST_BYTES:
        raise BadInput("the file is larger than any saved answer.")
    return content
