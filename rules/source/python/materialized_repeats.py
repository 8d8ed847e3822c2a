"""Copies of a tensor along an axis that broadcasting would read in place."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.module import last_name
from gpuadvise.advisor.source.python.new_axes import new_axes, new_axis
from gpuadvise.advisor.source.python.steps import (
    forward_of,
    is_test,
    may_work_on_gpu,
    steps_of,
    where_on_gpu,
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
    "Write .expand(...) in place of .repeat(...), or leave the axis at 1: operators broadcast it."
)
_HEADS_ACTION = (
    "scaled_dot_product_attention(q, k, v, enable_gqa=True) reads each key and value for all of its query heads "
    "(PyTorch 2.5)."
)
_HEADS = re.compile(r"(?:x?k|x?v|keys?|values?)(?:_(?:states?|heads?))?$")
_RESHAPES = ("view", "reshape", "flatten", "contiguous", "chunk")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``x.unsqueeze(1).repeat(1, n, 1)`` in a model or a step, and keys and values copied for each query head."""
    if is_test(module) or not may_work_on_gpu(module) or b"torch" not in module.text.content:
        return
    steps = steps_of(module)
    last = -1
    repeats = module.calls_named("repeat", "repeat_kv", "repeat_interleave")
    for call in sorted(repeats, key=lambda call: call.lineno):
        name = last_name(call)
        if forward_of(module, call) is None and not (
            steps.training_loop(call) or steps.evaluation_loop(call)
        ):
            continue
        if _copies_heads(module, call, name):
            message = "Keys and values are copied for each query head that shares them, before the attention reads them."
            action = _HEADS_ACTION
        elif name == "repeat" and _copies_axis(module, call) and not _is_needed(module, call):
            message = "The tensor is copied along an axis of size 1, which operators broadcast without a copy."
            action = _ACTION
        else:
            continue
        # Once for lines that do the same, one below the other.
        if call.lineno - last > 1:
            yield module.diagnostic(
                "materialized-repeats", call, where_on_gpu(module, message), action
            )
        last = call.lineno


def _copies_heads(module: PythonModule, call: ast.Call, name: str) -> bool:
    """Whether *call* is ``repeat_kv(k, n)`` or ``k.repeat_interleave(n, dim=1)`` in an attention; once for k and v."""
    if name == "repeat":
        return False
    given = call.args[0] if call.args else None
    if isinstance(call.func, ast.Attribute) and not module.name_of(call.func).startswith("torch."):
        given = call.func.value
    if not isinstance(given, ast.Name) or not _HEADS.match(given.id):
        return False
    return given.id.lower().lstrip("x").startswith("k")


def _copies_axis(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* repeats nothing but an axis that was just made, and not the first."""
    if not isinstance(call.func, ast.Attribute) or call.keywords:
        return False
    counts = call.args
    if len(counts) == 1 and isinstance(counts[0], (ast.Tuple, ast.List)):
        counts = counts[0].elts
    many = [at for at, count in enumerate(counts) if getattr(count, "value", None) != 1]
    if len(counts) < 2 or not many or many[0] == 0:
        return False
    if len(many) > 1:
        # c.view(n, k, 1, 1).repeat(1, 1, height, width)
        ones = new_axes(module, call, len(counts))
        return ones.issuperset(many) and not any(
            isinstance(counts[at], ast.Constant) for at in many
        )
    if isinstance(counts[many[0]], ast.Constant):
        return False  # a few
    axis = new_axis(module, call.func.value, len(counts))
    return axis is not None and axis == many[0]


def _is_needed(module: PythonModule, call: ast.Call) -> bool:
    """Whether what *call* gives is reshaped, or changed in place: then it has to be there."""
    above = module.parents.get(call)
    if isinstance(above, ast.Attribute) and (above.attr in _RESHAPES or above.attr.endswith("_")):
        return True
    if not isinstance(above, ast.Assign):
        return False
    names = {t.id for t in above.targets if isinstance(t, ast.Name)}
    for part in module.walk(module.function_of(call)):
        if not isinstance(part, (ast.Attribute, ast.Subscript, ast.AugAssign)):
            continue
        owner = part.target if isinstance(part, ast.AugAssign) else part.value
        if not isinstance(owner, ast.Name) or owner.id not in names or part.lineno <= call.lineno:
            continue
        if isinstance(part, ast.Subscript):
            if not isinstance(part.ctx, ast.Load):
                return True
        elif isinstance(part, ast.AugAssign) or part.attr in _RESHAPES or part.attr.endswith("_"):
            return True
    return False


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


class Scores(torch.nn.Module):
    def forward(self, points, center):
        centers = center.unsqueeze(1).repeat(1, points.size(1), 1)
        return (points - centers).norm(dim=-1)""",
        """\
import torch


class Scores(torch.nn.Module):
    def forward(self, points, center):
        return (points - center.unsqueeze(1)).norm(dim=-1)""",
    ),
)


RULE = source_rule(
    id="materialized-repeats",
    title="Broadcast instead of copying",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    why="Each copy is written to memory and read again, though all of them hold the same values.",
    when="A model or a step repeats a tensor along an axis of size 1, or keys and values for each query head, and changes none of the copies.",
    citations=pytorch_tuning_guide(),
    seen="center.unsqueeze(1).repeat(1, n, 1)",
    file="model.py",
    action=_ACTION,
)
