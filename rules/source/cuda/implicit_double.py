"""Literals without f that make a float expression one of doubles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.cuda_file import literal_type
from gpuadvise.advisor.source.diagnostic import TextEdit
from gpuadvise.advisor.source.float_expressions import (
    ends_as_float,
    folds_to_float,
    mixes_float,
    whole_expression,
)
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext

_POINT = re.compile(rb"\.(?:(?<=\d\.)\d*|\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_EXPONENT = re.compile(rb"[eE](?<=\d[eE])[+-]?\d+(?![\w.])")


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Literals without f that turn a float expression into a double one."""
    function = context.function
    if not function.on_device or not (function.matches(_POINT) or function.matches(_EXPONENT)):
        return
    for literal in context.function.nodes("number_literal"):
        words = context.at(literal)
        if ("." not in words and "e" not in words.lower()) or words[:2] in ("0x", "0X"):
            continue
        if literal_type(words) != "double":
            continue
        top = whole_expression(context, literal)
        if (
            mixes_float(context, top, literal)
            and ends_as_float(context, top)
            and not folds_to_float(context, top, literal)
        ):
            edit = TextEdit(start=literal.end, end=literal.end, text="f")
            yield context.diagnostic(
                "implicit-double",
                literal,
                f"A double in a float expression: {words} makes the compiler convert and compute in double precision.",
                f"Write {words}f.",
                edits=(edit,),
                replacement=f"Write {words}f.",
            )


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void scale(float *x) { x[threadIdx.x] = x[threadIdx.x] * 0.5 + 1.0; }""",
        """\
__global__ void scale(float *x) { x[threadIdx.x] = x[threadIdx.x] * 0.5f + 1.0f; }""",
    ),
)
