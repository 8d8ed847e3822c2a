"""How far apart the indices of neighbouring lanes are: the factor of threadIdx.x in an expression."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.source.divergence import differs_between_lanes
from gpuadvise.advisor.source.scopes import LOOP_MACRO, ExecutionSpace
from gpuadvise.advisor.source.tree import bare
from gpuadvise.advisor.source.variance import LaneStride, Variance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable
    from gpuadvise.advisor.source.tree import Node

# Bytes of what an array holds, by its type.
ELEMENT_BYTES = {"int": 4, "uint": 4, "float": 4, "double": 8, "llong": 8, "ullong": 8}
# Names of what may be a step of a few elements, as of a convolution.
_STEP = re.compile(r"stride|step(?!s)|inc|scale|skip|sampl", re.IGNORECASE)
# What tells that one side numbers rows or columns and the other is how many or how long they are.
_TELLING = frozenset(("<", "<=", ">", ">=", "!=", "*"))
# Of a group of cooperative groups, whose members are numbered along x first.
_THREAD_RANK = re.compile(r"\.thread_rank\(\)$")
_DEEPEST = 30
_INTEGER = re.compile(r"\(?(\d+)[uUlL]*\)?")
# Sums of products of names and numbers.
_SUM = re.compile(r"(?:[A-Za-z_]\w*|(?<!\w)\d+(?!\w)|[\s()+*-])+")
# What macros call the number of a thread.
_NUMBERING = re.compile(r"thread|lane|tid|idx|index|id$|^[a-z]$|pos|row|col", re.IGNORECASE)
_INT_BITS = 32
_LOADING = frozenset(("subscript_expression", "call_expression", "pointer_expression"))
_LONGEST_CHAIN = 4  # names that lead to each other
_STATEMENTS = ("declaration", "assignment_expression", "if_statement")
_STEPS = frozenset(("+=", "-=", "++", "--"))
_SHORT_SIDES = frozenset(("blockDim.y", "blockDim.z"))


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
    elif node.kind == "subscript_expression" and _is_same_element(context, node, depth):
        return LaneStride(number=0, rest=frozenset(_names(context, node)))
    elif node.kind == "call_expression":
        if _THREAD_RANK.search(context.at(node)):
            return LaneStride(number=1)
        if (computed := _of_call(context, node, depth)) is not None:
            return computed
    if context.variances.of(node) in (Variance.UNIFORM, Variance.WARP):
        return LaneStride(number=0, rest=frozenset(_names(context, node)))
    return None


def _is_same_element(context: RuleContext, access: Node, depth: int) -> bool:
    """Whether all lanes load the same element of an array of the caller, such as where the rows of this block begin."""
    if len(access.children) != 2 or len(access.children[1].children) != 1:
        return False
    base = access.children[0]
    array = context.file.variable(context.at(base), base, context.function)
    if array is None or not array.parameter or array.type.count("*") != 1 or context.changes(array):
        return False
    index = lane_stride(context, access.children[1].children[0], depth + 1)
    return index is not None and index.is_zero


def _of_call(context: RuleContext, call: Node, depth: int) -> LaneStride | None:
    """Return the stride of what a function of this file computes of its arguments in one statement, such as an index."""
    called = [f for f in context.file.called(context.file.callee(call)) if f.on_device]
    arguments = context.file.arguments(call)
    if not called:
        return _of_macro(context, call, depth)
    if len(called) != 1 or len(called[0].parameters) != len(arguments) or len(arguments) < 2:
        return None
    (function,) = called
    returns = function.nodes("return_statement")
    if len(returns) != 1 or not returns[0].children or function.nodes(*_STATEMENTS):
        return None
    named = {
        parameter.name: (lane_stride(context, argument, depth + 1), argument)
        for parameter, argument in zip(function.parameters, arguments, strict=True)
    }
    return _of_formula(context, returns[0].children[0], named, depth + 1)


def _of_macro(context: RuleContext, call: Node, depth: int) -> LaneStride | None:
    """Return the stride of an index that a macro of this file computes as a sum of products."""
    formula = context.file.preprocessed.formulas.get(context.file.callee(call))
    arguments = context.file.arguments(call)
    if formula is None or len(formula[0]) != len(arguments) or not _SUM.fullmatch(formula[1]):
        return None
    try:
        body = ast.parse(formula[1], mode="eval").body  # such sums are written alike in Python
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    named = {
        name: (lane_stride(context, argument, depth + 1), argument)
        for name, argument in zip(formula[0], arguments, strict=True)
    }
    return _of_body(context, body, named, call, depth + 1)


def _of_body(
    context: RuleContext,
    body: ast.expr,
    named: Mapping[str, tuple[LaneStride | None, Node]],
    call: Node,
    depth: int,
) -> LaneStride | None:
    if depth > _DEEPEST:
        return None
    if isinstance(body, ast.Constant):
        return LaneStride(number=0) if isinstance(body.value, int) else None
    if isinstance(body, ast.Name):
        return named[body.id][0] if body.id in named else _of_free_name(context, body.id, call)
    if not isinstance(body, ast.BinOp):
        return None
    left = _of_body(context, body.left, named, call, depth + 1)
    right = _of_body(context, body.right, named, call, depth + 1)
    if left is None or right is None:
        return None
    if isinstance(body.op, ast.Add | ast.Sub):
        return sum_of_strides(left, right, -1 if isinstance(body.op, ast.Sub) else 1)
    if not isinstance(body.op, ast.Mult) or not (left.is_zero or right.is_zero):
        return None
    if left.is_zero and right.is_zero:
        return LaneStride(number=0, rest=left.rest | right.rest)
    factor, stride = (body.left, right) if left.is_zero else (body.right, left)
    return _scaled_by(context, stride, factor, named)


def _scaled_by(
    context: RuleContext,
    stride: LaneStride,
    factor: ast.expr,
    named: Mapping[str, tuple[LaneStride | None, Node]],
) -> LaneStride | None:
    if isinstance(factor, ast.BinOp) and isinstance(factor.op, ast.Mult):
        half = _scaled_by(context, stride, factor.left, named)
        return None if half is None else _scaled_by(context, half, factor.right, named)
    if isinstance(factor, ast.Constant) and isinstance(factor.value, int):
        return LaneStride(
            number=stride.number * factor.value, factors=stride.factors, rest=stride.rest
        )
    if not isinstance(factor, ast.Name):
        return None
    if factor.id in named:
        return _scaled(context, stride, named[factor.id][1])
    value = _INTEGER.fullmatch(context.file.preprocessed.macros.get(factor.id) or "")
    if value is not None:
        return LaneStride(
            number=stride.number * int(value[1]), factors=stride.factors, rest=stride.rest
        )
    if factor.id in context.file.preprocessed.macros:
        return None
    return LaneStride(number=stride.number, factors=(*stride.factors, factor.id), rest=stride.rest)


def _of_free_name(context: RuleContext, name: str, call: Node) -> LaneStride | None:
    """Return the stride of a name in a macro that is no parameter of it: of what all lanes share alone."""
    shared = LaneStride(number=0, rest=frozenset((name,)))
    if name in context.file.preprocessed.macros:
        return shared
    variable = context.file.variable(name, call, context.function)
    if variable is None:
        return None
    if variable.parameter or variable.value is None:
        is_given = variable.parameter and not context.changes(variable)
        return shared if is_given or variable.constant else None
    alike = context.variances.of(variable.value) is Variance.UNIFORM
    return shared if alike and not context.changes(variable) else None


def _of_formula(
    context: RuleContext,
    node: Node,
    named: Mapping[str, tuple[LaneStride | None, Node]],
    depth: int,
) -> LaneStride | None:
    """Return the stride of a sum of products of what is *named*, each with its stride and its words."""
    node = bare(node)
    if depth > _DEEPEST:
        return None
    if node.kind == "identifier" and context.at(node) in named:
        return named[context.at(node)][0]
    if node.kind == "number_literal":
        return LaneStride(number=0)
    if node.kind != "binary_expression" or len(node.children) != 2:
        return None
    operator = context.file.operator(node)
    left, right = (_of_formula(context, child, named, depth + 1) for child in node.children)
    if left is None or right is None:
        return None
    if operator in ("+", "-"):
        return sum_of_strides(left, right, -1 if operator == "-" else 1)
    if operator != "*" or not (left.is_zero or right.is_zero):
        return None
    if left.is_zero and right.is_zero:
        return LaneStride(number=0, rest=left.rest | right.rest)
    factor, stride = (node.children[0], right) if left.is_zero else (node.children[1], left)
    return _scaled(context, stride, named.get(context.at(bare(factor)), (None, factor))[1])


def _of_name(context: RuleContext, name: Node, depth: int) -> LaneStride | None:
    words = context.at(name)
    variable = context.file.variable(words, name, context.function)
    if variable is not None and (last := _last_part(context, variable, name)) is not None:
        return _of_part(context, last, depth)
    key = (words, -1 if variable is None else variable.start)
    if key not in context.lane_strides:
        context.lane_strides[key] = None  # of a name that leads to itself nothing is known
        variance, stride = context.variances.of(name), None
        if variance in (Variance.UNIFORM, Variance.WARP):
            stride = LaneStride(number=0, rest=frozenset((words,)))
        elif variable is not None and variable.numbers_threads:
            stride = LaneStride(number=1)
        elif variable is not None:
            value = _only_value(context, variable)
            stride = lane_stride(context, value, depth + 1) if value is not None else None
        elif is_of_header(context, name):
            stride = LaneStride(number=0, rest=frozenset((words,)))
        context.lane_strides[key] = stride
    return None if differs_between_lanes(context, name) else context.lane_strides[key]


def is_of_header(context: RuleContext, name: Node) -> bool:
    """Whether *name* is declared nowhere in the file, and so a constant of a header; not one that may number threads."""
    words = context.at(name)
    return (
        context.file.variable(words, name, context.function) is None
        and words not in context.file.preprocessed.macros
        and words not in context.file.names.enumerators
        and not context.file.called(words)
        and not _NUMBERING.search(words)
    )


def _last_part(context: RuleContext, variable: Variable, name: Node) -> Node | None:
    """Return the last step before *name* of a number that is taken apart: ``i % w; i /= w; i % h``."""
    changes = context.changes(variable)
    if not changes or variable.parameter or variable.name in context.handed_out:
        return None
    block = changes[0].parent.parent if changes[0].parent is not None else None
    for change in changes:
        statement = change.parent
        if statement is None or statement.kind != "expression_statement":
            return None
        if statement.parent is not block or context.loop_around(change) is not None:
            return None
        if not _takes_apart(context, variable, change):
            return None
    before = [change for change in changes if change.end <= name.start]
    return before[-1] if before else variable.value


def _takes_apart(context: RuleContext, variable: Variable, change: Node) -> bool:
    """Whether *change* is ``i /= w`` or ``i = i / w``."""
    operator = context.file.operator(change)
    if len(change.children) != 2:
        return False
    if operator == "/=":
        return True
    value = bare(change.children[1])
    return (
        operator == "="
        and value.kind == "binary_expression"
        and len(value.children) == 2
        and context.file.operator(value) == "/"
        and context.at(value.children[0]) == variable.name
    )


def _of_part(context: RuleContext, last: Node, depth: int) -> LaneStride | None:
    if last.kind != "assignment_expression":
        return lane_stride(context, last, depth + 1)
    if context.file.operator(last) == "=":
        return lane_stride(context, last.children[1], depth + 1)
    left, right = (lane_stride(context, child, depth + 1) for child in last.children)
    if left is None or right is None or not right.is_zero or left.factors:
        return None
    if left.is_zero:
        return LaneStride(number=0, rest=left.rest | right.rest)
    divisor = context.settled(last.children[1])
    if abs(left.number) != 1 or context.file.is_constant(divisor, context.function):
        return None
    return LaneStride(number=0, rest=left.rest | right.rest)


def _joined(
    context: RuleContext, node: Node, left: LaneStride, right: LaneStride
) -> LaneStride | None:
    """Return the stride of the sum, difference, product or shift *node*, None for other operators."""
    operator = context.file.operator(node)
    if left.is_zero and right.is_zero:
        return LaneStride(number=0, rest=left.rest | right.rest)
    if operator in ("+", "-"):
        return sum_of_strides(left, right, -1 if operator == "-" else 1)
    if operator == "*" and left.is_zero:
        return _scaled(context, right, node.children[0])
    if operator == "*" and right.is_zero:
        return _scaled(context, left, node.children[1])
    if operator in ("/", "%") and right.is_zero and not left.factors:
        return _parted(context, node, left, right)
    if operator == "<<" and right.is_zero and not left.factors:
        shift = context.constant(node.children[1])
        if shift is not None and 0 <= shift < _INT_BITS:
            return LaneStride(number=left.number << shift, rest=left.rest)
    return None


def _parted(
    context: RuleContext, node: Node, left: LaneStride, right: LaneStride
) -> LaneStride | None:
    """Return the stride of a quotient or a remainder by a long row: most neighbours stay in one row.

    None where the divisor is a number: it may be short.
    """
    divisor = context.settled(node.children[1])
    if abs(left.number) != 1 or context.file.is_constant(divisor, context.function):
        return None
    rest = left.rest | right.rest
    if context.file.operator(node) == "%":
        return LaneStride(number=left.number, rest=rest)
    return LaneStride(number=0, rest=rest)


def _names(context: RuleContext, root: Node) -> Iterator[str]:
    for node in context.file.tree.below(root):
        if node.kind == "identifier":
            yield context.at(node)


def sum_of_strides(left: LaneStride, right: LaneStride, sign: int) -> LaneStride | None:
    """Return the stride of *left* plus *sign* times *right*, None where it has no single factor."""
    rest = left.rest | right.rest
    if right.is_zero:
        return LaneStride(number=left.number, factors=left.factors, rest=rest)
    if left.is_zero:
        return LaneStride(number=sign * right.number, factors=right.factors, rest=rest)
    if left.factors or right.factors:
        return None
    return LaneStride(number=left.number + sign * right.number, rest=rest)


def _scaled(context: RuleContext, stride: LaneStride, factor: Node) -> LaneStride | None:
    value = context.constant(context.settled(factor))
    if value is not None:
        return LaneStride(number=stride.number * value, factors=stride.factors, rest=stride.rest)
    words = product_words(context, factor)
    if "+" in words and "*" not in words:
        words = f"({words})"
    if words in _SHORT_SIDES or context.file.is_constant(context.settled(factor), context.function):
        return None  # few, or known to the compiler: it may be one
    return LaneStride(number=stride.number, factors=(*stride.factors, words), rest=stride.rest)


def product_words(context: RuleContext, factor: Node) -> str:
    """Return *factor* without spaces; the names of a product in the order of the alphabet."""
    parts: list[str] = []
    stack = [factor]
    while stack:
        node = bare(stack.pop())
        if (
            node.kind == "binary_expression"
            and len(node.children) == 2
            and context.file.operator(node) == "*"
        ):
            stack.extend(node.children)
        else:
            parts.append("".join(context.at(node).split()))
    return "*".join(sorted(parts))


def _only_value(context: RuleContext, variable: Variable) -> Node | None:
    """Return what a variable starts with, when all that happens to it are steps that lanes share."""
    if variable.parameter or variable.dimensions or variable.name in context.handed_out:
        return None
    values = [variable.value] if variable.value is not None else []
    for change in context.changes(variable):
        operator = context.file.operator(change)
        if operator == "=":
            values.append(change.children[1])
        elif operator not in _STEPS or any(
            context.variances.of(step) > Variance.WARP for step in change.children[1:]
        ):
            return None
    return values[0] if len(values) == 1 else None


def is_kernel_with_lanes(context: RuleContext) -> bool:
    """Whether the function is a kernel that looks at threadIdx.x."""
    function = context.function
    if function.place is not ExecutionSpace.KERNEL:
        return False
    return (
        function.says(b"threadIdx.x")
        or function.says(LOOP_MACRO)
        or function.says(b"thread_rank()")
    )


def lanes_along_x(context: RuleContext) -> int:
    """Return how many lanes of a warp are neighbours along x: fewer than 32 where the file says so."""
    name = context.function.name
    bound = context.file.launch_bounds.get(name)
    return min(WARP_SIZE, bound or WARP_SIZE, *context.launches.widths(name))


def is_address(context: RuleContext, access: Node) -> bool:
    """Whether only the address of the element *access* is taken."""
    above = access.parent
    while above is not None and above.kind == "parenthesized_expression":
        above = above.parent
    return (
        above is not None
        and above.kind == "pointer_expression"
        and context.file.operator(above) == "&"
    )


def is_thread_index(context: RuleContext, subscript: Node) -> bool:
    """Whether the index is the thread's own number, counted with no factor."""
    if len(subscript.children) != 2 or not subscript.children[1].children:
        return False
    index = bare(subscript.children[1].children[0])
    if index.kind == "identifier":
        variable = context.file.variable(context.at(index), index, context.function)
        if variable is None or variable.value is None:
            return False
        index = bare(variable.value)
    words = "".join(context.at(index).split())
    return (
        bool(
            re.fullmatch(
                r"\(?(?:\(?int\)?)?\(?(?:threadIdx\.x\+)?blockIdx\.x\*blockDim\.x(?:\+threadIdx\.x)?\)?"
                r"|threadIdx\.x\+blockDim\.x\*blockIdx\.x|blockDim\.x\*blockIdx\.x\+threadIdx\.x",
                words,
            )
        )
        and "threadIdx" in words
    )


def is_made_of_thread(context: RuleContext, node: Node, depth: int = 0) -> bool:
    """Whether *node* is arithmetic on the number of the thread, through names that hold it."""
    if depth > _LONGEST_CHAIN:
        return False
    below = context.file.tree.below(node)
    if any(part.kind in _LOADING for part in below):
        return False
    if "threadIdx.x" in context.at(node):
        return True
    for name in (part for part in below if part.kind == "identifier"):
        variable = context.file.variable(context.at(name), name, context.function)
        if variable is None or variable.parameter or variable.dimensions:
            continue
        if variable.numbers_threads:
            return True
        value = variable.value or _set_later(context, variable)
        if (
            value is not None
            and not value.holds(name)
            and is_made_of_thread(context, value, depth + 1)
        ):
            return True
    return False


def _set_later(context: RuleContext, variable: Variable) -> Node | None:
    """Return what ``int i; i = ...;`` gives to *variable*, None where it is changed again."""
    changes = context.changes(variable)
    if len(changes) != 1 or len(changes[0].children) != 2 or variable.name in context.handed_out:
        return None
    return changes[0].children[1] if context.file.operator(changes[0]) == "=" else None


def ends_where_it_began(context: RuleContext, condition: Node) -> bool:
    """Whether a loop runs to a limit that was counted from where its counter begins.

    ``int last = i + n; while (i < last) i += step;`` takes as many rounds in each thread.
    """
    sides = bare(condition).children
    for side, other in zip(sides, reversed(sides), strict=True):
        variable = context.file.variable(context.at(side), side, context.function)
        if variable is not None and variable.value is not None and not variable.parameter:
            terms = terms_of_sum(context, variable.value)
            rest = [term for term in terms if context.at(term) != context.at(other)]
            alike = all(context.variances.of(term) is Variance.UNIFORM for term in rest)
            if alike and len(rest) == len(terms) - 1:
                return True
    return False


def terms_of_sum(context: RuleContext, node: Node) -> list[Node]:
    """Return what *node* adds and subtracts; *node* alone where it is no sum."""
    stack, terms = [node], []
    while stack:
        part = bare(stack.pop())
        if part.kind == "binary_expression" and context.file.operator(part) in ("+", "-"):
            stack.extend(part.children)
        else:
            terms.append(part)
    return terms


def is_of_dimensions(context: RuleContext, stride: LaneStride) -> bool:
    """Whether what lies between the lanes is made of lengths by which other parts of the index are scaled as well."""
    words = {word for factor in stride.factors for word in re.findall(r"[A-Za-z_]\w*", factor)}
    for name in [*words]:
        values = [v.value for v in context.function.variables.get(name, ()) if v.value]
        words.update(w for v in values for w in re.findall(r"[A-Za-z_]\w*", context.at(v)))
    return not words.isdisjoint(stride.rest) and not any(map(_STEP.search, words))


def is_of_steps(stride: LaneStride) -> bool:
    """Whether *stride* is a variable number of elements that names itself a step, as of a convolution: a few, perhaps."""
    return bool(stride.factors) and all(map(_STEP.search, stride.factors))


def shortest_launched(context: RuleContext, stride: LaneStride) -> int | None:
    """Return the elements between lanes in the launch with the shortest rows, None where none says it."""
    places = {p.name: place for place, p in enumerate(context.function.parameters)}
    elements = abs(stride.number)
    for factor in stride.factors:
        if factor not in places:
            return None
        lengths = context.launches.values(context.function.name, places[factor])
        if not lengths:
            return None
        elements *= min(lengths)
    return elements


def compared_lengths(context: RuleContext) -> dict[str, set[str]]:
    """Return what may number rows, by what the same expression says of how long they may be."""
    if context.compared is None:
        context.compared = {}
        for node in context.function.nodes("binary_expression"):
            if len(node.children) == 2 and context.file.operator(node) in _TELLING:
                for side, bound in (node.children, node.children[::-1]):
                    sides = context.compared.setdefault(product_words(context, bound), set())
                    sides.add("".join(context.at(side).split()))
        for axis in "xyz":  # a block's number is below the number of blocks
            for count in _named_after(context, f"gridDim.{axis}"):
                numbers = context.compared.setdefault(count, set())
                numbers.update(_named_after(context, f"blockIdx.{axis}"))
    return context.compared


def _named_after(context: RuleContext, words: str) -> list[str]:
    """Return *words*, and the names that begin as it and do not change."""
    return [words] + [
        variable.name
        for variables in context.function.variables.values()
        for variable in variables
        if variable.value is not None
        and context.at(variable.value) == words
        and not context.changes(variable)
    ]
