"""Literals without f that make a float expression one of doubles, and double variables that hold floats."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.float_expressions import (
    doubles_beside,
    ends_as_float,
    float_edits,
    generic_types,
    integers_divided_as_doubles,
    macros_beside,
    named_doubles,
    whole_expression,
    widens_floats,
    written_once,
)
from gpuadvise.advisor.source.tree import bare
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable
    from gpuadvise.advisor.source.tree import Node

_POINT = re.compile(rb"\.(?:(?<=\d\.)\d*|\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_EXPONENT = re.compile(rb"[eE](?<=\d[eE])[+-]?\d+(?![\w.])")


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Literals without f that turn a float expression into a double one, and double variables among floats."""
    function = context.function
    if function.on_device and function.says(b"double"):
        yield from _doubles_of_floats(context)
        yield from _doubles_in_loops(context)
        yield from _divided_integers(context)
    if function.on_device and function.has_word(context.file.double_names):
        yield from _named(context)
    if not (function.matches(_POINT) or function.matches(_EXPONENT)):
        return
    yield from _literals(context, known := set[int]())
    if generic := generic_types(context):
        context.file.as_float = generic
        try:
            yield from _literals(context, known)
        finally:
            context.file.as_float = frozenset()


def _divided_integers(context: RuleContext) -> Iterator[Diagnostic]:
    """Find a quotient of two integers that are converted to double, and which becomes an integer again; one per function."""
    node = integers_divided_as_doubles(context)
    if node is not None:
        yield context.diagnostic(
            "implicit-double", node,
            "Two integers are converted to double, divided, and the quotient becomes an integer again: a division of doubles takes "
            "longer than one of integers, most of all on GPUs with few units for doubles.",
            "Divide the integers; or let a grid of two dimensions number rows and columns.", replacement="integers",
        )  # fmt: skip


def _literals(context: RuleContext, known: set[int]) -> Iterator[Diagnostic]:
    """Find double literals in float expressions; in those of types that are left open, the first in loops and the first outside.

    Those in *known* were found before.
    """
    generic = and_list(sorted(context.file.as_float))
    reported: set[bool] = set()
    by_expression: dict[int, list[Node]] = {}
    for literal in context.function.nodes("number_literal"):
        words = context.at(literal)
        if literal.index in known or not widens_floats(context, literal):
            continue
        if not generic:
            known.add(literal.index)
            top = whole_expression(context, literal)
            by_expression.setdefault(top.index, []).append(literal)
            continue
        in_loop = context.loop_around(literal) is not None
        if in_loop not in reported:
            reported.add(in_loop)
            yield context.diagnostic(
                "implicit-double", literal,
                f"Where {generic} is float, {words} makes the compiler convert and compute in double precision.",
                f"Write {words}f, which a double takes just as well where it holds the number exactly, or convert it to {generic}.",
                minor=True,
            )  # fmt: skip
    yield from (_of_one_expression(context, literals) for literals in by_expression.values())


def _of_one_expression(context: RuleContext, literals: list[Node]) -> Diagnostic:
    """Return what is said of the double *literals* beside floats of one expression, all of which must become floats."""
    words, others = written_once(context, literals), doubles_beside(context, literals)
    macros = macros_beside(context, literals[0])
    floats = [f"float({name})" for name in written_once(context, macros)]
    action = f"Write {and_list([*(f'{word}f' for word in words), *floats])}."
    if others:
        action = f"{action[:-1]}, and {and_list([f'{word}f' for word in others])} beside the integer, too: else all stays double."
    return context.diagnostic(
        "implicit-double", literals[0],
        f"{'A double' if len(words) == 1 else 'Doubles'} in a float expression: {and_list(words)} {'makes' if len(words) == 1 else 'make'} "
        "the compiler convert and compute in double precision.",
        action, replacement=action, minor=bool(others),
        edits=() if others else float_edits(context, literals, macros),
    )  # fmt: skip


def _named(context: RuleContext) -> Iterator[Diagnostic]:
    """Find macros that stand for a double in float expressions without a double literal; the first use of each."""
    for name in named_doubles(context):
        words = context.at(name)
        yield context.diagnostic(
            "implicit-double", name,
            f"A double in a float expression: {words} makes the compiler convert and compute in double precision.",
            f"Write float({words}), which the compiler converts once, or define it with an f.", replacement=f"float({words})",
        )  # fmt: skip


def _doubles_in_loops(context: RuleContext) -> Iterator[Diagnostic]:
    """Find loops in which a double that never changes there meets floats, and the result becomes a float; one per function."""
    for node in context.function.nodes("binary_expression"):
        loop = context.loop_around(node)
        if loop is None or len(node.children) != 2 or context.type_of(node) != "double":
            continue
        kinds = [context.type_of(child) for child in node.children]
        if "float" not in kinds:
            continue
        other = bare(node.children[1 - kinds.index("float")])
        if other.kind != "identifier" or context.at(other) in context.assigned_below(loop):
            continue
        if ends_as_float(context, whole_expression(context, node)):
            yield context.diagnostic(
                "implicit-double", other,
                f"Each iteration computes in double precision because {context.at(other)} is double, and keeps a float of it.",
                f"Convert {context.at(other)} to float once, or declare it float.", replacement="float",
            )  # fmt: skip
            return


def _doubles_of_floats(context: RuleContext) -> Iterator[Diagnostic]:
    """Double variables that are only set to floats, as a smallest one so far; one per function. Sums may mean it."""
    doubles = {
        variable.name: variable
        for variables in context.function.variables.values()
        for variable in variables
        if variable.type == "double" and not variable.parameter and len(variables) == 1
    }
    holding = [v for v in doubles.values() if _holds_floats(context, v, doubles)]
    if not any(_is_set_to_float(context, v) for v in holding):
        return
    names = and_list([v.name for v in holding])
    yield context.diagnostic(
        "implicit-double", holding[0].node,
        f"Only floats are put into {names}, and every comparison with one converts it and is done in double precision.",
        f"Declare {names} float, and begin with a value that a float holds, such as FLT_MAX.",
        replacement="float",
    )  # fmt: skip


def _holds_floats(
    context: RuleContext, variable: Variable, doubles: Mapping[str, Variable]
) -> bool:
    """Whether *variable* begins with a number, and is only set to floats and to variables of the same kind."""
    changes = context.changes(variable)
    if variable.value is None or not changes or variable.name in context.handed_out:
        return False
    if bare(variable.value).kind not in ("number_literal", "unary_expression"):
        return False
    return all(
        len(change.children) == 2
        and context.file.operator(change) == "="
        and (
            context.type_of(change.children[1]) == "float"
            or context.at(bare(change.children[1])) in doubles
        )
        for change in changes
    )


def _is_set_to_float(context: RuleContext, variable: Variable) -> bool:
    return any(context.type_of(c.children[1]) == "float" for c in context.changes(variable))


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
