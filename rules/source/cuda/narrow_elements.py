"""Threads that move one element of one or two bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.array_access import array_access
from gpuadvise.advisor.source.lane_stride import is_address, is_thread_index
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
    from gpuadvise.advisor.source.tree import Node

_NARROW_BYTES = {
    "char": 1, "uchar": 1, "bool": 1, "short": 2, "ushort": 2, "half": 2, "bf16": 2,
}  # fmt: skip
# What is loaded beside elements of two bytes where a kernel converts: no more of it fits a load then.
_WIDER = frozenset(("float", "int", "uint"))


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Kernels in which each thread moves one element of one or two bytes; one per kernel."""
    if context.function.place is not ExecutionSpace.KERNEL:
        return
    bases = {p.type.rstrip("*") for p in context.function.parameters}
    if bases.isdisjoint(_NARROW_BYTES) and bases.isdisjoint(context.file.names.structs):
        return
    for node in context.function.nodes("assignment_expression"):
        if len(node.children) != 2 or node.children[0].kind != "subscript_expression":
            continue
        target = node.children[0]
        kind = context.type_of(target)
        size = _NARROW_BYTES.get(kind)
        if size is None or context.file.operator(node) != "=" or not _is_parameter(context, target):
            continue
        loads = [
            n
            for n in context.file.tree.below(node.children[1])
            if n.kind == "subscript_expression"
            and (
                _NARROW_BYTES.get(context.type_of(n)) == size
                or (kind in ("half", "bf16") and context.type_of(n) in _WIDER)
            )
        ]
        if (
            is_thread_index(context, target)
            and loads
            and all(is_thread_index(context, n) and _is_parameter(context, n) for n in loads)
        ):
            yield _moves_little(context, node, size, kind)
            return
    yield from _narrow_throughout(context)


def _narrow_throughout(context: RuleContext) -> Iterator[Diagnostic]:
    """Find kernels without loops all of whose loads and stores are of one narrow element of the thread's own."""
    if context.function.nodes(*LOOPS) or context.function.says(b"__shared__"):
        return
    sizes: set[int] = set()
    first: Node | None = None
    for access in context.function.nodes("subscript_expression"):
        if not _is_parameter(context, access) or is_address(context, access):
            continue
        size = _NARROW_BYTES.get(context.type_of(access))
        reached = array_access(context, access)
        if size is None or reached is None or reached.stride.factors or reached.stride.number != 1:
            return
        sizes.add(size)
        if first is None and not _is_stored(access):
            first = access
    if first is not None and len(sizes) == 1:
        (size,) = sizes
        yield _moves_little(context, first, size, context.type_of(first))


def _moves_little(context: RuleContext, node: Node, size: int, kind: str) -> Diagnostic:
    vector = {"half": "half2", "bf16": "__nv_bfloat162"}.get(kind)
    return context.diagnostic(
        "narrow-elements", node, f"Each thread moves {size} byte{'s' * (size > 1)} of contiguous data; a load can carry 16.",
        f"Let each thread take {4 // size} or {16 // size} neighbours through a vector type such as "
        f"{vector or ('uchar4' if size == 1 else 'ushort2')} or int4; rows must then begin at a multiple of it.",
    )  # fmt: skip


def _is_stored(access: Node) -> bool:
    above = access.parent
    return (
        above is not None and above.kind == "assignment_expression" and above.children[0] is access
    )


def _is_parameter(context: RuleContext, subscript: Node) -> bool:
    name = context.root_name(subscript)
    return any(p.name == name for p in context.function.parameters)


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void invert(unsigned char *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = 255 - x[i];                         // a byte each
}""",
        """\
__global__ void invert(uchar4 *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uchar4 v = x[i];                           // four
    x[i] = make_uchar4(255 - v.x, 255 - v.y, 255 - v.z, 255 - v.w);
}""",
    ),
)


RULE = source_rule(
    id="narrow-elements",
    title="Move several narrow elements at once",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    folds_into="narrow-loads",
    why="A load can carry 16 bytes per thread; one of a byte costs as many instructions.",
    when="Each thread of a kernel moves one contiguous element of one or two bytes.",
    citations=(programming_guide("Size and Alignment Requirement"),),
    seen="out[i] = in[i]",
)
