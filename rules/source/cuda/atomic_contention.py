"""Atomics of all threads on one address, or on few."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.atomic_address import (
    best_of_a_loop,
    follows_from_indices,
    is_in_shared_memory,
    is_indexed_by_byte,
    is_one_address,
)
from gpuadvise.advisor.source.divergence import conditions_of, is_shared_by_warp
from gpuadvise.advisor.source.lane_stride import is_kernel_with_lanes
from gpuadvise.advisor.source.reaching_lanes import reached_by_elected_lanes
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_ATOMICS = (
    "atomicAdd", "atomicSub", "atomicMax", "atomicMin", "atomicOr", "atomicAnd", "atomicXor",
)  # fmt: skip
_WORDS = re.compile(rb"\batomic[A-Z]")
_REDUCING = re.compile(rb"__shfl_|shfl_down|>>=\s*1|/=\s*2")
_WARPS = re.compile(r"%|(?<!&)&(?!&)|lane|warp", re.IGNORECASE)
_RANK = b"thread_rank()"


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find atomics in global memory whose threads all have one address, or one for each value of a byte."""
    of_a_group = context.function.place is ExecutionSpace.KERNEL and context.function.says(_RANK)
    if not context.function.says(b"atomic") or not context.function.matches(_WORDS):
        return
    if not (is_kernel_with_lanes(context) or of_a_group):
        return
    reported: set[str] = set()
    for call in context.calls(*_ATOMICS):
        arguments = context.file.arguments(call)
        if len(arguments) < 2 or call.parent is None:
            continue
        address = bare(arguments[0])
        name = context.root_name(address).lstrip("&")
        if name in reported:
            continue
        # A value that comes back tells the threads apart, and constants the compiler adds up by itself.
        if call.parent.kind != "expression_statement":
            yield from _of_places(context, call, address, reported)
            continue
        if is_in_shared_memory(context, address):
            yield from _in_shared_memory(context, call, address, reported)
            continue
        if reached_by_elected_lanes(context, call):
            yield from _of_each_block(context, call, address, reported)
            continue
        if is_one_address(context, address) and bare(arguments[1]).kind != "number_literal":
            reported.add(name)
            yield context.diagnostic(
                "atomic-contention", call,
                f"All threads of a block update one element of {name}, one after the other.",
                "Add up in each warp by __shfl_down_sync() or __reduce_add_sync(), in the block through shared memory, and let one "
                "thread of the block do the atomic.",
            )  # fmt: skip
        elif (counter := best_of_a_loop(context, address)) is not None:
            reported.add(name)
            yield context.diagnostic(
                "atomic-contention", call,
                f"The index into {name} is one that a loop of {counter} chose: where these are few, all threads of the grid update the "
                "same few elements.",
                "Add up in shared memory, once for each block, and add that to the array in global memory.",
                minor=True,
            )  # fmt: skip
        elif is_indexed_by_byte(context, address):
            reported.add(name)
            yield context.diagnostic(
                "atomic-contention", call,
                f"All threads of the grid count in the few elements of {name} that a byte can choose.",
                "Count in shared memory, one histogram for each block or warp, and add it to the one in global memory once.",
            )  # fmt: skip
        elif follows_from_indices(context, address) and _is_of_registers(context, arguments[1]):
            reported.add(name)
            yield context.diagnostic(
                "atomic-contention", call,
                f"Which threads add to an element of {name} follows from their numbers, not from the data; each addition is an atomic.",
                "Let each thread own an element and loop over what comes to it, with a plain store at the end; or let blocks write "
                "partial sums that a second kernel adds up.",
                minor=True,
            )  # fmt: skip


def _of_places(
    context: RuleContext, call: Node, address: Node, reported: set[str]
) -> Iterator[Diagnostic]:
    """Find an atomic that gives each thread places in one array, as many as it asks for."""
    count = bare(context.file.arguments(call)[1])
    if context.file.is_constant(count, context.function) or not is_one_address(context, address):
        return
    if is_shared_by_warp(context, count) or reached_by_elected_lanes(context, call):
        return
    reported.add(context.root_name(address).lstrip("&"))
    yield context.diagnostic(
        "atomic-contention", call,
        f"All threads of a block update one element of {context.root_name(address).lstrip('&')}, one after the other, and wait for what "
        "was there.",
        "Let a warp take places for all of its lanes at once: a scan of the counts by __shfl_up_sync(), one atomic by the last lane, and "
        "__shfl_sync() of what it got.",
    )  # fmt: skip


def _in_shared_memory(
    context: RuleContext, call: Node, address: Node, reported: set[str]
) -> Iterator[Diagnostic]:
    """Find atomics of a block on the few elements that a loop chose among; one per function."""
    counter = best_of_a_loop(context, address)
    if counter is None or reported:
        return
    reported.add(context.root_name(address).lstrip("&"))
    yield context.diagnostic(
        "atomic-contention", call,
        f"The index is one that a loop of {counter} chose: where these are few, the lanes of a warp update the same few elements in "
        "shared memory, one after the other.",
        "Keep a copy of the elements for each warp, or add up lanes with the same index first (__match_any_sync, or a loop over the "
        "indices with __ballot_sync and a reduction).",
        minor=True,
    )  # fmt: skip


def _of_each_block(
    context: RuleContext, call: Node, address: Node, reported: set[str]
) -> Iterator[Diagnostic]:
    """Find the atomic of one thread of each block on one address, where each thread brings one element alone."""
    if not context.function.matches(_REDUCING):
        return
    if any(_WARPS.search(context.at(condition)) for condition in conditions_of(context, call)):
        return  # one of each warp
    of_grid = context.function.says(b"gridDim") or context.function.says(b"num_blocks")
    if of_grid or "blockIdx" in context.at(address) or not is_one_address(context, address):
        return
    words = "".join(context.at(call).split())
    if "blockIdx" in words or any(loop.start < call.start for loop in _walks(context)):
        return
    reported.add(context.root_name(address).lstrip("&"))
    yield context.diagnostic(
        "atomic-contention", call,
        "Each block takes one element for each of its threads, and ends with an atomic on one address: a long array takes as many "
        "of them as it has blocks, one after the other.",
        "Launch a few blocks for each SM, and let each thread add up several elements first: for (; i < n; i += gridDim.x * blockDim.x).",
        minor=True,
    )  # fmt: skip


def _walks(context: RuleContext) -> Iterator[Node]:
    """Yield the loops in which threads take elements of the caller's arrays."""
    names = {parameter.name for parameter in context.function.parameters}
    for loop in context.function.nodes(*LOOPS):
        reads = context.file.tree.inside(loop, "subscript_expression")
        if any(context.root_name(read) in names for read in reads):
            yield loop


def _is_of_registers(context: RuleContext, value: Node) -> bool:
    """Whether *value* is the thread's own, and not one that its block added up in shared memory before."""
    elements = context.file.tree.inside(value, "subscript_expression")
    if bare(value).kind == "subscript_expression":
        elements = [*elements, bare(value)]
    return not any(is_in_shared_memory(context, bare(element.children[0])) for element in elements)


CHECK = CudaCheck(
    faults=faults,
    on_device=True,
    code=BeforeAfter(
        "cuda",
        """\
__global__ void sum(float *total, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, x[i]);                    // every thread waits in one line
}""",
        """\
__global__ void sum(float *total, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float part = i < n ? x[i] : 0;
    for (int step = 16; step; step /= 2) part += __shfl_down_sync(0xffffffff, part, step);
    if (threadIdx.x % 32 == 0) atomicAdd(total, part);    // one per warp
}""",
    ),
)
