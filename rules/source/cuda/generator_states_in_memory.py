"""States of cuRAND's generators that stay in global memory while numbers are drawn, or that each launch sets up anew."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import bare
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import cited

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_DRAWS = ("curand", "curand_uniform", "curand_uniform_double", "curand_normal", "curand_normal_double", "curand_normal2",
          "curand_uniform4", "curand_normal4", "curand_log_normal", "curand_poisson")  # fmt: skip
_WORDS = re.compile(rb"\bcurand(?:_\w+)?\s*\(")
_ACTION = "Copy the state to a local variable, draw from that, and store it once: curandState s = states[i]; ... states[i] = s;"


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find numbers drawn from a state in memory of the caller, several times or in a loop; one per function. Set-ups beside draws too."""
    function = context.function
    if not function.on_device or not function.matches(_WORDS):
        return
    draws = sorted(context.calls(*_DRAWS), key=lambda call: call.index)
    in_memory = [call for call in draws if _is_in_memory(context, call)]
    if len(in_memory) > 1 or any(context.loop_around(call) for call in in_memory):
        words = "".join(context.at(context.file.arguments(in_memory[0])[0]).split())
        yield context.diagnostic(
            "generator-states-in-memory", in_memory[0],
            f"Each number that is drawn from {words} loads and stores the state in global memory, of 48 bytes where it is a curandState.",
            _ACTION,
        )  # fmt: skip
    yield from _set_up_beside_draws(context, draws)


def _is_in_memory(context: RuleContext, draw: Node) -> bool:
    """Whether *draw* takes ``&states[i]`` or ``states + i`` of an array that the function is given."""
    arguments = context.file.arguments(draw)
    if len(arguments) != 1:
        return False
    state = bare(arguments[0])
    if state.kind == "pointer_expression" and context.file.operator(state) == "&":
        state = bare(state.children[0])
        if state.kind != "subscript_expression":
            return False
    elif state.kind not in ("identifier", "binary_expression"):
        return False
    array = context.file.variable(context.root_name(state), state, context.function)
    if array is None or not array.parameter or "*" not in context.at(array.node):
        return False
    return state.kind != "identifier" or context.function.place is ExecutionSpace.KERNEL


def _set_up_beside_draws(context: RuleContext, draws: list[Node]) -> Iterator[Diagnostic]:
    for call in context.calls("curand_init"):
        arguments = context.file.arguments(call)
        if len(arguments) != len(("seed", "sequence", "offset", "state")) or not draws:
            continue
        state = bare(arguments[3])
        words = context.root_name(state).lstrip("&")
        variable = context.file.variable(words, state, context.function)
        if variable is None or variable.parameter or "Philox" in variable.written:
            continue
        if bare(arguments[1]).kind == "number_literal" or not context.file.arguments(draws[0]):
            continue
        yield context.diagnostic(
            "generator-states-in-memory", call,
            f"Each launch sets up the generators of all threads anew: curand_init() with the sequence {context.at(arguments[1])} steps the "
            "generator on, which takes far longer than to draw a number.",
            "Set the states up once, in a kernel of their own, and keep them in memory between the launches; or use curandStatePhilox4_32_10_t, "
            "whose sequences cost nothing to reach.",
            minor=True,
        )  # fmt: skip
        return


CHECK = CudaCheck(
    faults=faults,
    said_once=None,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
struct State { unsigned a[12]; };
__device__ float curand_uniform(State *s) { return s->a[0]++ * 1e-9f; }
__global__ void walk(float *x, State *states, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < n; ++k) x[i] += curand_uniform(&states[i]);   // 48 bytes back and forth
}""",
        """\
struct State { unsigned a[12]; };
__device__ float curand_uniform(State *s) { return s->a[0]++ * 1e-9f; }
__global__ void walk(float *x, State *states, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    State own = states[i];                                            // in registers
    float sum = x[i];
    for (int k = 0; k < n; ++k) sum += curand_uniform(&own);
    x[i] = sum;
    states[i] = own;
}""",
    ),
)
RULE = source_rule(
    id="generator-states-in-memory",
    title="Draw random numbers from a state in registers",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    why="The guide of cuRAND: a state is copied to local memory for fast generation, and stored back between launches.",
    when="Several numbers, or those of a loop, are drawn from a state in an array of the caller; or curand_init() stands beside draws.",
    citations=(
        cited(
            "cuRAND documentation",
            "Device API: Performance Notes",
            "https://docs.nvidia.com/cuda/curand/",
        ),
    ),
    seen="curand_uniform(&states[i])",
    action=_ACTION,
)
