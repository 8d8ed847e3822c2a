"""Which networks the optimisers of a Python file train, and who clears or switches off their gradients."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.module import FUNCTIONS
from gpuadvise.advisor.source.python.steps import steps_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.python.module import PythonModule

# Somebody switches gradients on and off already.
_FREEZES = re.compile(r"(?:^|_)(?:set|toggle|disable|switch)\w*grad|(?:un)?freeze", re.IGNORECASE)

_LONGEST_CHAIN = 6  # names behind names


def networks_trained(module: PythonModule) -> dict[str, set[str]]:
    """Return the networks whose parameters each optimiser of the file is given, by how they are written."""
    trained: dict[str, set[str]] = {}
    for call in steps_of(module).calls("parameters"):
        if not isinstance(call.func, ast.Attribute):
            continue
        for above in module.ancestors(call):
            if isinstance(above, (ast.Assign, ast.AnnAssign)):
                made = above.value
                target = above.targets[0] if isinstance(above, ast.Assign) else above.target
                if isinstance(made, ast.Call) and _makes_optimizer(module, made):
                    trained.setdefault(ast.unparse(target), set()).add(ast.unparse(call.func.value))
            if isinstance(above, (ast.stmt, *FUNCTIONS)):
                break
    for call in steps_of(module).calls("step"):
        # self.actor.optimizer.step(), made elsewhere
        owner, _, last = ast.unparse(getattr(call.func, "value", call.func)).rpartition(".")
        if owner not in ("", "self") and last in ("optimizer", "optim"):
            trained.setdefault(f"{owner}.{last}", {owner})
    return trained


def _makes_optimizer(module: PythonModule, call: ast.Call) -> bool:
    name = module.name_of(call.func)
    return (
        name.startswith(("torch.optim.", "optim."))
        or re.search(r"(?:Adam\w*|SGD|RMS[pP]rop|Optimizer|optimizer|optim)$", name) is not None
    )


def optimizer_stepped(call: ast.Call) -> str:
    """Return the optimiser that *call* steps: ``optimizer.step()``, ``scaler.step(optimizer)``."""
    return ast.unparse(call.args[0] if call.args else getattr(call.func, "value", call))


def switches_gradients(module: PythonModule, function: ast.AST) -> bool:
    """Whether *function* switches gradients of parameters off and on."""
    for part in module.walk(function):
        if isinstance(part, ast.Call):
            name = getattr(part.func, "attr", getattr(part.func, "id", ""))
            on = (
                bool(part.args)
                and isinstance(part.args[0], ast.Constant)
                and part.args[0].value is True
            )
            if _FREEZES.search(name) or (name == "requires_grad_" and part.args and not on):
                return True
        elif isinstance(part, ast.Attribute) and (
            part.attr == "requires_grad" and isinstance(part.ctx, ast.Store)
        ):
            return True
    return False


def clears_gradients(module: PythonModule, trained: dict[str, set[str]], network: str) -> bool:
    """Whether the file clears the gradients of *network*, by its optimiser, itself or a method for all."""
    clearing = {network, *(name for name, networks in trained.items() if network in networks)}
    for name in ("zero_grad", "reset_grad", "zero_grads", "clear_grad"):
        for call in steps_of(module).calls(name):
            owner = ast.unparse(getattr(call.func, "value", call.func))
            if owner in clearing or (owner == "self" and name != "zero_grad"):
                return True
    return False


def calls_behind(
    module: PythonModule, nodes: list[ast.expr], before: dict[str, list[ast.expr]]
) -> Iterator[ast.Call]:
    """Yield the calls by which *nodes* are computed, where a graph is recorded."""
    seen: set[str] = set()
    looked: list[tuple[ast.AST, int]] = [(node, 0) for node in nodes]
    while looked:
        node, depth = looked.pop()
        module.count_work(1)
        if isinstance(node, ast.Attribute) and node.attr == "data":
            continue
        if isinstance(node, ast.Call):
            if getattr(node.func, "attr", "") in ("detach", "item", "cpu", "numpy"):
                continue
            yield node
        elif isinstance(node, ast.Name) and node.id not in seen and depth < _LONGEST_CHAIN:
            seen.add(node.id)
            looked += [(value, depth + 1) for value in before.get(node.id, ())]
        looked += [(child, depth) for child in ast.iter_child_nodes(node)]
