"""Pointers that a kernel only reads, without __restrict__."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS
from gpuadvise.advisor.thresholds import number
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

_FEWEST = number(3, "loads outside of loops, at least", "", "our judgement: one or two do not show")
_FENCE = b"__threadfence"  # which no load may pass, whatever it goes through


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Pointers that a kernel only reads, without const and __restrict__; one per kernel."""
    if context.function.place is not ExecutionSpace.KERNEL or context.function.says(_FENCE):
        return
    pointers = [p for p in context.function.parameters if p.type.endswith("*") and p.type != "?*"]
    if len(pointers) < 2 or any(p.restrict for p in pointers):
        return
    stored, names = _stores(context), {p.name for p in pointers}
    if stored.keys().isdisjoint(names):
        return
    written = _written_pointers(context)
    if not (written & names) or context.function.name in context.launches.aliased:
        return
    loads: dict[str, int] = {}
    for p in (p for p in pointers if p.name not in written):
        stores = [s for o in pointers if _may_overlap(p, o) for s in stored.get(o.name, ())]
        loads[p.name] = _loads_after_store(context, p, stores)
    if sum(loads.values()) < _FEWEST or any(p.type.count("*") > 1 for p in pointers):
        return
    read = [p for p in pointers if loads.get(p.name)]
    listed = and_list([p.name for p in read])
    yield context.diagnostic(
        "unrestricted-pointers", read[0].node, f"The kernel only reads through {listed}, but the compiler must assume that a store through another pointer changes what {'it points' if len(read) == 1 else 'they point'} to.",
        f"If the arrays never overlap, declare {'it' if len(read) == 1 else 'them'} const ... *__restrict__, and the "
        "pointers that are written *__restrict__.",
        parameters=listed,
    )  # fmt: skip


def _may_overlap(pointer: Variable, other: Variable) -> bool:
    """Whether both point to elements of one type, as far as the file says: others the compiler takes for apart."""
    return pointer.type == other.type or "char" in (pointer.type + other.type)


def _stores(context: RuleContext) -> dict[str, list[Node]]:
    """Return the stores to elements that a load may follow, by the name of the array."""
    ends = context.function.nodes("return_statement")
    returns = {end.parent.index: end for end in ends if end.parent is not None}
    stores: dict[str, list[Node]] = {}
    for node in context.function.nodes("assignment_expression"):
        if not node.children or node.children[0].kind != "subscript_expression":
            continue
        if not _ends_the_kernel(node, returns):
            stores.setdefault(context.root_name(node.children[0]), []).append(node)
    return stores


def _loads_after_store(context: RuleContext, parameter: Variable, stores: list[Node]) -> int:
    """Return the loads through *parameter* that may follow one of *stores*; one in a loop is many, one behind a loop that stores nothing."""
    first, loads = min((store.end for store in stores), default=0), 0
    for load in context.function.nodes("subscript_expression") if stores else ():
        if context.at(load.children[0]) != parameter.name:
            continue
        loop = context.loop_around(load)
        if loop is not None and not _waits(context, loop) and any(map(loop.holds, stores)):
            return int(_FEWEST)
        if load.start < first or _is_copied(load):
            continue
        loads += _follows(context, load, stores)
        if loads >= _FEWEST:
            return loads
    given = (
        c for c in context.calls() if parameter.name in map(context.at, context.file.arguments(c))
    )
    return int(_FEWEST) if any(_follows(context, call, stores) for call in given) else loads


def _is_copied(load: Node) -> bool:
    """Whether *load* is all that an assignment stores: a copy is done once it is loaded, sooner or later."""
    above = load.parent
    return (
        above is not None and above.kind == "assignment_expression" and above.children[-1] is load
    )


def _follows(context: RuleContext, load: Node, stores: list[Node]) -> bool:
    """Whether *load* may follow one of *stores*, with no loop that ends between: beside that a load is nothing."""
    ends = [loop.end for loop in context.function.nodes(*LOOPS) if loop.end <= load.start]
    last = max(ends, default=-1)
    return any(last <= store.start and _may_follow(load, store) for store in stores)


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


def _written_pointers(context: RuleContext) -> set[str]:
    """Return the pointers that are stored through, or may be: by whom they are handed to, or by another name."""
    written: set[str] = set()
    for node in context.function.nodes("assignment_expression", "update_expression"):
        target = node.children[0] if node.children else node
        if target.kind in ("subscript_expression", "field_expression", "pointer_expression"):
            written.add(context.root_name(target))
    names = {p.name for p in context.function.parameters if p.type.endswith("*")}
    constant = {
        p.name for p in context.function.parameters if "const" in context.at(p.node).split("*")[0]
    }
    open_ = names - constant
    for node in context.function.nodes("identifier") if open_ else ():
        if context.at(node) not in open_ or node.parent is None:
            continue
        above = node.parent
        if above.kind in ("subscript_expression", "field_expression") and above.children[0] is node:
            continue
        if above.kind == "pointer_expression" and context.file.operator(above) == "*":
            continue
        written.add(context.at(node))
    for node in context.function.nodes("pointer_expression"):
        if context.file.operator(node) == "&":
            written.add(context.root_name(node))
    return written - constant


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void scale(float *out, const float *a, const float *b, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = a[i] * b[i % 4];                              // no load before the store of the last iteration
}""",
        """\
__global__ void scale(float *__restrict__ out, const float *__restrict__ a, const float *__restrict__ b, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = a[i] * b[i % 4];
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
