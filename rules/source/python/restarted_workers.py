"""Loaders whose workers start again and again."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    is_test,
    may_work_on_gpu,
    names_in,
    runs_over_loader,
    steps_of,
)
from gpuadvise.advisor.source.python.tensors import ValueKind, tensors_of
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

_ACTION = "Write DataLoader(..., persistent_workers=True): the workers stay, and have the first batches ready."
_ACTION_ITERATOR = "Make the iterator once in front of the loop, take next() of it, and make it anew when StopIteration comes."


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``next(iter(loader))`` in each round, and workers that every epoch starts again."""
    if not names_loader(module) and b"next(" not in module.text.content:
        return
    if is_test(module) or not may_work_on_gpu(module):
        return
    tensors = tensors_of(module)
    for call in module.calls_of("next"):
        if len(call.args) != 1:
            continue
        made = call.args[0]
        if not isinstance(made, ast.Call) or getattr(made.func, "id", "") not in (
            "iter",
            "enumerate",
        ):
            continue
        value = tensors[made.args[0]] if made.args else None
        is_loader = value is not None and value.kind is ValueKind.LOADER
        if is_loader and module.loop_around(call) is not None:
            yield module.diagnostic(
                "restarted-workers", call,
                "Each round makes an iterator of the loader for one batch: its workers start, load several, and are dropped.",
                _ACTION_ITERATOR,
            )  # fmt: skip
    epochs = _loaders_of_epochs(module)
    for call in module.calls:
        workers = argument(call, "num_workers")
        if (
            call in epochs
            and workers is not None
            and not _are_few(module, workers)
            and module.name_of(call.func) in LOADERS
            and argument(call, "persistent_workers") is None
            and not has_unknown_arguments(call)
        ):
            yield module.diagnostic(
                "restarted-workers", call,
                "Every epoch starts the workers of this loader again, and waits for their first batches.",
                _ACTION,
            )  # fmt: skip


def _are_few(module: PythonModule, workers: ast.expr) -> bool:
    """Whether there is one worker or none, which starts soon: as it is written, or as the file sets it."""
    values = module.values_of(workers.id) if isinstance(workers, ast.Name) else [workers]
    return bool(values) and all(
        isinstance(value, ast.Constant) and value.value in (0, 1) for value in values
    )


def _loaders_of_epochs(module: PythonModule) -> set[ast.Call]:
    """Return the loaders over which a loop of training runs again and again, in a loop or a function of one epoch."""
    steps, tensors = steps_of(module), tensors_of(module)
    loaders = set()
    for loop in steps.training:
        if not isinstance(loop, ast.For):
            continue
        name = getattr(module.function_of(loop), "name", "")
        again = module.loop_around(loop) is not None or any(
            module.loop_around(call) is not None for call in steps.calls(name)
        )
        for part in module.walk(loop.iter) if again else ():
            value = tensors[part]
            if value is None or value.kind is not ValueKind.LOADER or value.maker is None:
                continue
            # One that each epoch makes anew has new workers anyway.
            anew = module.loop_around(value.maker) is not None or (
                module.loop_around(loop) is None
                and module.function_of(value.maker) is module.function_of(loop)
            )
            if not anew:
                loaders.add(value.maker)
    loaders.update(_given_each_epoch(module))
    return loaders


def _given_each_epoch(module: PythonModule) -> Iterator[ast.Call]:
    """Yield the loaders that each round of a loop over epochs gives to a function elsewhere: ``train(epoch, loader)``."""
    tensors = tensors_of(module)
    for call in module.calls:
        loop = module.loop_around(call)
        if not isinstance(loop, ast.For) or not any("epoch" in n for n in names_in([loop.target])):
            continue
        if not runs_over_loader(call) or not steps_of(module).runs_always(call):
            continue
        for given in (*call.args, *(k.value for k in call.keywords)):
            value = tensors[given]
            if value is None or value.kind is not ValueKind.LOADER or value.maker is None:
                continue
            if module.loop_around(value.maker) is not loop:
                yield value.maker


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

test_loader = torch.utils.data.DataLoader(tests, batch_size=64, num_workers=4, pin_memory=True)
for step in range(10_000):
    train(step)
    images, labels = next(iter(test_loader))""",
        """\
import torch

test_loader = torch.utils.data.DataLoader(tests, batch_size=64, num_workers=4, pin_memory=True)
batches = iter(test_loader)
for step in range(10_000):
    train(step)
    images, labels = next(batches)""",
    ),
)


RULE = source_rule(
    id="restarted-workers",
    title="Keep the workers of a loader",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    why="A worker is a process: to start it and to fill its queue takes as long as many steps.",
    when="Each round takes a batch of a new iterator, or every epoch runs over a loader whose workers end with it.",
    citations=pytorch_tuning_guide(),
    seen="next(iter(test_loader))",
    file="train.py",
    action=_ACTION,
)
