"""Where in a text a path of keys leads: the line and column that a message names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.description.tables import Path

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]#]+?)\s*\]")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"))*)\s*=""")
_JSON_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[{}\[\],:]|[^\s{}\[\],:"]+')


def in_toml(text: str, path: Path) -> tuple[int, int]:
    """Return line and column (from 1) of the deepest part of *path* that *text* writes."""
    best, place = -1, (1, 1)
    for found, line, column in _toml_places(text):
        if len(found) > best and path[: len(found)] == found:
            best, place = len(found), (line, column)
    return _inline(text, path[best:], place)


def _inline(text: str, rest: Path, place: tuple[int, int]) -> tuple[int, int]:
    """Return the column of the last key of *rest* if the line of *place* writes it inline."""
    if not text or not rest or not isinstance(rest[-1], str):
        return place
    line = text.splitlines()[place[0] - 1]
    match = re.compile(rf"\b{re.escape(rest[-1])}\b\s*=").search(line, place[1] - 1)
    return (place[0], match.start() + 1) if match else place


def _toml_places(text: str) -> Iterator[tuple[Path, int, int]]:
    table: Path = ()
    counts: dict[Path, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header:
            table = _table_path(_parts(header[2]), counts, opens=header[1] == "[[")
            yield table, number, header.start(1) + 1
        elif key := _KEY.match(line):
            yield (*table, *_parts(key[1])), number, key.start(1) + 1


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _table_path(names: tuple[str, ...], counts: dict[Path, int], *, opens: bool) -> Path:
    """Return the path of a header, with the current index after every array of tables."""
    path: Path = ()
    for depth, name in enumerate(names, 1):
        path = (*path, name)
        if opens and depth == len(names):
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def in_json(text: str, path: Path) -> tuple[int, int]:
    """Return line and column (from 1) of the value at *path*, or of the last part found."""
    best, offset = -1, 0
    for found, start in _json_places(text):
        if len(found) > best and path[: len(found)] == found:
            best, offset = len(found), start
    line_start = text.rfind("\n", 0, offset) + 1
    return text.count("\n", 0, offset) + 1, offset - line_start + 1


def _json_places(text: str) -> Iterator[tuple[Path, int]]:
    """Yield the path and offset of every value of a valid JSON *text*."""
    path: list[str | int] = []
    expects_key = False
    for match in _JSON_TOKEN.finditer(text):
        token = match[0]
        if token in "{[":
            yield tuple(path), match.start()
            path.append("" if token == "{" else 0)
            expects_key = token == "{"
        elif token in "}]":
            path.pop()
            expects_key = False
        elif token == ",":
            expects_key = _next_item(path)
        elif token != ":" and expects_key:
            path[-1], expects_key = token[1:-1], False
        elif token != ":":
            yield tuple(path), match.start()


def _next_item(path: list[str | int]) -> bool:
    """Step to the next element of an array, or say that a key of an object comes next."""
    last = path[-1]
    if isinstance(last, int):
        path[-1] = last + 1
        return False
    return True
