"""The guide's 22 exponents, as people write them."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from gpuadvise.advisor.powers import POWERS
from gpuadvise.advisor.source.exponents import exponent_of, power_of


@pytest.mark.parametrize("power", POWERS, ids=lambda p: str(p.exponent))
def test_every_row_is_known_in_every_spelling(power) -> None:  # type: ignore[no-untyped-def]
    above, below = power.exponent.numerator, power.exponent.denominator
    for words in (
        f"{above}.0/{below}", f"{above}/{below}.0", f"{above}.0f/{below}.0f", f"({above}.f / {below})",
        repr(above / below),
    ):  # fmt: skip
        value = exponent_of(words, single=False)
        assert value == power.exponent, words
        assert value is not None
        assert power_of(value) is power
    assert exponent_of(f"{above / below:.9g}f", single=True) == power.exponent


@pytest.mark.parametrize("power", POWERS, ids=lambda p: str(p.exponent))
def test_the_formula_computes_the_power(power) -> None:  # type: ignore[no-untyped-def]
    scope = {
        "sqrt": math.sqrt, "rsqrt": lambda v: 1 / math.sqrt(v), "cbrt": math.cbrt,
        "rcbrt": lambda v: 1 / math.cbrt(v),
    }  # fmt: skip
    for x in (0.01, 0.5, 1.0, 3.0, 1e6):
        names = {"x": x, "r": 0.0}
        *first, last = power.formula.split(";")
        for statement in first:
            exec(statement.strip(), scope, names)
        assert eval(last.strip(), scope, names) == pytest.approx(
            x ** float(power.exponent), rel=1e-12
        )


@pytest.mark.parametrize("words", ["0.333f", "0.3333", "0.111", "0.66", "1.166", "0.3333333"])
def test_a_rough_decimal_is_not_a_fraction(words: str) -> None:
    value = exponent_of(words, single=words.endswith("f"))
    assert value is not None
    assert power_of(value) is None


def test_integers_divide_as_in_c() -> None:
    assert exponent_of("1/3", single=True) == 0
    assert exponent_of("7/2", single=True) == 3
    assert exponent_of("-7/2", single=True) == -3


@pytest.mark.parametrize("words", ["y", "1.0/n", "1/0", "", "1.0/3/2", "0x1p3", "1e999999", "("])
def test_what_is_no_constant_is_unknown(words: str) -> None:
    assert exponent_of(words, single=True) is None


def test_whole_exponents_become_products() -> None:
    assert power_of(Fraction(3)).formula == "x*x*x"  # type: ignore[union-attr]
    assert power_of(Fraction(-2)).formula == "1/(x*x)"  # type: ignore[union-attr]
    assert power_of(Fraction(5)) is None
