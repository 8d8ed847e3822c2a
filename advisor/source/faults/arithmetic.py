"""Divisions, accidental doubles and narrow integers in device code."""

from __future__ import annotations

import re
from struct import pack, unpack
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.cuda_file import literal_type
from gpuadvise.advisor.source.diagnostic import TextEdit
from gpuadvise.advisor.source.scopes import INTEGERS, NARROW, UNKNOWN
from gpuadvise.advisor.source.tree import LOOPS, bare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_DIVIDING = ("/", "%", "/=", "%=")
_EXPRESSION = frozenset(
    ("binary_expression", "parenthesized_expression", "unary_expression", "conditional_expression")
)
_SIGNS = frozenset(("parenthesized_expression", "unary_expression"))
_TWO_ARGUMENTS = frozenset(["pow", "fmax", "fmin", "max", "min", "fmod", "atan2", "hypot"])
# Functions of a few instructions; so are intrinsics.
_SHORT = frozenset(
    ("min", "max", "abs", "fabs", "fabsf", "fminf", "fmaxf", "sqrtf", "expf", "printf", "assert",
     "static_cast", "reinterpret_cast", "int", "float", "unsigned", "size_t")
)  # fmt: skip
_LARGEST_FLOAT = 3.4028234663852886e38
# What a body must hold for a rule to have anything to say.
_DIVISION = re.compile(rb"/(?![/*])(?<!\*/)(?<!//)")
_LOOP = re.compile(rb"\b(?:for|while|do)\b")
_POINT = re.compile(rb"\.(?:(?<=\d\.)\d*|\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_EXPONENT = re.compile(rb"[eE](?<=\d[eE])[+-]?\d+(?![\w.])")
_NARROW_WORDS = re.compile(rb"char|short|int8|int16")
# Conversions and makers of vectors, all of whose parameters are floats.
_FLOAT_PARAMETER = re.compile(r"(?:__float2\w+|__floats2\w+|make_float[1-4])$")
_POWER_OF_TWO = re.compile(r"\b1[uUlL]*\s*<<")


def integer_division(context: RuleContext) -> Iterator[Diagnostic]:
    """Divisions by a variable that a loop repeats, or whose divisor is a power of two."""
    function = context.function
    if not function.on_device or not (function.says(b"%") or function.matches(_DIVISION)):
        return
    reported: set[tuple[str, int]] = set()
    for node in context.function.nodes("binary_expression", "assignment_expression"):
        if len(node.children) != 2 or context.file.operator(node) not in _DIVIDING:
            continue
        dividend, divisor = node.children
        if context.file.is_constant(divisor, context.function):
            continue
        if not all(context.type_of(c) in INTEGERS for c in (dividend, divisor)):
            continue
        loop = context.loop_around(node)
        power = _is_power_of_two(context, divisor)
        if not power and not (loop and _is_repeated(context, dividend, divisor, loop)):
            continue
        key = (context.at(divisor), loop.index if loop else -1)
        if key in reported:
            continue
        reported.add(key)
        yield context.diagnostic(
            "integer-division", node, _division_words(power), _division_action(power)
        )


def _division_words(power: bool) -> str:
    if power:
        return "An integer division by a power of two that the compiler does not know to be one."
    return "An integer division by a variable, in each iteration of a loop."


def _division_action(power: bool) -> str:
    if power:
        return "Keep the logarithm instead of the power: i / n is i >> log2(n), and i % n is i & (n - 1), for i >= 0."
    return (
        "Carry quotient and remainder along with the loop, make n a template parameter, or multiply by a reciprocal "
        "computed once; if n is always a power of two, i / n is i >> log2(n) and i % n is i & (n - 1), for i >= 0."
    )


def _is_power_of_two(context: RuleContext, divisor: Node) -> bool:
    divisor = bare(divisor)
    if divisor.kind == "binary_expression":
        return context.file.operator(divisor) == "<<" and context.constant(divisor.children[0]) == 1
    if divisor.kind != "identifier":
        return False
    variable = context.file.variable(context.at(divisor), divisor, context.function)
    if variable is None or variable.value is None or not _unchanged(context, variable.name):
        return False
    value = bare(variable.value)
    return value.kind == "binary_expression" and bool(_POWER_OF_TWO.match(context.at(value)))


def _unchanged(context: RuleContext, name: str) -> bool:
    return name not in context.assigned_below(context.function.body, declared=False)


def _is_repeated(context: RuleContext, dividend: Node, divisor: Node, loop: Node) -> bool:
    """Whether *loop* divides changing values by one that stays, and does little else.

    Nothing replaces a divisor that changes as well; beside an inner loop one division is nothing.
    """
    changed = context.assigned_below(loop)
    return (
        _names_any(context, dividend, changed)
        and not _names_any(context, divisor, changed)
        and sum(len(context.file.tree.inside(loop, kind)) for kind in LOOPS) == 1
        and not any(
            _loops(context, call) for call in context.file.tree.inside(loop, "call_expression")
        )
    )


def _names_any(context: RuleContext, expression: Node, names: set[str]) -> bool:
    return any(
        n.kind == "identifier" and context.at(n) in names
        for n in context.file.tree.below(expression)
    )


def _loops(context: RuleContext, call: Node) -> bool:
    """Whether *call* calls a function that loops itself, or may."""
    name = context.file.callee(call)
    if name in context.file.names.returns:
        return context.file.loops(name)
    return not (name.startswith(("__", "atomic", "make_")) or name in _SHORT)


def implicit_double(context: RuleContext) -> Iterator[Diagnostic]:
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
        top = _whole_expression(literal)
        if (
            _mixes_float(context, top, literal)
            and _ends_as_float(context, top)
            and not _folds(context, top, literal)
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


def _folds(context: RuleContext, top: Node, literal: Node) -> bool:
    """Whether the compiler computes with a float although *literal* is double.

    It does where the literal is exact in single precision and meets one float: in a comparison,
    or in one operation whose result becomes a float at once. Then both ways round alike.
    """
    words = context.at(literal).replace("'", "")
    if float(words) != unpack("f", pack("f", min(float(words), _LARGEST_FLOAT)))[0]:
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
        return variable is not None and variable.type == "float"
    if above.kind == "assignment_expression":
        return context.file.operator(above) == "=" and context.type_of(above.children[0]) == "float"
    if above.kind == "cast_expression":
        return context.type_of(above) == "float"
    return above.kind in ("return_statement", "argument_list")


def _whole_expression(node: Node) -> Node:
    """Return the largest arithmetic expression that *node* is an operand of."""
    top = node
    while top.parent is not None:
        above = top.parent
        if above.kind in _EXPRESSION:
            top = above
        elif above.kind == "argument_list" and _is_mixed_call(above.parent):
            top = above.parent if above.parent is not None else above
        else:
            break
    return top


def _is_mixed_call(call: Node | None) -> bool:
    return (
        call is not None
        and call.kind == "call_expression"
        and len(call.children) == 2
        and call.children[0].kind == "identifier"
        and len(call.children[1].children) == 2
        and call.children[0].end - call.children[0].start <= 5
    )


def _mixes_float(context: RuleContext, top: Node, literal: Node) -> bool:
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
        elif (
            node.kind == "call_expression"
            and _is_mixed_call(node)
            and (context.file.callee(node) in _TWO_ARGUMENTS)
        ):
            stack.extend(node.children[1].children)
        elif node.kind != "number_literal":
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
        if above.kind == "argument_list" and _is_mixed_call(above.parent):
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


def _ends_as_float(context: RuleContext, top: Node) -> bool:
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
        return declared is not None and declared.type in ("float", *INTEGERS)
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
        if _FLOAT_PARAMETER.match(name):
            return True
        return name.endswith("f") and context.type_of(call) == "float"
    if above.kind == "cast_expression":
        return context.type_of(above) in ("float", *INTEGERS)
    return False


def narrow_integer_arithmetic(context: RuleContext) -> Iterator[Diagnostic]:
    """Loop counters of type char or short, where the compiler has to keep them narrow.

    It widens sums by itself, and counters with a constant bound or those that are signed and
    counted by one: for these the machine code is that of an int.
    """
    function = context.function
    if not function.on_device or not function.matches(_LOOP):
        return
    if not context.names_type(NARROW, _NARROW_WORDS):
        return
    for loop in context.function.nodes("for_statement", "while_statement", "do_statement"):
        condition = loop.part("condition")
        if condition is None:
            continue
        for node in _updates(context, loop):
            target = node.children[0]
            variable = context.file.variable(context.at(target), target, context.function)
            if variable is None or variable.type not in NARROW or "&" in context.at(variable.node):
                continue
            if not _stays_narrow(context, node, variable.type) or not _bounds(
                context, condition, variable.name
            ):
                continue
            yield context.diagnostic(
                "narrow-integer-arithmetic",
                node,
                f'"{variable.name}" is narrower than 32 bits and counts a loop: each step cuts it '
                "to its width again.",
                "Declare it int.",
            )
            break


def _updates(context: RuleContext, loop: Node) -> list[Node]:
    """Return what changes a name by a step in the head of *loop*, or right in its body."""
    kinds = ("assignment_expression", "update_expression")
    nodes = [node for kind in kinds for node in context.file.tree.inside(loop, kind)]
    return [
        node
        for node in nodes
        if node.children
        and node.children[0].kind == "identifier"
        and context.loop_around(node) is loop
        and (node.kind == "update_expression" or context.file.operator(node) in ("+=", "-=", "*="))
    ]


def _stays_narrow(context: RuleContext, update: Node, kind: str) -> bool:
    """Whether *update* may leave the range of *kind*, so that every step has to cut it off."""
    return kind in ("uchar", "ushort") or update.kind != "update_expression"


def _bounds(context: RuleContext, condition: Node, name: str) -> bool:
    """Whether *condition* compares *name* with what the compiler does not know."""
    for node in context.file.tree.below(condition):
        if node.kind == "binary_expression" and len(node.children) == 2:
            left, right = (bare(child) for child in node.children)
            for side, bound in ((left, right), (right, left)):
                if context.at(side) == name:
                    return _is_wider(context, node, bound)
    return False


def _is_wider(context: RuleContext, comparison: Node, bound: Node) -> bool:
    """Whether *bound* may lie beyond what a narrow counter reaches, as far as the compiler knows."""
    if context.file.is_constant(bound, context.function):
        return False
    kind = context.type_of(bound)
    if kind in NARROW:
        return context.file.operator(comparison) in ("<=", ">=", "!=")
    return kind in INTEGERS
