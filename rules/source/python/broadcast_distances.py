"""Distances between all pairs of rows, by a tensor that has every difference of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test, may_work_on_gpu, where_on_gpu
from gpuadvise.advisor.source.python.tensors import TensorMemory, ValueKind, tensors_of
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_distances

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Write torch.cdist(a, b) (cupyx.scipy.spatial.distance.cdist in CuPy), or for squares the product "
    "a.square().sum(1, keepdim=True) + b.square().sum(1) - 2 * a @ b.T, clamped at 0."
)
_SUMS = frozenset(("sum", "norm", "mean"))
_BETWEEN = frozenset(("pow", "square", "abs", "sqrt"))


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``((a.unsqueeze(1) - b.unsqueeze(0)) ** 2).sum(2)``: a difference for each pair and column."""
    words = module.text.content
    if (
        is_test(module)
        or not (b"torch" in words or b"cupy" in words)
        or not may_work_on_gpu(module)
    ):
        return
    for call in module.calls_named(*_SUMS):
        difference = _difference(module, call)
        if difference is None or _is_of_host(module, difference):
            continue
        yield module.diagnostic(
            "broadcast-distances", call,
            where_on_gpu(module, "The differences of all pairs are written to memory, one for each column, before they are summed."),
            _ACTION,
            minor=True,
        )  # fmt: skip


def _difference(module: PythonModule, call: ast.Call) -> ast.BinOp | None:
    """Return the difference of all pairs that *call* sums over one axis."""
    is_function = module.name_of(call.func).startswith(("torch.", "cupy.", "xp."))
    given = call.args[1:] if is_function else call.args
    if not given and not any(k.arg in ("dim", "axis") for k in call.keywords):
        return None  # a sum over everything
    summed = call.args[0] if is_function and call.args else getattr(call.func, "value", None)
    while summed is not None and not isinstance(summed, ast.BinOp):
        if not isinstance(summed, ast.Call):
            return None
        name = getattr(summed.func, "attr", getattr(summed.func, "id", ""))
        if name not in _BETWEEN:
            return None
        is_function = module.name_of(summed.func).startswith(("torch.", "cupy.", "xp."))
        inner = summed.args[0] if is_function and summed.args else None
        summed = inner if inner is not None else getattr(summed.func, "value", None)
    if isinstance(summed, ast.BinOp) and isinstance(summed.op, ast.Pow):
        summed = summed.left
    if not isinstance(summed, ast.BinOp) or not isinstance(summed.op, ast.Sub):
        return None
    left, right = _new_axis(summed.left), _new_axis(summed.right)
    return summed if left is not None and right is not None and left != right else None


def _new_axis(node: ast.expr) -> int | None:
    """Return where *node* has an axis of its own: 1 of ``x[:, None]`` and ``x.unsqueeze(1)``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        axis = node.args[0] if node.func.attr == "unsqueeze" and node.args else None
        if isinstance(axis, ast.UnaryOp) and isinstance(axis.operand, ast.Constant):
            return -int(axis.operand.value) if isinstance(axis.operand.value, int) else None
        return (
            axis.value if isinstance(axis, ast.Constant) and isinstance(axis.value, int) else None
        )
    if not isinstance(node, ast.Subscript):
        return None
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    new = [i for i, index in enumerate(indices) if _is_new(index)]
    whole = all(_is_new(index) or isinstance(index, ast.Slice) for index in indices)
    return new[0] if len(new) == 1 and whole else None


def _is_new(index: ast.expr) -> bool:
    is_none = isinstance(index, ast.Constant) and index.value is None
    return is_none or getattr(index, "attr", "") == "newaxis"


def _is_of_host(module: PythonModule, difference: ast.BinOp) -> bool:
    value = tensors_of(module)[difference]
    return value is not None and (
        value.kind is ValueKind.ARRAY or value.place is TensorMemory.PAGEABLE
    )


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


def nearest(queries, keys):
    distances = ((queries.unsqueeze(1) - keys.unsqueeze(0)) ** 2).sum(2)
    return distances.argmin(1)""",
        """\
import torch


def nearest(queries, keys):
    return torch.cdist(queries, keys).argmin(1)""",
    ),
)
RULE = source_rule(
    id="broadcast-distances",
    title="Compute distances without all differences",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    why="The tensor of differences is as many times larger than the distances as a row is long, and is written and read once or more.",
    when="Two tensors are subtracted by broadcasting over all pairs of their rows, and the result is summed over one axis.",
    citations=pytorch_distances(),
    seen="((a.unsqueeze(1) - b.unsqueeze(0)) ** 2).sum(2)",
    file="train.py",
    action=_ACTION,
)
