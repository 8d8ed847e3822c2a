"""Loaders that prepare batches in the process that feeds the GPU."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test, steps_of, works_on_gpu
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

_ACTION = (
    "Write DataLoader(..., num_workers=4) and measure more; persistent_workers=True keeps them from epoch to epoch. "
    "Where all samples stand in memory already, slice tensors instead of loading one by one."
)
# What DataLoader takes by place.
_PARAMETERS = ("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Loaders without workers in a file whose loops move batches to a GPU."""
    if b"DataLoader" not in module.text.content or is_test(module) or not works_on_gpu(module):
        return
    tensors, steps = tensors_of(module), steps_of(module)
    moved = {value.maker for _, value in moves_to_gpu(module) if value and value.kind is Kind.BATCH}
    iterated = {
        value.maker
        for loop in (*steps.training, *steps.evaluation)
        for part in ast.walk(loop.iter if isinstance(loop, ast.For) else loop)
        if (value := tensors[part]) is not None and value.kind is Kind.LOADER
    }
    for call in module.calls:
        if module.name_of(call.func) not in LOADERS or has_unknown_arguments(call):
            continue
        if argument(call, "num_workers") is not None or len(call.args) >= len(_PARAMETERS):
            continue
        if any(isinstance(part, ast.Starred) for part in call.args) or _is_in_memory(module, call):
            continue
        if call in moved or call in iterated:
            yield module.diagnostic(
                "loaders-without-workers", call,
                "The process that feeds the GPU also loads and transforms every sample, so the GPU waits for each batch.",
                _ACTION,
            )  # fmt: skip


def _is_in_memory(module: PythonModule, loader: ast.Call) -> bool:
    """Whether the data set is one of tensors, which workers would only slow down."""
    data = loader.args[0] if loader.args else argument(loader, "dataset")
    if data is None:
        return True
    sources = [data, *(module.assigned.get(data.id, ()) if isinstance(data, ast.Name) else ())]
    return any(
        isinstance(part, ast.Call) and "TensorDataset" in module.name_of(part.func)
        for source in sources
        for part in ast.walk(source)
    )


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

loader = torch.utils.data.DataLoader(images, batch_size=64, pin_memory=True)
for batch in loader:
    step(batch.to("cuda", non_blocking=True))""",
        """\
import torch

loader = torch.utils.data.DataLoader(images, batch_size=64, pin_memory=True, num_workers=4)
for batch in loader:
    step(batch.to("cuda", non_blocking=True))""",
    ),
)


RULE = source_rule(
    id="loaders-without-workers",
    title="Load batches in worker processes",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    why="Without workers the loop loads and transforms each sample itself, while the GPU has nothing to do.",
    when="A DataLoader without num_workers feeds a loop that works on a GPU.",
    citations=pytorch_tuning_guide(),
    seen="torch.utils.data.DataLoader(images, batch_size=64)",
    file="train.py",
    action=_ACTION,
)
