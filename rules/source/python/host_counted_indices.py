"""Indices of GPU tensors that the host counts out."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.module import last_name
from gpuadvise.advisor.source.python.reads import is_helper
from gpuadvise.advisor.source.python.steps import (
    forward_of,
    is_test,
    may_work_on_gpu,
    repeated_call_of,
    steps_of,
    where_on_gpu,
)
from gpuadvise.advisor.source.python.tensors import ValueKind, indices_to_gpu, tensors_of
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = "Count on the GPU (torch.arange or torch.randperm with device=...), or upload the indices once and keep them."


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``x[range(n), labels]`` and ``x[numpy_indices]`` of a GPU tensor in what every step runs; once in a line."""
    if is_test(module) or not may_work_on_gpu(module) or b"torch" not in module.text.content:
        return
    steps = steps_of(module)
    lines: set[int] = set()
    for node in (*indices_to_gpu(module), *_lists_of_samplers(module)):
        function = repeated_call_of(module, node)
        in_step = steps.training_loop(node) is not None or (
            steps.is_repeated(node) and steps.runs_always(node)
        )
        often = forward_of(module, node) is not None or (
            function is not None and is_helper(function)
        )
        if (in_step or often) and node.lineno not in lines:
            lines.add(node.lineno)
            yield module.diagnostic(
                "host-counted-indices", node,
                where_on_gpu(
                    module,
                    "The host makes these indices, and each round or call copies them to the GPU from pageable memory.",
                ),
                _ACTION,
            )  # fmt: skip


def _lists_of_samplers(module: PythonModule) -> Iterator[ast.Subscript]:
    """Yield ``x[indices]`` of a tensor, where a loop takes the indices, a list, from PyTorch's BatchSampler; one for a loop."""
    tensors = tensors_of(module)
    for loop in module.of(ast.For):
        made = module.values_of(loop.iter.id) if isinstance(loop.iter, ast.Name) else [loop.iter]
        if not isinstance(loop.target, ast.Name) or not any(
            isinstance(value, ast.Call) and last_name(value) == "BatchSampler" for value in made
        ):
            continue
        for part in module.walk(loop):
            if isinstance(part, ast.Subscript) and getattr(part.slice, "id", "") == loop.target.id:
                value = tensors[part.value]
                is_view = isinstance(part.value, ast.Call) and last_name(part.value) == "view"
                if is_view or (value is not None and value.kind is ValueKind.TENSOR):
                    yield part
                    break


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

for images, labels in loader:
    targets = torch.zeros(len(labels), 10, device="cuda")
    targets[range(len(labels)), labels] = 1""",
        """\
import torch

for images, labels in loader:
    targets = torch.zeros(len(labels), 10, device="cuda")
    targets[torch.arange(len(labels), device="cuda"), labels] = 1""",
    ),
)


RULE = source_rule(
    id="host-counted-indices",
    title="Count indices on the GPU",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    why="A list, a range or an array of NumPy as an index becomes a tensor of the host first, and the host waits for its copy.",
    when="A loop, a model or a helper of steps indexes a tensor of the GPU by indices that stand in host memory.",
    citations=pytorch_tuning_guide(),
    seen="targets[range(n), labels]",
    file="train.py",
    action=_ACTION,
)
