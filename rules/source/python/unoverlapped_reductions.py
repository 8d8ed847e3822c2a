"""Gradients that are summed over the GPUs by hand, behind the backward pass."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Wrap the model: torch.nn.parallel.DistributedDataParallel sums buckets of gradients while the backward pass still "
    "computes the next ones."
)
_REDUCES = re.compile(r"(?:^|\.)(?:all_reduce|allreduce|all_reduce_coalesced)$")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``all_reduce(p.grad)`` for each parameter, or of all gradients put end to end, and waits at once."""
    if b"async_op" in module.text.content and not is_test(module):
        yield from _waited_at_once(module)
    if (
        is_test(module)
        or b"reduce" not in module.text.content
        or b"grad" not in module.text.content
    ):
        return
    for call in module.calls_like(_REDUCES.search):
        if not call.args:
            continue
        if _is_asynchronous(call):
            continue
        if _is_of_gradients(module, call.args[0], call):
            yield module.diagnostic(
                "unoverlapped-reductions", call,
                "Gradients are summed over the GPUs when all of them are computed: no communication overlaps with the backward pass.",
                _ACTION,
            )  # fmt: skip


def _waited_at_once(module: PythonModule) -> Iterator[Diagnostic]:
    """Find ``work = all_gather(..., async_op=True)`` with ``work.wait()`` as the next statement."""
    for call in module.calls:
        above = module.parents.get(call)
        if not _is_asynchronous(call) or not isinstance(above, ast.Assign):
            continue
        around = module.parents.get(above)
        block: list[ast.stmt] = next(
            (b for b in (getattr(around, n, None) for n in ("body", "orelse")) if b and above in b),
            [],
        )
        behind = block[block.index(above) + 1 :][:1] if block else []
        if behind and ast.unparse(behind[0]) == f"{ast.unparse(above.targets[0])}.wait()":
            yield module.diagnostic(
                "unoverlapped-reductions", call,
                "The next statement waits for this collective: asynchronous as it is, nothing overlaps with it.",
                "Wait where the result is needed, behind work that does not need it; or leave async_op out.",
            )  # fmt: skip


def _is_asynchronous(call: ast.Call) -> bool:
    return any(k.arg == "async_op" and getattr(k.value, "value", True) for k in call.keywords)


def _is_of_gradients(module: PythonModule, node: ast.expr, call: ast.Call) -> bool:
    """Whether *node* is ``p.grad``, or a tensor that a function of this name made of such ones."""
    if any(isinstance(part, ast.Attribute) and part.attr == "grad" for part in ast.walk(node)):
        return True
    if not isinstance(node, ast.Name):
        return False
    function = module.function_of(call)
    words = [ast.unparse(v) for v in module.values_of(node.id) if module.function_of(v) is function]
    flattened = any("flatten" in value or "cat(" in value for value in words)
    return any(".grad" in value for value in words) or (
        flattened
        and any(isinstance(p, ast.Attribute) and p.attr == "grad" for p in module.walk(function))
    )


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch.distributed as dist

loss.backward()
for parameter in model.parameters():
    dist.all_reduce(parameter.grad)
optimizer.step()""",
        """\
import torch

model = torch.nn.parallel.DistributedDataParallel(model)
loss = criterion(model(images), labels)
loss.backward()
optimizer.step()""",
    ),
)


RULE = source_rule(
    id="unoverlapped-reductions",
    title="Sum gradients while others are computed",
    topic=Topic.APPLICATION,
    priority=Priority.LOW,
    why="The links idle during the backward pass, and the GPUs idle while gradients cross the links.",
    when="A program calls all_reduce on gradients itself and waits for it.",
    citations=pytorch_tuning_guide(),
    seen="dist.all_reduce(parameter.grad)",
    file="train.py",
    action=_ACTION,
)
