"""Models whose copies one process drives by threads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test, steps_of
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_cuda_notes

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Start one process for each GPU by torchrun and wrap the model into torch.nn.parallel.DistributedDataParallel; on one "
    "GPU leave the wrapper out."
)

_WORDS = (b"DataParallel(", b"data_parallel", b"parallel.replicate(")
_BY_HAND = re.compile(r"(?:^|\.)(?:data_parallel(?:_\w+)?|parallel\.replicate)$")
_ACTION_ALONE = (
    "Call the model itself; the keys of weights saved with the wrapper lose their `module.`."
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``torch.nn.DataParallel(model)`` ; the first in a file."""
    words = module.text.content
    if not any(word in words for word in _WORDS) or is_test(module):
        return
    infers = b".eval()" in words and b".backward(" not in words and b".train()" not in words
    wrapped = module.calls_of("torch.nn.DataParallel", "torch.nn.parallel.DataParallel")
    wrapped = wrapped or _by_hand(module)
    for call in wrapped[:1]:
        yield module.diagnostic(
            "data-parallel-threads", call,
            "The wrapper splits and gathers each batch by threads of Python, which a few samples do not repay."
            if infers
            else "One process copies the model to every GPU in each step, and its threads take turns in Python.",
            _ACTION_ALONE if infers else _ACTION,
        )  # fmt: skip


def _by_hand(module: PythonModule) -> list[ast.Call]:
    """Return the calls that do in each step what the wrapper does: ``torch.nn.parallel.data_parallel(model, x)``."""
    return [
        call
        for call in module.calls_like(_BY_HAND.search)
        if steps_of(module).training_loop(call) is not None
        or module.name_of(call.func).startswith("torch.")
    ]


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

model = torch.nn.DataParallel(model).cuda()""",
        """\
import torch

model = torch.nn.parallel.DistributedDataParallel(model.cuda(rank), device_ids=[rank])""",
    ),
)


RULE = source_rule(
    id="data-parallel-threads",
    title="Give each GPU a process",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="Parameters are sent out and outputs gathered in each step, while one interpreter drives all GPUs.",
    when="A program wraps its model into torch.nn.DataParallel, or spreads it by hand.",
    citations=pytorch_cuda_notes(),
    seen="torch.nn.DataParallel(model)",
    file="train.py",
    action=_ACTION,
)
