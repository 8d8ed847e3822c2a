"""Caches of the allocator that are emptied, and garbage that is collected, in every step."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import forward_of, is_test, loader_of, steps_of
from gpuadvise.advisor.source.python.tensors import ValueKind, tensors_of
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_cuda_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = "Leave it out: the allocator reuses what is free. Where memory runs out, fragmentation is cured by PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True."
_COLLECT = "Leave it out, or collect every n steps: tensors are freed when their last name goes."


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``torch.cuda.empty_cache()`` in every round of a loop, ``gc.collect()`` in every step of training."""
    if is_test(module):
        return
    steps = steps_of(module)
    for call in module.calls_of("torch.cuda.empty_cache", "gc.collect"):
        name = module.name_of(call.func)
        trains = steps.training_loop(call) is not None
        evaluates = name == "torch.cuda.empty_cache" and (
            steps.evaluation_loop(call) is not None
            or _is_per_batch(module, call)
            or _is_in_forward(module, call)
            or _is_beside_network(module, call)
        )
        if name == "torch.cuda.empty_cache" and (trains or evaluates):
            yield module.diagnostic(
                "emptied-caches", call,
                "Each round waits for the GPU, gives its free memory back to the driver, and asks for it again.",
                _ACTION,
            )  # fmt: skip
        elif name == "torch.cuda.empty_cache" and _is_before_evaluation(module, call):
            yield module.diagnostic(
                "emptied-caches", call,
                "Evaluation begins by giving free memory back to the driver, from which it is asked for again at once.",
                _ACTION,
                minor=True,
            )  # fmt: skip
        elif trains:
            yield module.diagnostic(
                "emptied-caches", call,
                "Each step walks all objects of the program while the GPU gets no work.",
                _COLLECT,
            )  # fmt: skip


def _is_before_evaluation(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* stands between training and evaluation, in a loop of training or beside ``model.eval()``."""
    block = module.parents.get(module.parents.get(call, call), call)
    if not isinstance(block, ast.If):
        return False
    body = block.body if module.parents.get(call) in block.body else block.orelse
    return any(
        isinstance(part, ast.Call) and getattr(part.func, "attr", "") == "eval" and not part.args
        for statement in body
        for part in module.walk(statement)
    )


def _is_in_forward(module: PythonModule, call: ast.Call) -> bool:
    """Whether a model runs *call* in each call, or in rounds of a loop of it, whatever decides on it there."""
    if forward_of(module, call) is not None:
        return True
    function = module.function_of(call)
    parts = steps_of(module).parts_of_forward(module.parents.get(function))
    return module.loop_around(call) is not None and getattr(function, "name", "") in parts


def _is_beside_network(module: PythonModule, call: ast.Call) -> bool:
    """Whether each round of the loop around *call* runs a network, or takes one sample of a loader's batch."""
    steps, loop = steps_of(module), module.loop_around(call)
    if loop is None or not steps.is_repeated(call) or not steps.runs_always(call):
        return False
    around = module.loop_around(loop)
    if isinstance(around, ast.For) and loader_of(module, around) is not None:
        return True
    tensors = tensors_of(module)
    return any(
        isinstance(part, ast.Call)
        and (value := tensors[part.func]) is not None
        and value.kind is ValueKind.MODEL
        for part in module.walk(loop)
    )


def _is_per_batch(module: PythonModule, call: ast.Call) -> bool:
    """Whether each round of a loop over a loader reaches *call*."""
    loop = module.loop_around(call)
    batches = isinstance(loop, ast.For) and loader_of(module, loop) is not None
    return batches and steps_of(module).runs_always(call)


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

for batch in loader:
    step(batch)
    torch.cuda.empty_cache()""",
        """\
import torch

for batch in loader:
    step(batch)""",
    ),
)


RULE = source_rule(
    id="emptied-caches",
    title="Leave the allocator its memory",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    why="Memory given back has to be allocated again, and cudaFree waits for the GPU.",
    when="A loop calls torch.cuda.empty_cache() in every round, or a training step gc.collect().",
    citations=pytorch_cuda_notes(),
    seen="torch.cuda.empty_cache()",
    file="train.py",
    action=_ACTION,
)
