"""The device that a description names, from the catalogue."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from gpuadvise.advisor.capability import parse_capability
from gpuadvise.advisor.catalogue.entries import by_capability
from gpuadvise.advisor.catalogue.lookup import find
from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from gpuadvise.advisor.device import Device


@cache
def from_catalogue(gpu: str | None, cc: str | None) -> Device | None:
    """Return the device of the name *gpu* or the capability *cc*; None when neither is given.

    Raises BadInput for an unknown name, and when both are given.
    """
    if gpu and cc:
        raise BadInput("Give gpu or cc, not both.")
    if gpu:
        return find(gpu)
    return by_capability(parse_capability(cc)) if cc else None
