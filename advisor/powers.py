"""Powers with a formula of their own: cheaper and more exact than ``pow``.

Best practices guide, "Exponentiation With Small Fractional Arguments" (22 exponents, for x >= 0)
and "Math Libraries" (small integers). The guide's formula for -3/2, ``(1/x)*sqrt(x)``, is that
of -1/2; the one here is right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_FUNCTION = r"\b(r?cbrt|r?sqrt)\b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """One exponent, its *formula* in double precision, and the errors in ulps.

    *ulps_single* is with IEEE division and square root, *ulps_single_fast* with the fast ones;
    ``None`` for multiplications, whose error the guide does not tabulate.
    """

    exponent: Fraction
    formula: str
    ulps: int | None = None
    ulps_single: int | None = None
    ulps_single_fast: int | None = None

    @property
    def single(self) -> str:
        """The formula in single precision."""
        return re.sub(_FUNCTION, r"\1f", self.formula).replace("1/x", "1.0f/x")

    def error_words(self, *, single: bool) -> str:
        """Return the errors in brackets, in *single* or double precision; "" without any."""
        if self.ulps is None:
            return ""
        if not single:
            return f" (for x >= 0; error up to {self.ulps} ulp)"
        return (
            f" (for x >= 0; error up to {self.ulps_single} ulp,"
            f" {self.ulps_single_fast} with fast division and square root)"
        )


def _power(exponent: str, formula: str, ulps: int, single: int, fast: int) -> Power:
    return Power(
        exponent=Fraction(exponent),
        formula=formula,
        ulps=ulps,
        ulps_single=single,
        ulps_single_fast=fast,
    )


POWERS = (
    _power("1/9", "rcbrt(rcbrt(x))", 1, 1, 1),
    _power("-1/9", "cbrt(rcbrt(x))", 1, 1, 1),
    _power("1/6", "rcbrt(rsqrt(x))", 1, 2, 2),
    _power("-1/6", "rcbrt(sqrt(x))", 1, 1, 2),
    _power("1/4", "rsqrt(rsqrt(x))", 1, 2, 2),
    _power("-1/4", "sqrt(rsqrt(x))", 1, 1, 3),
    _power("1/3", "cbrt(x)", 1, 1, 1),
    _power("-1/3", "rcbrt(x)", 1, 1, 1),
    _power("1/2", "sqrt(x)", 0, 0, 3),
    _power("-1/2", "rsqrt(x)", 1, 2, 2),
    _power("2/3", "r = cbrt(x); r*r", 2, 3, 3),
    _power("-2/3", "r = rcbrt(x); r*r", 2, 3, 3),
    _power("3/4", "r = sqrt(x); r*sqrt(r)", 2, 2, 6),
    _power("-3/4", "r = rsqrt(x); r*sqrt(r)", 2, 4, 5),
    _power("7/6", "x*rcbrt(rsqrt(x))", 2, 2, 2),
    _power("-7/6", "(1/x)*rcbrt(sqrt(x))", 2, 3, 3),
    _power("5/4", "x*rsqrt(rsqrt(x))", 2, 3, 3),
    _power("-5/4", "(1/x)*sqrt(rsqrt(x))", 2, 3, 5),
    _power("4/3", "x*cbrt(x)", 1, 2, 2),
    _power("-4/3", "(1/x)*rcbrt(x)", 2, 2, 3),
    _power("3/2", "x*sqrt(x)", 1, 1, 3),
    _power("-3/2", "(1/x)*rsqrt(x)", 2, 3, 3),
)
