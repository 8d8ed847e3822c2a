"""Tensors that a loop makes in host memory only to move them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    forward_of,
    is_counted,
    is_test,
    repeated_call_of,
    saves_files,
    speaks,
    steps_of,
    where_on_gpu,
    works_on_gpu,
)
from gpuadvise.advisor.source.python.tensors import (
    TensorMemory,
    ValueKind,
    filled_by_host,
    fills_of_host,
    moves_beside,
    moves_to_gpu,
    tensors_of,
)
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule
    from gpuadvise.advisor.source.python.steps import StepLoops


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Tensors that each round of a loop, or each call of a model, makes in host memory only to move them."""
    if is_test(module):
        return
    steps = steps_of(module)
    for call, moved in (*moves_to_gpu(module), *moves_beside(module), *fills_of_host(module)):
        if (
            moved is None
            or moved.kind is not ValueKind.TENSOR
            or moved.place is not TensorMemory.PAGEABLE
        ):
            continue
        made = moved.maker
        if (
            made is None
            or moved.data
            or _is_empty(made)
            or filled_by_host(module, call)
            or speaks(module, call)
            or saves_files(module, call)
            or any(isinstance(a, ast.ExceptHandler) for a in module.ancestors(call))
        ):
            continue
        if not _is_each_time(module, steps, call, made):
            continue
        name = module.name_of(made.func)
        in_loop = steps.training_loop(call) is not None or module.loop_around(call) is not None
        where = "each iteration" if in_loop and not forward_of(module, call) else "each call"
        yield module.diagnostic(
            "host-built-tensors", call,
            where_on_gpu(module, f"In {where} a tensor is built in host memory and copied to the GPU."),
            f"{_written(name)}: the GPU makes it itself.",
            minor=not in_loop or not works_on_gpu(module),
        )  # fmt: skip


def _is_empty(made: ast.Call) -> bool:
    """Whether *made* has no elements: ``torch.empty(0)``."""
    name = getattr(made.func, "attr", "")
    return name in ("empty", "zeros", "ones") and any(
        isinstance(size, ast.Constant) and size.value == 0 for size in made.args
    )


def _is_each_time(module: PythonModule, steps: StepLoops, call: ast.Call, made: ast.Call) -> bool:
    """Whether each round or call both makes the tensor and moves it."""
    if module.function_of(made) is not module.function_of(call):
        # made by a function that is called here
        moved = call.func.value if isinstance(call.func, ast.Attribute) else call
        if getattr(call.func, "attr", "") == "copy_":
            moved = call.args[0]
        if not isinstance(moved, ast.Call) or not tensors_of(module).returns(
            module.function_of(made), made
        ):
            return False
        made = moved
    if forward_of(module, call) is not None and forward_of(module, made) is not None:
        return True
    if steps.training_loop(call) is not None and steps.training_loop(made) is not None:
        return True
    function = repeated_call_of(module, call)
    if function is not None:
        return not _begins_loops(module, function, call)
    together = module.loop_around(call) is module.loop_around(made)
    return together and steps.is_repeated(call) and steps.runs_always(call)


def _begins_loops(module: PythonModule, function: ast.FunctionDef, call: ast.Call) -> bool:
    """Whether *function* works in loops over many rounds behind *call*, beside which one copy is nothing."""
    steps = steps_of(module)
    return module.loop_around(call) is None and any(
        (isinstance(part, ast.While) or (isinstance(part, ast.For) and is_counted(part.iter)))
        and part.lineno > call.lineno
        and steps.is_repeated(part.body[0])
        for part in module.walk(function)
    )


def _written(name: str) -> str:
    """Return what makes the same on the GPU; constructors of the old kind take no device."""
    if name.endswith("Tensor"):
        return "Write torch.empty(..., device=...)"
    return f"Write {name}(..., device=...)"


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
for batch in loader:
    mask = torch.ones(len(batch), 512).to("cuda")""",
        """\
for batch in loader:
    mask = torch.ones(len(batch), 512, device="cuda")""",
    ),
)


RULE = source_rule(
    id="host-built-tensors",
    title="Build tensors where they are used",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    why="A tensor built in host memory has to be copied before it is used.",
    when="A loop, a model or a function that is called again and again builds a tensor without data in host memory and moves it to the GPU.",
    citations=pytorch_tuning_guide(),
    seen="torch.zeros(64, 10).cuda()",
    file="train.py",
)
