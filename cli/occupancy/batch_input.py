"""From the lines of a batch to rows: CSV with a header, or one JSON object per line."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

from gpuadvise.advisor.backends.user_files import open_file
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import plural, quoted
from gpuadvise.cli.occupancy.request import KEYS
from gpuadvise.cli.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from io import BufferedReader


# Longest line that can still be one configuration and what a user keeps beside it.
LONGEST = 1 << 16
_CHUNK = 1 << 16
# (line number, its bytes); None stands for the bytes of a line that is too long.
Numbered = tuple[int, bytes | None]


@contextmanager
def opened(path: str) -> Iterator[BufferedReader]:
    """Open *path* (``-``: stdin) for reading; raises BadInput naming ``--batch``."""
    if path == "-":
        yield cast("BufferedReader", sys.stdin.buffer)
        return
    # Open alone is guarded: what fails while an answer is written is not the file's fault.
    with open_file(path, name=f"--batch: {quoted(path)}") as file:
        yield file


def _read(file: BufferedReader) -> bytes:
    try:
        return file.read1(_CHUNK)
    except OSError as error:
        raise BadInput(f"--batch cannot be read further: {error.strerror}.") from None


def arrivals(file: BufferedReader) -> Iterator[list[Numbered]]:
    """Yield the lines that one read brought, again and again, so that answers need not wait."""
    count, rest, skipping = 0, b"", False
    while chunk := _read(file):
        *whole, rest = (rest + chunk).split(b"\n")
        numbered: list[Numbered] = []
        for line in whole:
            count += 1
            if not skipping:
                numbered.append((count, None if len(line) > LONGEST else line))
            skipping = False
        if len(rest) > LONGEST:
            if not skipping:  # said at once: its end may never come
                numbered.append((count + 1, None))
            rest, skipping = b"", True
        yield numbered
    if rest and not skipping:
        yield [(count + 1, rest)]


Texts = list[tuple[str, str]]
DEVICE = ("gpu", "cc")
_KNOWN = KEYS.union(DEVICE)
_LONGEST_KEY = 2 * max(map(len, _KNOWN))
_FLAGS = frozenset(("no_opt_in", "nonportable_cluster"))
# Other spellings of the options, as columns: static_smem is smem.
_ALSO = {
    spelling.removeprefix("--").replace("-", "_"): key
    for key in KEYS
    for spelling in OPTIONS[key].spellings
}
# What joins the numbers of a list, which is how our own JSON writes these.
_JOINED = {"block": "x", "grid": "x", "cluster": "x", "launch_bounds": ","}


class BatchRow(NamedTuple):  # a batch makes one per line; a dataclass takes twice as long
    """What one line says: the launch and the device by option, and all the user wrote."""

    launch: Texts
    device: Texts
    kept: Mapping[str, Any]


def text_of(line: bytes | None) -> str:
    """Return *line* as text without its line end; raises BadInput."""
    if line is None:
        raise BadInput(f"The line is longer than {LONGEST:,} bytes.")
    try:
        return line.decode("utf-8").removesuffix("\r")
    except UnicodeDecodeError:
        raise BadInput("The line is not UTF-8.") from None


def json_row(text: str) -> BatchRow:
    """Return the row of one JSON object; raises BadInput."""
    try:
        kept = _DECODER.decode(text)
    except (ValueError, RecursionError):
        raise BadInput(f"{quoted(text)} is not JSON.") from None
    if not isinstance(kept, dict):
        raise BadInput(f"{quoted(text)} is not a JSON object.")
    launch: Texts = []
    device: Texts = []
    for name, value in kept.items():
        key = _key(name)
        if key in _KNOWN and value is not None:
            (device if key in DEVICE else launch).append((key, _text(key, value)))
    return BatchRow(launch, device, kept)


def csv_reader(header: str) -> tuple[Callable[[str], BatchRow], list[str], list[str]]:
    """Return the reader of the lines below *header*, its columns, and the options it names.

    Raises BadInput if the header is no header.
    """
    columns = _cells(header)
    keys = [_key(column) for column in columns]
    if len(set(keys)) < len(keys):
        raise BadInput(f"two columns of the header {quoted(header)} have the same name.")
    launch = [(key, index) for index, key in enumerate(keys) if key in KEYS]
    device = [(key, index) for index, key in enumerate(keys) if key in DEVICE]

    def read(text: str) -> BatchRow:
        cells = _cells(text)
        if len(cells) != len(columns):
            raise BadInput(f"{plural(len(cells), 'field')} where the header has {len(columns)}.")
        return BatchRow(
            [(key, cells[index]) for key, index in launch if cells[index]],
            [(key, cells[index]) for key, index in device if cells[index]],
            dict(zip(columns, cells, strict=True)),
        )

    return read, columns, [key for key in keys if key in _KNOWN]


def misspelt(columns: Iterable[str]) -> list[tuple[str, str]]:
    """Return each of *columns* that is nearly the name of an option, and that name."""
    from difflib import get_close_matches

    guesses = (
        (name, get_close_matches(_key(name)[:_LONGEST_KEY], _KNOWN, 1, 0.75)) for name in columns
    )
    return [(name, options[0]) for name, options in guesses if options and _key(name) not in _KNOWN]


def _key(column: str) -> str:
    """Return the option that *column* names, however it is spelled: ``Dynamic-Smem``."""
    key = column.strip().lower().removeprefix("--").replace("-", "_")
    return _ALSO.get(key, key)


def _cells(text: str) -> list[str]:
    if '"' not in text:
        return text.split(",")
    import csv

    try:
        return next(csv.reader([text], strict=True))
    except csv.Error as error:
        raise BadInput(f"{quoted(text)} is not CSV: {error}.") from None


def _text(key: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and key in _JOINED:
        return _JOINED[key].join(map(str, value))
    if isinstance(value, bool) is (key in _FLAGS) and isinstance(value, int | float):
        whole = isinstance(value, float) and value.is_integer() and key not in DEVICE
        return str(int(value) if whole else value)  # 32.0 is 32 in JSON; but cc 9.0 is not 9
    raise BadInput(f"{key}: {quoted(json.dumps(value))} is not what this column takes.")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)  # NaN and Infinity are not JSON


_DECODER = json.JSONDecoder(parse_constant=_refuse)
