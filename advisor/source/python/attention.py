"""Attention that a file writes out: a softmax between two products of matrices."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.source.python.training import argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.python.module import PythonModule


class WrittenAttention(NamedTuple):
    """One softmax of scores, and whether its function *returns* the weights too."""

    softmax: ast.Call
    returns: bool


_SOFTMAX = frozenset(("torch.softmax", "torch.nn.functional.softmax"))


def written_attention(module: PythonModule) -> Iterator[WrittenAttention]:
    """Yield ``softmax(q @ k.transpose(-2, -1) * scale) @ v``, the first in a function."""
    seen: set[ast.AST] = set()
    for call in module.calls:
        is_softmax = module.name_of(call.func) in _SOFTMAX
        is_layer = not is_softmax and _is_layer(module, call)
        if not is_softmax and not is_layer and not _is_method(call):
            continue
        function = module.function_of(call)
        if not isinstance(function, ast.FunctionDef) or function in seen:
            continue
        scores = (
            call.args[0]
            if (is_softmax or is_layer) and call.args
            else getattr(call.func, "value", None)
        )
        if scores is None or not _is_of_product(module, function, scores, call):
            continue
        weights = _name_given(module, call)
        if (
            weights is not None
            and _multiplies(module, function, weights, call)
            and not _is_given_to_method(module, function, weights, call)
        ):
            seen.add(function)
            yield WrittenAttention(call, _returns(module, function, weights))


def _is_layer(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* runs ``self.attend = nn.Softmax(dim=-1)`` of its class."""
    if not isinstance(call.func, ast.Attribute) or getattr(call.func.value, "id", "") != "self":
        return False
    classes = module.found_once(_softmax_layers).get(call.func.attr)
    if not classes:
        return False
    return next((a for a in module.ancestors(call) if isinstance(a, ast.ClassDef)), None) in classes


def _softmax_layers(module: PythonModule) -> dict[str, list[ast.AST]]:
    """Return the attributes that are nn.Softmax, each with the classes that make it."""
    layers: dict[str, list[ast.AST]] = {}
    for made in module.calls_of("torch.nn.Softmax"):
        above = module.parents.get(made)
        if isinstance(above, ast.Assign):
            target = above.targets[0]
            if isinstance(target, ast.Attribute):
                around = (a for a in module.ancestors(made) if isinstance(a, ast.ClassDef))
                layers.setdefault(target.attr, []).extend(around)
    return layers


def _is_method(call: ast.Call) -> bool:
    """Whether *call* is ``scores.softmax(dim=-1)``."""
    is_softmax = isinstance(call.func, ast.Attribute) and call.func.attr == "softmax"
    return is_softmax and (bool(call.args) or argument(call, "dim") is not None)


def _is_product(module: PythonModule, node: ast.AST) -> bool:
    """Whether *node* is a matrix product with something transposed."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        sides = [node.left, node.right]
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("matmul", "bmm"):
        sides = list(node.args)
    else:
        return _is_einsum(node)
    return any(
        isinstance(part, ast.Attribute)
        and part.attr in ("transpose", "mT", "T", "permute", "swapaxes")
        for side in sides
        for part in module.walk(side)
    )


def _is_einsum(node: ast.AST) -> bool:
    """Whether *node* is ``einsum("b i d, b j d -> b i j", q, k)``: a sum over an axis of two tensors."""
    if not isinstance(node, ast.Call):
        return False
    if getattr(node.func, "attr", getattr(node.func, "id", "")) != "einsum":
        return False
    match node.args:
        case [ast.Constant(value=str(subscripts)), _, _]:
            sides, arrow, result = subscripts.partition("->")
        case _:
            return False
    first, _, second = sides.partition(",")
    summed = set(first) & set(second) - set(result) - {" ", "."}
    return bool(arrow and summed)


def _is_of_product(
    module: PythonModule, function: ast.FunctionDef, scores: ast.expr, before: ast.Call
) -> bool:
    """Whether *scores* come from a product of queries and keys, here or by names above."""
    values: dict[str, list[ast.expr]] = {}
    for node in module.walk(function):
        if isinstance(node, ast.Assign) and node.lineno <= before.lineno:
            for target in node.targets:
                if isinstance(target, ast.Name):
                    values.setdefault(target.id, []).append(node.value)
    looked = [scores]
    while looked:
        for part in module.walk(looked.pop()):
            if _is_product(module, part):
                return not _takes_parameter(module, part)
            if isinstance(part, ast.Name):
                looked += values.pop(part.id, ())
    return False


def _takes_parameter(module: PythonModule, product: ast.AST) -> bool:
    """Whether one side is a parameter of the model: a few learned queries, linear in the length."""
    return any(
        isinstance(part, ast.Attribute)
        and isinstance(part.value, ast.Name)
        and part.value.id == "self"
        and re.search(r"quer|token|latent|slot|proto", part.attr) is not None
        for part in module.walk(product)
    )


def _name_given(module: PythonModule, call: ast.Call) -> str | None:
    for above in module.ancestors(call):
        if isinstance(above, ast.Assign):
            target = above.targets[0]
            return target.id if isinstance(target, ast.Name) else None
        if isinstance(above, ast.stmt):
            return None
    return None


def _multiplies(
    module: PythonModule, function: ast.FunctionDef, weights: str, behind: ast.Call
) -> bool:
    """Whether a matrix product takes *weights* further down."""
    for node in module.walk(function):
        if getattr(node, "lineno", 0) < behind.lineno:
            continue
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            sides = [node.left]
        elif _is_einsum(node):
            sides = node.args[1:] if isinstance(node, ast.Call) else []
        elif (
            isinstance(node, ast.Call)
            and getattr(node.func, "attr", "") in ("matmul", "bmm")
            and node.args
        ):
            sides = node.args[:1]
        else:
            continue
        if any(
            isinstance(part, ast.Name) and part.id == weights
            for side in sides
            for part in module.walk(side)
        ):
            return True
    return False


def _is_given_to_method(
    module: PythonModule, function: ast.FunctionDef, weights: str, behind: ast.Call
) -> bool:
    """Whether another method of the model computes something of the weights as well: of relative positions."""
    return any(
        isinstance(node, ast.Call)
        and node.lineno > behind.lineno
        and isinstance(node.func, ast.Attribute)
        and getattr(node.func.value, "id", "") == "self"
        and "drop" not in node.func.attr
        and any(isinstance(given, ast.Name) and given.id == weights for given in node.args)
        for node in module.walk(function)
    )


def _returns(module: PythonModule, function: ast.FunctionDef, weights: str) -> bool:
    return any(
        isinstance(part, ast.Name) and part.id == weights
        for node in module.walk(function)
        if isinstance(node, ast.Return) and node.value is not None
        for part in (node.value.elts if isinstance(node.value, ast.Tuple) else [node.value])
    )
