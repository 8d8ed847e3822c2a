"""Copies that are asked not to wait, from memory that makes them wait."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    forward_of,
    is_test,
    repeated_call_of,
    steps_of,
)
from gpuadvise.advisor.source.python.tensors import (
    TensorMemory,
    ValueKind,
    filled_by_host,
    moves_to_gpu,
)
from gpuadvise.advisor.source.python.training import argument
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_cuda_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Pin the memory that the copy reads (.pin_memory(), pin_memory=True where the tensor or its loader is made, or a "
    "pinned buffer that is filled again), or make the tensor on the GPU."
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Find moves with ``non_blocking=True`` of a tensor that stands in pageable memory."""
    if b"non_blocking" not in module.text.content or is_test(module):
        return
    for call, moved in moves_to_gpu(module):
        said = argument(call, "non_blocking")
        asked = isinstance(said, ast.Constant) and said.value is True
        if not asked or moved is None or moved.place is not TensorMemory.PAGEABLE or not moved.sure:
            continue
        if moved.kind is ValueKind.BATCH:
            text = "Its loader hands out pageable memory"
        elif moved.kind is ValueKind.TENSOR:
            text = "The tensor stands in pageable memory"
        else:
            continue
        yield module.diagnostic(
            "pageable-async-copies", call,
            f"{text}: the copy is staged by the driver, so that the host may wait and nothing overlaps, whatever "
            "non_blocking=True asks for.",
            _ACTION,
            minor=_runs_once(module, call) or filled_by_host(module, call),
        )  # fmt: skip


def _runs_once(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* fills what is missing, or stands in no loop and in a function that is called seldom."""
    if any(
        isinstance(above, ast.If) and "is None" in ast.unparse(above.test)
        for above in module.ancestors(call)
    ):
        return True
    steps = steps_of(module)
    return (
        module.loop_around(call) is None
        and steps.training_loop(call) is None
        and forward_of(module, call) is None
        and repeated_call_of(module, call) is None
    )


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


def upload(values, device):
    return torch.from_numpy(values).to(device, non_blocking=True)""",
        """\
import torch


def upload(values, device):
    return torch.from_numpy(values).pin_memory().to(device, non_blocking=True)""",
    ),
)


RULE = source_rule(
    id="pageable-async-copies",
    title="Pin what is copied without waiting",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    why="Only copies from pinned memory overlap; from pageable memory non_blocking=True changes little.",
    when="A tensor in pageable memory is moved to a GPU with non_blocking=True.",
    citations=pytorch_cuda_notes(),
    seen="torch.from_numpy(x).to(device, non_blocking=True)",
    file="train.py",
    action=_ACTION,
)
