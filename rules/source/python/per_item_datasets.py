"""Data sets in memory that hand out one row at a time."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    is_test,
    loaders_to_gpu,
    may_work_on_gpu,
    where_on_gpu,
)
from gpuadvise.advisor.source.python.training import LOADERS, argument
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "All of it stands in memory: keep it on the GPU and take a batch by torch.randint or a slice of torch.randperm, or "
    "let the data set slice whole batches, and switch the batching of the loader off."
)
_MAKERS = re.compile(
    r"torch\.(?:cat|stack|tensor|as_tensor|from_numpy|FloatTensor|LongTensor|Tensor|zeros|empty|rand\w*)$"
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``__getitem__`` that picks rows of tensors, and loaders over a TensorDataset that feed a GPU."""
    if is_test(module) or not may_work_on_gpu(module) or b"torch" not in module.text.content:
        return
    for node in module.of(ast.ClassDef):
        pick = _pick_of_rows(module, node)
        if pick is not None:
            yield _said(module, pick)
    if b"TensorDataset" not in module.text.content:
        return
    feeding = loaders_to_gpu(module)
    for call in module.calls_of(*LOADERS):
        if call not in feeding:
            continue
        size = argument(call, "batch_size")
        is_whole = isinstance(size, ast.Constant) and size.value is None
        if (
            _is_of_tensors(module, call)
            and not is_whole
            and argument(call, "batch_sampler") is None
        ):
            yield _said(module, call)


def _said(module: PythonModule, place: ast.expr) -> Diagnostic:
    return module.diagnostic(
        "per-item-datasets", place,
        where_on_gpu(
            module,
            "The loader picks each row of a tensor by a call of Python and joins the rows again: the GPU waits for each batch.",
        ),
        _ACTION,
    )  # fmt: skip


def _pick_of_rows(module: PythonModule, kind: ast.ClassDef) -> ast.expr | None:
    """Return the first row that a data set of tensors picks, in a block that does nothing else."""
    getter = next(
        (f for f in kind.body if isinstance(f, ast.FunctionDef) and f.name == "__getitem__"), None
    )
    if getter is None or len(getter.args.args) < 2 or not _is_dataset(module, kind):
        return None
    index = getter.args.args[1].arg
    held = {
        ast.unparse(target)
        for part in module.walk(kind)
        if isinstance(part, ast.Assign) and _is_tensor(module, part.value)
        for target in part.targets
        if isinstance(target, ast.Attribute)
    }
    for part in module.walk(getter):
        if not isinstance(part, ast.Subscript) or ast.unparse(part.value) not in held:
            continue
        if ast.unparse(part.slice) != index:
            continue
        block = _block_around(module, part, getter)
        if not any(isinstance(p, ast.Call) for statement in block for p in module.walk(statement)):
            return part
    return None


def _is_tensor(module: PythonModule, value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and bool(_MAKERS.match(module.name_of(value.func)))


def _is_dataset(module: PythonModule, kind: ast.ClassDef) -> bool:
    return any(module.name_of(base).endswith("Dataset") for base in kind.bases)


def _block_around(module: PythonModule, node: ast.AST, getter: ast.FunctionDef) -> list[ast.stmt]:
    """Return the statements beside *node*: all of the method, or of the branch."""
    for above in module.ancestors(node):
        if isinstance(above, ast.If):
            return above.body if any(node in ast.walk(s) for s in above.body) else above.orelse
        if above is getter:
            break
    return getter.body


def _is_of_tensors(module: PythonModule, loader: ast.Call) -> bool:
    data = loader.args[0] if loader.args else argument(loader, "dataset")
    values = [data, *(module.values_of(data.id) if isinstance(data, ast.Name) else ())]
    return any(
        isinstance(value, ast.Call) and module.name_of(value.func).endswith("TensorDataset")
        for value in values
    )


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


class Rays(torch.utils.data.Dataset):
    def __init__(self, rays):
        self.rays = torch.cat(rays)

    def __getitem__(self, index):
        return self.rays[index]""",
        """\
import torch

rays = torch.cat(parts).cuda()
for order in torch.randperm(len(rays), device="cuda").split(4096):
    step(rays[order])""",
    ),
)


RULE = source_rule(
    id="per-item-datasets",
    title="Take whole batches of what is in memory",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    why="A batch costs as many calls of Python as it has rows, and one copy to join them: more than a small step.",
    when="A data set holds tensors and __getitem__ does nothing but pick a row, or a loader that feeds a GPU reads a TensorDataset.",
    citations=pytorch_tuning_guide(),
    seen="return self.rays[index]",
    file="data.py",
    action=_ACTION,
)
