"""Values of the GPU that every step of a training loop reads."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.training import conditional_in, training_loops, uses_gpu
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_READS = frozenset(("item", "cpu", "tolist"))
_OTHER_VENDORS = (b"torch_xla", b"torch_npu", b"habana", b"intel_extension", b'"xpu', b'"npu', b'"hpu', b"_mlu",
                  b"'xpu", b"'npu", b"'hpu", b"torch.xpu", b"torch.hpu")  # fmt: skip


_ACTION = "Keep the running sum as a tensor (total += loss.detach()) and read it once per epoch, or every n steps."


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``loss.item()``, ``.cpu()`` and ``print(loss)`` in every step of a training loop."""
    if not uses_gpu(module) or _for_another_vendor(module):
        return
    for loop in training_loops(module):
        names = loop.losses
        for node in (n for statement in loop.node.body for n in ast.walk(statement)):
            if not isinstance(node, ast.Call) or module.loop_around(node) is not loop.node:
                continue
            if conditional_in(module, node, loop.node) or not _reads_tensor(node, names):
                continue
            yield module.diagnostic(
                "synchronizing-reads", node,
                "In every step the host waits for the GPU to read one value.",
                _ACTION,
            )  # fmt: skip
            break


def _for_another_vendor(module: PythonModule) -> bool:
    """Whether the file is written for a processor that is not a GPU of NVIDIA as well."""
    return any(mark in module.text.content for mark in _OTHER_VENDORS)


def _reads_tensor(call: ast.Call, names: set[str]) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in _READS:
        base = call.func.value
        while isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute):
            base = base.func.value
        return isinstance(base, ast.Name) and base.id in names
    if isinstance(call.func, ast.Name) and call.func.id in ("print", "float"):
        return any(isinstance(a, ast.Name) and a.id in names for a in call.args)
    return False


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

for batch in loader:
    optimizer.zero_grad()
    loss = criterion(model(batch.to("cuda", non_blocking=True)))
    loss.backward()
    optimizer.step()
    losses.append(loss.item())  # waits in each step""",
        """\
import torch

for batch in loader:
    optimizer.zero_grad()
    loss = criterion(model(batch.to("cuda", non_blocking=True)))
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())  # read them after the loop""",
    ),
)


RULE = source_rule(
    id="synchronizing-reads",
    title="Read values of the GPU rarely",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    why="Reading a value makes the host wait until the GPU has done everything before it.",
    when="A training loop reads or prints its loss in every step.",
    citations=pytorch_tuning_guide(),
    seen="loss.item()",
    file="train.py",
    action=_ACTION,
)
