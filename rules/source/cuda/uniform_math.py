"""Functions of values that are the same in the whole grid, which each thread computes for itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.math_calls import is_standard
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import bare
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

# Many instructions each, in double precision tens to hundreds.
_COSTLY = re.compile(
    r"(?:pow|exp|exp2|exp10|expm1|log|log2|log10|log1p|sin|cos|tan|sincos|asin|acos|atan|atan2|sinh|cosh|tanh|sqrt|cbrt"
    r"|erf|erfc|tgamma|lgamma)f?|h(?:sqrt|rsqrt|log|exp|sin|cos)"
)
# A root of a float takes about ten.
_CHEAP = frozenset(("sqrtf", "hsqrt"))
# What takes values and changes none.
_PURE = re.compile(
    r"(?:f?abs|min|max|fmin|fmax|floor|ceil|round|rint|trunc|fmod|isnan|isinf|printf|assert|float|int|double)f?|__\w+|make_\w+|tex\w+"
)
_SAID = re.compile(rb"\b(?:pow|exp|log|sin|cos|tan|asin|acos|atan|sqrt|cbrt|erf|tgamma|lgamma)")
_JOINING = frozenset(
    ("binary_expression", "unary_expression", "parenthesized_expression", "cast_expression")
)
_GIVEN = ("blockDim.", "gridDim.")
_DEEPEST = number(
    12, "expressions that lead to each other", "", "our judgement: longer ones are generated"
)
_FEWEST_CHEAP = number(2, "roots of floats, at least", "", "our judgement: one does not show")
_SHOWN = number(3, "calls that a sentence names", "", "our judgement")
_ACTION = (
    "Compute it once on the host and hand it to the kernel as a parameter: arguments lie in constant memory, and a thread takes one "
    "at the cost of a register."
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find calls of functions of the kernel's own arguments, constants and numbers; one finding per kernel."""
    function = context.function
    if function.place is not ExecutionSpace.KERNEL or not function.matches(_SAID):
        return
    if context.is_of_set_up or context.is_in_file_of_set_up:
        return
    found = [
        call
        for call in context.calls()
        if _COSTLY.fullmatch(context.file.callee(call))
        and is_standard(context, call)
        and _is_of_arguments(context, call)
    ]
    cheap = [call for call in found if _is_cheap(context, call)]
    if len(found) == len(cheap) and len(found) < _FEWEST_CHEAP:
        return
    calls = [*dict.fromkeys(" ".join(context.at(call).split()) for call in found)]
    more = f" and {len(calls) - int(_SHOWN)} more" if len(calls) > _SHOWN else ""
    one = len(calls) == 1
    yield context.diagnostic(
        "uniform-math", found[0],
        f"Each thread computes {and_list(calls[: int(_SHOWN)])}{more} of arguments and constants alone: {'it is' if one else 'they are'} the same "
        "in all threads of the grid.",
        _ACTION,
    )  # fmt: skip


def _is_cheap(context: RuleContext, call: Node) -> bool:
    name = context.file.callee(call)
    return name in _CHEAP or (
        name == "sqrt" and context.type_of(context.file.arguments(call)[0]) == "float"
    )


def _is_of_arguments(context: RuleContext, call: Node) -> bool:
    """Whether *call* computes with arguments of the kernel, and with nothing else but numbers."""
    arguments = context.file.arguments(call)
    kinds = [_origin(context, argument, 0) for argument in arguments]
    return bool(kinds) and None not in kinds and True in kinds


def _origin(context: RuleContext, node: Node, depth: int) -> bool | None:
    """Return True for what is made of the kernel's arguments, False for numbers, None for anything else."""
    node = _value_of(context, bare(node))
    if depth > _DEEPEST:
        return None
    if node.kind == "number_literal":
        return False
    if node.kind == "identifier":
        return _of_name(context, node)
    if node.kind == "field_expression":
        if context.at(node).startswith(_GIVEN):
            return True
        base = bare(node.children[0])
        by_value = base.kind == "identifier" and "->" not in context.at(node)
        return True if by_value and _of_name(context, base) else None
    if node.kind == "call_expression":
        name = context.file.callee(node)
        known = _COSTLY.fullmatch(name) or name in ("float", "double", "static_cast")
        parts = context.file.arguments(node) if known else []
    elif node.kind in _JOINING:
        parts = [node.children[-1]] if node.kind == "cast_expression" else node.children
    else:
        return None
    kinds = [_origin(context, part, depth + 1) for part in parts]
    return None if not kinds or None in kinds else any(kinds)


def _of_name(context: RuleContext, name: Node) -> bool | None:
    words = context.at(name)
    variable = context.file.variable(words, name, context.function)
    if variable is None:
        return False if context.file.is_constant(name, context.function) else None
    if variable.parameter:
        given = "*" not in variable.type and not context.changes(variable)
        return True if given and not _is_given_away(context, words) else None
    around = (variable.node, *variable.node.ancestors())
    declared = next((node for node in around if node.kind == "declaration"), variable.node)
    if "__constant__" in context.at(declared) and not variable.dimensions:
        return True
    return False if variable.constant and variable.value is None else None


def _value_of(context: RuleContext, node: Node) -> Node:
    """Return what *node* starts with, or is set to once; *node* itself where a function may change it."""
    if node.kind != "identifier" or _is_given_away(context, context.at(node)):
        return node
    variable = context.file.variable(context.at(node), node, context.function)
    changes = context.changes(variable) if variable is not None else []
    if variable is None or variable.parameter or variable.value is not None or len(changes) != 1:
        return context.settled(node)
    (change,) = changes
    once = len(change.children) == len(("name", "value")) and context.file.operator(change) == "="
    return change.children[1] if once and change.end <= node.start else node


def _is_given_away(context: RuleContext, name: str) -> bool:
    """Whether a function that may take it by reference is given the variable *name*."""
    if name in context.handed_out:
        return True
    given: dict[int, set[str]] = context.answers_of(_is_given_away)
    if 0 not in given:
        given[0] = {
            context.at(argument)
            for call in context.calls()
            if not _is_pure(context, context.file.callee(call))
            for argument in context.file.arguments(call)
        }
    return name in given[0]


def _is_pure(context: RuleContext, name: str) -> bool:
    """Whether the function *name* takes its arguments by value: of the library, or of this file."""
    known = _COSTLY.fullmatch(name) or _PURE.fullmatch(name)
    return bool(known) or bool(context.file.called(name))


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void step(float *m, float *v, float rate, float decay, int t, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) m[i] += rate * v[i] / (1 - powf(decay, t));    // the same power in each thread
}""",
        """\
__global__ void step(float *m, float *v, float scale, int n) {  // scale = rate / (1 - powf(decay, t)), by the host
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) m[i] += scale * v[i];
}""",
    ),
)
RULE = source_rule(
    id="uniform-math",
    title="Compute on the host what all threads share",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="A power or a logarithm takes tens of instructions, in double precision hundreds, in each thread of the grid.",
    when="A kernel calls a function of the math library whose arguments are parameters of the kernel and numbers.",
    citations=guide("12.1.3"),
    seen="powf(decay, t)",
    action=_ACTION,
)
