"""Tensors that a loop lengthens by copying all that they hold."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    forward_of,
    is_test,
    may_work_on_gpu,
    names_in,
    steps_of,
)
from gpuadvise.advisor.source.python.tensors import TensorMemory, ValueKind, tensors_of
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = "Make the whole tensor once and write each part into it, or collect the parts in a list and call torch.cat once."
_JOINS = frozenset(
    ("torch.cat", "torch.concat", "torch.concatenate", "torch.hstack", "torch.vstack")
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``x = torch.cat([x, part])`` in every round: all of x is copied for each part."""
    if is_test(module) or not may_work_on_gpu(module):
        return
    steps = steps_of(module)
    for call in module.calls_of(*_JOINS):
        if not call.args:
            continue
        above = module.parents.get(call)
        if not isinstance(above, ast.Assign) or len(above.targets) != 1:
            continue
        parts = call.args[0]
        if not isinstance(parts, (ast.List, ast.Tuple)) or not steps.is_repeated(call):
            continue
        name = ast.unparse(above.targets[0])
        loop = _loop_of_one(module, call, above.targets[0])
        if (
            loop is None
            or name not in map(ast.unparse, parts.elts)
            or _is_made_anew(module, loop, above, name)
            or _runs_model_on(module, loop, name)
            or _doubles(module, loop, name, parts.elts)
            or _is_beside_more(module, loop, parts.elts)
        ):
            continue
        yield module.diagnostic(
            "growing-tensors", call,
            f"Each round allocates {name} anew and copies all of it: the work grows with the square of its length.",
            _ACTION,
        )  # fmt: skip


def _loop_of_one(module: PythonModule, call: ast.Call, grown: ast.expr) -> ast.AST | None:
    """Return the loop of which each round lengthens the same tensor: ``x[i]`` is another one for each i."""
    names = set(names_in([grown]))
    for loop in module.loops_around(call):
        if not isinstance(loop, (ast.For, ast.AsyncFor)) or not names & set(
            names_in([loop.target])
        ):
            return loop
    return None


def _is_beside_more(module: PythonModule, loop: ast.AST, parts: list[ast.expr]) -> bool:
    """Whether the host joins what it made itself, or each round of a model runs another network, for which its copy is little."""
    tensors = tensors_of(module)
    values = [tensors[part] for part in parts]
    if any(v is not None and v.place is TensorMemory.PAGEABLE and v.sure for v in values):
        return True
    return forward_of(module, loop) is not None and any(
        isinstance(part, ast.Call)
        and (value := tensors[part.func]) is not None
        and value.kind is ValueKind.MODEL
        for part in module.walk(loop)
    )


def _doubles(module: PythonModule, loop: ast.AST, name: str, parts: list[ast.expr]) -> bool:
    """Whether each round adds a part that starts as all of *name*: few rounds, and work linear in what comes out."""
    added = set(map(ast.unparse, parts)) - {name}
    if any(text.endswith(f"_like({name})") for text in added):
        return True  # room for as much again, when it is full
    return any(
        isinstance(part, ast.Assign)
        and isinstance(part.value, ast.Name)
        and part.value.id == name
        and ast.unparse(part.targets[0]) in added
        for part in module.walk(loop)
    )


def _runs_model_on(module: PythonModule, loop: ast.AST, name: str) -> bool:
    """Whether the loop picks tokens by a model that it runs on all of *name*, beside which its copy is nothing."""
    if not re.search(r"multinomial|argmax|topk|[Cc]ategorical", ast.unparse(loop)):
        return False
    names = {name} | {
        ast.unparse(part.targets[0])
        for part in module.walk(loop)
        if isinstance(part, ast.Assign)
        and isinstance(part.value, (ast.IfExp, ast.Subscript))
        and name in ast.unparse(part.value)
    }
    return any(
        isinstance(part, ast.Call)
        and part.args
        and ast.unparse(part.args[0]) in names
        and (
            ast.unparse(part.func) == "self"
            or (
                (value := tensors_of(module)[part.func]) is not None
                and value.kind is ValueKind.MODEL
            )
        )
        for part in module.walk(loop)
    )


def _is_made_anew(module: PythonModule, loop: ast.AST, grown: ast.Assign, name: str) -> bool:
    """Whether the loop gives *name* another value as well."""
    return any(
        isinstance(node, (ast.Assign, ast.For))
        and node is not grown
        and any(
            ast.unparse(part) == name
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            for part in (target.elts if isinstance(target, ast.Tuple) else [target])
        )
        for node in module.walk(loop)
    )


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

outputs = torch.empty(0, 128, device="cuda")
for batch in loader:
    outputs = torch.cat([outputs, model(batch)])""",
        """\
import torch

outputs = []
for batch in loader:
    outputs.append(model(batch))
outputs = torch.cat(outputs)""",
    ),
)


RULE = source_rule(
    id="growing-tensors",
    title="Join tensors once",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    why="Joining copies everything that was there before.",
    when="A loop lengthens a tensor by torch.cat in every round.",
    citations=pytorch_tuning_guide(),
    seen="x = torch.cat([x, y])",
    file="train.py",
    action=_ACTION,
)
