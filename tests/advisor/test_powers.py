"""The guide's 22 exponents: each formula computed and compared with the power itself."""

from __future__ import annotations

import math

import pytest

from gpuadvise.advisor.powers import POWERS, Power

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
