"""Tables that each call or step computes anew from sizes alone."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.constant_tables import ConstantTable, makers_of_tables
from gpuadvise.advisor.source.python.steps import (
    forward_of,
    is_test,
    may_work_on_gpu,
    repeated_call_of,
    steps_of,
    where_on_gpu,
)
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

    Test = Callable[[PythonModule, ast.stmt], ast.AST | None]

_ACTION = (
    "Compute it once: register_buffer in __init__ for the largest size, and take a slice of it; or keep it for the last "
    "size and device."
)
_MAKERS = re.compile(
    r"table|schedule|embed|grid|filter|kernel|window|anchor|prior|basis|mask", re.IGNORECASE
)
# One arange is cheap.
FEWEST = number(3, "kernels that compute a table, at least", "", "our judgement")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Find what models, functions and steps compute of factories and sizes, without any input; once in each."""
    if is_test(module) or not may_work_on_gpu(module) or b"torch" not in module.text.content:
        return
    for around, runs_each_time in _repeated(module):
        table = ConstantTable(module, around, runs_each_time)
        if table.kernels >= FEWEST and table.first is not None and table.is_pattern:
            each = "call" if isinstance(around, ast.FunctionDef) else "round"
            yield module.diagnostic(
                "rebuilt-constants", table.first,
                where_on_gpu(
                    module,
                    f"Each {each} computes the same table from sizes alone, by {table.kernels} kernels or more.",
                ),
                _ACTION,
            )  # fmt: skip


def _repeated(module: PythonModule) -> Iterator[tuple[ast.AST, Test]]:
    """Yield functions that are called again and again, and loops that train, with what tells what runs in each."""
    steps, makers = steps_of(module), makers_of_tables(module)
    kinds = (ast.FunctionDef, ast.For, ast.AsyncFor, ast.While)
    for node in module.of_any(*kinds) if makers else ():
        if node not in makers:
            continue
        if isinstance(node, ast.FunctionDef):
            first = node.body[0]
            if forward_of(module, first) is node:
                yield node, forward_of
            elif repeated_call_of(module, first) is node and (
                not _makes_tables(node) or _is_made_each_time(module, node)
            ):
                yield node, repeated_call_of
        elif node in steps.training:
            yield node, lambda _, statement: steps.training_loop(statement)


def _makes_tables(function: ast.FunctionDef) -> bool:
    """Whether *function* is named for a table: its callers may keep what it returns."""
    return bool(_MAKERS.search(function.name))


def _is_made_each_time(module: PythonModule, function: ast.FunctionDef) -> bool:
    """Whether ``forward`` of a model, or a step, calls *function* and keeps what it gives no longer than that."""
    return any(
        (forward_of(module, call) is not None or steps_of(module).training_loop(call) is not None)
        and not _is_kept(module, call)
        for call in module.calls_named(function.name)
    )


def _is_kept(module: PythonModule, call: ast.Call) -> bool:
    """Whether a statement stores what *call* gives in an object."""
    for above in module.ancestors(call):
        if isinstance(above, ast.Assign):
            return any(isinstance(t, (ast.Attribute, ast.Subscript)) for t in above.targets)
        if isinstance(above, ast.Call) and getattr(above.func, "attr", "") == "register_buffer":
            return True
        if isinstance(above, ast.stmt):
            return False
    return False


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


class Attention(torch.nn.Module):
    def forward(self, scores):
        length = scores.shape[-1]
        allowed = torch.tril(torch.ones(length, length, device=scores.device)).bool().logical_not()
        return scores.masked_fill(allowed, float("-inf")).softmax(-1)""",
        """\
import torch


class Attention(torch.nn.Module):
    def forward(self, scores):
        length = scores.shape[-1]  # self.future: a buffer, made once
        return scores.masked_fill(self.future[:length, :length], float("-inf")).softmax(-1)""",
    ),
)


RULE = source_rule(
    id="rebuilt-constants",
    title="Keep tables that do not change",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="Masks, grids and position tables are the same in each call: short kernels compute them again and again.",
    when="A method of a model, a function that is called again and again or a step of training computes a tensor from sizes alone, by three kernels or more. It is said only when the rule is named.",
    citations=pytorch_tuning_guide(),
    seen="torch.tril(torch.ones(n, n, device=x.device))",
    file="model.py",
    action=_ACTION,
)
