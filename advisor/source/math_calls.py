"""Calls of the C math library in device code: what they mean, and in which precision."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.scopes import INTEGERS
from gpuadvise.advisor.source.tree import bare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_PI = frozenset(
    [
        "M_PI",
        "PI",
        "CUDART_PI",
        "CUDART_PI_F",
        "M_PIf",
        "M_PI_F",
        "kPi",
        "pi",
        "Pi",
        "M_PI_f",
        "PI_F",
        "PIf",
    ]
)
_PI_DIGITS = re.compile(r"^3\.14159\d*[fF]?$")
_ONE = re.compile(r"1(?:\.0*)?f?")
_BLOCKS = ("compound_statement", "case_statement")
_STANDARD = frozenset(("", "std", "::std", "cuda::std", "::cuda::std"))


def is_standard(context: RuleContext, call: Node) -> bool:
    """Whether *call* names a function as the C library does, and none of another namespace."""
    called = call.children[0]
    if called.kind == "qualified_identifier":
        return context.at(called).replace(" ", "").rpartition("::")[0] in _STANDARD
    return called.kind in ("identifier", "template_function")


def exponent_words(context: RuleContext, exponent: Node) -> str:
    """Return the words of an exponent, of a macro or a constant those it stands for."""
    words = context.at(exponent)
    if exponent.kind == "identifier":
        variable = context.file.variable(words, exponent, context.function)
        if variable is None:
            return context.file.preprocessed.macros.get(words) or words
        if variable.constant and variable.value is not None and not variable.parameter:
            return context.at(variable.value)
    return words


def computed_in(context: RuleContext, name: str, base: Node, exponent: Node) -> str:
    """Return "float" or "double", "" where the file does not say."""
    if name != "pow":
        return "float"
    kinds = {context.type_of(base), context.type_of(exponent)}
    if kinds == {"float"}:
        return "float"
    if kinds <= {"float", "double", *INTEGERS} and "double" in kinds:
        return "double"
    return ""


def is_free_name(context: RuleContext, name: str) -> bool:
    """Whether *name* means the function of the C library, and nothing that this file declares."""
    file = context.file
    declared = (
        file.names.returns, file.names.variables, context.function.variables, file.preprocessed.macros,
        file.preprocessed.function_macros,
    )  # fmt: skip
    return not any(name in names for names in declared)


def is_volatile(context: RuleContext, name: Node) -> bool:
    """Whether each look at the variable *name* counts."""
    variable = context.file.variable(context.at(name), name, context.function)
    if variable is None:
        return True
    around = variable.node if variable.parameter else variable.node.parent
    return around is not None and "volatile" in context.at(around)


def pi_factor(context: RuleContext, argument: Node) -> Node | None:
    """Return the factor pi of a product."""
    stack = [bare(argument)]
    while stack:
        node = bare(stack.pop())
        if node.kind == "binary_expression" and len(node.children) == 2:
            operator = context.file.operator(node)
            if operator == "*":
                stack.extend(node.children)
            elif operator == "/":
                stack.append(node.children[0])
        elif node is not bare(argument):
            words = context.at(node)
            if words in _PI or _PI_DIGITS.match(words):
                return node
    return None


def sines_beside_cosines(context: RuleContext) -> Iterator[tuple[Node, Node]]:
    """Yield the second of each pair of sine and cosine of one argument in one block, and the argument.

    The intrinsics __sinf and __cosf share nothing: each is one instruction.
    """
    seen: dict[tuple[int, str, str], Node] = {}
    calls = context.calls("sinf", "cosf", "sin", "cos")
    for call in sorted(calls, key=lambda call: call.start):
        name = context.file.callee(call)
        arguments = context.file.arguments(call)
        if len(arguments) != 1 or not is_standard(context, call):
            continue
        if pi_factor(context, arguments[0]) is not None:
            continue
        if any(
            n.kind in ("call_expression", "update_expression")
            for n in context.file.tree.below(arguments[0])
        ):
            continue
        block = next((a for a in call.ancestors() if a.kind in _BLOCKS), None)
        if block is None:
            continue
        words = "".join(context.at(arguments[0]).split())
        counterpart = name.replace("sin", "#").replace("cos", "sin").replace("#", "cos")
        partner = seen.get((block.index, counterpart, words))
        if (block.index, name, words) in seen:
            continue
        seen.setdefault((block.index, name, words), call)
        if partner is not None and not _changes_between(context, partner, call, arguments[0]):
            yield call, arguments[0]


def _changes_between(context: RuleContext, first: Node, second: Node, argument: Node) -> bool:
    """Whether a name of *argument* is assigned between the two calls."""
    names = {context.at(n) for n in context.file.tree.below(argument) if n.kind == "identifier"}
    for node in context.function.nodes("assignment_expression", "update_expression"):
        if first.end <= node.start < second.start and node.children:
            target = node.children[0]
            while target.children and target.kind in ("subscript_expression", "field_expression"):
                target = target.children[0]
            if context.at(target) in names:
                return True
    return False


def product_of(context: RuleContext, base: Node, factors: int, kind: str) -> str | None:
    """Return a name times itself; None where *base* is none of *kind*, or each look at it counts."""
    name = bare(base)
    if name.kind != "identifier" or not kind or context.type_of(base) != kind:
        return None
    return None if is_volatile(context, name) else f"({' * '.join([context.at(name)] * factors)})"


def reciprocal_roots(context: RuleContext) -> Iterator[tuple[Node, Node, Node, str]]:
    """Yield each ``1 / sqrt(x)``: the division, the 1, x, and whether it is float or double."""
    for node in context.function.nodes("binary_expression"):
        if len(node.children) != 2 or context.file.operator(node) != "/":
            continue
        dividend, root = bare(node.children[0]), bare(node.children[1])
        if root.kind != "call_expression" or not _ONE.fullmatch(context.at(dividend)):
            continue
        name = context.file.callee(root)
        arguments = context.file.arguments(root)
        if name not in ("sqrt", "sqrtf") or len(arguments) != 1 or not is_standard(context, root):
            continue
        kind = "float" if name == "sqrtf" else context.type_of(arguments[0])
        if kind in ("float", "double"):
            yield node, dividend, arguments[0], kind
