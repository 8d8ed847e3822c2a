"""Single values of a description."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        (values.text_table, {"a": 1}, {"a": "1"}),
        (values.share_table, {"fma": 0.5}, {"fma": 0.5}),
        (values.number_table, {"wait": 2}, {"wait": 2.0}),
        (values.wholes, [0, 5], (0, 5)),
        (v.word(Space), "shared", Space.SHARED),
        (v.one_of(1, 2), 2, 2),
        (values.dims, 256, (256, 1, 1)),
        (values.dims, [16, 8], (16, 8, 1)),
        (values.dims, "16x8x2", (16, 8, 2)),
        (v.whole(1, 5), " 5 ", 5),
        (v.whole(), "1e6", 1_000_000),
        (v.whole(), "1.5E+3", 1500),
        (v.whole(), " 1_000_000 ", 1_000_000),
        (v.whole(-5), "-2e0", -2),
        (v.dims, "1e3x2", (1000, 2, 1)),
        (v.rectangle(2**16), "1e3x1_024", (1000, 1024)),
        (v.launch_bounds, "1_024,1e0", (1024, 1)),
        (v.distance, "1e3", v.Distance(1000)),
        (v.size, "1_000_000", 1_000_000),
        (v.size, "1_024KiB", 2**20),
        (v.operations, "1_000GFLOP", 1e12),
        (v.one_of(4, 8), "8", 8),
        (v.number(), "2.5", 2.5),
        (v.flag, "yes", True),
        (v.share, "3/4", 0.75),
        (v.per_cent, "37%", 37),
        (v.per_cent, "0.29", 29),
        (v.per_cent, 0.5, 50),
        (v.per_cent, 50, 50),
        (v.per_cent, "50", 50),
        (v.hertz, "1.85GHz", 1.85e9),
        (v.operations, "2TFLOP", 2e12),
        (v.operations, 2e12, 2e12),
        (v.operation_rate, "80TFLOP/s", 80e12),
        (v.factor(), "2.5x", 2.5),
        (v.seconds_or_none, "0", 0.0),
        (v.copy, "256MiB", v.CopyAmount(size=2**28)),
        (v.copy, "3ms", v.CopyAmount(seconds=0.003)),
        (v.copy, 0.003, v.CopyAmount(seconds=0.003)),
        (v.distance, 3, v.Distance(3)),
        (v.distance, "3", v.Distance(3)),
        (v.distance, "12B", v.Distance(12, in_bytes=True)),
        (v.rectangle(64), "32x16", (32, 16)),
        (v.launch_bounds, "256,4", (256, 4)),
        (v.launch_bounds, [256, 4], (256, 4)),
        (v.launch_bounds, 256, (256, None)),
        (v.number_type, "bfloat16_tensor", "bf16_tensor"),
        (v.number_type, "double", "fp64"),
        (v.lane_mask, "0xff", 255),
        (v.one_word("l1", "l2"), " L1 ", "l1"),
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
        (v.whole(), "1M", '"1M" is not a whole number from 0 to'),
        (v.whole(), "1.5", '"1.5" is not a whole number from 0 to'),
        (v.whole(), "1.0", '"1.0" is not a whole number from 0 to'),  # of a share, all of it
        (v.whole(), "15e-1", '"15e-1" is not a whole number from 0 to'),
        (v.whole(), "1e999", '"1e999" is not a whole number from 0 to'),
        (v.whole(), "1__0", '"1__0" is not a whole number from 0 to'),
        (v.whole(), "_1", '"_1" is not a whole number from 0 to'),
        (v.size, "1_", '"1_" is not a number with a unit.'),
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
        (values.text_table, {"a": True}, "Every value of this table is a text or a whole number."),
        (values.text_table, {"a": 1.5}, "Every value of this table is a text or a whole number."),
        (values.text_table, 1, '"1" is not a table.'),
        (values.share_table, {"a": 2}, '"2" is not a number from 0 to 1.'),
        (values.wholes, [], '"a list" is not a list of 1 to 32 indices.'),
        (v.word(Space), "shard", '"shard" is not known here.'),
        (v.word(Space), {}, '"a table" is not known here.'),
        (v.one_of(1, 2), 3, '"3" is not 1 or 2.'),
        (values.dims, [], '"a list" is not a size in threads or blocks.'),
        (values.dims, "x" * 10**6, '"xxx'),
        (values.dims, 2**31, '"2147483648" is not a size'),
        (v.block, "65536x65536", '"65536x65536" has more than 2,147,483,647 threads.'),
        (v.shared_size, "3GiB", '"3GiB" is more than 2,147,483,647 bytes.'),
        (v.per_cent, "37.5%", '"37.5%" is 37.5 %, not a whole per cent.'),
        (v.per_cent, 101, '"101" is not a share.'),
        (v.copy, "3", '"3" has no unit.'),
        (v.copy, "0", '"0" has no unit.'),
        (v.copy, "3 parsecs", '"3 parsecs" is not'),
        (v.distance, -1, '"-1" is not a distance from 0 to 2^40 elements.'),
        (v.distance, "x", '"x" is not a number with a unit.'),
        (v.factor(1, 10), "0.5", '"0.5" is not a factor from 1 to 10.'),
        (v.rectangle(64), "65x1", '"65" is not a whole number from 1 to 64.'),
        (v.rectangle(64), "64", '"64" is not rows and columns.'),
        (v.lane_mask, "0", '"0" is not a lane mask.'),
        (v.launch_bounds, [256, 4, 1], '"a list" are not launch bounds.'),
        (v.number_type, "quad", '"quad" is not a number type.'),
    ],
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


@pytest.mark.parametrize("raw", ["1M", "1k", "2.5", "1,000"])
def test_how_a_count_is_written_is_said(raw: str) -> None:
    with pytest.raises(BadInput) as caught:
        v.whole()(raw)
    assert caught.value.hint == "Write a count as 1000000, 1_000_000 or 1e6."


def test_a_part_of_an_element_is_refused() -> None:
    assert v.distance("12B").elements_of(4) == 3
    assert v.distance("12B").bytes_of(4) == 12
    assert v.distance("3").bytes_of(4) == 12
    with pytest.raises(BadInput, match="12 bytes are not a whole number of 8-byte elements"):
        v.distance("12B").elements_of(8)


@given(st.text(max_size=30))
def test_any_text_is_dims_or_bad_input(text: str) -> None:
    try:
        assert all(side >= 1 for side in v.dims(text))
    except BadInput as error:
        assert error.message.isprintable()


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (8.0, "Write it in quotation marks."),
        (12.4, "Write it in quotation marks."),
        (9, "Write it in quotation marks."),
        (True, None),
        (float("nan"), None),
        (10**30, None),
        ("", None),
    ],
)
def test_a_version_that_was_written_as_a_number(value: object, hint: str | None) -> None:
    with pytest.raises(BadInput, match="is not a text") as caught:
        v.text(value)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("paged", "pageable"),
        ("Pageable memory", "pageable"),
        ("pined", "pinned"),
        ("manage", "managed"),
    ],
)
def test_a_word_that_begins_alike_is_the_nearest(word: str, near: str) -> None:
    with pytest.raises(BadInput) as caught:
        v.one_word("pageable", "pinned", "mapped", "managed")(word)
    assert caught.value.hint == f"Did you mean {near}?"
