"""General math functions where a special one exists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.exponents import exponent_of, power_of
from gpuadvise.advisor.source.math_calls import (
    computed_in,
    exponent_words,
    is_free_name,
    is_standard,
    pi_factor,
    product_of,
    reciprocal_roots,
    sines_beside_cosines,
)
from gpuadvise.advisor.source.rule_context import replaced
from gpuadvise.advisor.source.scopes import INTEGERS
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.powers import Power
    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_POWERS = ("pow", "powf", "__powf")
_TRIGONOMETRY = {
    "sinf": "sinpif", "cosf": "cospif", "sin": "sinpi", "cos": "cospi",
    "sincosf": "sincospif", "sincos": "sincospi",
}  # fmt: skip
# Fastest-growing products that an edit writes out: two multiplications, each rounded once.
_LARGEST_EDIT = number(
    3, "power that --fix writes as a product, at most", "", "two multiplications, each rounded once"
)
_WORDS = frozenset(f"{u}{n}{f}".encode() for u in ("", "__") for n in ("pow", "sqrt", "sincos", "sin", "cos") for f in ("", "f"))  # fmt: skip
_RULE = "general-math-functions"


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find calls of general functions for which a special one exists."""
    if not context.function.on_device or not context.function.has_word(_WORDS):
        return
    for call in context.calls():
        name = context.file.callee(call)
        if name in context.file.names.returns and name not in ("pow", "sin", "cos", "sqrt"):
            continue
        if not is_standard(context, call):
            continue
        if name in _POWERS:
            yield from _power(context, call, name)
        elif name in _TRIGONOMETRY and not (name.endswith("f") and context.file.build.fast_math):
            yield from _multiple_of_pi(context, call, name)
    yield from _reciprocal_roots(context)
    yield from _sines_beside_cosines(context)


def _power(context: RuleContext, call: Node, name: str) -> Iterator[Diagnostic]:
    arguments = context.file.arguments(call)
    if len(arguments) != 2:
        return
    base, exponent = arguments
    kind = computed_in(context, name, base, exponent)
    yield from _power_of_base(context, call, name, base, exponent, kind)
    value = exponent_of(exponent_words(context, exponent), single=kind == "float")
    power = power_of(value) if value is not None else None
    if value == 0 and "/" in context.at(exponent):
        yield context.diagnostic(
            _RULE, call, f"{context.at(exponent)} is an integer division: the exponent is 0.",
            "Write the exponent with a decimal point, such as 1.0f/3.0f, or call the special function.",
        )  # fmt: skip
    elif power is not None:
        yield _powered(context, call, base, power, kind)


def _power_of_base(
    context: RuleContext, call: Node, name: str, base: Node, exponent: Node, kind: str
) -> Iterator[Diagnostic]:
    words = context.at(base).rstrip("fF")
    if not re.fullmatch(r"(?:2|10)(?:\.0*)?", words):
        return
    function = ("exp2" if words.startswith("2") else "exp10") + ("" if kind == "double" else "f")
    inner = context.at(exponent)
    exact = name == "powf" or (kind == "double" and context.type_of(exponent) == "double")
    free = is_free_name(context, function)
    edits = replaced(call, f"{function}({inner})") if exact and free else ()
    action = f"Write {function}({inner})."
    if context.type_of(exponent) in INTEGERS and words.startswith("2"):
        action = f"Write ldexp{'f' if function.endswith('f') else ''}(1, {inner}), which is exact, or {function}({inner})."
        edits = ()
    yield context.diagnostic(
        _RULE, call, "A general power function for a power of a fixed base.", action, edits=edits,
        replacement=f"{function}({inner})",
    )  # fmt: skip


def _powered(context: RuleContext, call: Node, base: Node, power: Power, kind: str) -> Diagnostic:
    whole, single = power.exponent, kind != "double"
    small = whole.denominator == 1 and 2 <= whole <= _LARGEST_EDIT
    product = product_of(context, base, int(whole), kind) if small else None
    formula = power.single if single else power.formula
    return context.diagnostic(
        _RULE,
        call,
        f"A general power function for the exponent {power.exponent}.",
        f"Write {formula} with x = {context.at(base)}{power.error_words(single=single)}.",
        edits=() if product is None else replaced(call, product),
        exponent=str(power.exponent),
        type=kind or "float",
        replacement=formula,
    )


def _multiple_of_pi(context: RuleContext, call: Node, name: str) -> Iterator[Diagnostic]:
    arguments = context.file.arguments(call)
    factor = pi_factor(context, arguments[0]) if arguments else None
    if factor is None:
        return
    special = _TRIGONOMETRY[name]
    if name in ("sin", "cos", "sincos") and context.type_of(arguments[0]) == "float":
        special += "f"
    yield context.diagnostic(
        _RULE, call, "Trigonometry of a multiple of pi.",
        f"Write {special} of the argument without the factor pi: it is faster, and multiplies by pi exactly.",
        replacement=special,
    )  # fmt: skip


def _reciprocal_roots(context: RuleContext) -> Iterator[Diagnostic]:
    for node, dividend, root, kind in reciprocal_roots(context):
        if kind == "float" and context.file.build.fast_math:
            continue  # the compiler writes it so
        special = "rsqrtf" if kind == "float" else "rsqrt"
        written = f"{special}({context.at(root)})"
        exact = kind == "double" or context.type_of(dividend) == "float"
        yield context.diagnostic(
            _RULE, node, "A division by a square root.",
            f"Write {written} (error up to {'2 ulp' if kind == 'float' else '1 ulp'}).",
            edits=replaced(node, written) if exact and is_free_name(context, special) else (),
            replacement=written,
        )  # fmt: skip


def _sines_beside_cosines(context: RuleContext) -> Iterator[Diagnostic]:
    for call, argument in sines_beside_cosines(context):
        name = context.file.callee(call).replace("cos", "sin")
        special = {"sinf": "sincosf", "sin": "sincos"}[name]
        if name == "sinf" and context.file.build.fast_math:
            continue  # intrinsics share nothing
        if special == "sincos" and context.type_of(argument) == "float":
            special = "sincosf"
        yield context.diagnostic(
            _RULE, call, "Sine and cosine of the same argument.",
            f"Call {special}({context.at(argument)}, &s, &c) once: both share the reduction of the argument.",
            replacement=special,
        )  # fmt: skip


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void f(float *x) {
    float v = x[threadIdx.x];
    x[threadIdx.x] = powf(v, 2.0f) + powf(v, 0.25f) + sinf(3.14159265f * v);
}""",
        """\
__global__ void f(float *x) {
    float v = x[threadIdx.x];
    x[threadIdx.x] = v * v + rsqrtf(rsqrtf(v)) + sinpif(v);
}""",
    ),
)


RULE = source_rule(
    id="general-math-functions",
    title="Call the specialised function",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.MEDIUM,
    recommendation=True,
    why="A function made for the case is both faster and more accurate.",
    when="Device code calls pow with a small constant exponent, exp2 or exp10 through pow, sin and cos of one argument, trigonometry of a multiple of pi, or 1 / sqrt.",
    citations=(
        *guide("12.1.9", "11.1.5"),
        *guide("12.1.6", "11.1.2"),
        *guide("12.1.8", "11.1.4"),
    ),
    seen="powf(x, 2.0f)",
)
