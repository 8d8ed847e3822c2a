"""Accurate single-precision functions in a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.rules.model import PASSED, Priority, Topic
from gpuadvise.rules.observed import advised, source_rule
from gpuadvise.rules.source.cuda import general_math_functions
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck
from gpuadvise.rules.sources import guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.facts.code import Observation
    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node
    from gpuadvise.rules.model import Verdict

# The intrinsic for each accurate function in single precision.
_INTRINSICS = {
    "sinf": "__sinf", "cosf": "__cosf", "tanf": "__tanf", "expf": "__expf", "logf": "__logf",
    "log2f": "__log2f", "log10f": "__log10f", "powf": "__powf", "exp10f": "__exp10f",
    "sincosf": "__sincosf",
}  # fmt: skip
# What C++ picks by the type of its arguments.
_OVERLOADED = {
    name.removesuffix("f"): special
    for name, special in _INTRINSICS.items()
    if not name.startswith("sincos")
}
# Functions that reduce their argument first, slowly where it is large.
_REDUCING = frozenset(("sinf", "cosf", "tanf", "sincosf", "sin", "cos", "tan"))
_OF_POWERS = " and no base is 0 or negative, of which it makes NaN,"
_COSTS = "many instructions, and a slow path for large arguments"
_COST = "several instructions where the intrinsic takes one or two"
FAST = frozenset({"-use_fast_math", "--use_fast_math"})
_INTRINSIC_WORDS = frozenset(word.encode() for word in (*_INTRINSICS, *_OVERLOADED))


def _is_of_vectors(context: RuleContext, call: Node) -> bool:
    """Whether *call* is an overload of the program's own, for float4 and the like."""
    return any(
        node.kind == "identifier"
        and node.parent is not None
        and node.parent.kind != "field_expression"
        and "." in context.type_of(node)
        for argument in context.file.arguments(call)
        for node in context.file.tree.below(argument)
    )


def _deals_out(context: RuleContext, loop: Node) -> bool:
    """Whether *loop* deals out elements to threads: each loads and stores more than it computes."""
    update = loop.part("update")
    if update is None or update.kind != "assignment_expression" or len(update.children) != 2:
        return False
    step = context.constant(update.children[1])
    return step is None or step >= WARP_SIZE


def _is_repeated(context: RuleContext, call: Node) -> bool:
    """Whether *call* is one of the library's in a loop that computes."""
    loop = context.loop_around(call)
    return (
        loop is not None
        and call.children[0].kind == "identifier"
        and context.file.callee(call) not in context.file.names.returns
        and not _is_of_vectors(context, call)
        and not _deals_out(context, loop)
    )


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Accurate single-precision functions that a kernel calls in a loop; once per function.

    A build with fast math has made them intrinsics already.
    """
    if context.function.place is not ExecutionSpace.KERNEL or context.file.build.fast_math:
        return
    if not context.function.has_word(_INTRINSIC_WORDS):
        return
    if context.launches.is_of_one_thread(context.function.name):
        return  # which waits for each instruction, whatever it is
    calls_of_floats = [
        call for call in context.calls(*_OVERLOADED) if context.type_of(call) == "float"
    ]
    repeated = [
        call
        for call in (*context.calls(*_INTRINSICS), *calls_of_floats)
        if _is_repeated(context, call)
    ]
    if not repeated:
        return
    special = {d.where.start for d in general_math_functions.faults(context)}
    calls: dict[str, list[Node]] = {}
    for call in repeated:
        if call.start not in special:
            calls.setdefault(context.file.callee(call), []).append(call)
    for name, nodes in calls.items():
        special_name = _INTRINSICS.get(name) or _OVERLOADED[name]
        times = f" in {len(nodes)} places" if len(nodes) > 1 else ""
        yield context.diagnostic(
            "slow-math", nodes[0], f"{name} in a loop{times}: {_COSTS if name in _REDUCING else _COST}.",
            f"Where its error is acceptable{_OF_POWERS if special_name == '__powf' else ''} call {special_name}, or compile with -use_fast_math.",
            replacement=special_name, minor=special_name == "__powf",
        )  # fmt: skip


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void wave(float *x, int n) {
    float sum = 0;
    for (int k = 1; k < n; ++k) sum += sinf(k * x[threadIdx.x]) * expf(-x[threadIdx.x]);
    x[threadIdx.x] = sum;
}""",
        """\
__global__ void wave(float *x, int n) {               // where 2 ulp and more are good enough
    float sum = 0;
    for (int k = 1; k < n; ++k) sum += __sinf(k * x[threadIdx.x]) * __expf(-x[threadIdx.x]);
    x[threadIdx.x] = sum;
}""",
    ),
)


def check(
    observations: tuple[Observation, ...], compile_flags: tuple[str, ...] | None = None
) -> Verdict:
    """Advise at each place that the source reader marked, unless the program is built with fast math."""
    if not FAST.isdisjoint(compile_flags or ()):
        return PASSED
    return advised(observations, RULE.id, lambda _: (RULE.when, f"{RULE.title}."))


_SEEN = "sinf(x)"
RULE = source_rule(
    id="slow-math",
    title="Use fast math where precision allows",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.MEDIUM,
    recommendation=True,
    why="The accurate functions take many instructions, and a slow path for large arguments; the intrinsics run on the special-function units.",
    when="Device code calls single-precision functions that have an intrinsic, and -use_fast_math is not set.",
    citations=guide("12.1.9", "11.1.5"),
    seen=_SEEN,
    check=check,
    quiet={
        "observations": [
            {"fault": "slow-math", "file": "blur.cu", "line": 12, "column": 9, "seen": _SEEN}
        ],
        "compile_flags": "-O3 -use_fast_math",
    },
)
