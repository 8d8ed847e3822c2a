"""Batches that are moved to a GPU while the host waits."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.diagnostic import TextEdit
from gpuadvise.advisor.source.python.training import (
    LOADERS,
    argument,
    has_unknown_arguments,
    is_cuda_move,
)
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_cuda_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule


_ACTION = (
    "Write .to(device, non_blocking=True), with pin_memory=True in the loader: the copy overlaps with what was "
    "queued before."
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Batches of a loader that are moved without ``non_blocking=True``; one per loop."""
    for loop in (n for n in module.nodes if isinstance(n, (ast.For, ast.AsyncFor))):
        if not _over_loader(module, loop):
            continue
        moves = [call for call in _moves_of_batch(module, loop) if _may_block(call)]
        if moves:
            yield module.diagnostic(
                "blocking-moves", moves[0],
                "The host waits until this batch is on the GPU.",
                _ACTION,
                tuple(edit for call in moves for edit in _keyword(module, call, "non_blocking=True")),
            )  # fmt: skip


def _moves_of_batch(module: PythonModule, loop: ast.For | ast.AsyncFor) -> Iterator[ast.Call]:
    """Yield the calls that move something the loader handed out to a GPU."""
    targets = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    for call in (n for statement in loop.body for n in ast.walk(statement)):
        if isinstance(call, ast.Call) and is_cuda_move(module, call):
            base = call.func.value if isinstance(call.func, ast.Attribute) else call.func
            while isinstance(base, (ast.Subscript, ast.Attribute)):
                base = base.value
            if isinstance(base, ast.Name) and base.id in targets:
                yield call


def _may_block(call: ast.Call) -> bool:
    """Whether *call* surely leaves ``non_blocking`` at its default."""
    said = argument(call, "non_blocking") is not None or has_unknown_arguments(call)
    return not said and len(call.args) <= 1


def _over_loader(module: PythonModule, loop: ast.For | ast.AsyncFor) -> bool:
    """Whether *loop* runs over a DataLoader that this file makes."""
    for node in ast.walk(loop.iter):
        if isinstance(node, ast.Call) and module.name_of(node.func) in LOADERS:
            return True
        if isinstance(node, ast.Name):
            for value in module.assigned.get(node.id, ()):
                if isinstance(value, ast.Call) and module.name_of(value.func) in LOADERS:
                    return True
    return False


def _keyword(module: PythonModule, call: ast.Call, words: str) -> tuple[TextEdit, ...]:
    """Return the edit that adds a keyword argument to *call*."""
    last = [*call.args, *(k.value for k in call.keywords)]
    if last:
        after = max(last, key=lambda n: (n.end_lineno or 0, n.end_col_offset or 0))
        at = module.offset(after.end_lineno or 0, after.end_col_offset or 0)
        end = module.offset(call.end_lineno or 0, call.end_col_offset or 0) - 1
        if module.text[at:end].replace(")", "").strip() == "":
            # Brackets around the argument belong to it.
            at += len(module.text.content[at:end].rstrip())
        return (TextEdit(start=at, end=at, text=f", {words}"),)
    at = module.offset(call.end_lineno or 0, (call.end_col_offset or 0) - 1)
    return (TextEdit(start=at, end=at, text=words),)


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

loader = torch.utils.data.DataLoader(data, batch_size=64, num_workers=4, pin_memory=True)
for batch in loader:
    batch = batch.to("cuda")""",
        """\
import torch

loader = torch.utils.data.DataLoader(data, batch_size=64, num_workers=4, pin_memory=True)
for batch in loader:
    batch = batch.to("cuda", non_blocking=True)""",
    ),
)


RULE = source_rule(
    id="blocking-moves",
    title="Move batches without waiting",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    why="From pinned memory a copy with non_blocking=True overlaps with queued work.",
    when="A batch of a DataLoader is moved to a GPU without non_blocking.",
    citations=pytorch_cuda_notes(),
    seen="images.to(device)",
    file="train.py",
    action=_ACTION,
)
