"""Files that the user names: opened, read whole when small, and read as what they hold.

Parsers are imported where they are used: a reader of binaries needs the opener only.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from io import BufferedReader
from select import select
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.remote_files import is_address, open_address
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.quantity import show_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO

    from gpuadvise.advisor.calibration import Calibration
    from gpuadvise.advisor.gpu import Machine
    from gpuadvise.advisor.transfers.links import LinkModel


def unreadable(error: OSError | ValueError, name: str) -> BadInput:
    """Return the error that says why *name* (quoted, perhaps with its option) cannot be read."""
    if isinstance(error, FileNotFoundError):
        hint = None
        if "://" in name and error.filename is not None:  # the system was asked for it
            hint = (
                "Addresses are files of fleet, timeline, advise, kernels, compat and lint, and "
                "begin with s3://, gs://, https:// or hf://; for others download it first."
            )
        return BadInput(f"{name} cannot be read: there is no such file.", hint=hint)
    if isinstance(error, PermissionError):
        return BadInput(f"{name} cannot be read: this user may not.")
    if isinstance(error, OSError):
        return BadInput(f"{name} cannot be read: {error.strerror or error}.")
    return BadInput(f"{name} cannot be the name of a file.")  # it holds a zero byte


# The temporary files that hold what came through pipes, by what the user calls the pipe.
_kept: dict[str, str] = {}
_LARGEST_PIPE = 8 << 30
_PIECE = 1 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def is_pipe(path: str) -> bool:
    """Return whether *path* is a pipe, as the shell makes of ``<(command)``."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


@contextmanager
def kept_pipes(paths: Iterable[str]) -> Iterator[None]:
    """Keep all that comes through the pipes among *paths* (``-``: stdin): to open one finds a file.

    A pipe gives its bytes once, and what they are is told by opening it. Raises BadInput when one
    cannot be read, or has no end.
    """
    with ExitStack() as stack:
        for path in paths:
            if path in _kept or not (path == "-" or is_pipe(path)):
                continue
            from gpuadvise.advisor.backends.temporary_folder import (
                temporary_folder,  # files need none
            )

            copy = os.path.join(stack.enter_context(temporary_folder()), "content")
            try:
                with nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as pipe:
                    _copy(pipe, copy, "stdin" if path == "-" else quoted(path))
            except OSError as error:
                if error.errno not in _FULL:
                    raise unreadable(error, quoted(path)) from None
                raise Unavailable(
                    f"What comes through {quoted(path)} cannot be kept: {error.strerror}.",
                    hint="Give the file itself, or name a folder with room: TMPDIR=FOLDER.",
                ) from None
            _kept[path] = copy
            stack.callback(_kept.pop, path)
        yield


def _copy(pipe: IO[bytes], copy: str, name: str) -> None:
    with open(copy, "wb") as file:
        for piece in pieces(pipe):
            file.write(piece)
            if file.tell() > _LARGEST_PIPE:
                raise BadInput(f"{name} is larger than 8 GiB.", hint="Give the file itself.")


_LONGEST_WAIT = 0.2  # seconds until a signal is seen that came just before a wait


def pieces(pipe: IO[bytes]) -> Iterator[bytes]:
    """Yield what comes through *pipe*; a signal ends the wait for it.

    One that comes between two reads interrupts neither: a read that waits would not see it.
    """
    while piece := pipe.read1(_PIECE) if isinstance(pipe, BufferedReader) else pipe.read(_PIECE):
        yield piece
        with suppress(OSError, ValueError):  # no descriptor, or Windows: no select for files
            while not select([pipe], [], [], _LONGEST_WAIT)[0]:
                pass


def is_kept(path: str) -> bool:
    """Return whether what came through the pipe *path* is kept."""
    return path in _kept


def is_file(path: str) -> bool:
    """Return whether *path* is a file of this machine, or the address of one, which others can open too."""
    return os.path.isfile(path) or is_address(path)


def open_file(path: str, *, name: str | None = None) -> BufferedReader:
    """Return the file *path*, or that of an address, open; raises BadInput that calls it *name*."""
    try:
        if is_address(path):
            return open_address(path)
        return open(_kept.get(path, path), "rb")
    except (OSError, ValueError) as error:
        raise unreadable(error, name or quoted(path)) from None


@contextmanager
def opened(path: str, *, name: str | None = None) -> Iterator[BufferedReader]:
    """Open *path* for reading; an error of the system, then or later, becomes BadInput."""
    try:
        with open_file(path, name=name) as file:
            yield file
    except OSError as error:
        raise unreadable(error, name or quoted(path)) from None


def read_small(path: str, *, largest: int, name: str | None = None) -> bytes:
    """Return the content of the file *path* (``-``: stdin), of up to *largest* bytes.

    Raises BadInput, which calls the file *name*, when it cannot be read or is larger.
    """
    name = name or quoted(path)
    if path == "-" and path not in _kept:
        content = sys.stdin.buffer.read(largest + 1)
    else:
        with opened(path, name=name) as file:
            content = file.read(largest + 1)
    if len(content) > largest:
        raise BadInput(f"{name} is larger than {show_bytes(largest)}.")
    return content


# A full measurement with all its rows is some 100 KB, a snapshot with telemetry about 8 KB.
LARGEST_DUMP = 8 << 20
_TITLE_BYTES = 400  # in which nvidia-smi says its name


def read_calibration(path: str) -> LinkModel:
    """Return the link model in the JSON file *path* (``-``: stdin).

    The file holds the parameters themselves or an answer of ``measure``, which has them under
    ``result.calibration``. Raises BadInput that names the file.
    """
    from gpuadvise.advisor.transfers.links import link_model_from_json

    content = read_small(path, largest=LARGEST_DUMP)
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


def read_measurement(path: str) -> Calibration:
    """Return what the JSON file *path* (an answer of ``measure``; ``-``: stdin) says was reached.

    Raises BadInput that names the file.
    """
    from gpuadvise.advisor.calibration import from_json

    content = read_small(path, largest=LARGEST_DUMP)
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise BadInput(f"{quoted(path)} is not JSON.") from None
    try:
        calibration = from_json(document.get("result") if isinstance(document, dict) else None)
    except BadInput as error:
        raise BadInput(f"{quoted(path)}: {error.message}", hint=error.hint) from None
    if calibration.memory_bandwidth is None and not calibration.peaks:
        raise BadInput(
            f"{quoted(path)} tells no memory bandwidth and no peaks.",
            hint="Save them with: gpuadvise measure bandwidth --format json, or kernel-rate.",
        )
    return calibration


def _parameters(document: Any) -> Any:
    for key in ("result", "calibration"):
        if isinstance(document, dict) and key in document:
            document = document[key]
    return document


def read_snapshot(path: str) -> Machine:
    """Return the machine saved in the file *path* (``-``: stdin); raises BadInput naming it.

    The file is an answer of ``device --all``, the XML of ``nvidia-smi -q -x`` or the CSV of its
    ``--query-gpu``.
    """
    content = read_small(path, largest=LARGEST_DUMP, name=f"--from: {quoted(path)}")
    try:
        return saved_machine(content)
    except BadInput as error:
        joint = "" if error.message.startswith(_PREDICATES) else ":"
        raise BadInput(f"--from: {quoted(path)}{joint} {error.message}", hint=error.hint) from None


_PREDICATES = ("is ",)


def saved_machine(content: bytes) -> Machine:
    """Return the machine that *content* of a file describes; raises BadInput that does not name it."""
    from gpuadvise.advisor.backends.query_csv import is_query, machine_from_csv
    from gpuadvise.advisor.snapshot import read_machine

    if not content.strip():
        raise BadInput("is empty.", hint="Did what writes it fail?")
    try:
        content = utf8(content)
        if b"<nvidia_smi_log" in content or content.lstrip().startswith(b"<?xml"):
            from gpuadvise.advisor.backends.nvidia_smi import machine_from_xml

            return machine_from_xml(content)
        if is_query(content):
            return machine_from_csv(content)
        return read_machine(json.loads(content))
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"is {_instead(content, error)}.",
            hint="Save `gpuadvise device --all --telemetry --format json`, or `nvidia-smi -q -x`.",
        ) from None


def _instead(content: bytes, error: Exception) -> str:
    """Return what *content* is instead of JSON or XML, of which *error* was said."""
    if content.lstrip().startswith((b"{", b"[")):
        return broken_json(error)
    start = content[:_TITLE_BYTES].upper()
    if b"NVIDIA-SMI" in start or b"NVSMI LOG" in start:
        return "a page of nvidia-smi for people"
    return "not JSON"


def broken_json(error: Exception) -> str:
    """Return what is wrong with a text that begins as JSON, and where."""
    if isinstance(error, json.JSONDecodeError):
        fault = error.msg.removesuffix(" at")  # "Unterminated string starting at"
        return f"broken JSON: {fault} at line {error.lineno}, column {error.colno}"
    if isinstance(error, RecursionError):
        return "JSON that nests too deeply"
    if isinstance(error, UnicodeDecodeError):
        line = error.object.count(b"\n", 0, error.start) + 1
        return f"broken JSON: line {line} is not UTF-8"
    return "JSON with a number that is too long"


def utf8(content: bytes) -> bytes:
    """Return *content* in UTF-8 without a mark: PowerShell's ``>`` writes UTF-16."""
    import codecs

    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16").encode()
    return content.removeprefix(codecs.BOM_UTF8)
