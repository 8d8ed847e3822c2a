"""Tensors that a model keeps in host memory, and copies to the GPU in each call."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    forward_of,
    is_test,
    may_work_on_gpu,
    where_on_gpu,
)
from gpuadvise.advisor.source.python.tensors import moves_to_gpu, tensors_of
from gpuadvise.advisor.source.python.training import argument
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = 'Write self.register_buffer("name", tensor, persistent=False) in __init__: it moves with the model, and once.'
_FACTORIES = re.compile(
    r"torch\.(?:arange|linspace|logspace|eye|ones|zeros|full|tensor|as_tensor|from_numpy|FloatTensor|Tensor|LongTensor"
    r"|(?:hann|hamming|kaiser)_window|stack|cat|outer|meshgrid|tril|triu|rand|randn)$"
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``self.table.to(x.device)`` in what a model computes, and loops over such a table; once for each tensor."""
    if is_test(module) or not may_work_on_gpu(module) or b"torch" not in module.text.content:
        return
    seen: set[tuple[ast.AST, str]] = set()
    places = [
        *(
            (call, call.func.value)
            for call, _ in moves_to_gpu(module)
            if isinstance(call.func, ast.Attribute)
        ),
        *((node.iter, node.iter) for node in module.of(ast.For)),
    ]
    for place, tensor in places:
        if not isinstance(tensor, ast.Attribute) or getattr(tensor.value, "id", "") != "self":
            continue
        method = forward_of(module, place)
        around = module.parents.get(method) if method is not None else None
        if not isinstance(around, ast.ClassDef) or (around, tensor.attr) in seen:
            continue
        if not _stands_on_host(module, around, tensor.attr) or _is_kept(module, place, tensor):
            continue
        seen.add((around, tensor.attr))
        if isinstance(place, ast.Call):
            said = f"Each call copies self.{tensor.attr} from host memory to the GPU again: it is no buffer of the model."
        else:
            said = f"Each call reads self.{tensor.attr} on the host element by element: it is no buffer of the model."
        made = _values_of(module, around, tensor.attr)[0]
        yield module.diagnostic("unregistered-tensors", made, where_on_gpu(module, said), _ACTION)


def _stands_on_host(module: PythonModule, model: ast.ClassDef, name: str) -> bool:
    """Whether all that *model* assigns to *name* are tensors that it makes in host memory."""
    values = _values_of(module, model, name)
    return bool(values) and all(_is_host_tensor(module, value) for value in values)


def _values_of(module: PythonModule, model: ast.ClassDef, name: str) -> list[ast.expr]:
    """Return what *model* assigns to its attribute *name*."""
    return [
        part.value
        for part in module.walk(model)
        if isinstance(part, ast.Assign)
        and any(ast.unparse(target) == f"self.{name}" for target in part.targets)
    ]


def _is_host_tensor(module: PythonModule, value: ast.expr) -> bool:
    makers = [
        part
        for part in ast.walk(value)
        if isinstance(part, ast.Call) and _FACTORIES.match(module.name_of(part.func))
    ]
    called = value.func if isinstance(value, ast.Call) else None
    if isinstance(called, ast.Attribute) and called.attr in ("tolist", "item", "numpy", "size"):
        return False
    if isinstance(called, ast.Name) or module.name_of(called or value).startswith("torch.nn"):
        return False  # list(...), Parameter(...)
    on_gpu = any(
        argument(part, "device") is not None
        or getattr(part.func, "attr", "") in ("cuda", "to", "item", "tolist")
        for part in ast.walk(value)
        if isinstance(part, ast.Call)
    )
    return bool(makers) and not on_gpu and tensors_of(module)[value] is not None


def _is_kept(module: PythonModule, place: ast.expr, tensor: ast.Attribute) -> bool:
    """Whether the copy takes the place of the tensor: ``self.table = self.table.to(x.device)``."""
    above = module.parents.get(place)
    return isinstance(above, ast.Assign) and ast.unparse(tensor) in map(ast.unparse, above.targets)


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


class Spectrum(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.window = torch.hann_window(512)

    def forward(self, sound):
        return torch.stft(sound, 512, window=self.window.to(sound.device), return_complex=True)""",
        """\
import torch


class Spectrum(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(512), persistent=False)

    def forward(self, sound):
        return torch.stft(sound, 512, window=self.window, return_complex=True)""",
    ),
)


RULE = source_rule(
    id="unregistered-tensors",
    title="Register what a model keeps as a buffer",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    why="A copy from pageable memory makes the host wait, in each call, for values that do not change.",
    when="A model makes a tensor in __init__ that is neither parameter nor buffer, and moves it or loops over it in each call.",
    citations=pytorch_tuning_guide(),
    seen="self.window.to(sound.device)",
    file="model.py",
    action=_ACTION,
)
