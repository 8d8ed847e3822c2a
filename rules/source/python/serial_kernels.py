"""Loops over positions, heads or frequencies that queue short kernels one by one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.serial_work import Series, series_in_list, series_in_loop
from gpuadvise.advisor.source.python.steps import is_test, may_work_on_gpu, where_on_gpu
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Compute all of it at once: one product for all heads, a broadcast over a tensor of frequencies, a whole-sequence "
    "operator (cumsum, unfold, nn.LSTM, a scan); or let torch.compile or a CUDA graph take the loop."
)
_WORDS = {
    Series.HEADS: "Heads of the same shape run one after the other, each by short kernels of its own.",
    Series.FUNCTIONS: "Each function or frequency queues a kernel of its own over the same input.",
    Series.POSITIONS: "Each round queues short kernels for one position, so that launches take most of the time.",
    Series.SAMPLES: "Each round queues short kernels for one row of a tensor, such as a sample of the batch, so that launches take most of the time.",
    Series.MATRICES: "Each round decomposes or solves one matrix, and most of these functions let the host wait: PyTorch takes a batch of matrices at once.",
    Series.STEPS_OF_CELL: "Each round runs one step of a recurrent cell: short kernels, so that launches take most of "
    "the time.",
    Series.ROUNDS: "Each round needs what the round before computed: where its kernels are short, launches take most of the time.",
}
_ACTION_ROUNDS = (
    'Record one round as a CUDA graph, or compile it: torch.compile(step, mode="reduce-overhead"). Take out of the loop what '
    "does not depend on the round before."
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Find such loops in what a model computes, and in functions that are called again and again."""
    if is_test(module) or not may_work_on_gpu(module) or b"torch" not in module.text.content:
        return
    reported: set[ast.AST] = set()
    loops: list[ast.For | ast.While] = module.of_any(ast.For, ast.While)
    for loop in loops:
        if reported.intersection(module.loops_around(loop)):
            continue
        series = series_in_loop(module, loop)
        if series is not None:
            reported.add(loop)
            yield _said(module, loop.iter if isinstance(loop, ast.For) else loop.test, series)
    for made in module.of(ast.ListComp):
        series = series_in_list(module, made)
        if series is not None:
            yield _said(module, made, series)


def _said(module: PythonModule, place: ast.expr, series: Series) -> Diagnostic:
    words = where_on_gpu(module, _WORDS[series])
    action = _ACTION_ROUNDS if series is Series.ROUNDS else _ACTION
    return module.diagnostic("serial-kernels", place, words, action)


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


class Layer(torch.nn.Module):
    def forward(self, x, adjacency):
        return torch.cat([head(x, adjacency) for head in self.heads], dim=1)""",
        """\
import torch


class Layer(torch.nn.Module):
    def forward(self, x, adjacency):
        return self.all_heads(x, adjacency).flatten(1)""",
    ),
)


RULE = source_rule(
    id="serial-kernels",
    title="Compute all positions at once",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="A short kernel takes less time than its launch, so the GPU idles between the rounds.",
    when="A model runs head after head or a recurrent cell step by step, or a loop counts through an axis of a tensor, with several operations in each round, or the decomposition of one matrix; or each round needs what the one before gave.",
    citations=pytorch_tuning_guide(),
    seen="torch.cat([head(x) for head in self.heads])",
    file="train.py",
    action=_ACTION,
)
