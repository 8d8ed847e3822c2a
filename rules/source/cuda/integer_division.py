"""Integer division by a variable."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.data_loops import computes_long
from gpuadvise.advisor.source.lane_stride import is_made_of_thread
from gpuadvise.advisor.source.scopes import INTEGERS, ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_DIVIDING = ("/", "%", "/=", "%=")
# Functions of a few instructions; so are intrinsics.
_SHORT = frozenset(
    ("min", "max", "abs", "fabs", "fabsf", "fminf", "fmaxf", "sqrtf", "expf", "printf", "assert",
     "size", "static_cast", "reinterpret_cast", "int", "float", "unsigned", "size_t")
)  # fmt: skip
_WIDE = frozenset(("llong", "ullong"))
# What a body must hold for a rule to have anything to say.
_DIVISION = re.compile(rb"/(?![/*])(?<!\*/)(?<!//)")
_FEWEST_PARTS = number(
    2, "divisions that take a thread's number apart, at least", "", "our judgement"
)
_POWER_OF_TWO = re.compile(r"\b1[uUlL]*\s*<<")


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Divisions by a variable that a loop repeats, whose divisor is a power of two, or that take the thread's number apart."""
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
        kinds = [context.type_of(c) for c in (dividend, divisor)]
        remainder_of_member = (
            context.file.operator(node) in ("%", "%=")
            and kinds[0] in INTEGERS
            and _is_member(divisor)
        )
        if not all(kind in INTEGERS for kind in kinds) and not remainder_of_member:
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
            "integer-division", node, _division_words(power, wide=not _WIDE.isdisjoint(kinds)), _division_action(power),
        )  # fmt: skip
    if not reported:
        yield from _parted_numbers(context)


def _parted_numbers(context: RuleContext) -> Iterator[Diagnostic]:
    """Divisions by variables that make rows and columns of the number of the thread; one finding per kernel."""
    if context.function.place is not ExecutionSpace.KERNEL:
        return
    parts = [
        node
        for node in context.function.nodes("binary_expression", "assignment_expression")
        if len(node.children) == 2
        and context.file.operator(node) in _DIVIDING
        and not context.file.is_constant(node.children[1], context.function)
        and context.type_of(node.children[1]) in INTEGERS
        and "Dim." not in context.at(node.children[1])
        and is_made_of_thread(context, node.children[0])
        and not _prepares(context, node)
    ]
    if len(parts) < _FEWEST_PARTS or computes_long(context):
        return
    first = min(parts, key=lambda node: node.start)
    yield context.diagnostic(
        "integer-division", first,
        f"{len(parts)} divisions and remainders by variables take the number of the thread apart: none is an instruction, each "
        "takes tens of them.",
        "Let a grid of two or three dimensions number rows and columns (blockIdx.y, threadIdx.y), make the divisors template "
        "parameters, or multiply by reciprocals that the host computes. It matters where the kernel does little else.",
        minor=True,
    )  # fmt: skip


def _prepares(context: RuleContext, node: Node) -> bool:
    """Whether *node* stands in a loop that prepares, as by loading a tile, what deeper loops elsewhere compute with."""
    loop = context.loop_around(node)
    if loop is None or not context.is_beside_deeper_loop(loop):
        return False
    return sum(len(context.file.tree.inside(loop, kind)) for kind in LOOPS) == 1


def _is_member(divisor: Node) -> bool:
    """Whether *divisor* is ``p.width`` or ``grid.size(2)``: an integer, as only integers have a remainder."""
    divisor = bare(divisor)
    if divisor.kind == "call_expression" and divisor.children:
        divisor = divisor.children[0]
    return divisor.kind == "field_expression"


def _division_words(power: bool, *, wide: bool) -> str:
    if wide and not power:
        return (
            "A division of 64-bit integers by a variable, in each iteration of a loop: it takes several times as long as one "
            "of 32 bits, which may do where the numbers stay below 2^31."
        )
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

    Nothing replaces a divisor that changes as well; beside a deeper loop one division is nothing.
    """
    changed = context.assigned_below(loop)
    return not context.is_beside_deeper_loop(loop) and (
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
    """Whether *call* takes longer than a division: a function that loops itself, or may, or an atomic."""
    name = context.file.callee(call)
    if name in context.file.names.returns:
        return context.file.loops(name)
    return not (name.startswith(("__", "make_")) or name in _SHORT)


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void pick(int *out, const int *in, int n, int width) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i / width] + i % width;
}""",
        """\
template <int WIDTH> __global__ void pick(int *out, const int *in, int n) {   // WIDTH is 64
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = in[i / WIDTH] + i % WIDTH;
}""",
    ),
)
