"""Values that threads of a block hand to each other through shared memory: who stores, who loads, and what stands between."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.lane_stride import is_made_of_thread, lane_stride, terms_of_sum
from gpuadvise.advisor.source.tree import LOOPS, bare

if TYPE_CHECKING:
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.scopes import Variable
    from gpuadvise.advisor.source.tree import Node

_THREAD = re.compile(r"threadIdx\.[xyz]")
# Whatever may hold a barrier: a call of what is not known to hold none.
_CALL = re.compile(rb"\b([A-Za-z_]\w*)\s*(?:<[^<>;()]*>)?\s*\(|\basm\b")
_HARMLESS = frozenset(
    (b"if", b"for", b"while", b"switch", b"return", b"sizeof", b"min", b"max", b"abs", b"fabs", b"fabsf", b"fminf",
     b"fmaxf", b"sqrt", b"sqrtf", b"rsqrtf", b"exp", b"expf", b"log", b"logf", b"sin", b"cos", b"sinf", b"cosf", b"pow",
     b"powf", b"fma", b"fmaf", b"floor", b"ceil", b"floorf", b"ceilf", b"round", b"roundf", b"float", b"int",
     b"unsigned", b"double", b"static_cast", b"reinterpret_cast", b"__ldg", b"__expf", b"__fdividef", b"make_float2",
     b"make_float3", b"make_float4", b"make_int2", b"__popc", b"__ffs", b"printf", b"assert", b"atomicAdd",
     b"atomicMax", b"atomicMin", b"__mul24", b"__umul24", b"tex2D", b"tex1Dfetch", b"tex3D")
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedAccess:
    """A load or a store of *array* in shared memory; *words* are its indices without spaces."""

    node: Node
    array: Variable
    indices: tuple[Node, ...]
    words: tuple[str, ...]
    is_store: bool


def shared_accesses(context: RuleContext) -> list[SharedAccess]:
    """Return the loads and stores of elements of shared arrays, in order."""
    accesses: list[SharedAccess] = []
    for node in context.function.nodes("subscript_expression"):
        above = node.parent
        if above is None or (above.kind == "subscript_expression" and above.children[0] is node):
            continue
        indices: list[Node] = []
        base = node
        while base.kind == "subscript_expression" and len(base.children) == 2:
            indices[:0] = base.children[1].children
            base = bare(base.children[0])
        if base.kind != "identifier":
            continue
        array = context.file.variable(context.at(base), base, context.function)
        if array is None or not array.shared or array.name in context.handed_out:
            continue
        while above is not None and above.kind in ("field_expression", "parenthesized_expression"):
            node, above = above, above.parent
        if above is None or above.kind == "pointer_expression":
            continue
        stored = above.kind == "assignment_expression" and above.children[0] is node
        if stored and context.file.operator(above) != "=":
            stored = False  # of an element that this thread loads as well: its own, mostly
        words = tuple("".join(context.at(index).split()) for index in indices)
        accesses.append(
            SharedAccess(
                node=node, array=array, indices=tuple(indices), words=words, is_store=stored
            )
        )
    return accesses


def may_wait(context: RuleContext, start: int, end: int) -> bool:
    """Whether a barrier may stand between the offsets *start* and *end*."""
    return any(
        match[1] is None or match[1] not in _HARMLESS
        for match in _CALL.finditer(context.file.code, start, end)
    )


def takes_of_another(context: RuleContext, load: SharedAccess, store: SharedAccess) -> bool:
    """Whether *load* surely takes elements that other threads store by *store*.

    It does where the number of the thread chooses what is stored, and a loop what is loaded; or where the load lies a
    distance from what is stored.
    """
    if len(load.indices) != len(store.indices) or load.words == store.words:
        return False
    place = [k for k, (a, b) in enumerate(zip(load.words, store.words, strict=True)) if a != b]
    if any(not _is_of_thread(context, store.indices[k]) for k in place):
        return False
    return any(
        _is_walked(context, load.indices[k], load.node)
        or _is_shifted(context, load.indices[k], store.indices[k])
        or context.constant(load.indices[k]) is not None
        for k in place
    )


def is_of_one_element(context: RuleContext, load: SharedAccess) -> bool:
    """Whether *load* takes an element whose index is a number: the thread that owns it loads it too."""
    return all(context.constant(index) is not None for index in load.indices)


def _is_of_thread(context: RuleContext, index: Node) -> bool:
    """Whether *index* is the number of the thread along an axis, or that and a number."""
    names = [
        n for n in terms_of_sum(context, index) if not context.file.is_constant(n, context.function)
    ]
    if len(names) != 1:
        return False
    words = "".join(context.at(context.settled(names[0])).split())
    return bool(_THREAD.fullmatch(words))


def _is_walked(context: RuleContext, index: Node, access: Node) -> bool:
    """Whether *index* is counted by a loop that all threads run alike."""
    index = bare(index)
    loop = context.loop_around(access)
    while loop is not None:
        update = loop.part("update")
        if (
            update is not None
            and update.kind == "update_expression"
            and index.kind == "identifier"
            and update.children
            and context.at(update.children[0]) == context.at(index)
        ):
            stride = lane_stride(context, index)
            return stride is not None and stride.is_zero
        loop = context.loop_around(loop)
    return False


def _is_shifted(context: RuleContext, index: Node, stored: Node) -> bool:
    """Whether *index* is that of *stored* and a number more or less."""
    own = sorted("".join(context.at(t).split()) for t in terms_of_sum(context, stored))
    terms = terms_of_sum(context, index)
    rest = [t for t in terms if "".join(context.at(t).split()) not in own]
    if len(rest) != 1 or len(terms) != len(own) + 1:
        return False
    value = context.constant(rest[0])
    return value is not None and value != 0 and not is_made_of_thread(context, rest[0])


def is_behind(load: Node, store: Node) -> bool:
    """Whether *load* follows *store*, and is not part of its value nor in the other branch of a condition around it."""
    if load.start < store.end:
        return False
    for above in store.ancestors():
        if above.holds(load):
            if above.kind == "assignment_expression":
                return False
            alternative = above.part("alternative") if above.kind == "if_statement" else None
            return alternative is None or not alternative.holds(load)
    return True


def common_loop(context: RuleContext, first: Node, second: Node) -> Node | None:
    """Return the innermost loop around both."""
    for above in first.ancestors():
        if above is context.function.body:
            return None
        if above.kind in LOOPS and above.holds(second):
            return above
    return None
