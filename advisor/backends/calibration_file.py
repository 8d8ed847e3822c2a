"""The calibrations that ``measure --save`` keeps for this user: one file, an entry per GPU."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.calibration import Calibration, from_json, merged, to_json
from gpuadvise.advisor.errors import BadInput, Unavailable
from gpuadvise.advisor.prose import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

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
        entries = _entries(place)
        old = from_json(entries[_key(identity)]) if _key(identity) in entries else Calibration()
    except BadInput:  # not ours, or broken: it is written anew
        entries, old = {}, Calibration()
    entries[_key(identity)] = to_json(merged(old, calibration))
    try:
        os.makedirs(os.path.dirname(place) or ".", exist_ok=True)
        beside = f"{place}.{os.getpid()}"
        with open(beside, "w", encoding="utf-8") as file:
            json.dump({"schema": _SCHEMA, "gpus": entries}, file, indent=1)
        os.replace(beside, place)
    except OSError as error:
        raise Unavailable(
            f"The calibration cannot be saved in {quoted(place)}: {error.strerror}.",
            hint=f"${VARIABLE} names another file.",
        ) from None
    return place


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
