"""What host code hands to the GPU in a loop, which way copies go, and which host memory is pageable."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.runtime_calls import pointer_name
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.transfers.copies import Direction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import SourceFunction
    from gpuadvise.advisor.source.tree import Node

COPIES = ("cudaMemcpy", "cudaMemcpyAsync")
_DIRECTIONS = {
    "cudaMemcpyHostToDevice": Direction.H2D, "cudaMemcpyDeviceToHost": Direction.D2H,
}  # fmt: skip
WITHIN_DEVICE = "cudaMemcpyDeviceToDevice"
_BYTES = 1  # the argument of an allocation that says how many
_COUNT = 2  # the argument of a copy that says how many bytes
_KIND = 3  # the argument of a copy that says its direction
# In lower case.
_TIMERS = (b"eventrecord", b"eventelapsed", b"steady_clock", b"high_resolution_clock", b"gettimeofday", b"omp_get_wtime",
           b"clock_gettime", b"sdkstarttimer", b"gputimer", b"benchmark")  # fmt: skip
_CLOCK = re.compile(rb"\bclock\(\)")
# How functions are called that prepare the work, or try it.
_SET_UP = re.compile(
    r"(?:init|setup|set_up|create|alloc|load|prepare|build|resize|reserve|test|bench)",
    re.IGNORECASE,
)
_TELLS = re.compile(
    r"(?:std::)?(?:cout|cerr|clog)\s*<<|(?:std::)?(?:f?printf|puts)\s*\(|(?:\w+\s*=\s*)?cuda(?:Get|PeekAt)LastError\("
    r"|\w+\s*\(\s*cuda(?:Get|PeekAt)LastError\("
    r"|\w+\s*=\s*(?:\([^()]*\)\s*)?(?:malloc|calloc)\s*\("
)
_OF_SOME = re.compile(r"==|%")
_CALLABLE = ("identifier", "field_expression", "qualified_identifier")
_DEEPEST_CALLS = 3
_FEWEST_OF_A_STEP = 2  # kernels in a loop that does more than to measure one
_HEAP = re.compile(r"\b(?:malloc|calloc|realloc|new|aligned_alloc|make_unique)\b")
_VECTOR = r"\bstd::vector<[^,<>;]*>\s+(?:\w+(?:\(\w*\))?,\s*)*%s\s*[({;=]"
_PINNING = ("cudaHostRegister", "cudaMallocHost", "cudaHostAlloc", "cuMemHostRegister")


def loops_with_launches(context: RuleContext) -> Iterator[Node]:
    """Yield each loop of a host function that launches kernels, itself or by a function of this file."""
    launches = [launch.node for launch in context.launches.of(context.function)]
    launches += [call for call in context.calls() if launches_kernels(context, call)]
    for loop in context.function.nodes(*LOOPS):
        if any(loop.holds(node) for node in launches):
            yield loop


def launches_kernels(context: RuleContext, call: Node) -> bool:
    """Whether *call* is of a host function that launches kernels, of this file or of another of its folder."""
    if not call.children or call.children[0].kind not in _CALLABLE:
        return False
    name = context.file.callee(call)
    called = context.file.named(name)
    if called:
        return any(not f.on_device and f.may_launch for f in called)
    return name in context.file.effects.launching


def is_set_up(context: RuleContext, node: Node, depth: int = 0) -> bool:
    """Whether *node* runs once, as far as the file tells: outside of loops, in main or in what prepares the work."""
    if context.loop_around(node) is not None:
        return False
    return _is_run_once(context, context.function, depth)


def is_called_in_loop(context: RuleContext) -> bool:
    """Whether a loop of this file calls the function, itself or by one other function, other than to measure it."""
    return _is_called_in_loop(context, context.function, 0)


def _is_called_in_loop(context: RuleContext, function: SourceFunction, depth: int) -> bool:
    for caller, call in context.file.callers(function.name.rpartition("::")[2]):
        if caller is function:
            continue
        loop = next((above for above in call.ancestors() if above.kind in LOOPS), None)
        if loop is not None:
            if not _reads_clock(context, loop):
                return True
            continue
        if depth == 0 and _is_called_in_loop(context, caller, 1):
            return True
    return False


def prepares(function: SourceFunction) -> bool:
    """Whether *function* is a constructor, or says by its name that it prepares the work or tries it."""
    class_, _, name = function.name.rpartition("::")
    constructs = bool(class_) and re.split(r"::|<", class_)[-1] == name
    return constructs or _SET_UP.match(name) is not None


def _is_run_once(context: RuleContext, function: SourceFunction, depth: int) -> bool:
    """Whether *function* is main, says that it prepares, or is called by such functions alone."""
    if function.name == "main" or prepares(function):
        return True
    name = function.name.rpartition("::")[2]
    callers = [(f, call) for f, call in context.file.callers(name) if f is not function]
    if not callers or depth > _DEEPEST_CALLS:
        return False
    return all(
        not any(above.kind in LOOPS for above in call.ancestors())
        and _is_run_once(context, caller, depth + 1)
        for caller, call in callers
    )


def is_sized_by_loop(context: RuleContext, call: Node) -> bool:
    """Whether the loop around an allocation counts the bytes that it asks for: how much there is, is the question."""
    loop, arguments = context.loop_around(call), context.file.arguments(call)
    update = loop.part("update") if loop is not None else None
    if update is None or not update.children or len(arguments) <= _BYTES:
        return False
    size = context.settled(arguments[_BYTES])
    names = {context.at(node) for node in (size, *context.file.tree.below(size))}
    return context.at(update.children[0]) in names


def is_timed(context: RuleContext, loop: Node | None = None) -> bool:
    """Whether the function reads a clock: it measures, and has to wait.

    Of a *loop* that is timed as a whole only one that does nothing but launch a kernel again and again is.
    """
    function = context.function
    timed = _reads_clock(context, function.body)
    if loop is None or not timed:
        return timed
    if _reads_clock(context, loop):
        return True
    launches = context.file.tree.inside(loop, "kernel_call_syntax")
    copies = [c for c in context.calls(*COPIES) if loop.holds(c)]
    return len(launches) < _FEWEST_OF_A_STEP and not copies


def _reads_clock(context: RuleContext, node: Node) -> bool:
    text = context.file.text.content[node.start : node.end].lower()
    return any(timer in text for timer in _TIMERS) or _CLOCK.search(text) is not None


def is_always_reached(context: RuleContext, node: Node, loop: Node) -> bool:
    """Whether each iteration of *loop* comes to *node*: neither a condition nor a loop lies between."""
    if context.loop_around(node) is not loop:
        return False
    for above in node.ancestors():
        if above is loop:
            return True
        if above.kind in (
            "if_statement",
            "switch_statement",
            "lambda_expression",
            "conditional_expression",
        ):
            return False
    return False


def is_chosen(context: RuleContext, node: Node, loop: Node) -> bool:
    """Whether only some iterations of *loop* come to *node*, as they are numbered: the last one, or every tenth."""
    for above in node.ancestors():
        if above is loop:
            return False
        condition = above.part("condition") if above.kind == "if_statement" else None
        if condition is not None and _OF_SOME.search(context.at(condition)):
            return True
    return False


def statements_around(context: RuleContext, wait: Node) -> tuple[Node | None, Node | None]:
    """Return the statements before and behind that of *wait* in its block, past what declares, tells or asks for errors."""
    statement = wait
    while statement.parent is not None and statement.parent.kind != "compound_statement":
        statement = statement.parent
    if statement.parent is None:
        return None, None
    siblings = statement.parent.children
    at = next(place for place, sibling in enumerate(siblings) if sibling is statement)
    earlier = (s for s in reversed(siblings[:at]) if not _only_tells(context, s))
    later = (s for s in siblings[at + 1 :] if not _is_beside(context, s))
    return next(earlier, None), next(later, None)


def _is_beside(context: RuleContext, statement: Node) -> bool:
    """Whether *statement* has nothing to do with the GPU, as far as memory goes that the two do not share."""
    calls = context.file.tree.inside(statement, "call_expression")
    if statement.kind in ("declaration", "comment"):
        return all(context.file.callee(call) in ("malloc", "calloc") for call in calls)
    return _only_tells(context, statement)


def _only_tells(context: RuleContext, statement: Node) -> bool:
    """Whether *statement* prints, allocates memory of the host, or asks for an error that the runtime has returned."""
    words = context.at(statement)
    if "<<<" in words:
        return False
    if statement.kind == "if_statement":
        condition = statement.part("condition")
        return condition is not None and "cudaSuccess" in context.at(condition)
    return statement.kind == "expression_statement" and _TELLS.match(words) is not None


def direction(context: RuleContext, copy: Node) -> Direction | None:
    """Return which way *copy* goes, None where it says another, or none."""
    arguments = context.file.arguments(copy)
    return _DIRECTIONS.get(context.at(arguments[_KIND])) if len(arguments) > _KIND else None


def stays_on_device(context: RuleContext, copy: Node) -> bool:
    """Whether *copy* goes from device memory to device memory."""
    arguments = context.file.arguments(copy)
    return len(arguments) > _KIND and context.at(arguments[_KIND]) == WITHIN_DEVICE


def copied_bytes(context: RuleContext, copy: Node) -> Node:
    """Return how many bytes *copy*, whose direction is known, moves, as it is written or as a variable was set."""
    return context.settled(context.file.arguments(copy)[_COUNT])


def host_side(context: RuleContext, copy: Node) -> Node | None:
    """Return the pointer of *copy* to memory of the host."""
    way = direction(context, copy)
    if way is None:
        return None
    return context.file.arguments(copy)[0 if way is Direction.D2H else 1]


def copies_one_value(context: RuleContext, copy: Node) -> bool:
    """Whether *copy* moves a single variable of the host, such as a flag that ends a loop."""
    side = host_side(context, copy)
    side = bare(side) if side is not None else None
    return side is not None and side.kind == "pointer_expression" and "[" not in context.at(side)


def pageable_memory(context: RuleContext, pointer: Node) -> str | None:
    """Return what the pageable memory is that *pointer* leads to, None where it may be pinned."""
    words = pointer_name(context, pointer)
    match = re.match(r"[A-Za-z_]\w*", words)
    if match is None or _is_call(words):
        return None
    name = match[0]
    if any(_is_pinned(context, name, function) for function in _PINNING):
        return None
    # A vector of n elements, std::vector<float> v(n), reads as a function of a type n.
    if re.search(
        _VECTOR % re.escape(name), context.file.text[context.function.body.start : pointer.start]
    ):
        return "a std::vector"
    variable = context.file.variable(name, pointer, context.function)
    if variable is None or variable.parameter or "*" not in variable.type:
        return None
    if variable.dimensions:
        if variable.type.count("*") != len(variable.dimensions):
            return None  # of pointers, each to memory of its own kind
        return "an array of the program's own"
    values = [variable.value] if variable.value is not None else []
    values += [c.children[1] for c in context.changes(variable) if len(c.children) == 2]
    if values and all(_HEAP.search(context.at(value)) for value in values):
        return "memory of malloc or new"
    return None


def _is_call(words: str) -> bool:
    return "(" in words and not words.endswith((".data()", ".data ()"))


def _is_pinned(context: RuleContext, name: str, function: str) -> bool:
    if not context.file.says(function.encode()):
        return False
    outside = name not in context.function.variables and name in context.file.names.variables
    calls = [c for _, c in context.file.callers(function)] if outside else context.calls(function)
    return any(re.search(rf"\b{re.escape(name)}\b", context.at(call)) for call in calls)
