"""Findings that were there before, and which of others are new beside them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.source.diagnostic import Diagnostic

Key: TypeAlias = tuple[str, str, str | None]  # rule, file, kernel


@dataclass(slots=True)
class KnownDiagnostics:
    """How often each finding was there: in these words, and in any words."""

    texts: Counter[tuple[Key, str]] = field(default_factory=Counter)
    counts: Counter[Key] = field(default_factory=Counter)

    def add(self, key: Key, text: str) -> None:
        """Add a finding about *text* of the source."""
        self.texts[key, text] += 1
        self.counts[key] += 1

    def new_among(self, diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Return those that were not there before, in their order.

        Lines move, so they do not count. A finding about the same text is the old one; where a
        rule speaks of a function no more often than before, an edited line is no new fault.
        """
        others = []
        for diagnostic in diagnostics:
            key = key_of(diagnostic)
            if self.texts[key, diagnostic.seen] > 0:
                self.texts[key, diagnostic.seen] -= 1
                self.counts[key] -= 1
            else:
                others.append(diagnostic)
        new = []
        for diagnostic in others:
            key = key_of(diagnostic)
            if self.counts[key] > 0:
                self.counts[key] -= 1
            else:
                new.append(diagnostic)
        return tuple(new)


def key_of(diagnostic: Diagnostic) -> Key:
    """Return what a finding is known by."""
    return diagnostic.rule, plain_path(diagnostic.file), diagnostic.kernel


def plain_path(file: str) -> str:
    """Return *file* as it is compared: with slashes, without a dot before it."""
    return file.replace("\\", "/").removeprefix("./")
