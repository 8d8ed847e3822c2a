"""Loops over positions, heads or frequencies that queue short kernels one by one."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    forward_of,
    is_test,
    may_work_on_gpu,
    repeated_call_of,
    where_on_gpu,
)
from gpuadvise.advisor.thresholds import number
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
_FEWEST = number(3, "operations of a round on tensors", "", "our judgement")
_PARALLEL = re.compile(r"(?:.*_)?(?:heads?|att|attns?|attentions?|experts?)$", re.IGNORECASE)
_FUNCTIONS = re.compile(
    r"(?:.*_)?(?:fns?|funcs?|freqs?|freq_bands|bands|frequencies|embeds?|embed_fns?)$",
    re.IGNORECASE,
)
_JOINS = frozenset(("torch.cat", "torch.stack", "torch.concat"))


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Find such loops in what a model computes, and in functions that are called again and again."""
    if is_test(module) or not may_work_on_gpu(module) or b"torch" not in module.text.content:
        return
    reported: set[ast.AST] = set()
    for node in module.nodes:
        if isinstance(node, ast.For):
            if reported.intersection(module.loops_around(node)):
                continue
            said = _serial_loop(module, node)
        elif isinstance(node, ast.ListComp):
            said = _serial_list(module, node)
        else:
            continue
        if said is not None:
            reported.add(node)
            place = node.iter if isinstance(node, ast.For) else node
            yield module.diagnostic("serial-kernels", place, where_on_gpu(module, said), _ACTION)


def _serial_list(module: PythonModule, node: ast.ListComp) -> str | None:
    """Return what is the matter with ``torch.cat([head(x) for head in self.heads])``."""
    above = module.parents.get(node)
    joined = isinstance(above, ast.Call) and module.name_of(above.func) in _JOINS
    generator = node.generators[0]
    name = _last_name(generator.iter)
    if (
        not joined
        or len(node.generators) > 1
        or not isinstance(node.elt, ast.Call)
        or not isinstance(generator.target, ast.Name)
    ):
        return None
    if getattr(node.elt.func, "id", "") != generator.target.id or not node.elt.args:
        return None
    if any(
        isinstance(p, ast.Name) and p.id == generator.target.id
        for a in node.elt.args
        for p in ast.walk(a)
    ):
        return None
    if _PARALLEL.match(name):
        return "Heads of the same shape run one after the other, each by short kernels of its own."
    if _FUNCTIONS.match(name):
        return "Each function queues a kernel of its own over the same input."
    return None


def _serial_loop(module: PythonModule, loop: ast.For) -> str | None:
    """Return what is the matter with a loop over positions of a tensor, or over frequencies."""
    if forward_of(module, loop) is None and repeated_call_of(module, loop) is None:
        return None
    if isinstance(loop.target, ast.Name) and _is_over_positions(loop.iter):
        if _operations(module, loop, loop.target.id) >= _FEWEST:
            return "Each round queues short kernels for one position, so that launches take most of the time."
        return None
    if _FUNCTIONS.match(_last_name(loop.iter)) and _collects(module, loop):
        return "Each round queues short kernels for one frequency or function over the same input."
    return None


def _last_name(node: ast.expr) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _is_over_positions(rounds: ast.expr) -> bool:
    """Whether a loop counts through an axis of a tensor: ``range(x.size(1))``, also reversed."""
    if (
        isinstance(rounds, ast.Call)
        and getattr(rounds.func, "id", "") in ("reversed", "tqdm")
        and rounds.args
    ):
        rounds = rounds.args[0]
    if not isinstance(rounds, ast.Call) or getattr(rounds.func, "id", "") != "range":
        return False
    # x.shape[k] may be an array's.
    return any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr == "size"
        and len(part.args) == 1
        for bound in rounds.args
        for part in ast.walk(bound)
    )


def _operations(module: PythonModule, loop: ast.For, name: str) -> int:
    """Return how many operations a round takes on elements that *name* picks and on what they give."""
    tensors = {
        target.id
        for part in module.walk(loop)
        if isinstance(part, ast.Assign)
        for target in part.targets
        if isinstance(target, ast.Name)
    }
    picks = 0
    count = 0
    for statement in loop.body:
        for part in module.walk(statement):
            if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Load):
                picks += any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(part.slice))
            elif (isinstance(part, ast.BinOp) and not _is_of_indices(part, name)) or (
                isinstance(part, ast.Call)
                and (
                    module.name_of(part.func).startswith("torch.")
                    or getattr(getattr(part.func, "value", None), "id", "") == "self"
                )
            ):
                count += 1
            elif isinstance(part, ast.Call) and getattr(part.func, "attr", "") in (
                "item",
                "cpu",
                "numpy",
                "tolist",
            ):
                return 0
    return count if picks and tensors else 0


def _is_of_indices(node: ast.BinOp, name: str) -> bool:
    """Whether *node* counts: ``step + 1``."""
    return all(
        isinstance(part, (ast.Constant, ast.Name, ast.BinOp, ast.operator, ast.expr_context))
        and (not isinstance(part, ast.Name) or part.id == name)
        for part in ast.walk(node)
    )


def _collects(module: PythonModule, loop: ast.For) -> bool:
    """Whether each round adds to a list what a function gives for the same tensor."""
    names = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    for part in module.walk(loop):
        given: ast.expr | None = None
        if isinstance(part, ast.AugAssign) and isinstance(part.value, ast.List) and part.value.elts:
            given = part.value.elts[0]
        elif (
            isinstance(part, ast.Call) and getattr(part.func, "attr", "") == "append" and part.args
        ):
            given = part.args[0]
        if isinstance(given, ast.Call) and given.args and (names & set(_names(given))):
            return not any(isinstance(n, (ast.Lambda, ast.Constant)) for n in ast.walk(given))
    return False


def _names(node: ast.expr) -> Iterator[str]:
    return (part.id for part in ast.walk(node) if isinstance(part, ast.Name))


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
    when="A model runs head after head, or a loop counts through an axis of a tensor, with several operations in each round.",
    citations=pytorch_tuning_guide(),
    seen="torch.cat([head(x) for head in self.heads])",
    file="train.py",
    action=_ACTION,
)
