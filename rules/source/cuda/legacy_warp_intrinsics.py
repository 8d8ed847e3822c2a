"""Shuffles and votes without a mask."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.diagnostic import TextEdit
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS
from gpuadvise.advisor.source.variance import Variance
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck, Extent
from gpuadvise.rules.sources import guide, programming_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_LEGACY = {
    "__shfl": "__shfl_sync", "__shfl_up": "__shfl_up_sync", "__shfl_down": "__shfl_down_sync",
    "__shfl_xor": "__shfl_xor_sync", "__any": "__any_sync", "__all": "__all_sync",
    "__ballot": "__ballot_sync",
}  # fmt: skip
_LEGACY_WORDS = re.compile(rb"__(?:shfl|any|all|ballot)")
_FULL = "0xffffffff"


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Shuffles and votes without a mask, which compute capability 7.0 dropped."""
    if not context.function.on_device or not context.function.matches(_LEGACY_WORDS):
        return
    for call in context.calls(*_LEGACY):
        name = context.file.callee(call)
        arguments = context.file.arguments(call)
        if name in context.file.names.returns or name in context.file.preprocessed.function_macros:
            continue
        if context.under_version_guard(call) or not arguments:
            continue
        edits: tuple[TextEdit, ...] = ()
        if _converged(context, call):
            edits = (
                TextEdit(
                    start=call.children[0].start, end=call.children[0].end, text=_LEGACY[name]
                ),
                TextEdit(start=arguments[0].start, end=arguments[0].start, text=f"{_FULL}, "),
            )
        yield context.diagnostic(
            "legacy-warp-intrinsics", call, f"{name} has no mask: it does not compile for compute capability 7.0 and later.",
            f"Write {_LEGACY[name]}(mask, ...) with the lanes that take part, {_FULL} where all do.",
            edits=edits, replacement=_LEGACY[name],
        )  # fmt: skip


def _converged(context: RuleContext, call: Node) -> bool:
    """Whether all lanes of a warp surely reach *call* together."""
    if context.function.place is not ExecutionSpace.KERNEL:
        return False
    if any(n.start < call.start for n in context.function.nodes("return_statement")):
        return False
    for above in call.ancestors():
        if above is context.function.body:
            return True
        if above.kind in (*LOOPS, "if_statement", "switch_statement", "conditional_expression"):
            condition = above.part("condition") or (above.children[0] if above.children else None)
            if condition is None or context.variances.of(condition) > Variance.WARP:
                return False
    return True


CHECK = CudaCheck(
    faults=faults,
    said_once=Extent.FILE,
    on_device=True,
    code=BeforeAfter(
        "host",
        """\
__global__ void sum(float *x) { x[threadIdx.x] += __shfl_down(x[threadIdx.x], 1); }""",
        """\
__global__ void sum(float *x) { x[threadIdx.x] += __shfl_down_sync(0xffffffff, x[threadIdx.x], 1); }""",
    ),
)


RULE = source_rule(
    id="legacy-warp-intrinsics",
    title="Give warp intrinsics a mask",
    topic=Topic.CONTROL_FLOW,
    priority=Priority.HIGH,
    correctness=True,
    why="Compute capability 7.0 schedules lanes apart and has no intrinsics without a mask.",
    when="Device code calls a shuffle or a vote without _sync.",
    citations=(programming_guide("Warp Shuffle Functions"), *guide("13.1")),
    seen="__shfl_down(sum, 16)",
)
