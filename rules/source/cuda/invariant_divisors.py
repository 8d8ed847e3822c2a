"""Divisions of floats by a value that stays the same in the loop around them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.scopes import INTEGERS, UNKNOWN
from gpuadvise.advisor.source.tree import LOOPS, bare
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

_FLOATS = frozenset(("float", "double"))
_DIVISION = re.compile(rb"/(?![/*])(?<!\*/)(?<!//)")
_HOLDING_NO_CHANGE = frozenset(
    ("identifier", "number_literal", "parenthesized_expression", "binary_expression",
     "unary_expression", "cast_expression", "type_descriptor", "primitive_type",
     "subscript_expression", "subscript_argument_list", "field_expression", "field_identifier")
)  # fmt: skip
_WAYS = frozenset(("compound_statement", "if_statement", "else_clause", "conditional_expression"))
_FEWEST = number(3, "divisions of floats by one value, at least", "", "our judgement")
_FEWEST_DOUBLE = number(2, "divisions of doubles by one value, at least", "", "our judgement")
_OF_MATHEMATICS = re.compile(rb"\b(?:pow|exp|log|sin|cos|tan|atan2?|hypot)f?\s*\(|\w[pP]ower\s*\(")
_ROUNDING = re.compile(
    r"(?:trunc|floor|ceil|rint|round|lrint|lround|nearbyint)f?|int|unsigned|long|__(?:float|double)2u?(?:int|ll)_r[nzud]"
)
_ACTION = (
    "Compute its reciprocal once before the loop and multiply by it; the last bit of the results may differ. "
    "-use_fast_math does so for floats."
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find divisions of floats by what a loop does not change; one per loop and divisor."""
    function = context.function
    if not function.on_device or not function.matches(_DIVISION):
        return
    reported: set[tuple[str, int]] = set()
    for node in function.nodes("binary_expression", "assignment_expression"):
        if len(node.children) != 2 or context.file.operator(node) not in ("/", "/="):
            continue
        loop = context.loop_around(node)
        dividend, divisor = node.children
        if loop is None or not _is_invariant(context, divisor, loop):
            continue
        if any(
            inner is not loop for kind in LOOPS for inner in context.file.tree.inside(loop, kind)
        ):
            continue  # beside an inner loop one division is nothing
        if not _is_float(context, dividend, divisor) or not _varies(context, dividend, loop):
            continue
        if _becomes_integer(context, node):
            continue  # where it is a whole number, the last bit decides
        words = "".join(context.at(divisor).split())
        if (words, loop.index) in reported:
            continue
        reported.add((words, loop.index))
        yield context.diagnostic(
            "invariant-divisors", node,
            f"Each iteration divides by {context.at(bare(divisor))}, which the loop does not change: a division takes several "
            "times as long as a product.",
            _ACTION, divisor=words,
        )  # fmt: skip
    if not reported:
        yield from _shared(context)


def _shared(context: RuleContext) -> Iterator[Diagnostic]:
    """Find a divisor by which one block divides several floats; one per function."""
    groups: dict[tuple[int, int, str], list[Node]] = {}
    for node in context.function.nodes("binary_expression", "assignment_expression"):
        if len(node.children) != 2 or context.file.operator(node) not in ("/", "/="):
            continue
        dividend, divisor = node.children
        if context.file.is_constant(context.settled(divisor), context.function):
            continue
        if not _is_float(context, dividend, divisor) or _becomes_integer(context, node):
            continue
        if any(part.kind not in _HOLDING_NO_CHANGE for part in context.file.tree.below(divisor)):
            continue
        block = next((a for a in node.ancestors() if a.kind in _WAYS), None)
        if block is not None:
            words = "".join(context.at(divisor).split())
            groups.setdefault((block.index, context.branch_of(node), words), []).append(node)
    for (_, _, words), divisions in groups.items():
        divisions.sort(key=lambda node: node.start)
        different = {"".join(context.at(d.children[0]).split()) for d in divisions}
        double = "double" in map(context.type_of, divisions[0].children)
        fewest = _FEWEST_DOUBLE if double else _FEWEST
        if len(different) < _FEWEST and context.function.matches(_OF_MATHEMATICS):
            continue  # beside which a division is little
        if len(different) >= fewest and not _changes_between(context, divisions, words):
            yield context.diagnostic(
                "invariant-divisors", divisions[0],
                f"{len(divisions)} divisions by {words}, one after the other: each takes several times as long as a product.",
                "Compute the reciprocal once and multiply by it; the last bit of the results may differ.",
                divisor=words, minor=True,
            )  # fmt: skip
            return


def _changes_between(context: RuleContext, divisions: list[Node], words: str) -> bool:
    """Whether a name in *words* is assigned between the first and the last of *divisions*."""
    names = set(re.findall(r"[A-Za-z_]\w*", words))
    return any(
        divisions[0].start < change.start < divisions[-1].start
        and change.children
        and context.root_name(change.children[0]) in names
        for change in context.function.nodes("assignment_expression", "update_expression")
    )


def _becomes_integer(context: RuleContext, division: Node) -> bool:
    """Whether the quotient is rounded to a whole number."""
    above: Node | None = division.parent
    inner: Node | None = division
    while above is not None and above.kind in ("parenthesized_expression", "argument_list"):
        above, inner = above.parent, above
    if above is None:
        return False
    if above.kind == "call_expression" and inner is not None and inner.kind == "argument_list":
        return _ROUNDING.fullmatch(context.file.callee(above)) is not None
    return above.kind == "cast_expression" and context.type_of(above) in INTEGERS


def _is_float(context: RuleContext, dividend: Node, divisor: Node) -> bool:
    """Whether the division is one of floats or doubles, as far as the file says, and the compiler leaves it one."""
    kinds = {context.type_of(dividend), context.type_of(divisor)}
    if context.file.build.fast_math and "double" not in kinds:
        return False  # it is a product with a reciprocal, which the compiler computes once
    return UNKNOWN not in kinds and not kinds.isdisjoint(_FLOATS)


def _is_invariant(context: RuleContext, divisor: Node, loop: Node) -> bool:
    """Whether *loop* leaves *divisor* as it is, and the compiler does not know its value."""
    if context.file.is_constant(context.settled(divisor), context.function):
        return False
    changed = context.assigned_below(loop)
    below = context.file.tree.below(divisor)
    if any(part.kind not in _HOLDING_NO_CHANGE for part in below):
        return False
    return not any(
        context.at(part) in changed or context.at(part) in context.handed_out
        for part in below
        if part.kind == "identifier"
    )


def _varies(context: RuleContext, dividend: Node, loop: Node) -> bool:
    """Whether *dividend* changes in *loop*: else the compiler moves the whole division out."""
    changed = context.assigned_below(loop)
    return any(
        part.kind == "call_expression"
        or (part.kind == "identifier" and context.at(part) in changed)
        for part in context.file.tree.below(dividend)
    )


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void normalize(float *x, float sum, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = x[i] / sum;
}""",
        """\
__global__ void normalize(float *x, float sum, int n) {
    float share = 1 / sum;
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = x[i] * share;
}""",
    ),
)
RULE = source_rule(
    id="invariant-divisors",
    title="Multiply by a reciprocal that is computed once",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.LOW,
    why="A division of floats is a routine of many instructions, a product is one.",
    when="Device code divides floats in a loop by a value that the loop does not change and the compiler does not know.",
    citations=guide("12.1.2", "11.1.2"),
    seen="x[i] / sum",
    action=_ACTION,
)
