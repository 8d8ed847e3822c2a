"""Loaders that hand out batches in pageable memory."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    collates_on_gpu,
    is_handed_out,
    is_test,
    loaders_to_gpu,
    may_work_on_gpu,
    where_on_gpu,
    works_on_gpu,
)
from gpuadvise.advisor.source.python.training import (
    LOADERS,
    argument,
    has_unknown_arguments,
    names_loader,
)
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule


_ACTION = "Write DataLoader(..., pin_memory=True), and move batches with non_blocking=True."


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Loaders without pinned memory in a file that moves their batches to a GPU, or that hands loaders out."""
    if not names_loader(module) or is_test(module) or not may_work_on_gpu(module):
        return
    feeding = loaders_to_gpu(module)
    for call in module.calls_of(*LOADERS):
        if has_unknown_arguments(call):
            continue
        pinned = argument(call, "pin_memory")
        refused = isinstance(pinned, ast.Constant) and pinned.value is False
        if (pinned is not None and not refused) or not (call.args or call.keywords):
            continue
        if collates_on_gpu(module, call):
            continue
        if call in feeding or is_handed_out(module, call):
            yield module.diagnostic(
                "unpinned-loaders", call,
                where_on_gpu(
                    module,
                    "The loader hands out batches in pageable memory: copies to the GPU are slower and cannot overlap.",
                ),
                _ACTION,
                minor=not works_on_gpu(module),
            )  # fmt: skip


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

loader = torch.utils.data.DataLoader(data, batch_size=64, num_workers=4)
for batch in loader:
    batch = batch.to("cuda", non_blocking=True)""",
        """\
import torch

loader = torch.utils.data.DataLoader(data, batch_size=64, num_workers=4, pin_memory=True)
for batch in loader:
    batch = batch.to("cuda", non_blocking=True)""",
    ),
)


RULE = source_rule(
    id="unpinned-loaders",
    title="Let loaders pin their batches",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    why="Copies from pageable memory are staged by the driver and cannot overlap.",
    when="A DataLoader without pin_memory feeds a loop that works on a GPU, or is handed to a trainer elsewhere.",
    citations=pytorch_tuning_guide(),
    seen="torch.utils.data.DataLoader(images, batch_size=64)",
    file="train.py",
    action=_ACTION,
)
