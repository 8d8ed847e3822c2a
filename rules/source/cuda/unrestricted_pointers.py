"""Pointers that a kernel only reads, without __restrict__."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import programming_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable
    from gpuadvise.advisor.source.tree import Node


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Pointers that a kernel only reads, without const and __restrict__; one per kernel."""
    if context.function.place is not ExecutionSpace.KERNEL:
        return
    pointers = [p for p in context.function.parameters if p.type.endswith("*") and p.type != "?*"]
    if len(pointers) < 2 or any(p.restrict for p in pointers):
        return
    written, unknown = _written_pointers(context)
    names = {p.name for p in pointers}
    if unknown or not (written & names) or _launched_with_aliases(context):
        return
    read = [
        p for p in pointers if p.name not in written and _is_read_after_store(context, p, names)
    ]
    if not read or any(p.type.count("*") > 1 for p in pointers):
        return
    listed = and_list([p.name for p in read])
    yield context.diagnostic(
        "unrestricted-pointers", read[0].node, f"The kernel only reads through {listed}, but the compiler must assume that a store through another pointer changes what {'it points' if len(read) == 1 else 'they point'} to.",
        f"If the arrays never overlap, declare {'it' if len(read) == 1 else 'them'} const ... *__restrict__, and the "
        "pointers that are written *__restrict__.",
        parameters=listed,
    )  # fmt: skip


def _is_read_after_store(context: RuleContext, parameter: Variable, names: set[str]) -> bool:
    """Whether a load through *parameter* may follow a store, in the text or in a loop; one behind a loop that stores is nothing."""
    returns = {
        r.parent.index: r
        for r in context.function.nodes("return_statement")
        if r.parent is not None
    }
    stores = [
        n
        for n in context.function.nodes("assignment_expression")
        if n.children
        and n.children[0].kind == "subscript_expression"
        and context.root_name(n.children[0]) in names
        and not _ends_the_kernel(n, returns)
    ]
    first = min((store.end for store in stores), default=None)
    if first is None:
        return False
    for load in context.function.nodes("subscript_expression"):
        if context.at(load.children[0]) != parameter.name:
            continue
        loop = context.loop_around(load)
        if loop is not None and not _waits(context, loop) and any(map(loop.holds, stores)):
            return True
        if load.start < first or _is_copied(load):
            continue
        if any(_may_follow(load, s) and not _is_behind_loop(context, load, s) for s in stores):
            return True
    return any(
        _may_follow(call, s) and not _is_behind_loop(context, call, s)
        for call in context.calls()
        for s in stores
        if parameter.name in map(context.at, context.file.arguments(call))
    )


def _is_copied(load: Node) -> bool:
    """Whether *load* is all that an assignment stores: a copy is done once it is loaded, sooner or later."""
    above = load.parent
    return (
        above is not None and above.kind == "assignment_expression" and above.children[-1] is load
    )


def _is_behind_loop(context: RuleContext, load: Node, store: Node) -> bool:
    """Whether a loop ends between *store* and *load*: what is loaded once after it is nothing beside it."""
    return any(store.start < loop.end <= load.start for loop in context.function.nodes(*LOOPS))


def _waits(context: RuleContext, loop: Node) -> bool:
    """Whether *loop* holds a barrier, which no load may pass anyway."""
    return b"__sync" in context.file.text.content[loop.start : loop.end]


def _may_follow(load: Node, store: Node) -> bool:
    """Whether *load* stands after *store*, and not in the other branch of a condition."""
    if load.start < store.end:
        return False
    for above in load.ancestors():
        if above.holds(store):
            alternative = above.part("alternative") if above.kind == "if_statement" else None
            return alternative is None or not alternative.holds(load)
    return True


def _ends_the_kernel(store: Node, returns: dict[int, Node]) -> bool:
    """Whether a return follows *store* at once, so that no load does.

    *returns* holds the last one of each block, by the place of the block.
    """
    for above in store.ancestors():
        if above.kind in LOOPS or above.kind == "function_definition":
            return False
        if above.parent is not None and above.parent.kind == "function_definition":
            return False  # one at the end of the kernel follows everything
        last = returns.get(above.index)
        if last is not None and last.start >= store.end:
            return True
    return False


def _written_pointers(context: RuleContext) -> tuple[set[str], bool]:
    """Return the pointers that are stored through, and whether others leave the function."""
    written: set[str] = set()
    for node in context.function.nodes("assignment_expression", "update_expression"):
        target = node.children[0] if node.children else node
        if target.kind in ("subscript_expression", "field_expression", "pointer_expression"):
            written.add(context.root_name(target))
    names = {p.name for p in context.function.parameters if p.type.endswith("*")}
    constant = {
        p.name for p in context.function.parameters if "const" in context.at(p.node).split("*")[0]
    }
    for node in context.function.nodes("identifier"):
        if context.at(node) not in names or node.parent is None:
            continue
        above = node.parent
        if above.kind in ("subscript_expression", "field_expression") and above.children[0] is node:
            continue
        if above.kind == "pointer_expression" and context.file.operator(above) == "*":
            continue
        if above.kind == "argument_list" and context.at(node) in constant:
            continue  # whoever gets it may only read
        return written, True
    return written, any(
        context.file.operator(n) == "&" for n in context.function.nodes("pointer_expression")
    )


def _launched_with_aliases(context: RuleContext) -> bool:
    """Whether a launch in the file hands one array to two pointers."""
    return context.function.name in context.launches.aliased


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void add(float *out, const float *a, const float *b) {
    out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
    out[threadIdx.x + 32] = a[threadIdx.x] - b[threadIdx.x];   // must be loaded again
}""",
        """\
__global__ void add(float *__restrict__ out, const float *__restrict__ a, const float *__restrict__ b) {
    out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
    out[threadIdx.x + 32] = a[threadIdx.x] - b[threadIdx.x];
}""",
    ),
)


RULE = source_rule(
    id="unrestricted-pointers",
    title="Say that arrays do not overlap",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    why="Without __restrict__ every store may change what a later load reads, so loads cannot move up.",
    when="A load through a pointer that a kernel only reads may follow a store through another.",
    citations=(programming_guide("__restrict__"),),
    seen="const float *in",
)
