"""What the answers of commands are declared with: records, their fields' types, limits and units.

A field's type is what Python holds and what JSON Schema asks for; the text below a field is what
``--get list``, completion and the schema say of it, its first sentence first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypeVar, dataclass_transform

T = TypeVar("T")


class Keywords:
    """What JSON Schema says of a value beyond its type, by the schema's own words."""

    def __init__(self, **keywords: object) -> None:
        self.keywords = keywords


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a number, by its symbol."""

    symbol: str


SECONDS = Unit("s")
BYTES = Unit("B")
HERTZ = Unit("Hz")
WATTS = Unit("W")
BYTES_PER_SECOND = Unit("B/s")
FLOP_PER_SECOND = Unit("FLOP/s")

Count = Annotated[int, Keywords(minimum=0)]
Share = Annotated[float, Keywords(minimum=0, maximum=1)]
Positive = Annotated[float, Keywords(exclusiveMinimum=0)]
NotNegative = Annotated[float, Keywords(minimum=0)]
ComputeCapability = Annotated[str, Keywords(pattern=r"^[0-9]{1,2}\.[0-9]$")]
Priority = Literal["high", "medium", "low"]
Category = Literal["correctness", "performance", "process"]

MAY_BE_ABSENT = object()
# A field that an answer may lack, and that is never null where it is there. One that may be both has
# a plain default of None.
May = Annotated[T | None, MAY_BE_ABSENT]


class Record:
    """A frozen part of an answer; ``None`` is not known, not asked, or not there."""

    __slots__ = ()
    KEYWORDS: ClassVar[Mapping[str, Any]] = {}  # of JSON Schema, for what types cannot say
    COLUMNS: ClassVar[tuple[str, ...]] = ()  # of a row whose fields do not stand in its order


@dataclass_transform(frozen_default=True, kw_only_default=True)
def record(kind: type[T]) -> type[T]:
    """Make *kind* a frozen dataclass with slots, whose fields are named where one is made."""
    return dataclass(frozen=True, slots=True, kw_only=True)(kind)


@record
class AnswerDeclaration:
    """The JSON answer of a command: its *input*, and the records that its result may be.

    *named* are definitions of its schema that others may refer to, by their names. *rows* are what a line of
    CSV and NDJSON may be, where that is not the result; where there is one kind, its required fields are the columns.
    """

    command: str
    title: str
    results: tuple[type[Record], ...]
    description: str = ""
    input: type[Record] | None = None
    device: Literal["none", "may be", "always"] = "may be"
    named: Mapping[str, type[Record]] = field(default_factory=dict)
    rows: tuple[type[Record], ...] = ()
