from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.quantity import parse_bytes
from gpuadvise.cli import args


def test_a_whole_number_in_range() -> None:
    assert args.whole("--regs", " 255 ", low=1, high=512) == 255
    assert args.whole("--d", "-3", low=-5, high=5) == -3


@pytest.mark.parametrize("text", ["0", "-1", "1e9", "abc", "", "1.5", "--1", "9" * 10_000_000, "٣"])
def test_what_is_no_whole_number_in_range(text: str) -> None:
    with pytest.raises(BadInput, match=r"--regs: .* is not a whole number from 1 to 512") as caught:
        args.whole("--regs", text, low=1, high=512)
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(("text", "value"), [("50%", 0.5), ("0.5", 0.5), ("100 %", 1.0), ("0", 0)])
def test_shares(text: str, value: float) -> None:
    assert args.share("--fail-under", text) == value


@pytest.mark.parametrize("text", ["50", "-1%", "nan", "101%", "half", "%"])
def test_what_is_no_share(text: str) -> None:
    with pytest.raises(BadInput, match="--fail-under"):
        args.share("--fail-under", text)


@pytest.mark.parametrize(
    ("text", "dims"), [("256", (256, 1, 1)), ("16x16", (16, 16, 1)), ("8X4x2", (8, 4, 2))]
)
def test_block_sizes(text: str, dims: tuple[int, int, int]) -> None:
    assert args.block_dims("--block", text) == dims


@pytest.mark.parametrize("text", ["0", "33x99x", "x", "", "1x2x3x4", "-1", "2147483648", "9" * 100])
def test_what_is_no_block_size(text: str) -> None:
    with pytest.raises(BadInput, match="--block"):
        args.block_dims("--block", text)


def test_a_parse_error_names_its_option() -> None:
    with pytest.raises(BadInput, match=r'^--smem: "1XB" is not a size') as caught:
        args.named("--smem", parse_bytes, "1XB")
    assert caught.value.hint
    assert args.named("--smem", parse_bytes, "1K") == 1024


@given(st.text(max_size=30))
def test_any_text_is_dims_or_bad_input(text: str) -> None:
    try:
        assert all(side >= 1 for side in args.block_dims("--block", text))
    except BadInput as error:
        assert error.message.isprintable()
