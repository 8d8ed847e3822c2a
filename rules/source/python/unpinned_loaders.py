"""Loaders that hand out batches in pageable memory."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test
from gpuadvise.advisor.source.python.tensors import Kind, moves_to_gpu, tensors_of
from gpuadvise.advisor.source.python.training import LOADERS, argument, has_unknown_arguments
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
    """Loaders without pinned memory in a file that moves their batches to a GPU."""
    if b"DataLoader" not in module.text.content or is_test(module):
        return
    fed = {value.maker for _, value in moves_to_gpu(module) if value and value.kind is Kind.BATCH}
    for call in module.calls:
        if module.name_of(call.func) not in LOADERS or has_unknown_arguments(call):
            continue
        pinned = argument(call, "pin_memory")
        refused = isinstance(pinned, ast.Constant) and pinned.value is False
        if (pinned is not None and not refused) or not (call.args or call.keywords):
            continue
        if call in fed or (refused and _is_handed_out(module, call)):
            yield module.diagnostic(
                "unpinned-loaders", call,
                "The loader hands out batches in pageable memory: copies to the GPU are slower and cannot overlap.",
                _ACTION,
            )  # fmt: skip


def _is_handed_out(module: PythonModule, loader: ast.Call) -> bool:
    """Whether a function that only makes loaders returns this one to a program that trains elsewhere."""
    function = module.function_of(loader)
    name = getattr(function, "name", "").lower()
    return "loader" in name and tensors_of(module).returns(function, loader)


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
    priority=Priority.MEDIUM,
    why="Copies from pageable memory are staged by the driver and cannot overlap.",
    when="A DataLoader without pin_memory hands out batches that the file moves to a GPU.",
    citations=pytorch_tuning_guide(),
    seen="torch.utils.data.DataLoader(images, batch_size=64)",
    file="train.py",
    action=_ACTION,
)
