"""Rows of similar records as CSV, NDJSON or JSON: the text of a repeated field is made once.

Lists of ten thousands of kernels pay for it: ``benchmarks/rows.py`` went from 29 to 5.5 us for a row of
CSV and from 46 to 8.2 us for an object of JSON ("Rows of kernels" in docs/benchmarks.md).
"""

from __future__ import annotations

from itertools import chain, islice
from operator import attrgetter, getitem
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuadvise.advisor.errors import GpuAdviseError
from gpuadvise.cli.formats import Format
from gpuadvise.cli.render.json import MEMBER_START, OBJECT_INDENT, compact, indented, label
from gpuadvise.cli.render.rows import cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# Characters kept of each attribute's texts. The names of one image's kernels come again for
# every target; those of cuBLASLt take half of this.
_MAX_KEPT = 1 << 20
# Where Python is told to write at once (PYTHONUNBUFFERED), a write costs as much as its row.
_LINES_PER_WRITE = 32
_OVERHEAD = 100  # bytes of a text beside its characters


def _alone(value: Any) -> tuple[Any, ...]:
    return (value,)


class RowFields(NamedTuple):
    """Neighbouring fields that follow from one attribute, which hashes and is of one type.

    (``1`` and ``True`` are one key.) *values* makes their JSON values of the attribute's.
    """

    attribute: str  # may be dotted
    names: tuple[str, ...]
    values: Callable[[Any], Iterable[Any]] = _alone


def same(prefix: str, *names: str) -> tuple[RowFields, ...]:
    """Return fields that are attributes of their own *names*, below *prefix* (``kernel.``)."""
    return tuple([RowFields(prefix + name, (name,)) for name in names])


class RowEncoder:
    """The fields of a record in their order, of two attributes or more, for things of one kind."""

    def __init__(self, *fields: RowFields) -> None:
        self._fields = fields
        self._keys = attrgetter(*[group.attribute for group in fields])
        self.names = tuple(chain.from_iterable(group.names for group in fields))

    def record(self, item: Any) -> dict[str, Any]:
        """Return *item* as JSON values by name."""
        values: list[Any] = []
        for group, key in zip(self._fields, self._keys(item), strict=True):
            values += group.values(key)
        return dict(zip(self.names, values, strict=True))

    def lines(self, records: Iterable[Any], name: str) -> Iterator[str]:
        """Yield what ``rows.render`` makes of *records*.

        The header of ``csv`` comes without any, too, but not before the first is looked for.
        """
        left = iter(records)
        first = list(islice(left, 1))
        if name == Format.CSV:
            yield ",".join(self.names) + "\n"
        lines = self.texts(chain(first, left), name)
        yield from islice(lines, 1)
        yield from _joined(lines)

    def texts(self, records: Iterable[Any], name: str) -> Iterator[str]:
        """Yield each record as a line of ``csv`` or ``ndjson``, or an object inside of ``json``."""
        style = _STYLES[name]
        texts = [_Texts(group, style) for group in self._fields]
        keys, join = self._keys, style.between.join
        for item in records:
            yield style.before + join(map(getitem, texts, keys(item))) + style.after


def _joined(lines: Iterator[str]) -> Iterator[str]:
    some: list[str] = []
    try:
        for line in lines:
            some.append(line)
            if len(some) == _LINES_PER_WRITE:
                yield "".join(some)
                some.clear()
    except GpuAdviseError:  # the second file cannot be read: what the first held counts
        yield "".join(some)
        raise
    yield "".join(some)


class _Texts(dict[Any, str]):
    """The texts of some fields, by the value of the attribute that they follow from."""

    def __init__(self, fields: RowFields, style: _Style) -> None:
        super().__init__()
        self._values, self._style, self._kept = fields.values, style, 0
        self._labels = [style.label(name) for name in fields.names]

    def __missing__(self, key: Any) -> str:
        written = map(self._style.value, self._values(key))
        text = self._style.between.join(map(str.__add__, self._labels, written))
        self._kept += len(text) + _OVERHEAD
        if self._kept > _MAX_KEPT:
            self.clear()
            self._kept = len(text) + _OVERHEAD
        self[key] = text
        return text


class _Style(NamedTuple):
    """How a format writes a field, and what it puts around and between the fields of a record."""

    label: Callable[[str], str]  # what stands before the value of a field
    value: Callable[[Any], str]
    before: str
    between: str
    after: str


def _unlabelled(_: str) -> str:
    return ""


def _cell(value: Any) -> str:
    """Return a cell as csv.writer makes it, which takes 10 ns for each letter of a name."""
    inert = cell(value)
    if inert is None:
        return ""
    text = str(inert)
    return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text


def _compact_label(name: str) -> str:
    return f"{compact(name)}:"


_STYLES: dict[str, _Style] = {
    Format.CSV: _Style(_unlabelled, _cell, "", ",", "\n"),
    Format.NDJSON: _Style(_compact_label, compact, "{", ",", "}\n"),
    Format.JSON: _Style(
        label,
        indented,
        OBJECT_INDENT + "{" + MEMBER_START,
        "," + MEMBER_START,
        f"\n{OBJECT_INDENT}}}",
    ),
}
