"""What the caller of a reader wants, so that nothing else is unpacked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.binaries.model import Content

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.binaries.model import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """Which items a reader gives; entries are always given.

    *kernels*: False gives entries and damage only, and unpacks nothing but likely stubs.
    *chosen*: of the entries of one module, those whose kernels are wanted (all by default).
    """

    kernels: bool = True
    chosen: Callable[[tuple[Entry, ...]], tuple[Entry, ...]] | None = None

    def pick(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        """Return those of one module's *entries* whose kernels are to be read."""
        if not self.kernels:
            return ()
        readable = tuple(e for e in entries if e.content in (Content.SASS, Content.PTX))
        return readable if self.chosen is None else self.chosen(readable)
