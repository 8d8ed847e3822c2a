"""Expressions of floats that a double literal stands in: how far it reaches, and what becomes of the value."""

from __future__ import annotations

import re
from struct import pack, unpack
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.cuda_file import literal_type
from gpuadvise.advisor.source.diagnostic import TextEdit
from gpuadvise.advisor.source.scopes import INTEGERS, UNKNOWN
from gpuadvise.advisor.source.tree import bare

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_EXPRESSION = frozenset(
    ("binary_expression", "parenthesized_expression", "unary_expression", "conditional_expression")
)
# Types that build files make float or double.
_REAL = re.compile(r"real\w*|scalar_?t?|d_?type|fp_?t|floating\w*", re.IGNORECASE)
_SIGNS = frozenset(("parenthesized_expression", "unary_expression"))
_TWO_ARGUMENTS = frozenset(["pow", "fmax", "fmin", "max", "min", "fmod", "atan2", "hypot"])
# Functions of one number whose double version a double argument picks, however many floats are in it.
_ONE_ARGUMENT = frozenset(
    ("sqrt", "rsqrt", "cbrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos",
     "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "erf", "abs", "fabs", "floor", "ceil", "round", "trunc",
     "rint")
)  # fmt: skip
_LARGEST_FLOAT = 3.4028234663852886e38
# Conversions and makers of vectors, all of whose parameters are floats.
_FLOAT_PARAMETER = re.compile(r"(?:__float2\w+|__floats2\w+|make_float[1-4])$")


def is_named_double(context: RuleContext, node: Node) -> bool:
    """Whether *node* names a macro that stands for a double literal, of this file or of <math.h>."""
    if node.kind != "identifier" or context.type_of(node) != "double":
        return False
    return context.file.variable(context.at(node), node, context.function) is None


def is_double_literal(context: RuleContext, literal: Node) -> bool:
    """Whether *literal* is a number that is written as a double."""
    words = context.at(literal)
    if ("." not in words and "e" not in words.lower()) or words[:2] in ("0x", "0X"):
        return False
    return literal_type(words) == "double"


def written_once(context: RuleContext, nodes: Iterable[Node]) -> list[str]:
    """Return the texts of *nodes*, each once."""
    return list(dict.fromkeys(map(context.at, nodes)))


def doubles_beside(context: RuleContext, literals: list[Node]) -> list[str]:
    """Return the double literals of the expression of *literals* that meet no float but an integer."""
    top = whole_expression(context, literals[0])
    known = {literal.index for literal in literals}
    inside = context.file.tree.inside
    numbers = [node for node in inside(top, "number_literal") if is_double_literal(context, node)]
    beside = (node for node in numbers if node.index not in known)
    return written_once(context, (node for node in beside if _meets_integer(context, node)))


def macros_beside(context: RuleContext, literal: Node) -> list[Node]:
    """Return the macros of doubles in the expression of *literal*: while one is left, all stays double."""
    names = context.file.tree.inside(whole_expression(context, literal), "identifier")
    return [node for node in names if is_named_double(context, node)]


def float_edits(
    context: RuleContext, literals: list[Node], macros: list[Node]
) -> tuple[TextEdit, ...]:
    """Return what makes floats of the double *literals* and *macros*."""
    return (
        *(TextEdit(start=one.end, end=one.end, text="f") for one in literals),
        *(TextEdit(start=m.start, end=m.end, text=f"float({context.at(m)})") for m in macros),
    )


def _meets_integer(context: RuleContext, node: Node) -> bool:
    node = _around(node)
    above = node.parent
    if above is None or above.kind != "binary_expression" or len(above.children) != 2:
        return False
    partner = above.children[1] if above.children[0] is node else above.children[0]
    return context.type_of(partner) in INTEGERS


def named_doubles(context: RuleContext) -> Iterator[Node]:
    """Yield the first use of each macro that makes an expression of floats one of doubles, where no literal in it does."""
    seen: set[str] = set()
    for name in context.function.nodes("identifier"):
        if context.at(name) in seen or not is_named_double(context, name):
            continue
        if not widens_floats(context, name):
            continue
        top = whole_expression(context, name)
        literals = context.file.tree.inside(top, "number_literal")
        if not any(context.type_of(literal) == "double" for literal in literals):
            seen.add(context.at(name))
            yield name


def widens_floats(context: RuleContext, literal: Node) -> bool:
    """Whether *literal*, or a macro, is a double that makes an expression of floats, which becomes one, compute with doubles."""
    if literal.kind == "number_literal" and not is_double_literal(context, literal):
        return False
    if _is_for_equal_floats(context, literal):
        return False
    top = whole_expression(context, literal)
    return (
        mixes_float(context, top, literal)
        and ends_as_float(context, top)
        and not folds_to_float(context, top, literal)
    )


def _is_for_equal_floats(context: RuleContext, node: Node) -> bool:
    """Whether *node* is reached where two floats are the same, and at no other time: seldom."""
    for above in node.ancestors():
        if above.kind == "if_statement":
            condition, taken = above.part("condition"), above.part("consequence")
            if condition is None or taken is None or not taken.holds(node):
                continue
            test = bare(condition)
            if test.kind == "binary_expression" and context.file.operator(test) == "==":
                sides = map(bare, test.children)
                return all(s.kind == "identifier" and context.type_of(s) == "float" for s in sides)
    return False


def _digits(context: RuleContext, literal: Node) -> str:
    """Return the number that *literal*, or the macro of this file that it names, is written as; empty for those of <math.h>."""
    words = context.at(literal)
    if literal.kind == "identifier":
        words = context.file.preprocessed.macros.get(words) or ""
    return words.strip(" ()").replace("'", "")


def folds_to_float(context: RuleContext, top: Node, literal: Node) -> bool:
    """Whether the compiler computes with a float although *literal* is double.

    It does where the literal is exact in single precision and meets one float: in a comparison,
    or in one operation whose result becomes a float at once. Then both ways round alike.
    """
    words = _digits(context, literal)
    if not words or float(words) != unpack("f", pack("f", min(float(words), _LARGEST_FLOAT)))[0]:
        return False
    node = _around(literal)
    above = node.parent
    if above is None or len(above.children) != 2:
        return False
    if above.kind != "binary_expression":
        return above.kind == "assignment_expression"
    partner = above.children[1] if above.children[0] is node else above.children[0]
    if context.type_of(partner) != "float":
        return False
    if context.type_of(above) == "bool":
        return True
    return _around(above) is top and _becomes_float(context, top)


def _around(node: Node) -> Node:
    """Return *node* with the brackets and signs around it."""
    while node.parent is not None and node.parent.kind in _SIGNS:
        node = node.parent
    return node


def _becomes_float(context: RuleContext, top: Node) -> bool:
    """Whether the value of *top* goes straight into a float, and not into an integer or a sum."""
    above = top.parent
    if above is None:
        return False
    if above.kind == "init_declarator":
        variable = context.file.variable(context.at(above.children[0]), top, context.function)
        return variable is not None and (
            variable.type == "float" or variable.written in context.file.as_float
        )
    if above.kind == "assignment_expression":
        return context.file.operator(above) == "=" and context.type_of(above.children[0]) == "float"
    if above.kind == "cast_expression":
        return context.type_of(above) == "float"
    return above.kind in ("return_statement", "argument_list")


def whole_expression(context: RuleContext, node: Node) -> Node:
    """Return the largest arithmetic expression that *node* is an operand of."""
    top = node
    while top.parent is not None:
        above = top.parent
        if above.kind in _EXPRESSION:
            top = above
        elif above.kind == "argument_list" and (
            _is_mixed_call(context, above.parent) or _picks_double(context, above.parent)
        ):
            top = above.parent if above.parent is not None else above
        else:
            break
    return top


def _picks_double(context: RuleContext, call: Node | None) -> bool:
    """Whether *call* is of a function of one number that computes in the type of its argument."""
    if call is None or call.kind != "call_expression" or len(call.children) != 2:
        return False
    name = context.file.callee(call).removeprefix("std::")
    return (
        name in _ONE_ARGUMENT
        and len(call.children[1].children) == 1
        and name not in context.file.names.returns
    )


def _is_mixed_call(context: RuleContext, call: Node | None) -> bool:
    """Whether *call* is of a function of two numbers that computes in the larger of their types.

    A literal handed to any other function takes the type of its parameter when the program is compiled.
    """
    return (
        call is not None
        and call.kind == "call_expression"
        and len(call.children) == 2
        and len(call.children[1].children) == 2
        and context.file.callee(call) in _TWO_ARGUMENTS
        and context.file.callee(call) not in context.file.names.returns
    )


def mixes_float(context: RuleContext, top: Node, literal: Node) -> bool:
    """Whether float operands, and no doubles of the author's own, meet *literal* in *top*."""
    floats = _updates_float(context, top)
    stack = [top]
    while stack:
        node = stack.pop()
        if node.kind == "conditional_expression":
            stack.extend(node.children[1:])
        elif node.kind == "binary_expression" and context.file.operator(node) in ("&&", "||"):
            if not node.holds(literal):
                continue
            stack.extend(c for c in node.children if c.holds(literal))
        elif node.kind in _EXPRESSION:
            stack.extend(node.children)
        elif _is_mixed_call(context, node) or _picks_double(context, node):
            stack.extend(node.children[1].children)
        elif node.kind != "number_literal" and not is_named_double(context, node):
            kind = context.type_of(node)
            if kind in ("double", UNKNOWN) or kind.endswith("*"):
                return False
            floats |= kind == "float"
    return floats and _meets_operator(context, literal)


def _meets_operator(context: RuleContext, literal: Node) -> bool:
    """Whether arithmetic or a comparison with a float takes *literal*, and not only a choice."""
    node = literal
    for above in literal.ancestors():
        if above.kind == "assignment_expression":
            return _updates_float(context, node)
        if above.kind == "binary_expression" and len(above.children) == 2:
            operand = above.children[1] if above.children[0] is node else above.children[0]
            # Doubles of the author's own are excluded: this one comes from another literal.
            return context.type_of(operand) in ("float", "double")
        if above.kind == "argument_list" and _is_mixed_call(context, above.parent):
            return any(context.type_of(c) == "float" for c in above.children if c is not node)
        if above.kind not in ("parenthesized_expression", "unary_expression"):
            return False
        node = above
    return False


def _updates_float(context: RuleContext, value: Node) -> bool:
    """Whether ``+=`` or the like computes with *value* and a float."""
    above = value.parent
    return (
        above is not None
        and above.kind == "assignment_expression"
        and above.children[0] is not value
        and context.file.operator(above) in ("+=", "-=", "*=", "/=")
        and context.type_of(above.children[0]) == "float"
    )


def ends_as_float(context: RuleContext, top: Node) -> bool:
    """Whether the value of *top* is known to become a float, an integer or a truth value."""
    if top.kind == "binary_expression" and context.type_of(top) == "bool":
        return True
    above = top.parent
    if above is None:
        return False
    if above.kind == "init_declarator":
        name = context.root_name(above.children[0])
        namesakes = context.function.variables.get(name, ())
        declared = next((v for v in namesakes if v.node is above), None)
        return declared is not None and (
            declared.type in ("float", *INTEGERS) or declared.written in context.file.as_float
        )
    if above.kind == "assignment_expression":
        return (
            context.type_of(above.children[0]) in ("float", *INTEGERS)
            and above.children[0] is not top
        )
    if above.kind == "return_statement":
        return context.function.returns == "float" and not any(
            a.kind == "lambda_expression" for a in above.ancestors()
        )
    if above.kind == "argument_list" and above.parent is not None:
        call = above.parent
        name = context.file.callee(call)
        if call.children[0].kind == "primitive_type" or name == "static_cast":
            return context.type_of(call) in ("float", *INTEGERS)
        if _FLOAT_PARAMETER.match(name) or _takes_float(context, call, top):
            return True
        return name.endswith("f") and context.type_of(call) == "float"
    if above.kind == "cast_expression":
        return context.type_of(above) in ("float", *INTEGERS)
    return False


def _takes_float(context: RuleContext, call: Node, argument: Node) -> bool:
    """Whether *call* is of the only function of that name in the file, whose parameter for *argument* is a float or an integer."""
    called = context.file.called(context.file.callee(call))
    arguments = context.file.arguments(call)
    if len(called) != 1 or len(called[0].parameters) != len(arguments):
        return False
    kinds = {
        parameter.type
        for parameter, given in zip(called[0].parameters, arguments, strict=True)
        if given is argument
    }
    return not kinds.isdisjoint(("float", *INTEGERS))


def integers_divided_as_doubles(context: RuleContext) -> Node | None:
    """Return the first quotient of two integers that are converted to double, and which becomes an integer again."""
    for node in context.function.nodes("binary_expression"):
        if len(node.children) != 2 or context.file.operator(node) != "/":
            continue
        above = node.parent
        while above is not None and above.kind in ("parenthesized_expression", "argument_list"):
            above = above.parent
        if above is None or context.type_of(above) not in INTEGERS:
            continue
        if above.kind not in ("cast_expression", "call_expression"):
            continue
        if all(_is_converted_integer(context, side) for side in node.children):
            return node
    return None


def _is_converted_integer(context: RuleContext, side: Node) -> bool:
    """Whether *side* is like ``double(i)`` or ``(double)i`` of an integer i."""
    side = bare(side)
    if side.kind == "cast_expression":
        inner: Node | None = side.children[-1]
    elif side.kind == "call_expression" and context.at(side.children[0]) == "double":
        inner = next(iter(context.file.arguments(side)), None)
    else:
        return False
    if inner is None or context.type_of(side) != "double":
        return False
    return context.type_of(inner) in INTEGERS


def generic_types(context: RuleContext) -> frozenset[str]:
    """Return the types of the function that the file leaves open, template parameters and macros, which may be float."""
    variables = context.function.variables
    written = {v.written for same in variables.values() for v in same if v.written}
    parameters = {name for name, same in variables.items() if same[0].type == "type"}
    known = context.file.names.aliases  # what is one type here and another there is left alone
    return frozenset(
        name
        for name in written
        if name in parameters or (_REAL.fullmatch(name) and name not in known)
    )
