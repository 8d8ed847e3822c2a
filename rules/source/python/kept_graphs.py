"""Losses that are summed or collected together with the graphs that computed them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test, names_in, steps_of, without_gradients
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_faq

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = "Write .detach() behind it: total += loss.detach(), losses.append(loss.detach())."
_CUTS = frozenset(("item", "detach", "detach_", "cpu", "numpy", "tolist", "clone", "float", "data"))


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``total += loss`` and ``losses.append(loss)`` behind ``loss.backward()``, which keep each step's graph."""
    if is_test(module):
        return
    steps = steps_of(module)
    backward = set().union(*steps.training.values(), *steps.functions.values())
    # total = 0; for ...: total += loss; total.backward(), loss = sum(losses)
    backward |= {n for name in list(backward) for n in names_in(module.assigned.get(name, []))}
    backward.discard("self")
    for loop, losses in steps.training.items():
        made = _made_in(module, loop)
        for node in module.walk(loop):
            kept = _kept(node)
            if kept is None:
                continue
            container, value = kept
            if not _is_bare(value, losses) or without_gradients(module, node):
                continue
            if module.loop_around(node) is not loop or _is_number(module, value):
                continue
            root = container.split(".")[0].split("[")[0]
            if container in losses or root in backward or root in made:
                continue
            yield module.diagnostic(
                "kept-graphs", value,
                f"{container} keeps what each step recorded for backward(): memory grows with every step.",
                _ACTION,
            )  # fmt: skip


def _kept(node: ast.AST) -> tuple[str, ast.expr] | None:
    """Return the name that *node* adds a value to, and the value."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return ast.unparse(node.target), node.value
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and len(node.args) == 1
    ):
        return ast.unparse(node.func.value), node.args[0]
    return None


def _is_bare(value: ast.expr, losses: set[str]) -> bool:
    """Whether *value* is a loss, or a product of one, with its graph."""
    if isinstance(value, ast.Name):
        return value.id in losses
    if isinstance(value, ast.BinOp):
        return _is_bare(value.left, losses) or _is_bare(value.right, losses)
    return False


def _is_number(module: PythonModule, value: ast.expr) -> bool:
    """Whether a statement of the file cuts the graph of *value*'s name, or makes it a number."""
    return any(
        isinstance(assigned, ast.Call)
        and getattr(assigned.func, "attr", getattr(assigned.func, "id", "")) in _CUTS
        for name in names_in([value])
        for assigned in module.assigned.get(name, ())
    )


def _made_in(module: PythonModule, loop: ast.AST) -> set[str]:
    """Return the names that each round of *loop* makes anew."""
    return {
        target.id
        for node in module.walk(loop)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

for images, labels in loader:
    loss = criterion(model(images.cuda()), labels.cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss""",
        """\
import torch

for images, labels in loader:
    loss = criterion(model(images.cuda()), labels.cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.detach()""",
    ),
)


RULE = source_rule(
    id="kept-graphs",
    title="Sum losses without their graphs",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    why="A loss carries the graph that computed it, which stays in memory as long as anything refers to it.",
    when="A training loop sums or collects a loss without detach().",
    citations=pytorch_faq(),
    seen="total += loss",
    file="train.py",
    action=_ACTION,
)
