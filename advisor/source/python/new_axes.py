"""Axes of size 1 that a program gives a tensor just before it uses them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.training import argument

if TYPE_CHECKING:
    from gpuadvise.advisor.source.python.module import PythonModule


def new_axes(module: PythonModule, call: ast.Call, rank: int) -> set[int]:
    """Return the axes of size 1 that a view in the line before, or in the chain itself, gave to what is repeated."""
    node = call.func.value if isinstance(call.func, ast.Attribute) else call
    if isinstance(node, ast.Name):
        function = module.function_of(node)
        values = [
            v
            for v in module.values_of(node.id)
            if module.function_of(v) is function and v.lineno < call.lineno
        ]
        if not values:
            return set()
        node = max(values, key=lambda v: v.lineno)
    if (
        isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") in ("view", "reshape")
        and len(node.args) == rank
    ):
        return {at for at, size in enumerate(node.args) if getattr(size, "value", None) == 1}
    return set()


def new_axis(module: PythonModule, node: ast.expr, rank: int) -> int | None:
    """Return the axis of size 1 that *node* surely has."""
    if isinstance(node, ast.Name):
        function = module.function_of(node)
        values = [v for v in module.values_of(node.id) if module.function_of(v) is function]
        return new_axis(module, values[0], rank) if len(values) == 1 else None
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        new = [at for at, p in enumerate(parts) if isinstance(p, ast.Constant) and p.value is None]
        others = all(isinstance(p, (ast.Slice, ast.Constant)) for p in parts)
        return new[0] if len(new) == 1 and others else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr == "unsqueeze" and len(node.args) == 1:
        return _index(node.args[0], rank)
    if node.func.attr in ("view", "reshape") and len(node.args) == rank:
        ones = [at for at, size in enumerate(node.args) if getattr(size, "value", None) == 1]
        return ones[-1] if len(ones) == 1 else None
    if node.func.attr in ("mean", "sum") and argument(node, "keepdim") is not None:
        axis = argument(node, "dim") or (node.args[0] if node.args else None)
        return _index(axis, rank) if axis is not None else None
    return None


def _index(node: ast.expr, rank: int) -> int | None:
    try:
        index = ast.literal_eval(node)
    except ValueError:
        return None
    return index % rank if isinstance(index, int) else None
