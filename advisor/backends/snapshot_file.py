"""Saved ``device`` answers as files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.small_file import read_small
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
        content = read_small(path, largest=_LARGEST_BYTES)
    except BadInput as error:
        raise BadInput(f"--from: {error.message}") from None
    try:
        return read_machine(json.loads(content))
    except (ValueError, RecursionError):
        raise BadInput(f"--from: {quoted(path)} is not JSON.") from None
    except BadInput as error:
        raise BadInput(f"--from: {quoted(path)}: {error.message}", hint=error.hint) from None
