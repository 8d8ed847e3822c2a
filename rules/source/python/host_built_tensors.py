"""Tensors that a loop makes in host memory only to move them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.training import (
    FACTORIES,
    argument,
    has_unknown_arguments,
    is_cuda_move,
)
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Tensors that a loop makes in host memory only to move them; they could be made on the GPU."""
    for call in module.calls:
        if not is_cuda_move(module, call) or module.loop_around(call) is None:
            continue
        made = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        if not isinstance(made, ast.Call) or module.name_of(made.func) not in FACTORIES:
            continue
        if argument(made, "device") is not None or has_unknown_arguments(made):
            continue
        if any(isinstance(above, ast.ExceptHandler) for above in module.ancestors(call)):
            continue
        name = module.name_of(made.func)
        if name in ("torch.from_numpy", "torch.as_tensor"):
            continue
        yield module.diagnostic(
            "host-built-tensors", call,
            "Each iteration builds a tensor in host memory and copies it to the GPU.",
            f"Write {name}(..., device=...): the GPU makes it itself.",
        )  # fmt: skip


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
for batch in loader:
    mask = torch.ones(len(batch), 512).to("cuda")""",
        """\
for batch in loader:
    mask = torch.ones(len(batch), 512, device="cuda")""",
    ),
)


RULE = source_rule(
    id="host-built-tensors",
    title="Build tensors where they are used",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    why="A tensor built in host memory has to be copied before it is used.",
    when="A loop builds a tensor in host memory and moves it to the GPU.",
    citations=pytorch_tuning_guide(),
    seen="torch.zeros(64, 10).cuda()",
    file="train.py",
)
