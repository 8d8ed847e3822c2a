"""Tensors of one value that stand where a number would do."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test, may_work_on_gpu, prepares
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Give the number itself: x.clamp(min=0), torch.where(condition, x, 0.0), x.masked_fill(mask, value). Older versions "
    "take it as torch.zeros((), device=x.device) in where()."
)
_BOUNDS = frozenset(("torch.max", "torch.min", "torch.maximum", "torch.minimum"))
_CONSTANT = re.compile(r"torch\.(?:zeros|ones|full)_like$")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``torch.max(x, torch.zeros_like(x))``, ``torch.where(mask, x, torch.zeros_like(x))``; the first in a function."""
    if (
        b"_like" not in module.text.content
        or is_test(module)
        or prepares(module)
        or not may_work_on_gpu(module)
    ):
        return
    seen: set[ast.AST] = set()
    for call in module.calls:
        name = module.name_of(call.func)
        match call.args:
            case [_, _] if name in _BOUNDS:
                sides = call.args
            case [_, first, second] if name == "torch.where":
                sides = [first, second]
            case _:
                continue
        constants = [side for side in sides if _is_constant(module, side, call)]
        function = module.function_of(call)
        if len(constants) == 1 and function not in seen:
            seen.add(function)
            yield module.diagnostic(
                "full-size-constants", call,
                "A tensor of the full size is filled with one value and read again, where the value itself would do.",
                _ACTION,
            )  # fmt: skip


def _is_constant(module: PythonModule, node: ast.expr, user: ast.Call) -> bool:
    """Whether *node* is ``zeros_like(x)``, also times a number, or a name that is used for nothing else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        sides = (node.left, node.right)
        return any(_is_constant(module, side, user) for side in sides) and any(
            map(_is_number, sides)
        )
    if isinstance(node, ast.Call):
        given = [*node.args[1:], *(k.value for k in node.keywords if k.arg == "fill_value")]
        return bool(_CONSTANT.match(module.name_of(node.func))) and all(map(_is_number, given))
    if isinstance(node, ast.Name):
        function = module.function_of(user)
        values = [v for v in module.values_of(node.id) if module.function_of(v) is function]
        if len(values) != 1 or isinstance(values[0], ast.Name):
            return False
        uses = [
            part
            for part in module.walk(function)
            if isinstance(part, ast.Name) and part.id == node.id and isinstance(part.ctx, ast.Load)
        ]
        return len(uses) == 1 and _is_constant(module, values[0], user)
    return False


def _is_number(node: ast.expr) -> bool:
    """Whether *node* is a number: written out, a size, or what float() gives."""
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    if isinstance(node, ast.Subscript):
        return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") == "float" or getattr(node.func, "attr", "") == "size"
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

above = torch.max(x, torch.zeros_like(x))
scores = torch.where(mask, scores, -1e9 * torch.ones_like(scores))""",
        """\
import torch

above = x.clamp(min=0)
scores = scores.masked_fill(~mask, -1e9)""",
    ),
)


RULE = source_rule(
    id="full-size-constants",
    title="Give numbers, not tensors full of them",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    why="Filling and reading such a tensor takes as much memory traffic as the operation itself, and a launch.",
    when="A call of torch.max, torch.min or torch.where takes a tensor that zeros_like, ones_like or full_like made for it alone.",
    citations=pytorch_tuning_guide(),
    seen="torch.max(x, torch.zeros_like(x))",
    file="train.py",
    action=_ACTION,
)
