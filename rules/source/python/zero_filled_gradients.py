"""Gradients that are filled with zeros instead of dropped."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test
from gpuadvise.advisor.source.python.training import argument
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Write zero_grad(), which drops them: the next backward pass then writes instead of adding."
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``zero_grad(set_to_none=False)`` and ``p.grad.zero_()``; the first in a file."""
    if b"set_to_none" not in module.text.content and b".grad" not in module.text.content:
        return
    if is_test(module):
        return
    for call in module.calls_named("zero_grad", "zero_"):
        if not isinstance(call.func, ast.Attribute):
            continue
        said = argument(call, "set_to_none")
        refused = (
            call.func.attr == "zero_grad" and isinstance(said, ast.Constant) and said.value is False
        )
        owner = call.func.value
        zeroed = (
            call.func.attr == "zero_" and isinstance(owner, ast.Attribute) and owner.attr == "grad"
        )
        if refused or (zeroed and module.loop_around(call) is not None):
            yield module.diagnostic(
                "zero-filled-gradients", call,
                "Every gradient is written with zeros, and read and added to in the next backward pass.",
                _ACTION,
            )  # fmt: skip
            return


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

for batch in loader:
    optimizer.zero_grad(set_to_none=False)
    criterion(model(batch)).backward()
    optimizer.step()""",
        """\
import torch

for batch in loader:
    optimizer.zero_grad()
    criterion(model(batch)).backward()
    optimizer.step()""",
    ),
)


RULE = source_rule(
    id="zero-filled-gradients",
    title="Drop gradients instead of zeroing them",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    why="Zeros cost a write and a read of every gradient.",
    when="A program calls zero_grad(set_to_none=False), or zeroes gradients in a loop.",
    citations=pytorch_tuning_guide(),
    seen="optimizer.zero_grad(set_to_none=False)",
    file="train.py",
    action=_ACTION,
)
