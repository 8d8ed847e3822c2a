"""Single values of a description."""

from __future__ import annotations

from typing import Any

import pytest

from gpuadvise.advisor import values
from gpuadvise.advisor import values as v
from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.facts.access import Space


@pytest.mark.parametrize(
    ("read", "raw", "value"),
    [
        (v.whole(1, 5), 5, 5),
        (v.size, 1e9, 1_000_000_000),
        (v.number(), 0, 0.0),
        (v.number(above=True), 1e-9, 1e-9),
        (v.size, "48KiB", 49152),
        (v.size, 0, 0),
        (v.seconds, "3ms", 0.003),
        (v.seconds, 2, 2.0),
        (v.seconds_or_none, 0, 0.0),
        (v.rate, "25GB/s", 25e9),
        (v.share, 0.75, 0.75),
        (v.share, "75%", 0.75),
        (v.share, "0.75", 0.75),
        (v.flag, False, False),
        (v.text, "x", "x"),
        (values.texts, "a b", ("a", "b")),
        (values.texts, ["a", "b c"], ("a", "b c")),
        (values.text_list, ["a"], ("a",)),
        (values.text_table, {"a": "b"}, {"a": "b"}),
        (values.share_table, {"fma": 0.5}, {"fma": 0.5}),
        (values.number_table, {"wait": 2}, {"wait": 2.0}),
        (values.wholes, [0, 5], (0, 5)),
        (v.word(Space), "shared", Space.SHARED),
        (v.one_of(1, 2), 2, 2),
        (values.dims, 256, (256, 1, 1)),
        (values.dims, [16, 8], (16, 8, 1)),
        (values.dims, "16x8x2", (16, 8, 2)),
    ],
)
def test_what_is_accepted(read: v.Reader, raw: object, value: Any) -> None:
    assert read(raw) == value


HUGE = 10**400


@pytest.mark.parametrize(
    ("read", "raw", "message"),
    [
        (v.whole(1, 5), 6, '"6" is not a whole number from 1 to 5.'),
        (v.whole(1, 5), 2.5, '"2.5" is not a whole number from 1 to 5.'),
        (v.whole(), 1e300, "The number is not a whole number from 0 to"),
        (v.whole(), float("nan"), '"nan" is not a whole number from 0 to'),
        (v.whole(1, 5), None, '"null" is not a whole number from 1 to 5.'),
        (v.whole(), HUGE, "The number is not a whole number from 0 to"),
        (v.whole(), -HUGE, "The negative number is not a whole number"),
        (v.number(), float("inf"), '"inf" is not a number from 0 up.'),
        (v.number(), HUGE, "The number is not a number from 0 up."),
        (v.number(above=True), 0, '"0" is not a number above 0.'),
        (v.number(1, 2), 3, '"3" is not a number from 1 to 2.'),
        (v.number(1, 2, above=True), 1, '"1" is not a number above 1 and up to 2.'),
        (v.size, "48KB", '"48KB" can mean 1000 or 1024 bytes.'),
        (v.size, -1, '"-1" is not a whole number from 0 to'),
        (v.size, [], '"a list" is not a whole number'),
        (v.seconds, 0, '"0" is not a number above 0.'),
        (v.share, 2, '"2" is not a number from 0 to 1.'),
        (v.share, "101%", '"101%" is not a share.'),
        (v.share, "half", '"half" is not a share.'),
        (v.flag, 1, '"1" is neither true nor false.'),
        (v.text, "  ", '"  " is not a text.'),
        (values.texts, 3, '"3" is not a list of texts.'),
        (values.text_table, {"a": 1}, "Every value of this table is a text."),
        (values.text_table, 1, '"1" is not a table.'),
        (values.share_table, {"a": 2}, '"2" is not a number from 0 to 1.'),
        (values.wholes, [], '"a list" is not a list of 1 to 32 indices.'),
        (v.word(Space), "shard", '"shard" is not known here.'),
        (v.word(Space), {}, '"a table" is not known here.'),
        (v.one_of(1, 2), 3, '"3" is not 1 or 2.'),
        (values.dims, [], '"a list" is not a size in threads or blocks.'),
        (values.dims, "x" * 10**6, '"xxx'),
        (values.dims, 2**31, '"2147483648" is not a size'),
    ],
    ids=range(32),
)
def test_what_is_refused(read: v.Reader, raw: object, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(raw)
    assert caught.value.message.startswith(message)
    assert len(caught.value.message) < 200


def test_a_near_word_is_suggested() -> None:
    with pytest.raises(BadInput) as caught:
        v.word(Space)("shard")
    assert caught.value.hint == "Did you mean shared?"
    with pytest.raises(BadInput) as caught:
        v.word(Space)("zzz")
    assert caught.value.hint == "Use global, shared or constant."
