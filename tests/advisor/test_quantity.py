from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuadvise.advisor import quantity
from gpuadvise.advisor.errors import BadInput

if TYPE_CHECKING:
    from decimal import Decimal


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("49152", 49152),
        ("48K", 49152),
        ("48KiB", 49152),
        ("48kB", 48000),
        ("1.5GB", 1_500_000_000),
        ("1.5 GiB", 1_610_612_736),
        ("0", 0),
        ("9223372036854775807", 2**63 - 1),
        (".5K", 512),
        ("2e3", 2000),
    ],
)
def test_sizes_people_write(text: str, size: int) -> None:
    assert quantity.parse_bytes(text) == size


@pytest.mark.parametrize(
    "text",
    ["", "abc", "-1", "1XB", "1.5", "0.1KiB", "nan", "inf", "1e400", "48KB", "9223372036854775808",
     "1,5GB", "٣", "1" * 10_000_000, "5 5", "1e", "KiB"],
)  # fmt: skip
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        quantity.parse_bytes(text)
    assert len(caught.value.message) < 200
    assert caught.value.hint


def test_an_ambiguous_kilobyte_is_refused_with_both_readings() -> None:
    with pytest.raises(BadInput) as caught:
        quantity.parse_bytes("48KB")
    assert caught.value.hint == "Write KiB for 1024 bytes or kB for 1000."


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (quantity.show_number(1510.4), "1,510"),
        (quantity.show_number(100), "100"),
        (quantity.show_number(99.96), "100"),
        (quantity.show_number(28.35), "28.4"),
        (quantity.show_number(1.28), "1.28"),
        (quantity.show_number(2.0), "2"),
        (quantity.show_number(0), "0"),
        (quantity.show_number(1 / 12), "0.0833"),
        (quantity.show_number(4e-6), "4e-06"),
        (quantity.show_number(3e12), "3e+12"),
        (quantity.show_seconds(1e-12), "0.001 ns"),
        (quantity.show_seconds(4e-15), "4e-06 ns"),
        (quantity.show_seconds(0), "0 ns"),
        (quantity.show_seconds(2.5e20), "2.5e+20 s"),
        (quantity.show_share(1e-6), "0.0001 %"),
        (quantity.show_bytes(3 << 40), "3 TiB"),
        (quantity.show_bytes(2**63), "8192 PiB"),
        (quantity.show_bytes(1023), "1023 B"),
    ],
)
def test_what_is_tiny_is_not_zero_and_what_is_huge_is_short(shown: str, text: str) -> None:
    assert shown == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3ms", 3e-3), ("250us", 250e-6), ("250µs", 250e-6), ("1.2s", 1.2), ("800 ns", 800e-9)],
)
def test_times(text: str, seconds: float) -> None:
    assert quantity.parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["3", "0ms", "-1s", "3 parsecs", "nans"])
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(BadInput):
        quantity.parse_seconds(text)


def test_zero_seconds_only_where_allowed() -> None:
    assert quantity.parse_seconds("0s", zero=True) == 0


def test_rates() -> None:
    assert quantity.parse_rate("25GB/s") == 25e9
    assert quantity.parse_rate("1GiB/s") == 2**30
    with pytest.raises(BadInput):
        quantity.parse_rate("25GB")


@given(st.integers(0, 2**63 - 1))
def test_plain_bytes_survive(size: int) -> None:
    assert quantity.parse_bytes(str(size)) == size


@given(st.text(max_size=80))
def test_any_text_is_a_size_or_bad_input(text: str) -> None:
    try:
        assert quantity.parse_bytes(text) >= 0
    except BadInput as error:
        assert error.message.isprintable()


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (quantity.show_bytes(232448), "227 KiB"),
        (quantity.show_bytes(150109880320), "139.8 GiB"),
        (quantity.show_bytes(100), "100 B"),
        (quantity.show_bytes(3 << 20), "3 MiB"),
        (quantity.show_rate(4.814e12), "4.81 TB/s"),
        (quantity.show_rate(177.6e9), "177.6 GB/s"),
        (quantity.show_rate(12), "12 B/s"),
        (quantity.show_share(0.625), "62.5 %"),
        (quantity.show_share(1), "100 %"),
        (quantity.show_hertz(1.98e9), "1980 MHz"),
        (quantity.show_seconds(0.003), "3 ms"),
        (quantity.show_seconds(12e-9), "12 ns"),
        (quantity.show_seconds(1.5), "1.5 s"),
        (quantity.show_flops(66.9e12), "66.9 TFLOP/s"),
        (quantity.show_flops(31_395_228.3), "31.4 MFLOP/s"),
    ],
)
def test_what_people_read(shown: str, text: str) -> None:
    assert shown == text


def test_frequencies() -> None:
    assert quantity.parse_hertz("1.85GHz") == 1.85e9
    assert quantity.parse_hertz("877 MHz") == pytest.approx(877e6)


@pytest.mark.parametrize("text", ["1.85", "0GHz", "GHz", "1GB/s"])
def test_what_is_no_frequency(text: str) -> None:
    with pytest.raises(BadInput):
        quantity.parse_hertz(text)


@pytest.mark.parametrize(
    ("text", "count"), [("2e9", 2e9), ("2G", 2e9), ("2GFLOP", 2e9), ("1.5TOP", 1.5e12), ("12", 12)]
)
def test_operations(text: str, count: float) -> None:
    assert quantity.parse_operations(text) == count


def test_operation_rates() -> None:
    assert quantity.parse_operation_rate("80TFLOP/s") == 80e12
    assert quantity.parse_operation_rate("1.979 POP/s") == pytest.approx(1.979e15)
    with pytest.raises(BadInput):
        quantity.parse_operation_rate("80")


@pytest.mark.parametrize(
    ("rate", "text"),
    [(177.6e9, "165.4 GiB/s"), (2.5 * 2**20, "2.5 MiB/s"), (2048.0, "2 KiB/s"), (12.0, "12 B/s")],
)
def test_binary_rates(rate: float, text: str) -> None:
    assert quantity.show_binary_rate(rate) == text


_SCALED = [
    (quantity.parse_seconds, {"s": Fraction(1), "ms": Fraction(1, 10**3), "us": Fraction(1, 10**6),
                              "ns": Fraction(1, 10**9)}),
    (quantity.parse_rate, {"GB/s": Fraction(10**9), "MiB/s": Fraction(2**20), "B/s": Fraction(1)}),
    (quantity.parse_hertz, {"GHz": Fraction(10**9), "kHz": Fraction(1000), "Hz": Fraction(1)}),
    (quantity.parse_operations, {"": Fraction(1), "TFLOP": Fraction(10**12), "K": Fraction(1000)}),
    (quantity.parse_operation_rate, {"TFLOP/s": Fraction(10**12), "OP/s": Fraction(1)}),
]  # fmt: skip


@given(st.sampled_from(_SCALED), st.decimals("0.000001", "999999999", places=6), st.data())
def test_units_scale_to_the_nearest_float(scaled, number: Decimal, data: st.DataObject) -> None:
    parse, units = scaled
    unit = data.draw(st.sampled_from(sorted(units)))
    assert parse(f"{number:f}{unit}") == float(Fraction(number) * units[unit])


@given(st.decimals(0, 100, places=4))
def test_per_cent_is_the_nearest_fraction(number: Decimal) -> None:
    assert quantity.parse_share(f"{number:f}%") == float(Fraction(number) / 100)
    assert quantity.parse_share(f"{number / 100:f}") == float(Fraction(number) / 100)


@given(st.integers(0, 2**40), st.sampled_from([("KiB", 1024), ("kB", 1000), ("GB", 10**9)]))
def test_a_size_with_decimals_is_exact(thousandths: int, unit: tuple[str, int]) -> None:
    exact = Fraction(thousandths, 1000) * unit[1]
    text = f"{thousandths // 1000}.{thousandths % 1000:03}{unit[0]}"
    if exact.denominator == 1:
        assert quantity.parse_bytes(text) == exact
    else:
        with pytest.raises(BadInput):
            quantity.parse_bytes(text)


@given(st.integers(0, 1000), st.integers(1, 1000))
def test_a_quotient_is_a_share_up_to_one(above: int, below: int) -> None:
    if above <= below:
        assert quantity.parse_share(f"{above}/{below}") == above / below
    else:
        with pytest.raises(BadInput):
            quantity.parse_share(f"{above}/{below}")


@pytest.mark.parametrize(
    "text", ["50", "80", "-1%", "nan", "101%", "half", "%", "1/0", "1/2/3", "2/1"]
)
def test_what_is_no_share(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        quantity.parse_share(text)
    assert caught.value.message.endswith("is not a share.")


def test_a_time_is_the_number_that_was_written() -> None:
    assert quantity.parse_seconds("2.5us") == 2.5e-06
    assert quantity.parse_seconds("800us") == 0.0008
    assert quantity.parse_bytes("1.001kB") == 1001
