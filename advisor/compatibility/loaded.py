"""Which images of a module a driver uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.compatibility.fit import Fit, Outcome, fit
from gpuadvise.advisor.compatibility.targets import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpuadvise.advisor.binaries.model import Entry
    from gpuadvise.advisor.capability import Capability


def loaded(entries: Sequence[Entry], gpu: Capability) -> tuple[Entry, ...]:
    """Return those of one module's *entries* that a driver would use on *gpu*, best only.

    Machine code goes before PTX, the nearest target before older ones and a specific target
    before the plain one, whether or not the driver can read it (seen on a live GPU, driver
    580). A module may hold several images for one target: all of them are used.
    """
    fits = (fit(entry, gpu) for entry in entries)
    usable = [one for one in fits if one.outcome is not Outcome.FAILS]
    best = min(map(_rank, usable), default=None)
    return tuple(one.entry for one in usable if _rank(one) == best)


def _rank(one: Fit) -> tuple[bool, int, int, int]:
    target = one.entry.capability
    assert target is not None  # what names no target fits nothing
    major, minor = number(target)
    return (one.outcome is Outcome.JIT, -major, -minor, ("a", "f", "").index(target.variant))
