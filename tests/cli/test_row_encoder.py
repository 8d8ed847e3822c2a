"""Rows made of kept texts are the rows of the records, letter for letter."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.errors import BadInput
from gpuadvise.cli.answer import Answer
from gpuadvise.cli.render import json, rows
from gpuadvise.cli.render import row_encoder as module
from gpuadvise.cli.render.row_encoder import RowEncoder, RowFields, same


class Inner(NamedTuple):
    name: str
    count: int | None
    flag: bool | None
    block: tuple[int, ...] | None


class Thing(NamedTuple):
    inner: Inner
    share: float
    words: tuple[str, ...]


FORM = RowEncoder(
    (RowFields("inner.name", ("name", "twice"), lambda name: (name, [name, name])),),
    same("inner.", "count", "flag", "block"),
    (
        RowFields("share", ("share",)),
        RowFields(
            "words", ("words", "lengths"), lambda words: (list(words), {w: len(w) for w in words})
        ),
    ),
)
TEXTS = st.text() | st.text(alphabet=',"\n\r\0 \x1b\u202e\udc80é', max_size=5)
THINGS = st.builds(
    Thing,
    inner=st.builds(
        Inner,
        name=TEXTS,
        count=st.none() | st.integers(-2, 3) | st.integers(),
        flag=st.none() | st.booleans(),
        block=st.none() | st.tuples(st.integers(0, 2)),
    ),
    share=st.floats(0, 1),
    words=st.lists(TEXTS, max_size=2).map(tuple),
)


@pytest.mark.parametrize("name", ["csv", "ndjson"])
@given(things=st.lists(THINGS, min_size=1, max_size=80))
def test_the_lines_are_those_of_the_records(name: str, things: list[Thing]) -> None:
    wanted = "".join(rows.render(map(FORM.record, things), name))
    assert "".join(FORM.lines(things, name)) == wanted


def _answer(listed: list[object], name: str) -> Answer:
    given = {"filter": name, "listed": None}
    result = {"first": [], "listed": listed, "more": {"listed": []}}
    return Answer(command="x", device=None, input=given, result=result, blocks=lambda: ())


@given(things=st.lists(THINGS, max_size=5), name=TEXTS | st.just('"listed": ['))
def test_an_answer_with_the_texts_is_that_with_the_records(things: list[Thing], name: str) -> None:
    made = json.render_with(_answer([], name), "listed", FORM.texts(things, "json"))
    assert "".join(made) == json.render(_answer(list(map(FORM.record, things)), name))


def test_none_have_a_header_alone() -> None:
    header = "name,twice,count,flag,block,share,words,lengths\n"
    assert "".join(FORM.lines([], "csv")) == header
    assert "".join(FORM.lines([], "ndjson")) == ""


def _thing(count: int) -> Thing:
    return Thing(Inner("x" * 50, count, None, None), 0.5, ())


def _counted(made: list[int]) -> RowEncoder:
    """Return a form that notes in *made* which counts it was asked to make a text of."""
    count = RowFields("inner.count", ("count",), lambda count: (made.append(count), count)[1:])
    return RowEncoder((count,), same("", "share"))


def test_what_is_kept_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    things = [_thing(count % 7) for count in range(50)]
    whole = "".join(FORM.lines(things, "csv"))
    made: list[int] = []
    monkeypatch.setattr(module, "_MAX_KEPT", 3 * 120)
    lines = "".join(_counted(made).lines(things, "csv"))
    assert len(made) == 50  # each is forgotten before it comes again
    assert "".join(FORM.lines(things, "csv")) == whole
    assert lines.split() == ["count,share", *[f"{count % 7},0.5" for count in range(50)]]


def test_what_repeats_is_made_once() -> None:
    made: list[int] = []
    lines = "".join(_counted(made).lines([_thing(n % 7) for n in range(50)], "ndjson"))
    assert lines.count("\n") == 50
    assert sorted(made) == list(range(7))


def test_the_first_line_waits_for_no_other() -> None:
    def things():
        yield _thing(1)
        raise AssertionError

    lines = FORM.lines(things(), "csv")
    assert next(lines).startswith("name,")
    assert next(lines).endswith(",1,,,0.5,,{}\n")


def test_more_lines_come_together_each_time() -> None:
    came = FORM.lines(map(_thing, range(300)), "ndjson")
    assert [some.count("\n") for some in came] == [1, 2, 4, 8, 16, 32, 64, 128, 45]


def test_an_error_before_any_row_leaves_no_header() -> None:
    def things():
        yield from ()
        raise BadInput("Nothing.")

    with pytest.raises(BadInput):
        next(FORM.lines(things(), "csv"))


def test_an_error_costs_no_row_before_it() -> None:
    def things():
        yield from map(_thing, range(40))
        raise BadInput("No more.")

    seen: list[str] = []
    with pytest.raises(BadInput):
        seen.extend(FORM.lines(things(), "ndjson"))
    assert "".join(seen) == "".join(FORM.lines(map(_thing, range(40)), "ndjson"))
