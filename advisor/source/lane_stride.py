"""How far apart the indices of neighbouring lanes are: the factor of threadIdx.x in an expression."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.source.variance import Variance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable
    from gpuadvise.advisor.source.tree import Node

_DEEPEST = 30
_WARP = 32
_BOUNDS = frozenset(("<", "<=", ">", ">="))
_STEPS = frozenset(("+=", "-=", "++", "--"))


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneStride:
    """The distance of the values of two neighbouring lanes: *number* times all *factors*.

    *factors* are values of the whole block, as they are written without spaces. *rest* are the
    names in what is added, which all lanes share.
    """

    number: int
    factors: tuple[str, ...] = ()
    rest: frozenset[str] = field(default=frozenset())

    @property
    def is_zero(self) -> bool:
        """Whether all lanes have the same value."""
        return self.number == 0


def lane_stride(context: RuleContext, node: Node, depth: int = 0) -> LaneStride | None:
    """Return how far the value of *node* moves from one lane to the next, None where unknown."""
    node = bare(node)
    if depth > _DEEPEST:
        return None
    if node.kind == "binary_expression" and len(node.children) == 2:
        left, right = (lane_stride(context, child, depth + 1) for child in node.children)
        if left is not None and right is not None:
            joined = _joined(context, node, left, right)
            if joined is not None:
                return joined
    elif node.kind == "identifier":
        return _of_name(context, node, depth)
    elif node.kind == "cast_expression":
        return lane_stride(context, node.children[-1], depth + 1)
    elif node.kind == "field_expression" and context.at(node) == "threadIdx.x":
        return LaneStride(number=1)
    if context.variances.of(node) in (Variance.UNIFORM, Variance.WARP):
        return LaneStride(number=0, rest=frozenset(_names(context, node)))
    return None


def _of_name(context: RuleContext, name: Node, depth: int) -> LaneStride | None:
    words = context.at(name)
    variable = context.file.variable(words, name, context.function)
    key = (words, -1 if variable is None else variable.start)
    if key not in context.lane_strides:
        context.lane_strides[key] = None  # of a name that leads to itself nothing is known
        variance, stride = context.variances.of(name), None
        if variance in (Variance.UNIFORM, Variance.WARP):
            stride = LaneStride(number=0, rest=frozenset((words,)))
        elif variance is Variance.LANE and variable is not None:
            value = _only_value(context, variable)
            stride = lane_stride(context, value, depth + 1) if value is not None else None
        context.lane_strides[key] = stride
    return context.lane_strides[key]


def _joined(
    context: RuleContext, node: Node, left: LaneStride, right: LaneStride
) -> LaneStride | None:
    """Return the stride of the sum, difference, product or shift *node*, None for other operators."""
    operator = context.file.operator(node)
    if left.is_zero and right.is_zero:
        return LaneStride(number=0, rest=left.rest | right.rest)
    if operator in ("+", "-"):
        return _sum(left, right, -1 if operator == "-" else 1)
    if operator == "*" and left.is_zero:
        return _scaled(context, right, node.children[0])
    if operator == "*" and right.is_zero:
        return _scaled(context, left, node.children[1])
    if operator == "<<" and right.is_zero and not left.factors:
        shift = context.constant(node.children[1])
        if shift is not None and 0 <= shift < _WARP:
            return LaneStride(number=left.number << shift, rest=left.rest)
    return None


def _names(context: RuleContext, node: Node) -> Iterator[str]:
    for each in context.file.tree.below(node):
        if each.kind == "identifier":
            yield context.at(each)


def _sum(left: LaneStride, right: LaneStride, sign: int) -> LaneStride | None:
    rest = left.rest | right.rest
    if right.is_zero:
        return LaneStride(number=left.number, factors=left.factors, rest=rest)
    if left.is_zero:
        return LaneStride(number=sign * right.number, factors=right.factors, rest=rest)
    if left.factors or right.factors:
        return None
    return LaneStride(number=left.number + sign * right.number, rest=rest)


def _scaled(context: RuleContext, stride: LaneStride, factor: Node) -> LaneStride | None:
    value = context.constant(factor)
    if value is not None:
        return LaneStride(number=stride.number * value, factors=stride.factors, rest=stride.rest)
    if context.file.is_constant(factor, context.function):
        return None  # the compiler knows it, and it may be one
    words = "".join(context.at(bare(factor)).split())
    return LaneStride(number=stride.number, factors=(*stride.factors, words), rest=stride.rest)


def _only_value(context: RuleContext, variable: Variable) -> Node | None:
    """Return what a variable starts with, when all that happens to it are steps that lanes share."""
    words = variable.name
    if variable.parameter or variable.dimensions:
        return None
    values = [variable.value] if variable.value is not None else []
    for kind in ("assignment_expression", "update_expression"):
        for change in context.function.nodes(kind):
            target = change.children[0] if change.children else change
            if context.at(target) != words or not variable.start <= change.start < variable.end:
                continue
            operator = context.file.operator(change)
            if operator == "=":
                values.append(change.children[1])
            elif operator not in _STEPS or any(
                context.variances.of(step) > Variance.WARP for step in change.children[1:]
            ):
                return None
    value = values[0] if len(values) == 1 else None
    if value is None or _is_handed_out(context, words):
        return None
    return value


def _is_handed_out(context: RuleContext, name: str) -> bool:
    """Whether something takes the address of *name*, and may change it there."""
    return any(
        node.children and context.at(node.children[0]) == name
        for node in context.function.nodes("pointer_expression")
        if context.file.operator(node) == "&"
    )


def reached_by_few_lanes(context: RuleContext, node: Node) -> bool:
    """Whether only some lanes of a warp may reach *node*: all that is known are checks of bounds."""
    inner = node
    for above in node.ancestors():
        if above is context.function.body:
            break
        condition = _condition(context, above, inner)
        if above.kind == "lambda_expression" or (
            condition is not None and not _is_bounds_check(context, condition)
        ):
            return True
        inner = above
    return any(_leaves_few(context, way_out, node) for way_out in _ways_out(context, node))


def _condition(context: RuleContext, above: Node, inner: Node) -> Node | None:
    """Return the condition under which *above* comes to its part *inner*, None where it always does."""
    if above.kind in ("if_statement", *LOOPS):
        condition = above.part("condition")
    elif above.kind in ("conditional_expression", "switch_statement") or (
        above.kind == "binary_expression" and context.file.operator(above) in ("&&", "||")
    ):
        condition = above.children[0]
    else:
        return None
    return None if condition is inner else condition


def _ways_out(context: RuleContext, node: Node) -> Iterator[Node]:
    """Yield the conditions before *node* under which a lane goes elsewhere."""
    kinds = ("return_statement", "continue_statement", "break_statement", "goto_statement")
    for branch in context.function.nodes("if_statement"):
        body = branch.part("consequence")
        if branch.start >= node.start or body is None:
            continue
        if body.kind in kinds or any(child.kind in kinds for child in body.children):
            yield branch


def _leaves_few(context: RuleContext, branch: Node, node: Node) -> bool:
    """Whether lanes that *branch* sends elsewhere may be most of those that would reach *node*."""
    condition, around = branch.part("condition"), branch.parent
    if condition is None or around is None or branch.holds(node) or not around.holds(node):
        return False
    return not _is_bounds_check(context, condition)


def _is_bounds_check(context: RuleContext, condition: Node) -> bool:
    """Whether *condition* is the same for a warp, or only stops lanes at the end of the data."""
    condition = bare(condition)
    if condition.kind == "condition_clause" and condition.children:
        return _is_bounds_check(context, condition.children[-1])
    if context.variances.of(condition) in (Variance.UNIFORM, Variance.WARP):
        return True
    if condition.kind != "binary_expression" or len(condition.children) != 2:
        return False
    operator = context.file.operator(condition)
    if operator in ("&&", "||"):
        return all(_is_bounds_check(context, part) for part in condition.children)
    if operator not in _BOUNDS:
        return False
    side, bound = condition.children
    if context.variances.of(side) is Variance.UNIFORM:
        side, bound = bound, side
    if (context.variances.of(side), context.variances.of(bound)) != (
        Variance.LANE,
        Variance.UNIFORM,
    ):
        return False
    value = context.constant(bound)
    if value is not None:
        return value >= _WARP - 1
    return not context.file.is_constant(bound, context.function)
