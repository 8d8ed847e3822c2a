"""Steps that JAX compiles and that keep the old weights beside the new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.prose import and_list
from gpuadvise.advisor.source.python.jax_programs import compiled_of, kept_states, uses_jax
from gpuadvise.advisor.source.python.steps import is_test
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import jax_donation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Add donate_argnums=({places}) and use only what the call returns: XLA then writes the new values over the old ones. "
    "Donate nothing that is read again."
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``@jax.jit def step(params, opt_state, batch)`` that returns both anew and donates neither."""
    if not uses_jax(module) or is_test(module):
        return
    for compiled in compiled_of(module):
        kept = kept_states(module, compiled)
        if kept:
            places = ", ".join(str(place) for place, _ in kept) + ("," if len(kept) == 1 else "")
            yield module.diagnostic(
                "undonated-buffers", compiled.place,
                f"Each step makes {and_list([name for _, name in kept])} anew beside the old values: twice their memory, "
                "and a copy of what did not change.",
                _ACTION.format(places=places),
                minor=True,
            )  # fmt: skip


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import jax
import optax


@jax.jit
def step(params, opt_state, batch):
    gradients = jax.grad(loss)(params, batch)
    updates, opt_state = optimizer.update(gradients, opt_state)
    params = optax.apply_updates(params, updates)
    return params, opt_state""",
        """\
from functools import partial

import jax
import optax


@partial(jax.jit, donate_argnums=(0, 1))
def step(params, opt_state, batch):
    gradients = jax.grad(loss)(params, batch)
    updates, opt_state = optimizer.update(gradients, opt_state)
    params = optax.apply_updates(params, updates)
    return params, opt_state""",
    ),
)
RULE = source_rule(
    id="undonated-buffers",
    title="Donate what a step replaces",
    topic=Topic.MEMORY,
    priority=Priority.LOW,
    why="Without donation XLA cannot reuse the memory of arguments, and allocates new arrays for all results.",
    when="A function that JAX compiles computes gradients and returns what it was given with other values.",
    citations=jax_donation(),
    seen="jax.jit(step)",
    file="train.py",
    action=_ACTION.format(places="0, 1"),
)
