"""Random numbers that NumPy makes in every step for the GPU."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import forward_of, is_test, steps_of
from gpuadvise.advisor.source.python.tensors import (
    TensorMemory,
    ValueKind,
    moves_to_gpu,
    tensors_of,
)
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = "Draw them on the GPU: torch.randn(..., device=device), torch.rand, torch.randint, torch.randperm; a torch.Generator(device) seeds them."


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Tensors of NumPy's random numbers that every step copies to the GPU."""
    if b"random" not in module.text.content or is_test(module):
        return
    steps, tensors = steps_of(module), tensors_of(module)
    moves: list[ast.expr] = [
        call for call, value in moves_to_gpu(module) if value is not None and value.random
    ]
    for call in module.calls:
        value = tensors[call]
        if (
            value is not None
            and value.maker is call
            and value.random
            and (value.kind is ValueKind.TENSOR and value.place is TensorMemory.GPU)
        ):
            moves.append(call)
    for node in module.of(ast.Subscript):
        # tensor[numpy.random.choice(n)]: the index is copied
        index, whole = tensors[node.slice], tensors[node.value]
        is_random = index is not None and index.kind is ValueKind.ARRAY and index.random
        if is_random and whole is not None and whole.kind is ValueKind.TENSOR:
            moves += [node] if whole.place is TensorMemory.GPU else []
    for move in moves:
        in_step = steps.training_loop(move) is not None or (
            steps.is_repeated(move) and steps.runs_always(move)
        )
        if in_step or forward_of(module, move) is not None:
            yield module.diagnostic(
                "host-random-numbers", move,
                "Each step draws random numbers on the host and copies them to the GPU.",
                _ACTION,
            )  # fmt: skip


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import numpy
import torch

for images in loader:
    noise = torch.from_numpy(numpy.random.normal(0, 1, (64, 100))).float().to("cuda")""",
        """\
import torch

for images in loader:
    noise = torch.randn(64, 100, device="cuda")""",
    ),
)


RULE = source_rule(
    id="host-random-numbers",
    title="Draw random numbers on the GPU",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    why="The GPU draws random numbers far faster than the host, and needs no copy.",
    when="A step makes random numbers with NumPy and moves them to a GPU.",
    citations=pytorch_tuning_guide(),
    seen="torch.from_numpy(np.random.rand(64)).to(device)",
    file="train.py",
    action=_ACTION,
)
