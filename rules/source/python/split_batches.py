"""Networks that run on two halves of a batch, one after the other."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.module import last_name
from gpuadvise.advisor.source.python.steps import (
    forward_of,
    is_test,
    may_work_on_gpu,
    steps_of,
    where_on_gpu,
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

_ACTION = (
    "Put both inputs into one batch (torch.cat), run the network once, and split what it gives (chunk(2)): half the "
    "launches, on twice the work. Batch normalisation then sees both together."
)
# What tells two inputs of one kind apart: y and y_hat, view1 and view2, real and fake.
_SIDES = re.compile(
    r"_?(?:hat|real|fake|one|two|left|right|first|second|pos|neg|anchor|positive|negative|gen(?:erated)?|[12ab])(?=_|$)"
)
_LOOKS_UP = re.compile(r"embed(?:ding)?s?(?:_\w+)?$", re.IGNORECASE)
_DIFFERENT = frozenset(("anchor", "query", "key", "source", "target", "prev", "next"))


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``d(y)`` and ``d(y_hat)`` as neighbours, in what every step runs; once in a function."""
    if is_test(module) or not may_work_on_gpu(module) or b"torch" not in module.text.content:
        return
    seen: set[ast.AST] = set()
    for first, second in _neighbours(module):
        if not _is_pair(first, second):
            continue
        function = module.function_of(first)
        often = forward_of(module, first) or steps_of(module).training_loop(first)
        if often is not None and function not in seen:
            seen.add(function)
            yield module.diagnostic(
                "split-batches", second,
                where_on_gpu(
                    module,
                    "The network runs twice in a row on inputs of the same kind: twice the launches, each on half the work.",
                ),
                _ACTION,
            )  # fmt: skip


def _neighbours(module: PythonModule) -> Iterator[tuple[ast.Call, ast.Call]]:
    """Yield the runs of networks that stand in a row, block by block."""
    runs = {
        statement: run
        for statement in module.of(ast.Assign)
        if (run := _run(module, statement)) is not None
    }
    around = {module.parents[statement] for statement in runs}
    for node in module.nodes if len(runs) > 1 else ():
        for name in ("body", "orelse") if node in around else ():
            for before, behind in pairwise(getattr(node, name, None) or ()):
                if before in runs and behind in runs:
                    yield runs[before], runs[behind]


def _run(module: PythonModule, statement: ast.Assign) -> ast.Call | None:
    """Return the run of a network on one name that *statement* assigns."""
    call = statement.value
    if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords:
        return None
    value = tensors_of(module)[call.func]
    loop = module.loop_around(call)
    # for d in self.discriminators: d(y)
    is_layer = (
        isinstance(loop, ast.For)
        and isinstance(call.func, ast.Name)
        and any(isinstance(n, ast.Name) and n.id == call.func.id for n in ast.walk(loop.target))
        and "self." in ast.unparse(loop.iter)
    )
    is_network = value is not None and value.kind is ValueKind.MODEL
    if _LOOKS_UP.search(last_name(call)):
        return None  # one kernel, whatever the table holds
    return call if (is_network or is_layer) and isinstance(call.args[0], ast.Name) else None


def _is_pair(first: ast.Call, second: ast.Call) -> bool:
    """Whether both run the same network, on two names that say that they are two of a kind."""
    if ast.unparse(first.func) != ast.unparse(second.func):
        return False
    names = [ast.unparse(call.args[0]) for call in (first, second)]
    if names[0] == names[1] or _DIFFERENT.intersection(*(n.split("_") for n in names)):
        return False
    stems = {_SIDES.sub("", name) for name in names}
    return len(stems) == 1


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


class Discriminators(torch.nn.Module):
    def forward(self, y, y_hat):
        real = self.network(y)
        fake = self.network(y_hat)
        return real, fake""",
        """\
import torch


class Discriminators(torch.nn.Module):
    def forward(self, y, y_hat):
        return self.network(torch.cat([y, y_hat])).chunk(2)""",
    ),
)


RULE = source_rule(
    id="split-batches",
    title="Run a network once on both inputs",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="A run of a network has hundreds of launches whatever the size of its batch, and small batches leave a GPU half empty.",
    when="A model or a step runs the same network on two inputs of the same kind, one after the other.",
    citations=pytorch_tuning_guide(),
    seen="fake = self.network(y_hat)",
    file="train.py",
    action=_ACTION,
)
