"""Answers that were saved as JSON and are read again, as baselines."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.backends.user_files import broken_json, read_small
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

# An answer of ten thousand kernels with a dozen findings each.
LARGEST = 256 * 2**20
_VERSION = 1  # of the schemas of this program's answers
_PREFIX = "gpuadvise."


def saved_answer(path: str, *, command: str, option: str, named: bool = True) -> dict[str, Any]:
    """Return the answer of *command* that the file *path* holds, or the one with that name if *named*.

    Raises BadInput, which begins with *option*, for broken JSON and for the answer of another
    command or of another version of its schema: what is compared must mean the same.
    """
    if named:
        path = named_baseline(path, command)
    name = f"{option}: {quoted(path)}"
    hint = f"Save one with: gpuadvise {command} ... --format json > FILE"
    none = f"{name} is not an answer of `gpuadvise {command} --format json`"
    content = read_small(path, largest=LARGEST, name=name)
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        if content.lstrip().startswith(b"{"):
            raise BadInput(f"{none}: it is {broken_json(error)}.", hint=hint) from None
        raise BadInput(f"{none}.", hint=hint) from None
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(schema, str):
        raise BadInput(f"{none}.", hint=hint)
    other, _, version = schema.removeprefix(_PREFIX).partition("/")
    if not schema.startswith(_PREFIX) or other != command:
        raise BadInput(f"{none}: its schema is {quoted(schema)}.", hint=hint)
    if version != str(_VERSION):
        raise BadInput(
            f"{name} is {quoted(schema)}; this gpuadvise reads {_PREFIX}{command}/{_VERSION}.",
            hint="Save it again with this version.",
        )
    return document  # type: ignore[no-any-return]  # a dict, as its schema says


def named_baseline(word: str, command: str) -> str:
    """Return the file that *word* stands for: one of that name, what the settings call so, or a tagged one."""
    if os.path.exists(word) or not NAMES.fullmatch(word):
        return word
    path = tagged_file(word, command)
    in_settings = not path.startswith(TAGGED)
    return path if in_settings or os.path.exists(path) else word


# Which commands take a baseline, and where `gpuadvise baseline` keeps those that the settings do not place.
COMMANDS = ("kernels", "advise", "lint")
TAGGED = os.path.join(".gpuadvise", "baselines")
NAMES = re.compile(r"(?!\.+\Z)[\w.-]{1,100}")


def tagged_file(name: str, command: str) -> str:
    """Return the file of the baseline *name* of *command*: where the settings place it, or ours."""
    from gpuadvise.advisor.backends.settings_file import read_settings

    ours = os.path.join(TAGGED, f"{name}.{{command}}.json")
    settings = read_settings(Path())
    file = settings.baselines.get(name)
    path = ours if file is None else str(settings.folder / file)
    return path.replace("{command}", command)


def named_files() -> list[tuple[str, str, str]]:
    """Return the name, command and file of each baseline: those of the settings, then the tagged ones."""
    from gpuadvise.advisor.backends.settings_file import read_settings

    settings = read_settings(Path())
    rows = [
        (name, command, str(settings.folder / path.replace("{command}", command)))
        for name, path in settings.baselines.items()
        for command in COMMANDS
    ]
    there = [row for row in rows if os.path.exists(row[2])]
    there += [row for row in rows[:: len(COMMANDS)] if not any(row[0] == t[0] for t in there)]
    try:
        files = sorted(os.listdir(TAGGED))
    except OSError:
        files = []
    for file in files:
        name, _, command = file.removesuffix(".json").rpartition(".")
        if command in COMMANDS and NAMES.fullmatch(name) and name not in settings.baselines:
            there.append((name, command, os.path.join(TAGGED, file)))
    return there


def number_in(
    record: Mapping[str, Any], key: str, *, most: float, place: str, least: float = 0
) -> float | None:
    """Return the number under *key* of *record*, None where it is null; raises BadInput naming it."""
    value = record[key]
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise BadInput(f"{place}.{key} is not a number from {least:g} to {most:g}.")
    return value
