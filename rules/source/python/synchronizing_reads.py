"""Values of the GPU that every step of a training loop reads."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.jax_programs import reads_of_compiled, uses_jax
from gpuadvise.advisor.source.python.reads import How, reads_of, value_read
from gpuadvise.advisor.source.python.steps import (
    generates,
    is_test,
    may_work_on_gpu,
    simulates,
    steps_of,
    where_on_gpu,
    works_on_gpu,
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

_OTHER_VENDORS = (b"torch_xla", b"torch_npu", b"habana", b"intel_extension", b'"xpu', b'"npu', b'"hpu', b"_mlu",
                  b"'xpu", b"'npu", b"'hpu", b"torch.xpu", b"torch.hpu")  # fmt: skip
# Reads behind these in one loop find the GPU idle already.
MOST = number(6, "reads of one loop that are reported", "", "our judgement")
CLOSE = number(
    10, "lines between a wait and a read that finds the GPU idle, at most", "", "our judgement"
)
_ACTIONS = {
    How.NUMBER: "Keep it as a tensor (.detach()), and read it once per epoch, or every n steps.",
    How.SUM: "Keep the running sum as a tensor (total += loss.detach()) and read it once per epoch, or every n steps.",
    How.APPENDED: "Append the tensor (losses.append(loss.detach())) and read all at once behind the loop: "
    "torch.stack(losses).tolist().",
    How.COPY: "Keep it on the GPU until the loop is over, or copy it to pinned memory with non_blocking=True and read "
    "it a step later.",
    How.PRINTED: "Print or log every n steps: if step % 100 == 0.",
    How.TESTED: "Decide on the GPU (torch.where, torch.isfinite(...) as a factor), or test every n steps.",
}
_WORDS = {
    How.COPY: "In every step the host waits for the GPU to copy a tensor.",
    How.TESTED: "In every step the host waits for the GPU to decide what to do next.",
}


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Find what every step of training reads of the GPU: ``loss.item()``, ``.cpu()``, ``print(loss)``, ``if loss > 9``."""
    if is_test(module):
        return
    yield from _of_compiled(module)
    if not may_work_on_gpu(module):
        return
    steps = steps_of(module)
    if not (steps.training or steps.functions) or _for_another_vendor(module):
        return
    counts: dict[ast.AST, int] = {}
    lines: dict[tuple[ast.AST, str], int] = {}
    for read in reads_of(module):
        loop = steps.training_loop(read.node)
        if (
            loop is None
            or steps.evaluation_loop(read.node) is not None
            or read.how in (How.SIZED, How.ELEMENT, How.GRADIENT)
        ):
            continue
        counts[loop] = counts.get(loop, 0) + 1
        # A value that was read before is there, and the GPU has little left to do.
        name = value_read(read.node)
        before = lines.get((loop, name))
        again = before is not None and not module.is_bound_between(name, before, read.node.lineno)
        lines[loop, name] = read.node.lineno
        if counts[loop] <= MOST:
            yield module.diagnostic(
                "synchronizing-reads", read.node,
                where_on_gpu(module, _WORDS.get(read.how, "In every step the host waits for the GPU to read one value.")),
                _ACTIONS[read.how],
                minor=again or _is_little(module, loop, read.node),
            )  # fmt: skip


def _is_little(module: PythonModule, loop: ast.AST, node: ast.expr) -> bool:
    """Whether the wait is little of the step, or the step has to wait there all the same."""
    return (
        not works_on_gpu(module)
        or _waited_before(module, loop, node)
        or simulates(module, node)
        or generates(module, loop)
        or _is_tested_next(module, node)
    )


def _is_tested_next(module: PythonModule, node: ast.expr) -> bool:
    """Whether the statement behind the read decides by the value: ``if loss < best``."""
    statement = next(a for a in module.ancestors(node) if isinstance(a, ast.stmt))
    body = getattr(module.parents.get(statement), "body", [])
    behind = (
        body[body.index(statement) + 1 : body.index(statement) + 2] if statement in body else []
    )
    name = value_read(node)
    return any(
        isinstance(part, ast.Name) and part.id == name
        for follows in behind
        if isinstance(follows, ast.If)
        for part in ast.walk(follows.test)
    )


def _waited_before(module: PythonModule, loop: ast.AST, node: ast.expr) -> bool:
    """Whether the step has waited for all that was queued, not many lines before."""
    return any(
        0 < node.lineno - call.lineno <= CLOSE
        and (module.loop_around(call) or module.function_of(call)) is loop
        for call in module.calls_of("torch.cuda.synchronize")
    )


def _of_compiled(module: PythonModule) -> Iterator[Diagnostic]:
    """Find what each round reads of what a function that JAX compiled gave: ``float(loss)``, ``np.argmax(logits)``."""
    if not uses_jax(module):
        return
    told: set[ast.AST | None] = set()
    for call in reads_of_compiled(module):
        if module.loop_around(call) not in told:
            told.add(module.loop_around(call))
            yield module.diagnostic(
                "synchronizing-reads", call,
                "In every step the host waits for the device to read what a compiled function gave, and queues nothing meanwhile.",
                _ACTION_COMPILED,
                minor=True,
            )  # fmt: skip


_ACTION_COMPILED = (
    "Keep the arrays in a list and read them behind the loop (jax.device_get of all), read those of the step before, or every "
    "n steps; compute metrics in the compiled function."
)


def _for_another_vendor(module: PythonModule) -> bool:
    """Whether the file is written for a processor that is not a GPU of NVIDIA as well."""
    return any(mark in module.text.content for mark in _OTHER_VENDORS)


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

for batch in loader:
    optimizer.zero_grad()
    loss = criterion(model(batch.to("cuda", non_blocking=True)))
    loss.backward()
    optimizer.step()
    losses.append(loss.item())  # waits in each step""",
        """\
import torch

for batch in loader:
    optimizer.zero_grad()
    loss = criterion(model(batch.to("cuda", non_blocking=True)))
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())  # read them after the loop""",
    ),
)


RULE = source_rule(
    id="synchronizing-reads",
    title="Read values of the GPU rarely",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    why="Reading a value makes the host wait until the GPU has done everything before it.",
    when="A step of training reads, prints or tests its loss or another tensor, or a loop what a function compiled by JAX gave.",
    citations=pytorch_tuning_guide(),
    seen="loss.item()",
    file="train.py",
    action=_ACTIONS[How.SUM],
)
