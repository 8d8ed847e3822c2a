"""Frozen values to JSON values and back, checked field by field on the way back."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted

T = TypeVar("T")


def plain(value: Any) -> Any:
    """Return *value* as JSON knows it: dataclasses and mappings as dicts, tuples as lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, StrEnum) else value


def named_fields(item: object, names: str) -> dict[str, Any]:
    """Return fields of *item* as JSON values: those that *names* lists, in its order, with blanks between.

    ``calls`` is the attribute of that name, ``source=kind.source`` one that has another name or stands
    deeper; it is None where what is on the way to it is, or the *item*. Nanoseconds become seconds.
    """
    record: dict[str, Any] = {}
    for name, path, in_ns in _paths(names):
        value: Any = item
        for part in path:
            if value is None:
                break
            value = getattr(value, part)
        if in_ns:
            record[name] = None if value is None else value / 1e9
        else:
            record[name] = value if type(value) in _AS_THEY_ARE else plain(value)
    return record


_AS_THEY_ARE = frozenset((str, int, float, bool, type(None)))


@lru_cache(maxsize=256)
def _paths(names: str) -> tuple[tuple[str, tuple[str, ...], bool], ...]:
    pairs = [word.partition("=")[::2] for word in names.split()]
    paths = [(name, path or name) for name, path in pairs]
    return tuple([(name, tuple(path.split(".")), path.endswith("_ns")) for name, path in paths])


def rebuilt(kind: type[T], data: Any, names: Mapping[str, Any], where: str = "") -> T:
    """Return the dataclass *kind* that ``plain`` turned into *data*.

    *names* resolves annotations that *kind*'s module imports for type checkers only. Unknown
    keys are ignored, so that a newer file can be read. Raises BadInput naming the field.
    """
    _expect(isinstance(data, dict), where, "an object", data)
    hints = _hints(kind, tuple(names.items()))  # type: ignore[arg-type]  # mypy takes a class for unhashable
    values = {}
    for field in fields(kind):  # type: ignore[arg-type]  # kind is a dataclass by contract
        place = f"{where}.{field.name}" if where else field.name
        if field.name in data:
            values[field.name] = _value(hints[field.name], data[field.name], names, place)
        else:
            optional = field.default is not MISSING or field.default_factory is not MISSING
            _expect(optional, place, "given", None)
    return kind(**values)


@lru_cache(maxsize=256)  # a file may hold thousands of records of one kind
def _hints(kind: type[Any], names: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """Return the types of the fields of *kind*."""
    return typing.get_type_hints(kind, localns={"Mapping": Mapping, **dict(names)})


def _value(hint: Any, data: Any, names: Mapping[str, Any], where: str) -> Any:
    if isinstance(hint, types.UnionType):
        if data is None and types.NoneType in hint.__args__:
            return None
        hint = next(arg for arg in hint.__args__ if arg is not types.NoneType)
    origin = typing.get_origin(hint)
    if origin is tuple:
        return _tuple(typing.get_args(hint), data, names, where)
    if origin is Mapping:
        _expect(isinstance(data, dict), where, "an object", data)
        item = typing.get_args(hint)[1]
        return {key: _value(item, value, names, f"{where}.{key}") for key, value in data.items()}
    if is_dataclass(hint):
        return rebuilt(typing.cast("type[Any]", hint), data, names, where)
    return _scalar(hint, data, where)


def _tuple(args: tuple[Any, ...], data: Any, names: Mapping[str, Any], where: str) -> Any:
    _expect(isinstance(data, list), where, "a list", data)
    if args[-1] is Ellipsis:
        args = (args[0],) * len(data)
    _expect(len(args) == len(data), where, f"a list of {len(args)}", data)
    pairs = enumerate(zip(args, data, strict=True))
    return tuple(_value(hint, value, names, f"{where}.{n}") for n, (hint, value) in pairs)


def _scalar(hint: Any, data: Any, where: str) -> Any:
    if issubclass(hint, StrEnum):
        _expect(data in list(hint), where, f"one of {', '.join(hint)}", data)
        return hint(data)
    if hint is float:
        number = isinstance(data, int | float) and not isinstance(data, bool)
        _expect(number and -_MOST_FLOAT <= data <= _MOST_FLOAT, where, "a number", data)
        return float(data)
    _expect(type(data) is hint, where, _WORDS[hint], data)
    _expect(hint is not int or -_MOST_INT <= data <= _MOST_INT, where, _WORDS[hint], data)
    return data


# Larger ones no counter holds, and products of two would leave the range of floats.
_MOST_INT = 2**63 - 1
_MOST_FLOAT = 1e30
_WORDS = {str: "a text", int: "a whole number", bool: "true or false"}


def _expect(ok: bool, where: str, wanted: str, got: Any) -> None:
    if not ok:
        raise BadInput(f"{where or 'The value'}: {quoted(_shown(got))} is not {wanted}.")


def _shown(value: Any) -> str:
    """Return *value* as it was written; Python refuses to write a number of thousands of digits."""
    try:
        return repr(value)
    except ValueError:
        return "a number of thousands of digits"
