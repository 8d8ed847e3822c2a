"""Batches that are moved to a GPU while the host waits."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.diagnostic import TextEdit
from gpuadvise.advisor.source.python.steps import (
    generates,
    is_demo,
    is_of_round,
    is_test,
    repeated_call_of,
    steps_of,
)
from gpuadvise.advisor.source.python.tensors import TensorMemory, ValueKind, moves_to_gpu
from gpuadvise.advisor.source.python.training import argument, has_unknown_arguments
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
    """Batches of a loader that each step moves without ``non_blocking=True``; one per loop or function."""
    if is_test(module) or is_demo(module):
        return
    steps = steps_of(module)
    moves: dict[ast.AST, list[ast.Call]] = {}
    for call, moved in moves_to_gpu(module):
        if not _may_block(call):
            continue
        is_batch = moved is not None and moved.kind is ValueKind.BATCH
        if not is_batch and (moved is not None or not is_of_round(module, call)):
            continue
        loop = (
            module.loop_around(call) or steps.training_loop(call) or repeated_call_of(module, call)
        )
        if (
            loop is not None
            and not generates(module, loop)
            and (moved is None or moved.place is not TensorMemory.GPU)
            and not _is_moved_by_trainer(module, call)
        ):
            moves.setdefault(loop, []).append(call)
    for calls in moves.values():
        yield module.diagnostic(
            "blocking-moves", calls[0],
            "The host waits until this batch is on the GPU.",
            _ACTION,
            tuple(edit for call in calls for edit in _keyword(module, call, "non_blocking=True")),
        )  # fmt: skip


def _is_moved_by_trainer(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* stands in a module of Lightning, whose trainer has moved the batch before."""
    return any(
        isinstance(above, ast.ClassDef)
        and any("Lightning" in module.name_of(base) for base in above.bases)
        for above in module.ancestors(call)
    )


def _may_block(call: ast.Call) -> bool:
    """Whether *call* surely leaves ``non_blocking`` at its default."""
    said = argument(call, "non_blocking") is not None or has_unknown_arguments(call)
    is_move = isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "cuda", "type")
    return is_move and not said and len(call.args) <= 1


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
    when="A batch of a DataLoader, or the argument called batch of a helper, is moved to a GPU without non_blocking.",
    citations=pytorch_cuda_notes(),
    seen="images.to(device)",
    file="train.py",
    action=_ACTION,
)
