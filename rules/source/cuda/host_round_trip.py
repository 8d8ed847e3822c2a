"""Steps on the host between two on the device: arrays that come down to be joined, changed or handed on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.host_results import (
    CopiedArray,
    changes_between,
    copied_arrays,
    is_touched,
    join_of,
    loop_around_both,
    upload_of,
)
from gpuadvise.advisor.source.host_work import is_called_in_loop, is_set_up, loops_with_launches
from gpuadvise.advisor.source.scopes import ExecutionSpace
from gpuadvise.rules.source.model import BeforeAfter, CudaCheck

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.rule_context import RuleContext
    from gpuadvise.advisor.source.tree import Node

_COPIES_OF_TENSORS = re.compile(rb"kCPU|\.cpu\(\)|DeviceType::CPU")
_TO_HOST = re.compile(r"kCPU|DeviceType::CPU")
# What compares with the host, or shows results, needs them there.
_LOOKS = re.compile(
    r"test|check|verif|valid|compar|print|debug|dump|save|write|bench", re.IGNORECASE
)


def faults(context: RuleContext) -> Iterator[Diagnostic]:
    """Find arrays that the host fetches to join their elements or to hand them back; one per function and kind."""
    function = context.function
    if function.place is not ExecutionSpace.HOST or _LOOKS.search(function.name):
        return
    if function.says(b"cudaMemcpy"):
        yield from _of_arrays(context)
    if function.matches(_COPIES_OF_TENSORS):
        yield from _of_tensors(context)


def _of_arrays(context: RuleContext) -> Iterator[Diagnostic]:
    arrays = [*copied_arrays(context)]
    for array in arrays:
        found = _handed_back(context, array)
        if found is not None:
            yield found
            return
    for array in arrays:
        if join_of(context, array) is None or is_set_up(context, array.copy):
            continue
        yield context.diagnostic(
            "host-round-trip", array.copy,
            f"All elements of {array.source} come to the host, where a loop joins them into fewer: the GPU waits for the copy and for "
            "the loop.",
            "Let the device join them, by cub::DeviceReduce, thrust::reduce() or an atomic for each block, and copy what is left.",
            minor=True,
        )  # fmt: skip
        return


def _handed_back(context: RuleContext, array: CopiedArray) -> Diagnostic | None:
    """Return what there is to say of an array that goes back to the device behind its copy from there."""
    upload = upload_of(context, array)
    if upload is None or not loop_around_both(array.copy, upload):
        return None
    if context.function.name == "main" and context.loop_around(array.copy) is None:
        return None
    if not is_touched(context, array, upload):
        return context.diagnostic(
            "host-round-trip", array.copy,
            f"{array.name} only carries bytes from device memory to device memory, by way of the host and two copies.",
            "Copy from pointer to pointer: cudaMemcpyAsync() with cudaMemcpyDefault, or cudaMemcpyPeerAsync() between two GPUs.",
            minor=True,
        )  # fmt: skip
    if changes_between(context, array, upload) and not is_set_up(context, array.copy):
        return context.diagnostic(
            "host-round-trip", array.copy,
            f"{array.name} comes to the host, is changed there in a loop, and goes back: the GPU waits for two copies and for the loop.",
            "Do this step in a kernel, where the data lie; for running sums there is cub::DeviceScan, to choose elements "
            "cub::DeviceSelect.",
            minor=True,
        )  # fmt: skip
    return None


def _of_tensors(context: RuleContext) -> Iterator[Diagnostic]:
    """Find tensors of PyTorch's C++ that go to the host for each iteration of a loop with launches."""
    copies = [call for call in context.calls() if _fetches(context, call)]
    loops = [*loops_with_launches(context)]
    repeated = [call for call in copies if any(loop.holds(call) for loop in loops)]
    if not repeated and copies and is_called_in_loop(context) and context.file.says(b"<<<"):
        repeated = copies
    if not repeated:
        return
    names = [*dict.fromkeys(context.root_name(call.children[0]) for call in repeated)]
    yield context.diagnostic(
        "host-round-trip", repeated[0],
        f"In each iteration of a loop {and_list(names)} come to the host, which waits for all kernels before."
        if len(names) > 1 else
        f"In each iteration of a loop {names[0]} comes to the host, which waits for all kernels before.",
        "Copy what the loop does not change once before it; do the rest with tensors on the GPU (index_add_, scatter, argsort there).",
        minor=True,
    )  # fmt: skip


def _fetches(context: RuleContext, call: Node) -> bool:
    if not call.children or call.children[0].kind != "field_expression":
        return False
    name, arguments = context.file.callee(call), context.file.arguments(call)
    if name == "cpu":
        return not arguments
    return name == "to" and any(_TO_HOST.search(context.at(argument)) for argument in arguments)


CHECK = CudaCheck(
    faults=faults,
    on_device=False,
    code=BeforeAfter(
        "host",
        """\
void step(int n) {
    first<<<grid, block>>>(data);
    cudaMemcpy(host, data, bytes, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i) host[i] *= 2;    // cheap, but in the wrong place
    cudaMemcpy(data, host, bytes, cudaMemcpyHostToDevice);
    second<<<grid, block>>>(data);
}""",
        """\
void step(int n) {
    first<<<grid, block>>>(data);
    twice<<<grid, block>>>(data, n);
    second<<<grid, block>>>(data);
}""",
    ),
)
