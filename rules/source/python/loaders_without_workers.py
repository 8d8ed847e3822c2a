"""Loaders that prepare batches in the process that feeds the GPU."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    default_of,
    is_handed_out,
    is_test,
    loaders_to_gpu,
    loaders_to_train,
    may_work_on_gpu,
    where_on_gpu,
    works_on_gpu,
)
from gpuadvise.advisor.source.python.tensors import moves_to_gpu
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

_ACTION = (
    "Write DataLoader(..., num_workers=4) and measure more; persistent_workers=True keeps them from epoch to epoch. "
    "Where all samples stand in memory already, slice tensors instead of loading one by one."
)
_MAKES = re.compile(r"load|data|set", re.IGNORECASE)
# What DataLoader takes by place.
_PARAMETERS = ("dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Loaders without workers in a file whose loops move batches to a GPU, or that hands loaders out."""
    if is_test(module) or not may_work_on_gpu(module):
        return
    if b"range(len(" in module.text.content:
        yield from _indexed_sets(module)
    if b"TrainingArguments" in module.text.content:
        yield from _arguments_of_trainers(module)
    if not names_loader(module):
        return
    feeding, training = loaders_to_gpu(module), loaders_to_train(module)
    for call in module.calls_of(*LOADERS):
        if has_unknown_arguments(call):
            continue
        workers = argument(call, "num_workers")
        count = _number_of(module, workers) if workers is not None else None
        refused = count in (0, 1)
        if (workers is not None and not refused) or len(call.args) >= len(_PARAMETERS):
            continue
        if any(isinstance(part, ast.Starred) for part in call.args) or _is_in_memory(module, call):
            continue
        if call in feeding or is_handed_out(module, call):
            yield module.diagnostic(
                "loaders-without-workers", call,
                where_on_gpu(
                    module,
                    _ONE if count == 1 else _NONE,
                ),
                _ACTION,
                # One pass of evaluation is short beside the training that it ends.
                minor=refused or not works_on_gpu(module) or (call in feeding and call not in training),
            )  # fmt: skip


_NONE = "The process that feeds the GPU also loads and transforms every sample, so the GPU waits for each batch."
_ONE = "One worker loads and transforms every sample, so the GPU waits for batches that take it longer than a step."


def _number_of(module: PythonModule, node: ast.expr) -> object:
    """Return what *node* is: a number, the default of a parameter, or of an option of the command line."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        function = module.function_of(node)
        if not isinstance(function, ast.FunctionDef) or function.name.startswith("test"):
            return None
        default = default_of(function, node.id)
        calls = module.calls_named(function.name)
        is_left = any(
            argument(call, node.id) is None and not has_unknown_arguments(call) for call in calls
        )
        # What callers elsewhere give to a function that makes loaders for them is not known.
        is_left = is_left or not (calls or _MAKES.search(function.name))
        return default.value if isinstance(default, ast.Constant) and is_left else None
    if not isinstance(node, ast.Attribute):
        return None
    for call in module.calls_named("add_argument"):
        if isinstance(call.func, ast.Attribute) and any(
            isinstance(word, ast.Constant)
            and str(word.value).lstrip("-").replace("-", "_") == node.attr
            for word in call.args
        ):
            default = argument(call, "default")
            return default.value if isinstance(default, ast.Constant) else None
    return None


def _arguments_of_trainers(module: PythonModule) -> Iterator[Diagnostic]:
    """Find trainers of Transformers whose loaders have no workers, as they have by default."""
    for call in module.calls_like(lambda name: name.endswith("TrainingArguments")):
        if not call.keywords:
            continue
        if argument(call, "dataloader_num_workers") is None and not has_unknown_arguments(call):
            yield module.diagnostic(
                "loaders-without-workers", call,
                "The process that feeds the GPU also collates every batch: dataloader_num_workers is 0 by default.",
                "Write TrainingArguments(..., dataloader_num_workers=4), and measure more.",
                minor=True,
            )  # fmt: skip


def _indexed_sets(module: PythonModule) -> Iterator[Diagnostic]:
    """Find ``for i in range(len(dataset)): x = dataset[i]`` in loops that move what they load."""
    moving = {module.loop_around(call) for call, _ in moves_to_gpu(module)}
    for loop in module.of(ast.For):
        if loop not in moving:
            continue
        data = _LENGTH.search(ast.unparse(loop.iter))
        for statement in loop.body if data is not None else ():
            loaded = statement.value if isinstance(statement, ast.Assign) else None
            if isinstance(loaded, ast.Subscript) and data and ast.unparse(loaded.value) == data[1]:
                yield module.diagnostic(
                    "loaders-without-workers", loaded,
                    "The loop loads and transforms each sample itself, so the GPU waits for each.",
                    _ACTION,
                    minor=True,
                )  # fmt: skip


# Data sets, not lists of tensors that are there already.
_LENGTH = re.compile(r"range\(len\(((?:\w+\.)*\w*data_?set\w*)\)\)", re.IGNORECASE)


def _is_in_memory(module: PythonModule, loader: ast.Call) -> bool:
    """Whether the data set is one of tensors, which workers would only slow down."""
    data = loader.args[0] if loader.args else argument(loader, "dataset")
    if data is None:
        return True
    sources = [data, *(module.assigned.get(data.id, ()) if isinstance(data, ast.Name) else ())]
    return any(
        isinstance(part, ast.Call) and "TensorDataset" in module.name_of(part.func)
        for source in sources
        for part in module.walk(source)
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
    when="A DataLoader without num_workers feeds a loop that works on a GPU, or such a loop indexes its data set itself.",
    citations=pytorch_tuning_guide(),
    seen="torch.utils.data.DataLoader(images, batch_size=64)",
    file="train.py",
    action=_ACTION,
)
