"""Arithmetic on 16-bit floats one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.lane_stride import is_thread_index
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import bare
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext

_HALF = {"half": "__half2", "bf16": "__nv_bfloat162"}
_HALF_CALLS = frozenset(("__hadd", "__hsub", "__hmul", "__hfma", "__hdiv"))


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Elementwise half arithmetic, one element per thread; one per kernel."""
    if context.function.place is not ExecutionSpace.KERNEL:
        return
    if not (context.file.says(b"half") or context.file.says(b"bfloat16")):
        return
    for node in context.function.nodes("assignment_expression"):
        if len(node.children) != 2 or node.children[0].kind != "subscript_expression":
            continue
        kind = context.type_of(node.children[0])
        if kind not in _HALF or not is_thread_index(context, node.children[0]):
            continue
        value = bare(node.children[1])
        arithmetic = value.kind == "binary_expression" and context.file.operator(value) in (
            "+",
            "-",
            "*",
        )
        if value.kind == "call_expression":
            arithmetic = context.file.callee(value) in _HALF_CALLS
        loads = [n for n in context.file.tree.below(value) if n.kind == "subscript_expression"]
        if (
            arithmetic
            and loads
            and all(context.type_of(n) == kind and is_thread_index(context, n) for n in loads)
        ):
            yield context.diagnostic(
                "scalar-half-arithmetic", node, "16-bit arithmetic on one element at a time uses half of each instruction.",
                f"Let each thread take two neighbours as {_HALF[kind]}: __hadd2, __hmul2 and __hfma2 work on both at once, "
                "and loads and stores move 4 bytes.",
            )  # fmt: skip
            return


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
#include <cuda_fp16.h>
__global__ void twice(__half *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = __hadd(x[i], x[i]);
}""",
        """\
#include <cuda_fp16.h>
__global__ void twice(__half2 *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = __hadd2(x[i], x[i]);
}""",
    ),
)


RULE = source_rule(
    id="scalar-half-arithmetic",
    title="Compute on pairs of 16-bit floats",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.LOW,
    why="One instruction works on two 16-bit values; scalar code uses half of it.",
    when="A kernel computes elementwise on 16-bit floats, one per thread.",
    citations=guide("12.1"),
    seen="out[i] = __hadd(a[i], b[i])",
)
