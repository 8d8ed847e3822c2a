"""Rows of similar records as CSV, NDJSON or JSON: the text of a repeated field is made once.

Lists of ten thousands of kernels pay for it: "Rows of kernels" in docs/benchmarks.md has what a row takes.
Rows are made in blocks, column by column, so that the loops over them are those of ``map`` and ``zip``.
"""

from __future__ import annotations

from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from gpuadvise.advisor.errors import GpuAdviseError
from gpuadvise.cli.formats import Format
from gpuadvise.cli.render.json import MEMBER_START, OBJECT_INDENT, compact, indented, label
from gpuadvise.cli.render.rows import cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")

# Characters kept of each attribute's texts. The names of one image's kernels come again for
# every target; those of cuBLASLt take half of this.
_MAX_KEPT = 1 << 20
# Rows made and written together: the first alone, so that it is seen at once, then twice as many each
# time. A row more or less is then no longer felt, and a file that is slow to come is not waited for.
_MOST_ROWS = 128
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


# Neighbours whose text is made and kept as one: fields that are mostly empty, or vary together.
FieldGroup: TypeAlias = "tuple[RowFields, ...]"


def same(prefix: str, *names: str) -> FieldGroup:
    """Return fields that are attributes of their own *names*, below *prefix* (``kernel.``)."""
    return tuple([RowFields(prefix + name, (name,)) for name in names])


class RowEncoder:
    """The fields of a record in their order, for things of one kind.

    Each of *groups* is looked up once for a row: by the attribute of its field, or a tuple of those
    of several. Few large groups are fast where the values come again together.
    """

    def __init__(self, *groups: FieldGroup) -> None:
        self._groups = groups
        self._keys = [attrgetter(*[fields.attribute for fields in group]) for group in groups]
        self.names = tuple([name for group in groups for fields in group for name in fields.names])

    def record(self, item: Any) -> dict[str, Any]:
        """Return *item* as JSON values by name."""
        values: list[Any] = []
        for group, key in zip(self._groups, self._keys, strict=True):
            values += _values(group, key(item))
        return dict(zip(self.names, values, strict=True))

    def lines(self, records: Iterable[Any], name: str) -> Iterator[str]:
        """Yield what ``rows.render`` makes of *records*.

        The header of ``csv`` comes without any, too, but not before the first is looked for.
        """
        blocks = self._blocks(records, name)
        first = next(blocks, [])
        if name == Format.CSV:
            yield ",".join(self.names) + "\n"
        for texts in chain([first], blocks):
            yield "".join(texts)

    def texts(self, records: Iterable[Any], name: str) -> Iterator[str]:
        """Yield each record as a line of ``csv`` or ``ndjson``, or an object inside of ``json``."""
        return chain.from_iterable(self._blocks(records, name))

    def _blocks(self, records: Iterable[Any], name: str) -> Iterator[list[str]]:
        """Yield the texts of *records*, some at once."""
        style = _STYLES[name]
        texts = [_Texts(group, style) for group in self._groups]
        for block in _in_blocks(records):
            columns = [
                map(kept.__getitem__, map(key, block))
                for kept, key in zip(texts, self._keys, strict=True)
            ]
            rows = map(style.between.join, zip(*columns, strict=True))
            yield [f"{style.before}{row}{style.after}" for row in rows]


def _in_blocks(records: Iterable[T]) -> Iterator[list[T]]:
    some: list[T] = []
    enough = 1
    try:
        for record in records:
            some.append(record)
            if len(some) == enough:
                yield some
                some, enough = [], min(2 * enough, _MOST_ROWS)
    except GpuAdviseError:  # the second file cannot be read: what the first held counts
        if some:
            yield some
        raise
    if some:
        yield some


def _values(group: FieldGroup, key: Any) -> list[Any]:
    """Return the values of the fields of *group* where its attributes are *key*."""
    attributes = (key,) if len(group) == 1 else key
    return [
        value
        for fields, attribute in zip(group, attributes, strict=True)
        for value in fields.values(attribute)
    ]


class _Texts(dict[Any, str]):
    """The texts of a group of fields, by the attributes that they follow from."""

    def __init__(self, group: FieldGroup, style: _Style) -> None:
        super().__init__()
        self._group, self._style, self._kept = group, style, 0
        self._labels = [style.label(name) for fields in group for name in fields.names]

    def __missing__(self, key: Any) -> str:
        written = map(self._style.value, _values(self._group, key))
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
