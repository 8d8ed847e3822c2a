"""Clocks that time steps of training."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.reads import reads_of
from gpuadvise.advisor.source.python.steps import steps_of
from gpuadvise.advisor.source.python.training import CLOCKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.python.module import PythonModule

_WAITS = ("synchronize", "elapsed_time", ".item()", ".cpu()")


def clocks_of_steps(module: PythonModule) -> Iterator[ast.Call]:
    """Yield the clock that times a step in which the host never waits for the GPU, once for a loop."""
    steps = steps_of(module)
    waiting = {steps.training_loop(read.node) for read in reads_of(module)}
    for call in module.calls_of(*CLOCKS):
        loop = steps.training_loop(call)
        if loop is None or loop in waiting or any(word in ast.unparse(loop) for word in _WAITS):
            continue
        if _is_subtracted(module, call, loop):
            waiting.add(loop)
            yield call


def _is_subtracted(module: PythonModule, call: ast.Call, loop: ast.AST) -> bool:
    """Whether a time is taken from what *call* reads, at once or by the name that it gets."""
    above = module.parents.get(call)
    if isinstance(above, ast.BinOp):
        return isinstance(above.op, ast.Sub) and above.left is call
    if not isinstance(above, ast.Assign):
        return False
    names = {t.id for t in above.targets if isinstance(t, ast.Name)}
    return any(
        isinstance(part, ast.BinOp)
        and isinstance(part.op, ast.Sub)
        and isinstance(part.left, ast.Name)
        and part.left.id in names
        for part in module.walk(loop)
    )
