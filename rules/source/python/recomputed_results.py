"""Results that a loop computes again although nothing in them has changed."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    is_test,
    may_work_on_gpu,
    steps_of,
    without_gradients,
)
from gpuadvise.advisor.source.python.tensors import ValueKind, tensors_of
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION_LOOP = "Compute it once in front of the loop, and use the result."
_ACTION_PRODUCT = "Give the first result a name, and use it again."
_PRODUCTS = frozenset(("dot", "matmul", "mm", "bmm", "einsum", "tensordot"))
# What is meant to differ from call to call.
_RANDOM = re.compile(
    r"sample|generate|rand|noise|augment|dropout|reset|step|act$|eval$|train$|load|cuda$|to$|parameters|save"
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Find calls of a model with the same arguments in each round, and products that a round computes twice."""
    words = module.text.content
    if (
        is_test(module)
        or not may_work_on_gpu(module)
        or not (b"torch" in words or b"cupy" in words)
    ):
        return
    for call in module.calls:
        if _is_invariant_run(module, call):
            yield module.diagnostic(
                "recomputed-results", call,
                "Each round runs the model on the same input again: nothing in it changes in the loop.",
                _ACTION_LOOP,
            )  # fmt: skip
    yield from _products(module)


def _is_invariant_run(module: PythonModule, call: ast.Call) -> bool:
    """Whether a loop runs a model, whose weights stay, on what no round changes."""
    if not call.args or not isinstance(module.parents.get(call), ast.Assign):
        return False
    loop = module.loop_around(call)
    if not isinstance(loop, ast.For) or not without_gradients(module, call):
        return False
    if not steps_of(module).is_repeated(call) or _RANDOM.search(getattr(call.func, "attr", "")):
        return False
    counted = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    if not any(
        isinstance(n, ast.Name) and n.id in counted for s in loop.body for n in module.walk(s)
    ):
        return False  # the same again and again: to warm up, or to measure
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    value = tensors_of(module)[owner] or tensors_of(module)[call.func]
    if value is None or value.kind is not ValueKind.MODEL:
        return False
    bound = module.bound_in(loop)
    given = [*call.args, *(k.value for k in call.keywords), call.func]
    return not any(
        isinstance(part, (ast.Call, ast.Starred, ast.Lambda, ast.Subscript))
        or (isinstance(part, ast.Name) and part.id in bound)
        for top in given
        for part in module.walk(top)
    )


def _products(module: PythonModule) -> Iterator[Diagnostic]:
    """Find ``dot(a, p)`` that stands twice in the body of a loop, its operands unchanged between."""
    loops: list[ast.For | ast.While] = module.of_any(ast.For, ast.While)
    for loop in loops:
        first: dict[str, ast.Call] = {}
        for statement in loop.body:
            if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr)):
                continue
            for part in module.walk(statement):
                if (
                    not isinstance(part, ast.Call)
                    or getattr(part.func, "attr", "") not in _PRODUCTS
                ):
                    continue
                before = first.setdefault(ast.unparse(part), part)
                if before is part or not _is_of_gpu(module, part):
                    continue
                names = {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
                changed = (
                    module.is_bound_between(name, before.lineno - 1, part.lineno - 1)
                    for name in names
                )
                if not any(changed):
                    yield module.diagnostic(
                        "recomputed-results", part,
                        f"The round has computed this product already, in line {before.lineno}.",
                        _ACTION_PRODUCT,
                    )  # fmt: skip


def _is_of_gpu(module: PythonModule, product: ast.Call) -> bool:
    """Whether *product* is one of PyTorch or CuPy, or of whatever module its arrays belong to."""
    name = module.name_of(product.func)
    return name.startswith(("torch.", "cupy.", "xp."))


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import cupy

for i in range(100):
    a = cupy.inner(r, r) / cupy.inner(p, cupy.dot(A, p))
    x += a * p
    r = r - a * cupy.dot(A, p)""",
        """\
import cupy

for i in range(100):
    product = cupy.dot(A, p)
    a = cupy.inner(r, r) / cupy.inner(p, product)
    x += a * p
    r = r - a * product""",
    ),
)


RULE = source_rule(
    id="recomputed-results",
    title="Compute once what stays the same",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="A product or a run of a model takes its full time again, for a result that is there.",
    when="A loop runs a model on what no round changes, or computes the same product twice in a round.",
    citations=pytorch_tuning_guide(),
    seen="cupy.dot(A, p)",
    file="solve.py",
    action=_ACTION_PRODUCT,
)
