"""Which rules a file is held against: what the options say, and the settings nearest to the file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from gpuadvise.advisor.backends.settings_file import Settings, read_settings
from gpuadvise.advisor.errors import BadInput
from gpuadvise.cli.exits import threshold

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.rules.fail_on import FailOn


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRules:
    """Rules, patterns and thresholds by file; *select*, *ignore* and *fail_on* are the options'."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str | None = None
    _settings: dict[str, Settings] = field(default_factory=dict)
    _rules: dict[Path, frozenset[str]] = field(default_factory=dict)

    def settings(self, path: str) -> Settings:
        """Return the settings nearest to the file or folder *path*; raises BadInput."""
        # A folder that may not be entered holds no settings for anybody, and is not judged.
        folder = path if os.path.isdir(os.path.join(path, ".")) else os.path.dirname(path)
        if folder not in self._settings:
            self._settings[folder] = read_settings(Path(folder))
        return self._settings[folder]

    def option(self, path: str) -> str:
        """Return what sets the threshold of *path*, as users wrote it."""
        return "--fail-on" if self.fail_on else f"{self.settings(path).file}: fail_on"

    def limit(self, path: str) -> FailOn | None:
        """Return which findings in *path* fail, None without a gate; raises BadInput."""
        return threshold(self.option(path), self.fail_on or self.settings(path).fail_on)

    def gate(self, paths: Iterable[str]) -> FailOn | None:
        """Return the threshold of the first of *paths* that has one, None where none has."""
        return next(filter(None, map(self.limit, paths)), None)

    def of(self, path: str) -> frozenset[str]:
        """Return the ids that options and settings leave for the file *path*; raises BadInput."""
        settings = self.settings(path)
        if settings.folder not in self._rules:
            self._rules[settings.folder] = self._left(settings)
        rules = self._rules[settings.folder]
        ignored = [
            rule
            for pattern, ids in settings.per_file_ignores.items()
            if matches(path, pattern, settings.folder)
            for rule in ids
        ]
        return rules - _named(ignored, f"{settings.file}: per_file_ignores: ") if ignored else rules

    def excludes(self, path: str) -> bool:
        """Whether the settings leave out the file or folder *path*."""
        settings = self.settings(os.path.dirname(path))
        return any(matches(path, pattern, settings.folder) for pattern in settings.exclude)

    def _left(self, settings: Settings) -> frozenset[str]:
        """Return the ids that options and *settings* leave; --select stands instead of theirs.

        Rules that the source alone does not prove run only when they are named.
        """
        from gpuadvise.rules.source import CHECKED, OPT_IN

        if not (self.select or self.ignore or settings.select or settings.ignore):
            return CHECKED - OPT_IN  # without loading a rule
        from gpuadvise.rules.guide import RULES
        from gpuadvise.rules.select import among, selected

        place = f"{settings.file}: "
        select = () if self.select else settings.select
        theirs = selected(RULES, select, settings.ignore, place=place)
        left = {rule.id for rule in among(selected(RULES, self.select, self.ignore), theirs)}
        named = frozenset(self.select or settings.select)
        checked = frozenset(i for i in left if i in CHECKED and (i not in OPT_IN or i in named))
        if not checked:
            raise BadInput(
                "No rule is left that lint could check.",
                hint=f"--select, --ignore and {settings.file} exclude them all; see docs/lint.md.",
            )
        return checked


def names_in(words: str | None) -> tuple[str, ...]:
    """Return the names that commas separate in the text of an option."""
    return tuple(word.strip() for word in (words or "").split(",") if word.strip())


def _named(words: list[str], place: str) -> frozenset[str]:
    """Return the ids of the rules that *words* name, as ids, topics, priorities or categories."""
    from gpuadvise.rules.guide import RULES
    from gpuadvise.rules.select import selected

    return frozenset(rule.id for rule in selected(RULES, words, (), place=place))


def matches(path: str, pattern: str, folder: Path) -> bool:
    """Whether *pattern* matches *path*, the path below *folder* or a folder of it, or a last name."""
    below = os.path.relpath(path, folder)
    parts = below.split(os.sep)
    forms = {path, below, os.path.relpath(path), *parts}
    forms.update(os.sep.join(parts[:count]) for count in range(1, len(parts)))
    return any(fnmatch(form, pattern.rstrip("/")) for form in forms)
