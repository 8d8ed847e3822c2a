"""Small files whole: calibrations, lists of indices, descriptions."""

from __future__ import annotations

import sys

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.quantity import show_bytes


def read_small(path: str, *, largest: int) -> bytes:
    """Return the content of the file *path* (``-``: stdin), of up to *largest* bytes.

    Raises BadInput for a file that cannot be read or is larger.
    """
    try:
        if path == "-":
            content = sys.stdin.buffer.read(largest + 1)
        else:
            with open(path, "rb") as file:
                content = file.read(largest + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no usable file name"
        raise BadInput(f"{quoted(path)} cannot be read: {reason}.") from None
    if len(content) > largest:
        raise BadInput(f"{quoted(path)} is larger than {show_bytes(largest)}.")
    return content
