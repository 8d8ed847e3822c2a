"""An answer of the library: the same values as a command's JSON, as records of Python."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from gpuadvise.api.answers.common import DeviceRecord, Finding, NotEvaluated
from gpuadvise.api.answers.fields import Record
from gpuadvise.api.json_schema import fields_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpuadvise.cli.answer import Answer as CommandAnswer
    from gpuadvise.cli.blocks import Block

R = TypeVar("R", bound=Record, covariant=True)
T = TypeVar("T", bound=Record)
K = TypeVar("K")
V = TypeVar("V")


class FrozenMapping(dict[K, V]):
    """A mapping that keeps what it was made of, and that `pickle`, `copy` and `dataclasses.asdict` take."""

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("An answer does not change.")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[FrozenMapping[K, V]], tuple[dict[K, V]]]:
        return type(self), (dict(self),)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Answer(Generic[R]):
    """What one question came to.

    *result* has the fields of the command's JSON, *input* the question as it was understood;
    *complete* is False where something that was asked for could not be read or is not there.
    """

    command: str
    device: DeviceRecord | None
    input: Mapping[str, Any]
    result: R
    findings: tuple[Finding, ...]
    not_evaluated: tuple[NotEvaluated, ...]
    notes: tuple[str, ...]  # what the command line says on stderr
    failed: tuple[str, ...]  # limits of the project's settings that are not held
    complete: bool
    _json: str = field(repr=False)
    _rows: str = field(repr=False)
    _blocks: Callable[[], Sequence[Block]] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document of the command, as ``--format json`` prints it."""
        document: dict[str, Any] = json.loads(self._json)
        return document

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one record per line of ``--format ndjson``: for ``pandas.DataFrame`` and polars."""
        rows: list[dict[str, Any]] = json.loads(self._rows)
        return rows

    if not TYPE_CHECKING:  # to which a name that is not there must stay an error

        def __getattr__(self, name: str) -> NoReturn:
            """Raise AttributeError, which says where the field is if the result has it."""
            inside = not name.startswith("_") and hasattr(self.result, name)
            where = f": it is answer.result.{name}" if inside else ""
            raise AttributeError(f"An answer has no attribute {name!r}{where}")

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickles: the page as its text, for what makes it stays in this process."""
        return {**vars(self), "_blocks": partial(_page, str(self))}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answer) and self._json == other._json

    def __hash__(self) -> int:
        return hash(self._json)

    def __repr__(self) -> str:
        return f"<{self.command}: {self}>"

    def __str__(self) -> str:
        """Return what the command line prints into a file."""
        from gpuadvise.cli.render import plain

        return plain.render(self._blocks()).rstrip("\n")

    def _repr_markdown_(self) -> str:
        from gpuadvise.cli.render import markdown

        return markdown.render(self._blocks())

    def _repr_html_(self) -> str:
        from gpuadvise.cli.render.html import element

        return element(self._blocks())


def _page(text: str) -> Sequence[Block]:
    from gpuadvise.cli.blocks import Drawing

    return (Drawing(text),)


def answer_of(said: CommandAnswer, results: Sequence[type[T]]) -> Answer[T]:
    """Return what a command *said*, its result as the first of *results* that has its fields."""
    from gpuadvise.cli.render.rows import with_objects

    text = json.dumps(said.envelope(), allow_nan=False)
    document = json.loads(text)
    rows = [with_objects(row) for row in ([said.result] if said.rows is None else said.rows)]
    return Answer(
        command=said.command,
        device=document["device"] and built(DeviceRecord, document["device"]),
        input=FrozenMapping(document["input"]),
        result=built(_fitting(results, document["result"]), document["result"]),
        findings=tuple(built(Finding, each) for each in document["findings"]),
        not_evaluated=tuple(built(NotEvaluated, each) for each in document["not_evaluated"]),
        notes=tuple(said.notes),
        failed=tuple(said.failed),
        complete=said.exit in (0, 1),  # 1: a limit that the project's settings set was met
        _json=text,
        _rows=json.dumps(rows, allow_nan=False),
        _blocks=said.blocks,
    )


def built(kind: type[T], data: Mapping[str, Any]) -> T:
    """Return *data* as the record *kind*; what an answer has beyond its declaration is left out."""
    values: dict[str, Any] = {}
    for name, hint, _ in fields_of(kind):
        if name in data:
            values[f"{name}_" if iskeyword(name) else name] = _value(hint, data[name])
    return kind(**values)


def _value(hint: Any, data: Any) -> Any:
    origin = typing.get_origin(hint)
    if data is None or hint in _PLAIN or origin is typing.Literal:
        return data
    if origin is typing.Annotated:
        return _value(typing.get_args(hint)[0], data)
    if origin in (types.UnionType, typing.Union):
        return _value(_alternative(typing.get_args(hint), data), data)
    if origin is tuple:
        inner = typing.get_args(hint)[0]
        return tuple(_value(inner, each) for each in data)
    if origin is Mapping:
        inner = typing.get_args(hint)[1]
        return FrozenMapping({key: _value(inner, each) for key, each in data.items()})
    return built(hint, data) if isinstance(hint, type) and issubclass(hint, Record) else data


_PLAIN = (str, int, float, bool, object)


def _alternative(kinds: tuple[Any, ...], data: Any) -> Any:
    """Return which of *kinds* the value *data* is of."""
    if isinstance(data, dict):
        records = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Record)]
        if records:
            return _fitting(records, data)
    for kind in kinds:
        inner = typing.get_args(kind)[0] if typing.get_origin(kind) is typing.Annotated else kind
        if _holds(typing.get_origin(inner) or inner, data):
            return kind
    return object


def _holds(kind: Any, data: Any) -> bool:
    if kind is Mapping:
        return isinstance(data, dict)
    if kind is tuple:
        return isinstance(data, list)
    return isinstance(kind, type) and kind is not types.NoneType and isinstance(data, kind)


def _fitting(kinds: Sequence[type[T]], data: Mapping[str, Any]) -> type[T]:
    """Return the first of *kinds* whose fields are all in *data*, those left out that may be absent."""
    for kind in kinds:
        if all(name in data for name, _, absent in fields_of(kind) if not absent):
            return kind
    return kinds[0]
