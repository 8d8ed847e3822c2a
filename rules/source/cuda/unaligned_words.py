"""Structures whose load is split because they promise no alignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_WHOLE = ("init_declarator", "assignment_expression")
_DECLARATION = number(
    80, "declaration behind the bracket of a structure, at most", "characters", "our judgement"
)
_WORDS = (8, 16)  # bytes that one instruction moves, beyond plain types
_MEMBER_BYTES = {
    "char": 1,
    "uchar": 1,
    "short": 2,
    "ushort": 2,
    "half": 2,
    "int": 4,
    "uint": 4,
    "float": 4,
}


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Structures of 8 or 16 bytes that a kernel loads whole without promised alignment."""
    if context.function.place is not ExecutionSpace.KERNEL:
        return
    for parameter in context.function.parameters:
        name = parameter.type[:-1]
        fields = context.file.names.structs.get(name)
        if (
            not parameter.type.endswith("*")
            or not fields
            or name not in context.file.names.struct_nodes
        ):
            continue
        sizes = [_MEMBER_BYTES.get(kind, 0) for kind in fields.values()]
        total, struct = sum(sizes), context.file.names.struct_nodes[name]
        declared = _struct_words(context, struct)
        if 0 in sizes or total not in _WORDS or max(sizes) == total or "align" in declared.lower():
            continue
        if len(set(sizes)) > 1 or not _loaded_whole(context, parameter.name):
            continue
        yield context.diagnostic(
            "unaligned-words", parameter.node, f"{name} has {total} bytes but promises an alignment of {max(sizes)}: a load of it is split.",
            f"Declare struct __align__({total}) {name}, so that one instruction moves it.",
        )  # fmt: skip


def _struct_words(context: RuleContext, struct: Node) -> str:
    """Return what a declaration of a structure says outside its brackets."""
    text = context.file.text
    before = text.line_text(text.line(struct.start)).decode("utf-8", "replace")
    after = text[struct.end : struct.end + _DECLARATION]
    return before.split("{")[0] + after.split(";")[0]


def _loaded_whole(context: RuleContext, name: str) -> bool:
    for node in context.function.nodes("subscript_expression"):
        above = node.parent
        if above is None or above.kind not in _WHOLE or context.at(node.children[0]) != name:
            continue
        if above.children[0].kind != "reference_declarator":
            return True
    return False


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
struct Point { float x, y; };                             // 8 bytes, aligned to 4: two loads
__global__ void norm(float *out, const Point *in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Point p = in[i];
    out[i] = p.x * p.x + p.y * p.y;
}""",
        """\
struct __align__(8) Point { float x, y; };                // one load
__global__ void norm(float *out, const Point *in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Point p = in[i];
    out[i] = p.x * p.x + p.y * p.y;
}""",
    ),
)
