"""The guide's 22 exponents: each formula computed and compared with the power itself."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from gpuadvise.advisor.powers import POWERS, Power, special_power

FUNCTIONS = {
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "cbrt": math.cbrt,
    "rcbrt": lambda x: 1 / math.cbrt(x),
}


def value(formula: str, x: float) -> float:
    """Compute *formula*, which may name an intermediate result r before a semicolon."""
    names: dict[str, object] = {**FUNCTIONS, "x": x}
    *first, last = formula.split(";")
    for step in first:
        exec(step.strip(), {}, names)
    return float(eval(last.strip(), {}, names))


def test_there_are_22_and_no_exponent_twice() -> None:
    assert len(POWERS) == 22
    assert len({power.exponent for power in POWERS}) == 22
    assert {-power.exponent for power in POWERS} == {power.exponent for power in POWERS}


@pytest.mark.parametrize("power", POWERS, ids=lambda power: str(power.exponent))
@pytest.mark.parametrize("x", [0.25, 1.0, 2.0, 1e-6, 12345.678])
def test_the_formula_is_the_power(power: Power, x: float) -> None:
    assert value(power.formula, x) == pytest.approx(x ** float(power.exponent), rel=1e-12)


@pytest.mark.parametrize("whole", [2, 3, 4, 5, -2, -3])
def test_small_integers_are_products(whole: int) -> None:
    power = special_power(whole)
    assert power is not None
    assert value(power.formula, 1.7) == pytest.approx(1.7**whole)


@pytest.mark.parametrize(
    ("exponent", "meant"),
    [
        (0.5, "1/2"),
        (0.333333, "1/3"),
        (-0.3333, "-1/3"),
        (1.5, "3/2"),
        (0.75, "3/4"),
        (0.667, "2/3"),
    ],
)
def test_a_rounded_fraction_is_known(exponent: float, meant: str) -> None:
    power = special_power(exponent)
    assert power is not None
    assert power.exponent == Fraction(meant)


@pytest.mark.parametrize("exponent", [0, 1, -1, 6, 2.5, 0.3, 100.0, math.pi, math.inf, math.nan])
def test_other_exponents_need_pow(exponent: float) -> None:
    assert special_power(exponent) is None


def test_single_precision_has_its_own_functions() -> None:
    power = special_power(-1.5)
    assert power is not None
    assert power.formula == "(1/x)*rsqrt(x)"
    assert power.single == "(1.0f/x)*rsqrtf(x)"
    assert (power.ulps, power.ulps_single, power.ulps_single_fast) == (2, 3, 3)
