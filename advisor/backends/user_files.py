"""Measured link parameters as files: what ``measure`` saved, or written by hand."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.quantity import show_bytes
from gpuadvise.advisor.snapshot import read_machine
from gpuadvise.advisor.transfers.links import link_model_from_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.gpu import Machine
    from gpuadvise.advisor.transfers.links import LinkModel


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


# A full measurement with all its rows is some 100 KB.
_LARGEST_BYTES = 8 << 20


def read_calibration(path: str) -> LinkModel:
    """Return the link model in the JSON file *path* (``-``: stdin).

    The file holds the parameters themselves or an answer of ``measure``, which has them under
    ``result.calibration``. Raises BadInput that names the file.
    """
    content = read_small(path, largest=_LARGEST_BYTES)
    try:
        data = _parameters(json.loads(content))
    except (ValueError, RecursionError):
        raise BadInput(f"{quoted(path)} is not JSON.") from None
    if not isinstance(data, dict):
        raise BadInput(
            f"{quoted(path)} holds no calibration.",
            hint="Save one with: gpuadvise measure copies --format json > box.json",
        )
    try:
        return link_model_from_json(data)
    except BadInput as error:
        raise BadInput(f"{quoted(path)}: {error.message}", hint=error.hint) from None


def _parameters(document: Any) -> Any:
    for key in ("result", "calibration"):
        if isinstance(document, dict) and key in document:
            document = document[key]
    return document


# A record with telemetry is about 8 KB; this is a thousand of them.


def read_snapshot(path: str) -> Machine:
    """Return the machine saved in the file *path* (``-``: stdin); raises BadInput naming it.

    The file is an answer of ``device --all`` or the XML of ``nvidia-smi -q -x``.
    """
    try:
        content = read_small(path, largest=_LARGEST_BYTES)
    except BadInput as error:
        raise BadInput(f"--from: {error.message}") from None
    try:
        if content.lstrip()[:5] in (b"<?xml", b"<nvid"):
            from gpuadvise.advisor.backends.nvidia_smi import machine_from_xml

            return machine_from_xml(content)
        return read_machine(json.loads(content))
    except (ValueError, RecursionError):
        raise BadInput(f"--from: {quoted(path)} is not JSON.") from None
    except BadInput as error:
        raise BadInput(f"--from: {quoted(path)}: {error.message}", hint=error.hint) from None


@contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """Open *path* for reading; what the system refuses, then or later, becomes BadInput."""
    try:
        with open(path, "rb") as file:
            yield file
    except OSError as error:
        raise BadInput(f"{quoted(path)} cannot be read: {error.strerror or error}.") from None
    except ValueError as error:  # a name with a zero byte
        if "null" not in str(error):
            raise
        raise BadInput(f"{quoted(path)} is no usable file name.") from None
