"""Exponents of powers as people write them, as exact fractions: 0.5f, 1.0/3, -7.0f/6."""

from __future__ import annotations

import re
import struct
from fractions import Fraction

from gpuadvise.advisor.powers import POWERS, Power

_LITERAL = r"^([+-]?)\s*((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([fFlL]?)$"
# Beyond this a chain of multiplications is no longer obviously cheaper.
_LARGEST_WHOLE = 4
_LONGEST = 64


def exponent_of(words: str, *, single: bool) -> Fraction | None:
    """Return the power that *words* mean, None where they are no constant of the guide's kind.

    A decimal that is the floating number nearest to one of the guide's fractions means that
    fraction; *single* says that the power is computed in single precision. A quotient of two
    integers is an integer in C: ``1/3`` is 0.
    """
    words = words.strip()
    if len(words) > _LONGEST:
        return None
    while (inner := _unbracketed(words)) is not None:
        words = inner
    sign = 1
    if words[:1] in "+-" and words[1:2] == "(":
        sign, words = (-1 if words[0] == "-" else 1), words[1:]
        while (inner := _unbracketed(words)) is not None:
            words = inner
    numerator, slash, denominator = words.partition("/")
    value = _literal(numerator)
    if value is None:
        return None
    if not slash:
        exact = sign * value[0]
        return _meant(exact, single=single or value[1] == "f")
    below = _literal(denominator)
    if below is None or below[0] == 0:
        return None
    if value[1] == below[1] == "int":
        return Fraction(sign * int(value[0] / below[0]))
    return sign * value[0] / below[0]


def _unbracketed(words: str) -> str | None:
    if not (words.startswith("(") and words.endswith(")")):
        return None
    inner = words[1:-1].strip()
    return inner if "(" not in inner and ")" not in inner else None


def _literal(words: str) -> tuple[Fraction, str] | None:
    while (inner := _unbracketed(words.strip())) is not None:
        words = inner
    match = re.match(_LITERAL, words.strip())
    if not match or len(match[2]) > 40 or abs(int(re.split("[eE]", match[2] + "e0")[1])) > 40:
        return None
    kind = "int" if match[2].isdigit() and not match[3] else match[3].lower() or "double"
    value = Fraction(match[2])
    return (-value if match[1] == "-" else value), kind


def _meant(value: Fraction, *, single: bool) -> Fraction:
    nearest = _single if single else float
    for power in POWERS:
        if nearest(float(value)) == nearest(float(power.exponent)):
            return power.exponent
    return value


def _single(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf")


def power_of(exponent: Fraction) -> Power | None:
    """Return the formula for *exponent*: a row of the guide's table, or a short product."""
    for power in POWERS:
        if power.exponent == exponent:
            return power
    whole = exponent.numerator
    if exponent.denominator == 1 and 2 <= abs(whole) <= _LARGEST_WHOLE:
        product = "*".join("x" * abs(whole))
        return Power(exponent=exponent, formula=product if whole > 0 else f"1/({product})")
    return None
