"""What the headers of a folder declare that the files which include them use: types, constants, results of functions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.text import COMMENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_INCLUDE = re.compile(rb"#[ \t]*include[ \t]*\"([^\"\n]+)\"")
_MACRO = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)[ \t]+([^\n\\]{1,60})$", re.MULTILINE
)
_CONSTANT = re.compile(
    rb"\b(?:constexpr|const)\s+(?:static\s+)?(?:unsigned\s+)?(?:int|size_t|unsigned|long|uint32_t|int32_t)\s+"
    rb"([A-Za-z_]\w*)\s*=\s*([\w+*/() \t<>-]{1,40});"
)
_ALIAS = re.compile(
    rb"\btypedef\s+((?:unsigned\s+|long\s+)?\w+)\s+([A-Za-z_]\w*)\s*;|\busing\s+([A-Za-z_]\w*)\s*=\s*((?:unsigned\s+|long\s+)?\w+)\s*;"
)
_RESULT = re.compile(
    rb"\b__device__\s+(?:(?:__host__|__forceinline__|inline|static|constexpr)\s+)*((?:unsigned\s+|long\s+)?\w+)\s+([A-Za-z_]\w*)\s*\("
)
_RECORD = re.compile(rb"\bstruct\s+(?:__align__\s*\(\d+\)\s*)?([A-Za-z_]\w*)\s*\{([^{}()]*)\}")
_FIELD = re.compile(
    rb"^\s*(?:const\s+)?((?:unsigned\s+|long\s+)?\w+)\s*((?:[*\s]*\w+\s*,)*[*\s]*\w+)\s*$"
)
_MOST_HEADERS = 40  # that a file includes, itself and by others


@dataclass(frozen=True, slots=True, kw_only=True)
class Declarations:
    """Words by name: what a *macro* or constant stands for, an *alias* is, a device function returns, fields of records are."""

    macros: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)
    records: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


NOTHING_DECLARED = Declarations()


def included_by(data: bytes) -> tuple[str, ...]:
    """Return the names in quotes that a source includes."""
    if b"#" not in data:
        return ()
    return tuple(name.decode("utf-8", "replace") for name in _INCLUDE.findall(data))


def declared_in(data: bytes) -> Declarations:
    """Return what a header declares."""
    code = COMMENT.sub(b" ", data)
    aliases = ((m[2] or m[3], m[1] or m[4]) for m in _ALIAS.finditer(code))
    return Declarations(
        macros=_once((*_MACRO.findall(code), *_CONSTANT.findall(code))),
        aliases=_once(aliases),
        results=_once((m[2], m[1]) for m in _RESULT.finditer(code)),
        records={m[1].decode("utf-8", "replace"): _fields(m[2]) for m in _RECORD.finditer(code)},
    )


def _once(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the words of each name, without names that stand for several."""
    words: dict[str, str] = {}
    several: set[str] = set()
    for name, said in pairs:
        key, value = (" ".join(part.decode("utf-8", "replace").split()) for part in (name, said))
        if words.setdefault(key, value) != value:
            several.add(key)
    return {key: value for key, value in words.items() if key not in several}


def _fields(body: bytes) -> dict[str, str]:
    fields = {}
    for statement in body.split(b";"):
        match = _FIELD.match(statement)
        if match is None:
            continue
        for one in match[2].split(b","):
            name = one.replace(b"*", b"").strip().decode("utf-8", "replace")
            fields[name] = f"{match[1].decode('utf-8', 'replace')}{'*' * one.count(b'*')}"
    return fields


def joined_declarations(headers: Iterable[Declarations]) -> Declarations:
    """Return what several *headers* declare, the first to name something first."""
    macros: dict[str, str] = {}
    aliases: dict[str, str] = {}
    results: dict[str, str] = {}
    records: dict[str, Mapping[str, str]] = {}
    for header in headers:
        for known, more in (
            (macros, header.macros),
            (aliases, header.aliases),
            (results, header.results),
        ):
            for name, words in more.items():
                known.setdefault(name, words)
        for name, fields in header.records.items():
            records.setdefault(name, fields)
    return Declarations(macros=macros, aliases=aliases, results=results, records=records)
