"""Atomics that a loop repeats: on one element, which a register could collect, or on many that threads share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.atomic_address import is_in_shared_memory
from gpuadvise.advisor.source.data_loops import deals_out
from gpuadvise.advisor.source.reaching_lanes import reached_by_elected_lanes
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_ATOMICS = ("atomicAdd", "atomicSub", "atomicMax", "atomicMin", "gpuAtomicAdd", "fastAtomicAdd")
_WORDS = re.compile(rb"[aA]tomic(?:Add|Sub|Max|Min)")
_LOOP = re.compile(rb"\b(?:for|while)\b")
_FEWEST = number(2, "atomics of an iteration, or loops around one, at least", "", "our judgement")
_FLOATS = frozenset(("float", "double", "half", "bf16", "half2", "bf162"))
_PLAIN = frozenset(
    ("identifier", "number_literal", "binary_expression", "parenthesized_expression", "pointer_expression",
     "subscript_expression", "subscript_argument_list", "field_expression", "field_identifier", "cast_expression",
     "type_descriptor", "primitive_type")
)  # fmt: skip
_ACTION = "Add up in a local variable, and do one atomic after the loop."


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find atomics whose address a loop leaves as it is, one per loop; and float atomics that a loop scatters, one per function."""
    function = context.function
    if not function.on_device or not (function.matches(_WORDS) and function.matches(_LOOP)):
        return
    scattered: dict[int, list[Node]] = {}
    reported: set[int] = set()
    for call in sorted(context.calls(*_ATOMICS), key=lambda call: call.index):
        arguments = context.file.arguments(call)
        loop = context.loop_around(call)
        if loop is None or len(arguments) < 2 or call.parent is None:
            continue
        if call.parent.kind != "expression_statement":
            continue  # what comes back is needed each time
        address = bare(arguments[0])
        if _stays(context, address, loop):
            if loop.index not in reported:
                reported.add(loop.index)
                yield _on_one_element(context, call, address)
        elif deals_out(context, loop):
            continue
        elif context.type_of(arguments[1]) in _FLOATS or _may_be_float(context, arguments[1]):
            scattered.setdefault(loop.index, []).append(call)
    yield from _scattered(context, [*scattered.values()])


def _on_one_element(context: RuleContext, call: Node, address: Node) -> Diagnostic:
    return context.diagnostic(
        "atomics-in-loops", call,
        f"Each iteration updates {' '.join(context.at(address).split())} by an atomic, the same element every time.",
        _ACTION, minor=reached_by_elected_lanes(context, call) or _is_beside_a_loop(context, call),
    )  # fmt: skip


def _is_beside_a_loop(context: RuleContext, call: Node) -> bool:
    """Whether the loop of *call* holds another loop, which takes the time."""
    loop = context.loop_around(call)
    return loop is not None and any(
        inner is not loop for kind in LOOPS for inner in context.file.tree.inside(loop, kind)
    )


def _scattered(context: RuleContext, found: list[list[Node]]) -> Iterator[Diagnostic]:
    for calls in found:
        first = calls[0]
        address = bare(context.file.arguments(first)[0])
        if is_in_shared_memory(context, address) or reached_by_elected_lanes(context, first):
            continue
        loops = sum(
            above.kind in LOOPS and not deals_out(context, above) for above in first.ancestors()
        )
        if len(calls) < _FEWEST and loops < _FEWEST:
            continue
        many = f"{len(calls)} atomics" if len(calls) > 1 else "an atomic"
        yield context.diagnostic(
            "atomics-in-loops", first,
            f"Each iteration takes {many} in global memory, on elements to which other threads add as well: those that meet there wait "
            "for each other.",
            "Where an element tells what comes to it, as in the backward pass of a pooling or an interpolation, let a thread own it, "
            "gather that and store once; or let the block add up in shared memory first.",
            minor=True,
        )  # fmt: skip
        return


def _stays(context: RuleContext, address: Node, loop: Node) -> bool:
    """Whether *address* is the same in each iteration of *loop*."""
    changed = context.assigned_below(loop)
    below = [address, *context.file.tree.below(address)]
    if any(node.kind not in _PLAIN for node in below):
        return False
    loads = [node for node in below if node.kind == "subscript_expression"]
    if len(loads) > 1 and address.kind != "subscript_expression" and _is_indirect(loads):
        return False
    return not any(context.at(node) in changed for node in below if node.kind == "identifier")


def _is_indirect(loads: list[Node]) -> bool:
    """Whether one of *loads* stands in the index of another: what is there may change."""
    return any(a is not b and b.children[-1].holds(a) for a in loads for b in loads)


def _may_be_float(context: RuleContext, value: Node) -> bool:
    """Whether *value* is of a type that a template leaves open."""
    names = [n for n in (value, *context.file.tree.below(value)) if n.kind == "identifier"]
    variables = (context.file.variable(context.at(n), n, context.function) for n in names)
    return any(v is not None and v.written != "" for v in variables)


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void sums(float *out, const float *x, int rows, int columns) {
    int row = blockIdx.y;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
        atomicAdd(&out[row], x[row * columns + i]);       // one for each element
}""",
        """\
__global__ void sums(float *out, const float *x, int rows, int columns) {
    int row = blockIdx.y;
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += x[row * columns + i];
    atomicAdd(&out[row], sum);                            // one for each thread
}""",
    ),
)
RULE = source_rule(
    id="atomics-in-loops",
    title="Collect in a register, and do one atomic",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    why="An atomic goes to L2 and waits for all others on the same address; an addition in a register takes a few cycles.",
    when="A loop updates the same element by an atomic in each iteration, or many that other threads update as well.",
    citations=guide("10.2"),
    seen="for (...) atomicAdd(&sum[row], x[i])",
    action=_ACTION,
)
