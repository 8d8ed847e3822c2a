"""Rows of things that are much alike: the text of a field that repeats is made once."""

from __future__ import annotations

from itertools import chain, islice
from operator import attrgetter, getitem
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuadvise.advisor.errors import GpuAdviseError
from gpuadvise.cli.formats import Format
from gpuadvise.cli.render.json import compact
from gpuadvise.cli.render.rows import cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# Characters kept of each attribute's texts. The names of one image's kernels come again for
# every target; those of cuBLASLt take half of this.
_MOST_KEPT = 1 << 20
# Where Python is told to write at once (PYTHONUNBUFFERED), a write costs as much as its row.
_AT_ONCE = 32
_OVERHEAD = 100  # bytes of a text beside its characters


def _alone(value: Any) -> tuple[Any, ...]:
    return (value,)


class Fields(NamedTuple):
    """Neighbouring fields that follow from one attribute, which hashes and is of one type.

    (``1`` and ``True`` are one key.) *values* makes their JSON values of the attribute's.
    """

    attribute: str  # may be dotted
    names: tuple[str, ...]
    values: Callable[[Any], Iterable[Any]] = _alone


def same(prefix: str, *names: str) -> tuple[Fields, ...]:
    """Return fields that are attributes of their own *names*, below *prefix* (``kernel.``)."""
    return tuple([Fields(prefix + name, (name,)) for name in names])


class Form:
    """The fields of a record in their order, of two attributes or more, for things of one kind."""

    def __init__(self, *fields: Fields) -> None:
        self._fields = fields
        self._keys = attrgetter(*[each.attribute for each in fields])
        self.names = tuple(chain.from_iterable(each.names for each in fields))

    def record(self, thing: Any) -> dict[str, Any]:
        """Return *thing* as JSON values by name."""
        values: list[Any] = []
        for each, key in zip(self._fields, self._keys(thing), strict=True):
            values += each.values(key)
        return dict(zip(self.names, values, strict=True))

    def lines(self, things: Iterable[Any], name: str) -> Iterator[str]:
        """Yield what ``rows.render`` makes of the records of *things*.

        The header of ``csv`` comes without any, too, but not before the first is looked for.
        """
        left = iter(things)
        first = list(islice(left, 1))
        if name == Format.CSV:
            yield ",".join(self.names) + "\n"
        lines = self._lines(chain(first, left), name)
        yield from islice(lines, 1)
        yield from _together(lines)

    def _lines(self, things: Iterable[Any], name: str) -> Iterator[str]:
        make, before, after = _STYLES[name]
        texts = [_Texts(each, make) for each in self._fields]
        keys = self._keys
        for thing in things:
            yield before + ",".join(map(getitem, texts, keys(thing))) + after


def _together(lines: Iterator[str]) -> Iterator[str]:
    some: list[str] = []
    try:
        for line in lines:
            some.append(line)
            if len(some) == _AT_ONCE:
                yield "".join(some)
                some.clear()
    except GpuAdviseError:  # the second file cannot be read: what the first held counts
        yield "".join(some)
        raise
    yield "".join(some)


class _Texts(dict[Any, str]):
    """The texts of some fields, by the value of the attribute that they follow from."""

    def __init__(self, fields: Fields, text: Callable[[Iterable[tuple[str, Any]]], str]) -> None:
        super().__init__()
        self._fields, self._text, self._kept = fields, text, 0

    def __missing__(self, key: Any) -> str:
        names, values = self._fields.names, self._fields.values(key)
        text = self._text(zip(names, values, strict=True))
        self._kept += len(text) + _OVERHEAD
        if self._kept > _MOST_KEPT:
            self.clear()
            self._kept = len(text) + _OVERHEAD
        self[key] = text
        return text


def _members(fields: Iterable[tuple[str, Any]]) -> str:
    return ",".join([f"{compact(name)}:{compact(value)}" for name, value in fields])


def _cells(fields: Iterable[tuple[str, Any]]) -> str:
    return ",".join([_quoted(cell(value)) for _, value in fields])


def _quoted(value: Any) -> str:
    """Return a cell as csv.writer makes it, which takes 10 ns for each letter of a name."""
    if value is None:
        return ""
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text


# What makes the text of some fields, and what stands around a row.
_STYLES: dict[str, tuple[Callable[..., str], str, str]] = {
    Format.CSV: (_cells, "", "\n"),
    Format.NDJSON: (_members, "{", "}\n"),
}
