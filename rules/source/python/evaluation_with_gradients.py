"""Evaluation that records graphs for a backward pass that never comes."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.call_sites import call_sites
from gpuadvise.advisor.source.python.evaluation import run_behind, runs_detached
from gpuadvise.advisor.source.python.steps import is_test, steps_of, without_gradients, works_on_gpu
from gpuadvise.advisor.source.python.tensors import ValueKind, tensors_of
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = "Put the loop into `with torch.inference_mode():`, or torch.no_grad() where its results are trained on later."
_NAMES = re.compile(
    r"(?:^|_)(?:eval|evaluate|evaluation|test|valid|validate|validation|infer|inference|predict|generate|sample)"
)
_GENERATES = re.compile(r"(?:^|_)(?:generate|sample|decode|translate)")
_MOST_CALLS = number(20, "calls of a function that are looked at", "", "our judgement")
_CHOOSES = ("argmax", "multinomial", "topk")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Loops that evaluate or generate with a model, where graphs are recorded."""
    if is_test(module) or not works_on_gpu(module):
        return
    words = module.text.content
    if b"set_grad_enabled(False)" in words or b"volatile=True" in words:
        return
    if b".eval()" in words:
        yield from _behind_eval(module)
    yield from _detached(module)
    steps, tensors = steps_of(module), tensors_of(module)
    loops: list[ast.For | ast.While] = module.of_any(ast.For, ast.While)
    for node in loops:
        function = module.function_of(node)
        evaluates = node in steps.evaluation and (
            _calls_eval(module, function, node) or _NAMES.search(getattr(function, "name", ""))
        )
        if not evaluates and not _generates(module, function, node):
            continue
        if without_gradients(module, node) or _is_called_without(module, function):
            continue
        inside = [n for n in module.walk(node) if isinstance(n, ast.Call)]
        if any(
            getattr(c.func, "attr", "") in ("backward", "grad", "requires_grad_", "step")
            for c in inside
        ):
            continue
        runs = [
            call
            for call in inside
            if ((value := tensors[call.func]) is not None and value.kind is ValueKind.MODEL)
            and (result := tensors[call]) is not None
            and result.kind is ValueKind.TENSOR
            and not without_gradients(module, call)
            and _is_module(call)
        ]
        if runs:
            yield module.diagnostic(
                "evaluation-with-gradients", runs[0],
                "Nothing goes backward here, yet each call records a graph: its activations stay in memory until the result is gone.",
                _ACTION,
            )  # fmt: skip


def _behind_eval(module: PythonModule) -> Iterator[Diagnostic]:
    """Find calls of a model behind its ``eval()`` in one block, where nothing goes backward any more."""
    for switch in steps_of(module).calls("eval"):
        statement = module.parents.get(switch)
        if not isinstance(switch.func, ast.Attribute) or not isinstance(
            statement, (ast.Expr, ast.Assign)
        ):
            continue
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) != ast.unparse(
            switch.func.value
        ):
            continue  # model = model.eval() is the same
        model, function = ast.unparse(switch.func.value), module.function_of(switch)
        if without_gradients(module, switch) or _is_called_without(module, function):
            continue
        run = run_behind(module, statement, model)
        if run is not None and not without_gradients(module, run):
            yield module.diagnostic(
                "evaluation-with-gradients", run,
                "Nothing goes backward behind eval(), yet this call records a graph: its activations stay in memory.",
                _ACTION.replace("the loop", "the call"),
                minor=call_sites(module).runs_once(function) and module.loop_around(run) is None,
            )  # fmt: skip


def _detached(module: PythonModule) -> Iterator[Diagnostic]:
    """Find runs of a model whose results are detached in every use: ``actor(state).cpu().data.numpy()``."""
    steps = steps_of(module)
    for call in runs_detached(module):
        if _is_module(call) and not _is_called_without(module, module.function_of(call)):
            yield module.diagnostic(
                "evaluation-with-gradients", call,
                "Whatever reads this result detaches it, yet the call records a graph: its activations stay in memory.",
                "Run it in `with torch.no_grad():`.",
                minor=steps.training_loop(call) is None,
            )  # fmt: skip


def _is_module(call: ast.Call) -> bool:
    """Whether what is called is a network, going by its name, and no loss or metric."""
    name = getattr(call.func, "attr", getattr(call.func, "id", "")).lower()
    return not any(
        word in name for word in ("loss", "criterion", "metric", "accuracy", "transform")
    )


def _calls_eval(module: PythonModule, function: ast.AST, loop: ast.For | ast.While) -> bool:
    """Whether the function of *loop* puts a model into evaluation before it, and not back."""
    switches = [
        call
        for name in ("eval", "train")
        for call in steps_of(module).calls(name)
        if isinstance(call.func, ast.Attribute)
        and (
            call.lineno <= loop.lineno or module.parents.get(module.parents.get(call, call)) is loop
        )
        and module.function_of(call) is function
    ]
    last = max(switches, key=lambda call: (call.lineno, call.col_offset), default=None)
    return last is not None and getattr(last.func, "attr", "") == "eval"


def _generates(module: PythonModule, function: ast.AST, loop: ast.AST) -> bool:
    """Whether *loop* chooses token after token."""
    if not _GENERATES.search(getattr(function, "name", "")):
        return False
    calls = {getattr(n.func, "attr", "") for n in module.walk(loop) if isinstance(n, ast.Call)}
    return bool(calls.intersection(_CHOOSES))


def _is_called_without(module: PythonModule, function: ast.AST) -> bool:
    """Whether a call of *function* in this file stands where no graph is recorded."""
    name = getattr(function, "name", None)
    if name is None:
        return False
    return any(
        without_gradients(module, call) or _is_called_without_once(module, call)
        for call in steps_of(module).calls(name)[:_MOST_CALLS]
    )


def _is_called_without_once(module: PythonModule, call: ast.Call) -> bool:
    """Whether the function around *call* is itself called where no graph is recorded."""
    name = getattr(module.function_of(call), "name", "")
    calls = steps_of(module).calls(name)[:_MOST_CALLS]
    return any(without_gradients(module, other) for other in calls)


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

model = torch.nn.Linear(512, 10).cuda()
model.eval()
for images in loader:
    guesses.append(model(images.cuda(non_blocking=True)).argmax(1))""",
        """\
import torch

model = torch.nn.Linear(512, 10).cuda()
model.eval()
with torch.inference_mode():
    for images in loader:
        guesses.append(model(images.cuda(non_blocking=True)).argmax(1))""",
    ),
)


RULE = source_rule(
    id="evaluation-with-gradients",
    title="Evaluate without recording graphs",
    topic=Topic.MEMORY,
    priority=Priority.MEDIUM,
    why="Recording keeps every activation for a backward pass; model.eval() does not switch it off.",
    when="A model evaluates or generates in a loop, or runs behind eval(), outside no_grad() and inference_mode().",
    citations=pytorch_tuning_guide(),
    seen="model(images)",
    file="train.py",
    action=_ACTION,
)
