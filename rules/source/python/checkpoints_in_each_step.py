"""Checkpoints that every step of training writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test, may_work_on_gpu, steps_of, where_on_gpu
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Write one every n steps, or when the result is the best so far; torch.distributed.checkpoint.async_save writes "
    "while the training goes on."
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``torch.save(model.state_dict(), ...)`` under no condition, where an optimiser takes one step in each round."""
    if b"torch.save" not in module.text.content or is_test(module) or not may_work_on_gpu(module):
        return
    steps = steps_of(module)
    for call in module.calls_of("torch.save"):
        if steps.training_loop(call) in steps.training:
            yield module.diagnostic(
                "checkpoints-in-each-step", call,
                where_on_gpu(
                    module, "Every step waits until the weights are copied from the GPU and written to a file."
                ),
                _ACTION,
            )  # fmt: skip


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

for step, batch in enumerate(loader):
    criterion(model(batch.cuda(non_blocking=True))).backward()
    optimizer.step()
    torch.save(model.state_dict(), f"{step}.pt")""",
        """\
import torch

for step, batch in enumerate(loader):
    criterion(model(batch.cuda(non_blocking=True))).backward()
    optimizer.step()
    if step % 1000 == 0:
        torch.save(model.state_dict(), f"{step}.pt")""",
    ),
)


RULE = source_rule(
    id="checkpoints-in-each-step",
    title="Write checkpoints rarely",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    why="Copying and writing the weights takes longer than most steps, and the GPU gets no work meanwhile.",
    when="A training loop calls torch.save in every step.",
    citations=pytorch_tuning_guide(),
    seen="torch.save(model.state_dict(), path)",
    file="train.py",
    action=_ACTION,
)
