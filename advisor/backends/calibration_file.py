"""The calibrations that ``measure --save`` keeps for this user: one file, an entry per GPU."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.file_replacement import replacing
from gpuadvise.advisor.calibration import Calibration, from_json, merged, to_json
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpuadvise.advisor.gpu import Identity

VARIABLE = "GPUADVISE_CALIBRATIONS"
_SCHEMA = "gpuadvise.calibrations/1"
_LARGEST_BYTES = 1 << 20


def path(environ: Mapping[str, str] = os.environ) -> str:
    """Return where the calibrations are: ``$GPUADVISE_CALIBRATIONS``, else the user's data folder."""
    if named := environ.get(VARIABLE):
        return named
    if sys.platform == "win32":
        folder = environ.get("LOCALAPPDATA") or os.path.expanduser("~")
    else:
        folder = environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.path.join(folder, "gpuadvise", "calibrations.json")


def saved(identity: Identity, environ: Mapping[str, str] = os.environ) -> Calibration | None:
    """Return what was saved for the GPU; raises BadInput for a file that cannot be used."""
    entry = _entries(path(environ)).get(_key(identity))
    if entry is None:
        return None
    try:
        return from_json(entry)
    except BadInput as error:
        raise BadInput(f"{quoted(path(environ))}: {error.message}") from None


def save(
    identity: Identity, calibration: Calibration, environ: Mapping[str, str] = os.environ
) -> str:
    """Keep *calibration* for the GPU beside what is known already; return the file's name.

    Raises Unavailable where the file cannot be written.
    """
    place = path(environ)
    try:
        with _alone(place):
            _add(place, _key(identity), calibration)
    except OSError as error:
        raise Unavailable(
            f"The calibration cannot be saved in {quoted(place)}: {error.strerror}.",
            hint=f"${VARIABLE} names another file.",
        ) from None
    return place


@contextmanager
def _alone(place: str) -> Iterator[None]:
    """Hold the folder of *place* until what is in the file was read and written; raises OSError."""
    folder = os.path.dirname(place) or "."
    os.makedirs(folder, exist_ok=True)
    if sys.platform == "win32":
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _add(place: str, key: str, calibration: Calibration) -> None:
    """Write *calibration* under *key* into the file *place*, beside what is known there."""
    try:
        entries = _entries(place)
        old = from_json(entries[key]) if key in entries else Calibration()
    except BadInput:  # not ours, or broken: it is written anew
        entries, old = {}, Calibration()
    entries[key] = to_json(merged(old, calibration))
    with replacing(os.path.realpath(place)) as file:
        file.write(json.dumps({"schema": _SCHEMA, "gpus": entries}, indent=1).encode())


def today() -> str:
    """Return the day as 2026-11-22."""
    return datetime.now(UTC).date().isoformat()


def _key(identity: Identity) -> str:
    """Return what stands for the GPU in the file: nothing that names it."""
    return sha256((identity.uuid or identity.pci_bus_id or "").encode()).hexdigest()[:16]


def _entries(place: str) -> dict[str, Any]:
    try:
        with open(place, "rb") as file:
            document = json.loads(file.read(_LARGEST_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        raise BadInput(
            f"{quoted(place)} holds no calibrations; measure --save writes it anew."
        ) from None
    gpus = document.get("gpus") if isinstance(document, dict) else None
    if not isinstance(gpus, dict):
        raise BadInput(f"{quoted(place)} holds no calibrations; measure --save writes it anew.")
    return gpus
