from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.prose import SHOWN, and_list, inert, plural, quoted, quoted_path


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), ""),
        (("a",), "a"),
        (("a", "b"), "a and b"),
        (("a", "b", "c"), "a, b and c"),
        (("a", "b", "c", "d"), "a, b, c and d"),
    ],
)
def test_lists(words: tuple[str, ...], text: str) -> None:
    assert and_list(words) == text


def test_other_joiners_and_plurals() -> None:
    assert and_list(("x", "y", "z"), "or") == "x, y or z"
    assert plural(1, "block") == "1 block"
    assert plural(2048, "block") == "2,048 blocks"
    assert plural(2, "branch", "branches") == "2 branches"


def test_escape_sequences_and_direction_marks_are_shown_not_obeyed() -> None:
    assert inert("a\x1b[31mb") == "a\\x1b[31mb"
    assert inert("a\nb\u202e\udc80\U000e0001") == "a\\x0ab\\u202e\\udc80\\U000e0001"


@given(st.text())
def test_inert_text_is_printable_and_stays_so(text: str) -> None:
    assert inert(text).isprintable()
    assert inert(inert(text)) == inert(text)


@given(st.text())
def test_a_quotation_is_short(text: str) -> None:
    assert len(quoted(text)) <= 10 * SHOWN + 2
    assert quoted(text).isprintable()


def test_a_long_path_keeps_its_name() -> None:
    assert quoted_path("/a/b.so") == '"/a/b.so"'
    long = quoted_path("/folder" * 40 + "/libfoo.so")
    assert long.startswith('"…')
    assert long.endswith('/libfoo.so"')
    assert len(long) == 62
