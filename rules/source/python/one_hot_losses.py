"""Losses that multiply all log-probabilities by a table of zeros and a one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.module import last_value
from gpuadvise.advisor.source.python.steps import is_test, may_work_on_gpu, where_on_gpu
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_cross_entropy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

    Test = Callable[[PythonModule, ast.Call], bool]

_ACTION = (
    "Write F.cross_entropy(logits, targets, label_smoothing=eps, ignore_index=pad), without label_smoothing for plain "
    "targets; where one log-probability is needed, log_probs.gather(1, targets.unsqueeze(1))."
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``-(one_hot * F.log_softmax(logits, 1)).sum(1)``, where the table was scattered or made of targets."""
    words = module.text.content
    if b"log_softmax" not in words and b"LogSoftmax" not in words:
        return
    if not module.calls_named("one_hot", "scatter", "scatter_"):
        return
    if is_test(module) or not may_work_on_gpu(module):
        return
    for product in module.of(ast.BinOp):
        if not isinstance(product.op, ast.Mult):
            continue
        for table, logs in ((product.left, product.right), (product.right, product.left)):
            if _comes_from(module, logs, _is_log_softmax) and (
                made := _comes_from(module, table, _is_one_hot)
            ):
                yield module.diagnostic(
                    "one-hot-losses", made,
                    where_on_gpu(module, "A table of one number for each sample and class is made, changed and multiplied, where one of each row counts."),
                    _ACTION,
                    minor=True,
                )  # fmt: skip
                break


def _comes_from(module: PythonModule, node: ast.expr, is_meant: Test) -> ast.Call | None:
    """Return the call that *is_meant* in *node*, also behind names of its function."""
    looked = [node]
    seen: set[ast.expr] = set()
    for _ in range(4):  # names behind names
        further: list[ast.expr] = []
        for top in looked:
            for part in module.walk(top):
                if isinstance(part, ast.Call) and is_meant(module, part):
                    return part
                if isinstance(part, ast.Name) and (value := last_value(module, part)):
                    further.append(value)
        looked = [value for value in dict.fromkeys(further) if value not in seen]
        seen.update(looked)
    return None


def _is_log_softmax(module: PythonModule, call: ast.Call) -> bool:
    return getattr(call.func, "attr", getattr(call.func, "id", "")) == "log_softmax"


def _is_one_hot(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* is ``F.one_hot(targets)``, or ``torch.zeros_like(x).scatter(1, targets, 1)``."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name == "one_hot":
        return True
    if name not in ("scatter", "scatter_") or not isinstance(call.func, ast.Attribute):
        return False
    start = call.func.value
    while isinstance(start, ast.Call) and isinstance(start.func, ast.Attribute):
        if start.func.attr in ("zeros_like", "zeros", "new_zeros", "full_like", "full", "new_full"):
            return len(call.args) > 1 and not isinstance(call.args[1], ast.Constant)
        start = start.func.value
    return False


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch
import torch.nn.functional as F


def smoothed_loss(logits, targets):
    one_hot = torch.zeros_like(logits).scatter(1, targets.view(-1, 1), 1)
    one_hot = one_hot * 0.9 + (1 - one_hot) * 0.1 / (logits.size(1) - 1)
    return -(one_hot * F.log_softmax(logits, dim=1)).sum(dim=1).mean()""",
        """\
import torch.nn.functional as F


def smoothed_loss(logits, targets):
    return F.cross_entropy(logits, targets, label_smoothing=0.1)""",
    ),
)
RULE = source_rule(
    id="one-hot-losses",
    title="Let the loss take class numbers",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    why="The table and each copy of it are as large as the logits, which of a vocabulary are often the largest tensor.",
    when="A table of zeros into which ones are scattered, or F.one_hot, is multiplied by the log-probabilities.",
    citations=pytorch_cross_entropy(),
    seen="(one_hot * F.log_softmax(logits, 1)).sum(1)",
    file="train.py",
    action=_ACTION,
)
