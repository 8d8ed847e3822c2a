"""Tiles that pass through registers on their way to shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node


# Types that one asynchronous copy of 4, 8 or 16 bytes moves; float.4 is float4.
_ELEMENTS = frozenset(
    ("float", "int", "uint", "double", "float.2", "float.4", "int.2", "int.4", "uint.2", "uint.4", "double.2")
)  # fmt: skip


_COMPUTED = frozenset(("binary_expression", "call_expression", "cast_expression"))


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Tiles that go from global to shared memory through registers, in a loop; one per kernel."""
    if context.function.place is not ExecutionSpace.KERNEL:
        return
    if not (context.function.says(b"__shared__") and context.function.says(b"sync")):
        return
    shared = {v.name for vs in context.function.variables.values() for v in vs if v.shared}
    pointers = {p.name for p in context.function.parameters if p.type.rstrip("*") in _ELEMENTS}
    if not shared or not pointers:
        return
    for node in context.function.nodes("assignment_expression"):
        if len(node.children) != 2 or context.file.operator(node) != "=":
            continue
        target, value = node.children
        if target.kind != "subscript_expression" or value.kind != "subscript_expression":
            continue
        if context.root_name(target) not in shared or context.root_name(value) not in pointers:
            continue
        loop = context.loop_around(node)
        if loop is None or not any(loop.holds(c) for c in context.calls("__syncthreads", "sync")):
            continue
        if _is_gathered(context, value.children[1]) or _is_beside_others(context, loop, shared):
            continue
        yield context.diagnostic(
            "synchronous-staging", node, "A tile goes from global to shared memory through registers.",
            "On compute capability 8.0 and later copy it with cuda::memcpy_async or __pipeline_memcpy_async: no register holds "
            "it, and the copy of the next tile runs while this one is used.",
        )  # fmt: skip
        return


def _is_gathered(context: RuleContext, index: Node) -> bool:
    """Whether *index* was loaded itself: such a copy waits for that load first, and moves single elements."""
    return any(
        bool(context.file.tree.inside(context.settled(name), "subscript_expression"))
        or context.settled(name).kind == "subscript_expression"
        for name in context.file.tree.below(index)
        if name.kind in ("identifier", "subscript_expression")
    )


def _is_beside_others(context: RuleContext, loop: Node, shared: set[str]) -> bool:
    """Whether *loop* also stages what it computes from loads on the way, for which it waits whatever else is copied."""
    for node in context.file.tree.inside(loop, "assignment_expression"):
        target, value = node.children[0], node.children[-1]
        if target.kind != "subscript_expression" or context.root_name(target) not in shared:
            continue
        loads = context.file.tree.inside(value, "subscript_expression")
        if value.kind in _COMPUTED and any(context.root_name(load) not in shared for load in loads):
            return True
    return False


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void sum_tiles(float *out, const float4 *in, int tiles) {
    __shared__ float4 tile[256];
    float sum = 0;
    for (int t = 0; t < tiles; ++t) {
        tile[threadIdx.x] = in[t * 256 + threadIdx.x];        // by way of registers
        __syncthreads();
        for (int k = 0; k < 256; ++k) sum += tile[k].x;
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}""",
        """\
__global__ void sum_tiles(float *out, const float4 *in, int tiles) {
    __shared__ float4 tile[256];
    unsigned there = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
    float sum = 0;
    for (int t = 0; t < tiles; ++t) {
        const float4 *here = &in[t * 256 + threadIdx.x];
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(there), "l"(here));
        asm volatile("cp.async.wait_all;");                   // or cuda::memcpy_async
        __syncthreads();
        for (int k = 0; k < 256; ++k) sum += tile[k].x;
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}""",
    ),
)
