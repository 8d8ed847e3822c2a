"""Measured link parameters as files: what ``measure`` saved, or written by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.small_file import read_small
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted
from gpuadvise.advisor.transfers.link_model import link_model_from_json

if TYPE_CHECKING:
    from gpuadvise.advisor.transfers.link_model import LinkModel

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
