"""Loaders that hand out batches in pageable memory."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.training import (
    LOADERS,
    argument,
    has_unknown_arguments,
    is_cuda_move,
    uses_gpu,
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
    """Loaders without pinned memory in a file that moves their batches to a GPU."""
    if not uses_gpu(module):
        return
    for call in module.calls:
        if module.name_of(call.func) not in LOADERS or has_unknown_arguments(call):
            continue
        pinned = argument(call, "pin_memory")
        if pinned is not None and not (isinstance(pinned, ast.Constant) and pinned.value is False):
            continue
        if (not call.args and not call.keywords) or not _feeds_gpu(module, call):
            continue
        yield module.diagnostic(
            "unpinned-loaders", call,
            "The loader hands out batches in pageable memory: copies to the GPU are slower and cannot overlap.",
            _ACTION,
        )  # fmt: skip


def _feeds_gpu(module: PythonModule, loader: ast.Call) -> bool:
    """Whether a loop over the loader moves what it gets to a GPU."""
    above = module.parents.get(loader)
    names = set()
    if isinstance(above, ast.Assign):
        names = {t.id for t in above.targets if isinstance(t, ast.Name)}
        names |= {t.attr for t in above.targets if isinstance(t, ast.Attribute)}
    for node in module.nodes:
        if not isinstance(node, (ast.For, ast.AsyncFor)):
            continue
        heads = list(ast.walk(node.iter))
        named = any(
            (isinstance(n, ast.Name) and n.id in names)
            or (isinstance(n, ast.Attribute) and n.attr in names)
            for n in heads
        )
        if (named or loader in heads) and _moves_target(module, node):
            return True
    return False


def _moves_target(module: PythonModule, loop: ast.For | ast.AsyncFor) -> bool:
    targets = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    for call in (n for statement in loop.body for n in ast.walk(statement)):
        if isinstance(call, ast.Call) and is_cuda_move(module, call):
            moved = {n.id for n in ast.walk(call.func) if isinstance(n, ast.Name)}
            if moved & targets:
                return True
    return False


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
