from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.json_records import named_fields, plain


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, kw_only=True)
class Wheel:
    size: tuple[int, ...] = (1, 2)
    colour: Colour = Colour.RED
    total_ns: int | None = 1_500_000_000


@dataclass(frozen=True, kw_only=True)
class Cart:
    name: str = "c"
    wheel: Wheel | None = Wheel()


def test_fields_stand_in_the_order_of_their_names() -> None:
    told = named_fields(Cart(), "colour=wheel.colour name size=wheel.size")
    assert list(told.items()) == [("colour", "red"), ("name", "c"), ("size", [1, 2])]
    assert type(told["colour"]) is str


def test_a_record_within_is_plain() -> None:
    assert named_fields(Cart(), "wheel") == {"wheel": plain(Wheel())}


def test_nanoseconds_are_seconds() -> None:
    assert named_fields(Cart(), "seconds=wheel.total_ns") == {"seconds": 1.5}
    assert named_fields(Wheel(total_ns=None), "seconds=total_ns") == {"seconds": None}


def test_what_lies_behind_nothing_is_null() -> None:
    names = "name colour=wheel.colour seconds=wheel.total_ns"
    assert named_fields(Cart(wheel=None), names) == {"name": "c", "colour": None, "seconds": None}
    assert set(named_fields(None, names).values()) == {None}


def test_a_field_that_is_not_there_is_a_fault() -> None:
    with pytest.raises(AttributeError):
        named_fields(Cart(), "wheels")


@given(st.lists(st.sampled_from(["name", "wheel", "n=name", "w=wheel.size"]), unique=True))
def test_there_is_a_field_for_each_name(names: list[str]) -> None:
    told = named_fields(Cart(), " ".join(names))
    assert list(told) == [name.partition("=")[0] for name in names]
