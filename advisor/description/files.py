"""Descriptions in files and streams: TOML, JSON, and NDJSON line by line.

A TOML or JSON document holds ``kernel``, a list of kernels, and may hold ``defaults``, keys
that every kernel gets unless it says otherwise. NDJSON holds one kernel per line.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.description.reader import NO_FACTS, Described, described
from gpuadvise.advisor.description.tables import DescriptionFault, unknown_key
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import inert, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gpuadvise.advisor.description.reader import DeviceFinder
    from gpuadvise.advisor.description.tables import Path


_HEADER = r"\s*(\[\[?)\s*([^\]#]+?)\s*\]"
_KEY = r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"))*)\s*="""
_JSON_TOKEN = r'"(?:\\.|[^"\\])*"|[{}\[\],:]|[^\s{}\[\],:"]+'


def in_toml(text: str, path: Path) -> tuple[int, int]:
    """Return line and column (from 1) of the deepest part of *path* that *text* writes."""
    best, place = -1, (1, 1)
    for written, line, column in _toml_places(text):
        if len(written) > best and path[: len(written)] == written:
            best, place = len(written), (line, column)
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
        header = re.match(_HEADER, line)
        if header:
            table = _table_path(_parts(header[2]), counts, opens=header[1] == "[[")
            yield table, number, header.start(1) + 1
        elif key := re.match(_KEY, line):
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
    for written, start in _json_places(text):
        if len(written) > best and path[: len(written)] == written:
            best, offset = len(written), start
    line_start = text.rfind("\n", 0, offset) + 1
    return text.count("\n", 0, offset) + 1, offset - line_start + 1


def _json_places(text: str) -> Iterator[tuple[Path, int]]:
    """Yield the path and offset of every value of a valid JSON *text*."""
    path: list[str | int] = []
    expects_key = False
    for match in re.finditer(_JSON_TOKEN, text):
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


# A described kernel takes about a kilobyte; these bounds keep a wrong file from filling memory.
LARGEST_DOCUMENT = 64 * 2**20
LARGEST_LINE = 2**20
_TOP = ("defaults", "kernel")


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line of a stream that describes no kernel; the others still do."""

    line: int
    error: BadInput


def from_toml(text: str, name: str, find: DeviceFinder) -> tuple[Described, ...]:
    """Return the kernels of the TOML document *text*; *name* is the file's, for messages.

    Raises BadInput with file, line and column.
    """
    import tomllib

    refuse_long_keys(text, inert(name))
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise BadInput(f"{inert(name)}: nested too deeply.") from None
    except ValueError as error:  # TOMLDecodeError, or an integer of thousands of digits
        raise BadInput(f"{inert(name)}: not TOML: {str(error)[:200]}.") from None
    return _located(document, text, name, find, in_toml)


# Parts of a key that are read: Python's reader of TOML takes time that grows with their square.
MOST_KEY_PARTS = 32
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = rf"^[^\S\n]*+\[{{0,2}}+[^\S\n]*+(?:{_PART}[^\S\n]*+\.[^\S\n]*+){{{MOST_KEY_PARTS}}}"


def refuse_long_keys(text: str, name: str) -> None:
    """Raise BadInput, which begins with *name*, where a key of the TOML *text* has too many parts."""
    if match := re.search(_LONG_KEY, text, re.MULTILINE):
        line = text.count("\n", 0, match.start()) + 1
        raise BadInput(f"{name}: line {line}: a key has more than {MOST_KEY_PARTS} parts.")


def from_json(text: str, name: str, find: DeviceFinder) -> tuple[Described, ...]:
    """Return the kernels of the JSON document *text*; raises BadInput with line and column."""
    try:
        document = _loads(text, name)
    except BadInput:
        if text.lstrip()[:1] in ("", "{", "[", "\ufeff"):
            raise
        raise BadInput(
            f"{inert(name)} is no evidence: neither a report, page or recording of a profiler, nor device "
            "code, a build log or a description of kernels.",
            hint="Give a report (.ncu-rep), what ncu or nsys export, a trace, a binary, ptxas -v output, "
            "a .cu, .py or .ipynb file, or kernel.toml.",
        ) from None
    if isinstance(document, list):
        document = {"kernel": document}
    elif isinstance(document, dict) and "kernel" not in document:
        return _located({"kernel": [document]}, text, name, find, _in_lone_kernel)
    return _located(document, text, name, find, _in_document)


def from_lines(
    lines: Iterable[str], name: str, find: DeviceFinder
) -> Iterator[Described | BadLine]:
    """Yield what each NDJSON line describes, as it comes; empty lines are passed over."""
    empty = True
    for kernel in from_numbered(enumerate(lines, 1), name, find):
        empty = False
        yield kernel
    if empty:
        yield BadLine(line=1, error=BadInput(f"{inert(name)}: no kernel is described."))


def from_numbered(
    lines: Iterable[tuple[int, str]], name: str, find: DeviceFinder
) -> Iterator[Described | BadLine]:
    """Yield what each of *lines*, some of those of an NDJSON file with their numbers, describes."""
    for number, line in lines:
        if not line.strip():
            continue
        try:
            yield _from_line(line, number, name, find)
        except BadInput as error:
            yield BadLine(line=number, error=error)


def _from_line(line: str, number: int, name: str, find: DeviceFinder) -> Described:
    where = f"{inert(name)}:{number}"
    if len(line) > LARGEST_LINE:
        raise BadInput(f"{where}: a line longer than {LARGEST_LINE:,} characters.")
    if not _is_text(line):
        raise BadInput(f"{where}: the line is not UTF-8.")
    raw = _loads(line.rstrip(), where)
    try:
        _refuse_factless(raw, ())
        return described(raw, find)
    except DescriptionFault as fault:
        _, column = in_json(line, fault.path)
        raise BadInput(f"{where}:{column}: {_at(fault)}", hint=fault.hint) from None


def _is_text(line: str) -> bool:
    """Return whether *line* holds no byte that decoding had to carry along."""
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _loads(text: str, where: str) -> Any:
    try:
        if text.startswith("\ufeff"):
            raise json.JSONDecodeError("Unexpected UTF-8 BOM (decode using utf-8-sig)", text, 0)
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        if not text.strip():
            raise BadInput(f"{inert(where)} is empty.") from None
        place = f"line {error.lineno}, column {error.colno}"
        raise BadInput(f"{inert(where)}: not JSON: {error.msg} ({place}).") from None
    except (RecursionError, ValueError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BadInput(f"{inert(where)}: not JSON that can be used: {reason[:200]}.") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {quoted(twice)} is given twice")
    return table


def _refused(word: str) -> None:
    raise ValueError(f"{word} is not a number")


# One for all lines: json.loads makes a new one for each.
_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refused)


def _in_document(text: str, path: Path) -> tuple[int, int]:
    in_list = text.lstrip().startswith("[")
    return in_json(text, path[1:] if in_list else path)


def _in_lone_kernel(text: str, path: Path) -> tuple[int, int]:
    return in_json(text, path[2:])


def _located(
    document: object,
    text: str,
    name: str,
    find: DeviceFinder,
    position: Callable[[str, Path], tuple[int, int]],
) -> tuple[Described, ...]:
    try:
        return tuple(_kernels(document, find))
    except DescriptionFault as fault:
        line, column = position(text, fault.path)
        message = f"{inert(name)}:{line}:{column}: {_at(fault)}"
        raise BadInput(message, hint=fault.hint) from None


def _at(fault: DescriptionFault) -> str:
    keys = ".".join(str(part) for part in fault.path)
    return f"{inert(keys)}: {fault.message}" if keys else fault.message


def _kernels(document: object, find: DeviceFinder) -> Iterator[Described]:
    if not isinstance(document, dict):
        raise DescriptionFault((), "A table with the key kernel belongs here.")
    for key in document:
        if key not in _TOP:
            raise unknown_key(key, dict.fromkeys(_TOP), ())
    defaults, kernels = document.get("defaults", {}), document.get("kernel")
    if not isinstance(defaults, dict):
        raise DescriptionFault(("defaults",), "A table of keys belongs here.")
    if not isinstance(kernels, list) or not kernels:
        raise DescriptionFault(
            (), "No kernel is described.", hint="Begin each one with [[kernel]]."
        )
    names: set[str] = set()
    for index, raw in enumerate(kernels):
        kernel = _kernel(defaults, raw, index, find)
        _only_once(kernel.facts.kernel, names, ("kernel", index, "name"))
        yield kernel


def _kernel(defaults: dict[str, Any], raw: object, index: int, find: DeviceFinder) -> Described:
    path: Path = ("kernel", index)
    if not isinstance(raw, dict):
        raise DescriptionFault(path, "A table of keys belongs here.")
    try:
        _refuse_factless(raw | defaults, path)
        return described({**defaults, **raw}, find, path)
    except DescriptionFault as fault:
        key = fault.path[2] if len(fault.path) > 2 else None
        if key in raw or key not in defaults:
            raise
        raise DescriptionFault(
            ("defaults", *fault.path[2:]), fault.message, hint=fault.hint
        ) from None


def _refuse_factless(raw: object, path: Path) -> None:
    if isinstance(raw, dict) and not raw.keys() - NO_FACTS:
        raise DescriptionFault(path, "It says nothing of a kernel that could be judged.")


def _only_once(name: str | None, names: set[str], path: Path) -> None:
    if name is None:
        return
    if name in names:
        raise DescriptionFault(path, f"The kernel {quoted(name)} is described twice.")
    names.add(name)
