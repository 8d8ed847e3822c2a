"""General or slow math functions in device code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.exponents import exponent_of, power_of
from gpuadvise.advisor.source.rule_context import replaced
from gpuadvise.advisor.source.scopes import INTEGERS, ExecutionSpace
from gpuadvise.advisor.source.tree import bare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.powers import Power
    from gpuadvise.advisor.source.diagnostic import Diagnostic, TextEdit
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_POWERS = ("pow", "powf", "__powf")
_TRIGONOMETRY = {
    "sinf": "sinpif", "cosf": "cospif", "sin": "sinpi", "cos": "cospi",
    "sincosf": "sincospif", "sincos": "sincospi",
}  # fmt: skip
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
# The intrinsic for each accurate function in single precision.
_INTRINSICS = {
    "sinf": "__sinf", "cosf": "__cosf", "tanf": "__tanf", "expf": "__expf", "logf": "__logf",
    "log2f": "__log2f", "log10f": "__log10f", "powf": "__powf", "exp10f": "__exp10f",
    "sincosf": "__sincosf",
}  # fmt: skip
# Fastest-growing products that an edit writes out: two multiplications, each rounded once.
_LARGEST_EDIT = 3
# Functions that reduce their argument first, slowly where it is large.
_REDUCING = frozenset(("sinf", "cosf", "tanf", "sincosf"))
_COSTS = "many instructions, and a slow path for large arguments"
_COST = "several instructions where the intrinsic takes one or two"
_WARP = 32
_BLOCKS = ("compound_statement", "case_statement")
# What a body must hold for a rule to have anything to say.
_WORDS = re.compile(rb"\b(?:__)?(?:pow|sqrt|sincos|sin|cos)f?\b")
_INTRINSIC_WORDS = re.compile(rb"\b(?:" + "|".join(_INTRINSICS).encode() + rb")\b")
_RULE = "general-math-functions"
_STANDARD = frozenset(("", "std", "::std", "cuda::std", "::cuda::std"))


def general_math_functions(context: RuleContext) -> Iterator[Diagnostic]:
    """Find calls of general functions for which a special one exists."""
    if not context.function.on_device or not context.function.matches(_WORDS):
        return
    for call in context.calls():
        name = context.file.callee(call)
        if name in context.file.names.returns and name not in ("pow", "sin", "cos", "sqrt"):
            continue
        if not _is_standard(context, call):
            continue
        if name in _POWERS:
            yield from _power(context, call, name)
        elif name in _TRIGONOMETRY:
            yield from _multiple_of_pi(context, call, name)
    yield from _reciprocal_roots(context)
    yield from _sines_with_cosines(context)


def _is_standard(context: RuleContext, call: Node) -> bool:
    """Whether *call* names a function as the C library does, and none of another namespace."""
    called = call.children[0]
    if called.kind == "qualified_identifier":
        return context.at(called).replace(" ", "").rpartition("::")[0] in _STANDARD
    return called.kind in ("identifier", "template_function")


def _power(context: RuleContext, call: Node, name: str) -> Iterator[Diagnostic]:
    arguments = context.file.arguments(call)
    if len(arguments) != 2:
        return
    base, exponent = arguments
    kind = _computed_in(context, name, base, exponent)
    yield from _power_of_base(context, call, name, base, exponent, kind)
    value = exponent_of(_spelled(context, exponent), single=kind == "float")
    power = power_of(value) if value is not None else None
    if value == 0 and "/" in context.at(exponent):
        yield context.diagnostic(
            _RULE, call, f"{context.at(exponent)} is an integer division: the exponent is 0.",
            "Write the exponent with a decimal point, such as 1.0f/3.0f, or call the special function.",
        )  # fmt: skip
    elif power is not None:
        yield _powered(context, call, base, power, kind)


def _spelled(context: RuleContext, exponent: Node) -> str:
    """Return the words of an exponent, of a macro or a constant those it stands for."""
    words = context.at(exponent)
    if exponent.kind == "identifier":
        variable = context.file.variable(words, exponent, context.function)
        if variable is None:
            return context.file.preprocessed.macros.get(words) or words
        if variable.constant and variable.value is not None and not variable.parameter:
            return context.at(variable.value)
    return words


def _computed_in(context: RuleContext, name: str, base: Node, exponent: Node) -> str:
    """Return "float" or "double", "" where the file does not say."""
    if name != "pow":
        return "float"
    kinds = {context.type_of(base), context.type_of(exponent)}
    if kinds == {"float"}:
        return "float"
    if kinds <= {"float", "double", *INTEGERS} and "double" in kinds:
        return "double"
    return ""


def _power_of_base(
    context: RuleContext, call: Node, name: str, base: Node, exponent: Node, kind: str
) -> Iterator[Diagnostic]:
    words = context.at(base).rstrip("fF")
    if not re.fullmatch(r"(?:2|10)(?:\.0*)?", words):
        return
    function = ("exp2" if words.startswith("2") else "exp10") + ("" if kind == "double" else "f")
    inner = context.at(exponent)
    exact = name == "powf" or (kind == "double" and context.type_of(exponent) == "double")
    free = _is_free(context, function)
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
    single = kind != "double"
    formula = power.single if single else power.formula
    note = _errors(power, single=single)
    return context.diagnostic(
        _RULE,
        call,
        f"A general power function for the exponent {power.exponent}.",
        f"Write {formula} with x = {context.at(base)}{note}.",
        edits=_product(context, call, base, power, kind),
        exponent=str(power.exponent),
        type=kind or "float",
        replacement=formula,
    )


def _errors(power: Power, *, single: bool) -> str:
    if power.ulps is None:
        return ""
    if not single:
        return f" (for x >= 0; error up to {power.ulps} ulp)"
    return (
        f" (for x >= 0; error up to {power.ulps_single} ulp,"
        f" {power.ulps_single_fast} with fast division and square root)"
    )


def _product(
    context: RuleContext, call: Node, base: Node, power: Power, kind: str
) -> tuple[TextEdit, ...]:
    """Return the edit for a small whole power of a name; others are for a person to decide."""
    whole = power.exponent
    if whole.denominator != 1 or not 2 <= whole <= _LARGEST_EDIT or not kind:
        return ()
    if bare(base).kind != "identifier" or context.type_of(base) != kind:
        return ()
    name = context.at(bare(base))
    if _is_volatile(context, bare(base)):
        return ()
    return replaced(call, "(" + " * ".join([name] * int(whole)) + ")")


def _is_free(context: RuleContext, name: str) -> bool:
    """Whether *name* means the function of the C library, and nothing that this file declares."""
    file = context.file
    declared = (
        file.names.returns, file.names.variables, context.function.variables, file.preprocessed.macros,
        file.preprocessed.function_macros,
    )  # fmt: skip
    return not any(name in names for names in declared)


def _is_volatile(context: RuleContext, name: Node) -> bool:
    """Whether each look at the variable *name* counts."""
    variable = context.file.variable(context.at(name), name, context.function)
    if variable is None:
        return True
    around = variable.node if variable.parameter else variable.node.parent
    return around is not None and "volatile" in context.at(around)


def _multiple_of_pi(context: RuleContext, call: Node, name: str) -> Iterator[Diagnostic]:
    arguments = context.file.arguments(call)
    factor = _pi_factor(context, arguments[0]) if arguments else None
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


def _pi_factor(context: RuleContext, argument: Node) -> Node | None:
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


def _reciprocal_roots(context: RuleContext) -> Iterator[Diagnostic]:
    for node in context.function.nodes("binary_expression"):
        if len(node.children) != 2 or context.file.operator(node) != "/":
            continue
        dividend, root = bare(node.children[0]), bare(node.children[1])
        if root.kind != "call_expression" or not re.fullmatch(
            r"1(?:\.0*)?f?", context.at(dividend)
        ):
            continue
        name = context.file.callee(root)
        arguments = context.file.arguments(root)
        if name not in ("sqrt", "sqrtf") or len(arguments) != 1 or not _is_standard(context, root):
            continue
        kind = "float" if name == "sqrtf" else context.type_of(arguments[0])
        if kind not in ("float", "double"):
            continue
        special = "rsqrtf" if kind == "float" else "rsqrt"
        written = f"{special}({context.at(arguments[0])})"
        exact = kind == "double" or context.type_of(dividend) == "float"
        yield context.diagnostic(
            _RULE, node, "A division by a square root.",
            f"Write {written} (error up to {'2 ulp' if kind == 'float' else '1 ulp'}).",
            edits=replaced(node, written) if exact and _is_free(context, special) else (),
            replacement=written,
        )  # fmt: skip


def _sines_with_cosines(context: RuleContext) -> Iterator[Diagnostic]:
    """Sine and cosine of one argument in one block of statements."""
    seen: dict[tuple[int, str, str], Node] = {}
    calls = context.calls("sinf", "cosf", "sin", "cos", "__sinf", "__cosf")
    for call in sorted(calls, key=lambda call: call.start):
        name = context.file.callee(call)
        arguments = context.file.arguments(call)
        if len(arguments) != 1 or not _is_standard(context, call):
            continue
        if _pi_factor(context, arguments[0]) is not None:
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
        if partner is not None and not _between_changes(context, partner, call, arguments[0]):
            special = {"sinf": "sincosf", "sin": "sincos", "__sinf": "__sincosf"}[
                name if "sin" in name else counterpart
            ]
            if special == "sincos" and context.type_of(arguments[0]) == "float":
                special = "sincosf"
            yield context.diagnostic(
                _RULE, call, "Sine and cosine of the same argument.",
                f"Call {special}({context.at(arguments[0])}, &s, &c) once: both share the reduction of the argument.",
                replacement=special,
            )  # fmt: skip


def _between_changes(context: RuleContext, first: Node, second: Node, argument: Node) -> bool:
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


def _is_of_vectors(context: RuleContext, call: Node) -> bool:
    """Whether *call* is an overload of the program's own, for float4 and the like."""
    return any(
        node.kind == "identifier"
        and node.parent is not None
        and node.parent.kind != "field_expression"
        and "." in context.type_of(node)
        for argument in context.file.arguments(call)
        for node in context.file.tree.below(argument)
    )


def _deals_out(context: RuleContext, loop: Node) -> bool:
    """Whether *loop* deals out elements to threads: each loads and stores more than it computes."""
    update = loop.part("update")
    if update is None or update.kind != "assignment_expression" or len(update.children) != 2:
        return False
    step = context.constant(update.children[1])
    return step is None or step >= _WARP


def _is_repeated(context: RuleContext, call: Node) -> bool:
    """Whether *call* is one of the library's in a loop that computes."""
    loop = context.loop_around(call)
    return (
        loop is not None
        and call.children[0].kind == "identifier"
        and context.file.callee(call) not in context.file.names.returns
        and not _is_of_vectors(context, call)
        and not _deals_out(context, loop)
    )


def slow_math(context: RuleContext) -> Iterator[Diagnostic]:
    """Accurate single-precision functions that a kernel calls in a loop; once per function."""
    if context.function.place is not ExecutionSpace.KERNEL:
        return
    if not context.function.matches(_INTRINSIC_WORDS):
        return
    repeated = [call for call in context.calls(*_INTRINSICS) if _is_repeated(context, call)]
    if not repeated:
        return
    special = {d.where.start for d in general_math_functions(context)}
    calls: dict[str, list[Node]] = {}
    for call in repeated:
        if call.start not in special:
            calls.setdefault(context.file.callee(call), []).append(call)
    for name, nodes in calls.items():
        times = f" in {len(nodes)} places" if len(nodes) > 1 else ""
        yield context.diagnostic(
            "slow-math", nodes[0], f"{name} in a loop{times}: {_COSTS if name in _REDUCING else _COST}.",
            f"Where its error is acceptable call {_INTRINSICS[name]}, or compile with -use_fast_math.",
            replacement=_INTRINSICS[name],
        )  # fmt: skip
