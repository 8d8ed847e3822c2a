"""Clocks that are read before the GPU has done the work."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.step_clocks import clocks_of_steps
from gpuadvise.advisor.source.python.steps import works_on_gpu
from gpuadvise.advisor.source.python.training import (
    CLOCKS,
    argument,
    is_cuda_device,
    is_cuda_move,
    uses_gpu,
)
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_cuda_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_WAITS = frozenset(("item", "cpu", "numpy", "tolist", "synchronize", "elapsed_time"))
_ACTION = "Call torch.cuda.synchronize() before each reading, or time with torch.cuda.Event(enable_timing=True)."


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Two readings of a clock with GPU work between them and nothing that waits for it."""
    clocks = module.calls_of(*CLOCKS)
    if not clocks or (not uses_gpu(module) and not works_on_gpu(module)):
        return
    for reading in clocks_of_steps(module):
        yield module.diagnostic(
            "unsynchronized-timing", reading,
            "The clock tells when the host had queued this step, not when the GPU had done it.",
            _ACTION,
            minor=True,
        )  # fmt: skip
    if not uses_gpu(module):
        return
    for body in _bodies({above for call in clocks for above in module.ancestors(call)}):
        start: ast.stmt | None = None
        names: set[str] = set()
        pending: ast.AST | None = None
        for statement in body:
            clock = _clock_in(module, statement)
            if (
                clock is not None
                and start is not None
                and pending is not None
                and _subtracts(module, statement, names)
            ):
                yield module.diagnostic(
                    "unsynchronized-timing", clock,
                    f"The clock is read without waiting for the work of line {getattr(pending, 'lineno', 0)}: calls return before the GPU is done.",
                    _ACTION,
                    minor=True,
                )  # fmt: skip
                start, pending = None, None
            elif clock is not None and isinstance(statement, ast.Assign):
                start, pending = statement, None
                names = {t.id for t in statement.targets if isinstance(t, ast.Name)}
            elif start is None:
                continue
            elif _waits(module, statement):
                start = pending = None
            elif (work := _gpu_work(module, statement)) is not None:
                pending = work


def _bodies(around: set[ast.AST]) -> Iterator[list[ast.stmt]]:
    for node in sorted(around, key=lambda node: getattr(node, "lineno", 0)):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                yield body


def _clock_in(module: PythonModule, statement: ast.stmt) -> ast.Call | None:
    if isinstance(statement, (ast.For, ast.While, ast.If, ast.With, ast.FunctionDef, ast.Try)):
        return None
    calls = (n for n in module.walk(statement) if isinstance(n, ast.Call))
    return next((call for call in calls if module.name_of(call.func) in CLOCKS), None)


def _subtracts(module: PythonModule, statement: ast.stmt, names: set[str]) -> bool:
    """Whether *statement* takes one of *names* from the clock, and reads no value of the GPU beside it."""
    parts = list(module.walk(statement))
    if any(isinstance(n, ast.Attribute) and n.attr in _WAITS for n in parts):
        return False
    return any(
        isinstance(n, ast.BinOp)
        and isinstance(n.op, ast.Sub)
        and isinstance(n.right, ast.Name)
        and n.right.id in names
        for n in parts
    )


def _waits(module: PythonModule, statement: ast.stmt) -> bool:
    """Whether something in *statement* waits for the GPU, or may: any call that is not known."""
    for node in module.walk(statement):
        if isinstance(node, ast.Call):
            name = module.name_of(node.func)
            last = node.func.attr if isinstance(node.func, ast.Attribute) else name
            if (
                last in _WAITS
                or name in ("print", "float", "int")
                or "sync" in last.lower()
                or "barrier" in last
            ):
                return True
            if isinstance(node.func, ast.Name) and node.func.id in module.functions:
                return True
    return False


def _gpu_work(module: PythonModule, statement: ast.stmt) -> ast.AST | None:
    """Return a call that surely queues GPU work: of a model or tensor that the file moved."""
    for node in module.walk(statement):
        if isinstance(node, ast.Call):
            name = module.name_of(node.func)
            if name in ("torch.matmul", "torch.mm", "torch.bmm"):
                return node if _on_gpu(module, node.args[:1]) else None
            if isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
                return node
            if isinstance(node.func, ast.Name) and _on_gpu(module, [node.func]):
                return node
        if isinstance(node, ast.BinOp):
            product = isinstance(node.op, ast.MatMult)
            if product and _on_gpu(module, [node.left]):
                return node
    return None


def _on_gpu(module: PythonModule, nodes: list[ast.expr]) -> bool:
    for node in nodes:
        if not isinstance(node, ast.Name):
            continue
        for value in module.values_of(node.id):
            if isinstance(value, ast.Call):
                if is_cuda_move(module, value):
                    return True
                device = argument(value, "device")
                if device is not None and is_cuda_device(module, device):
                    return True
    return False


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import time

import torch

model = Model().to("cuda")
start = time.perf_counter()
y = model(x)
print(time.perf_counter() - start)  # of the launches alone""",
        """\
import time

import torch

model = Model().to("cuda")
torch.cuda.synchronize()
start = time.perf_counter()
y = model(x)
torch.cuda.synchronize()
print(time.perf_counter() - start)""",
    ),
)


RULE = source_rule(
    id="unsynchronized-timing",
    title="Synchronise before reading the clock",
    topic=Topic.MEASUREMENT,
    priority=Priority.MEDIUM,
    correctness=True,
    why="Calls return before the GPU has done the work.",
    when="A clock is read after GPU work without anything that waits for it.",
    citations=pytorch_cuda_notes(),
    seen="time.time() - start",
    file="train.py",
    action=_ACTION,
)
