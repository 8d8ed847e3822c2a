"""Values of the GPU that evaluation, models and helpers read one by one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.reads import (
    How,
    came_from_host,
    is_called_often,
    is_computed_test,
    is_helper,
    is_in_helper,
    is_joined,
    is_repeated_gradient,
    may_be_of_host,
    reads_of,
)
from gpuadvise.advisor.source.python.steps import (
    forward_of,
    generates,
    is_called_by_others,
    is_demo,
    is_for_file,
    is_test,
    may_work_on_gpu,
    prepares,
    repeated_call_of,
    steps_of,
    where_on_gpu,
    works_on_gpu,
)
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule
    from gpuadvise.advisor.source.python.reads import Read

_ACTIONS = {
    How.NUMBER: "Keep it as a tensor of the GPU, and read it once behind the loop.",
    How.SUM: "Keep the running sum as a tensor of the GPU, and read it once behind the loop.",
    How.APPENDED: "Append the tensor (.detach()), and read all at once behind the loop: torch.stack(values).tolist().",
    How.COPY: "Collect on the GPU and copy once behind the loop, or copy to pinned memory with non_blocking=True.",
    How.PRINTED: "Print every n steps, or behind the loop.",
    How.TESTED: "Decide on the GPU (torch.where, masks), or test every n steps; checks for NaN belong behind a switch.",
    How.GRADIENT: "Reduce all of them at once and read one value: torch.nn.utils.get_total_norm(grads), or torch._foreach_norm.",
    How.ELEMENT: "Copy all of them at once: tensor.tolist(), of several torch.stack(tensors).tolist().",
    How.SIZED: "Keep the shape: torch.where(mask, x, 0), masked_fill or a factor; or take mask.nonzero() once, for all.",
}


# What fits a single place better.
_ACTION_PACKED = "Lengths are needed on the host here: keep the loader's copy beside the one that was moved, and pass that."
_ACTION_UPLOADED = "The host had these values before it moved them: keep that copy and use it."
_ACTION_COUNTED = "Where the size has a bound, pad to it (topk, sort, a mask); else have the host know it from elsewhere."
_OF_ANY_STEP = (How.SIZED, How.ELEMENT, How.GRADIENT)  # synchronizing-reads has the others
_WAITS = "In {} the host waits here until the GPU has done everything before."
_WORDS = {
    How.SIZED: "In {} the host waits here until the GPU has counted how many elements are chosen.",
}


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Find reads of GPU values in evaluation loops, in other loops and in what a model computes."""
    if is_test(module) or is_demo(module) or not may_work_on_gpu(module):
        return
    steps = steps_of(module)
    sized: set[tuple[ast.AST, str]] = set()
    before, on_host = (0, How.NUMBER), prepares(module)
    for read in reads_of(module):
        if steps.training_loop(read.node) is not None and read.how not in _OF_ANY_STEP:
            continue
        if on_host and not read.sure and read.how in (How.SIZED, How.TESTED):
            continue
        if read.how is How.SIZED:  # one for the mask that several places of a function share
            mask = module.function_of(read.node), _chosen(read.node)
            if mask in sized:
                continue
            sized.add(mask)
        if read.how in (How.COPY, How.NUMBER, How.SUM, How.APPENDED) and any(
            generates(module, loop) for loop in module.loops_around(read.node)
        ):
            continue
        if read.how is How.COPY and is_for_file(module, read.node):
            continue
        place = _place(module, read)
        # One that follows at once finds the GPU idle.
        follows = read.how is before[1] and read.node.lineno - before[0] in (0, 1)
        if place is None or may_be_of_host(module, read):
            continue
        before = read.node.lineno, read.how
        if follows:
            continue
        yield module.diagnostic(
            "hidden-synchronizations", read.node,
            where_on_gpu(module, _WORDS.get(read.how, _WAITS).format(place)),
            _action(module, read),
        )  # fmt: skip


def _chosen(node: ast.expr) -> str:
    """Return what chooses the elements that *node* takes."""
    return ast.unparse(node.slice) if isinstance(node, ast.Subscript) else ast.unparse(node)


def _action(module: PythonModule, read: Read) -> str:
    """Return what to do about *read*."""
    above = module.parents.get(read.node)
    if isinstance(above, ast.Call) and "pack_padded_sequence" in ast.unparse(above.func):
        return _ACTION_PACKED
    if read.how is How.COPY and came_from_host(module, read.node):
        return _ACTION_UPLOADED
    if read.how is How.SIZED and isinstance(read.node, ast.Call):
        return _ACTION_COUNTED
    return _ACTIONS[read.how]


def _place(module: PythonModule, read: Read) -> str | None:
    """Return what is repeated around *read*; None where nothing is, or where no GPU is known to be used."""
    steps = steps_of(module)
    if read.how is How.ELEMENT:
        return "each element"
    if read.how is How.GRADIENT and is_repeated_gradient(module, read.node):
        return "each round over the parameters"
    if steps.evaluation_loop(read.node) is not None:
        return "each batch"
    if forward_of(module, read.node) is not None:
        return "each call"
    # .cpu() says itself that a GPU is meant.
    if not works_on_gpu(module) and read.how is not How.COPY:
        if read.how is How.SIZED and steps.is_repeated(read.node) and steps.runs_always(read.node):
            return "each iteration"
        function = repeated_call_of(module, read.node)
        said = function is not None and (
            is_helper(function)
            or is_computed_test(module, read)
            or is_called_by_others(module, function)
        )
        return "each call" if said else None
    if steps.training_loop(read.node) is not None:
        return "each step"
    meant = read.sure or (read.how is How.COPY and is_called_often(module, read.node))
    counted = read.how is How.SIZED and works_on_gpu(module)
    if (meant or counted) and steps.is_repeated(read.node) and steps.runs_always(read.node):
        return "each iteration"
    if (meant or read.how is How.COPY) and steps.is_called_each_round(read.node):
        return "each call"
    if is_in_helper(module, read.node):
        return "each call"
    function = repeated_call_of(module, read.node) if not read.sure else None
    if function is None or is_joined(read.node):
        return None
    return "each call" if read.how is How.TESTED or is_helper(function) else None


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

for images, labels in loader:
    guesses = model(images.to("cuda", non_blocking=True)).argmax(1)
    right += (guesses == labels.to("cuda", non_blocking=True)).sum().item()""",
        """\
import torch

right = torch.zeros((), device="cuda")
for images, labels in loader:
    guesses = model(images.to("cuda", non_blocking=True)).argmax(1)
    right += (guesses == labels.to("cuda", non_blocking=True)).sum()
print(right.item())""",
    ),
)


RULE = source_rule(
    id="hidden-synchronizations",
    title="Read results of the GPU together",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    why="Each read makes the host wait until the GPU has done everything before it, and the GPU then waits for the host.",
    when="An evaluation loop, a model, a helper or a loop of arrays reads a value of the GPU, or chooses elements by a mask, in each round.",
    citations=pytorch_tuning_guide(),
    seen="(guess == label).sum().item()",
    file="train.py",
    action=_ACTIONS[How.SUM],
)
