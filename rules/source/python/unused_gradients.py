"""Gradients of a network that a backward pass computes for another one's sake, and nobody uses."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.optimizers import (
    calls_behind,
    clears_gradients,
    networks_trained,
    optimizer_stepped,
    switches_gradients,
)
from gpuadvise.advisor.source.python.steps import (
    is_test,
    may_work_on_gpu,
    steps_of,
    where_on_gpu,
    without_gradients,
)
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Switch them off around this step, {network}.requires_grad_(False) before its forward and requires_grad_(True) behind "
    "the backward pass, or name what is trained: loss.backward(inputs=list(model.parameters()))."
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``actor_loss = -critic(state, actor(state)).mean(); actor_loss.backward()``, where only the actor's optimiser steps."""
    if (
        is_test(module)
        or module.text.content.count(b".backward(") < 2
        or not may_work_on_gpu(module)
    ):
        return
    trained = networks_trained(module)
    if len(trained) < 2:
        return
    functions = {module.function_of(call) for call in steps_of(module).calls("backward")}
    for function in sorted(functions, key=lambda f: getattr(f, "lineno", 0)):
        if not switches_gradients(module, function):
            yield from _in_function(module, function, trained)


def _in_function(
    module: PythonModule, function: ast.AST, trained: dict[str, set[str]]
) -> Iterator[Diagnostic]:
    """Find backward passes of *function* behind which only the optimiser of another network steps."""
    events = sorted(
        (
            call
            for name in ("backward", "step")
            for call in steps_of(module).calls(name)
            if isinstance(call.func, ast.Attribute) and module.function_of(call) is function
        ),
        key=lambda call: (call.lineno, call.col_offset),
    )
    assigned = [
        part
        for part in module.walk(function)
        if isinstance(part, (ast.Assign, ast.AugAssign, ast.AnnAssign))
        and part.value is not None
        and not without_gradients(module, part)
    ]
    for at, call in enumerate(events):
        if getattr(call.func, "attr", "") != "backward" or call.args or call.keywords:
            continue
        own: set[str] = set()
        for later in events[at + 1 :]:
            if getattr(later.func, "attr", "") == "backward":
                break
            own |= trained.get(optimizer_stepped(later), set())
        others = set().union(*trained.values()) - own
        if not own or not others:
            continue
        earlier = [part for part in assigned if part.lineno < call.lineno]
        network = _passed(module, earlier, call, own, others)
        if network is not None and clears_gradients(module, trained, network):
            yield module.diagnostic(
                "unused-gradients", call,
                where_on_gpu(module, f"This also computes gradients of {network}, which no optimiser uses before they are cleared."),
                _ACTION.format(network=network),
            )  # fmt: skip


def _passed(
    module: PythonModule,
    assigned: list[ast.Assign | ast.AugAssign | ast.AnnAssign],
    backward: ast.Call,
    own: set[str],
    others: set[str],
) -> str | None:
    """Return the network of *others* that the loss was computed by from what one of *own* gave."""
    before: dict[str, list[ast.expr]] = {}
    for part in assigned:
        targets = part.targets if isinstance(part, ast.Assign) else [part.target]
        for target in targets:
            for name in ast.walk(target):
                if isinstance(name, ast.Name) and part.value is not None:
                    before.setdefault(name.id, []).append(part.value)
    sent = backward.func.value if isinstance(backward.func, ast.Attribute) else backward
    for call in calls_behind(module, [sent], before):
        network = _network(module, call, others)
        if network is None:
            continue
        given = [*call.args, *(k.value for k in call.keywords)]
        if any(_network(module, inner, own) for inner in calls_behind(module, given, before)):
            return network
    return None


def _network(module: PythonModule, call: ast.Call, networks: set[str]) -> str | None:
    """Return the one of *networks* that *call* runs, or a method of which it calls."""
    if isinstance(call.func, ast.Name):
        return call.func.id if call.func.id in networks else None
    if not isinstance(call.func, ast.Attribute) or call.func.attr in (
        "parameters",
        "train",
        "eval",
        "zero_grad",
    ):
        return None
    written = module.name_of(call.func)
    owner = written.rpartition(".")[0]
    return written if written in networks else owner if owner in networks else None


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

critic_optimizer = torch.optim.Adam(critic.parameters())
actor_optimizer = torch.optim.Adam(actor.parameters())
for states, actions, returns in batches:
    critic_optimizer.zero_grad()
    (critic(states, actions) - returns).pow(2).mean().backward()
    critic_optimizer.step()

    actor_loss = -critic(states, actor(states)).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()""",
        """\
import torch

critic_optimizer = torch.optim.Adam(critic.parameters())
actor_optimizer = torch.optim.Adam(actor.parameters())
for states, actions, returns in batches:
    critic_optimizer.zero_grad()
    (critic(states, actions) - returns).pow(2).mean().backward()
    critic_optimizer.step()

    critic.requires_grad_(False)
    actor_loss = -critic(states, actor(states)).mean()
    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
    critic.requires_grad_(True)""",
    ),
)


RULE = source_rule(
    id="unused-gradients",
    title="Compute no gradients that nobody uses",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="Gradients of a network's weights take about a third of its forward and backward pass, and DDP sends them to all GPUs.",
    when="A loss goes backward through the network of another optimiser, a critic or a discriminator, which is cleared before it steps.",
    citations=pytorch_tuning_guide(),
    seen="actor_loss.backward()",
    file="train.py",
    action=_ACTION.format(network="critic"),
)
