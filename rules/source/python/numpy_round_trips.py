"""Tensors of the GPU that go to the host, through NumPy and back."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.module import last_value
from gpuadvise.advisor.source.python.steps import (
    forward_of,
    is_demo,
    is_test,
    may_work_on_gpu,
    repeated_call_of,
    steps_of,
    where_on_gpu,
)
from gpuadvise.advisor.source.python.training import argument
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Compute it on the GPU: flips, shifts, indices, sorts and searches are in PyTorch too (torch.flip, torch.roll, index_select), "
    "and a kernel of Numba, CuPy or Triton does what is not."
)
_MAKERS = frozenset(
    ("torch.from_numpy", "torch.tensor", "torch.as_tensor", "torch.FloatTensor", "torch.Tensor", "torch.LongTensor")
)  # fmt: skip


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Find ``a = x.cpu().numpy(); torch.from_numpy(flip(a)).to(x.device)`` in each round or call; once in a function."""
    words = module.text.content
    if (
        b".numpy()" not in words
        or is_test(module)
        or is_demo(module)
        or not may_work_on_gpu(module)
    ):
        return
    copying = {module.function_of(call) for call in module.calls_named("numpy") if _is_copy(call)}
    told: set[ast.AST] = set()
    for made in module.calls_of(*_MAKERS) if copying else ():
        function = module.function_of(made)
        if function not in copying or function in told:
            continue
        if not made.args or not _goes_back(module, made):
            continue
        copy = _copy_behind(module, made)
        if copy is not None and _is_repeated(module, made):
            told.add(function)
            yield module.diagnostic(
                "numpy-round-trips", copy,
                where_on_gpu(module, f"The tensor goes to the host, through NumPy and back in line {made.lineno}: the host waits for both copies, and computes meanwhile."),
                _ACTION,
                minor=True,
            )  # fmt: skip


def _goes_back(module: PythonModule, made: ast.Call) -> bool:
    """Whether *made* is moved at once: ``torch.from_numpy(a).float().to(device)``."""
    if argument(made, "device") is not None:
        return True
    inner: ast.AST = made
    for above in module.ancestors(made):
        if isinstance(above, ast.Attribute) and above.value is inner:
            call = module.parents.get(above)
            if isinstance(call, ast.Call) and call.func is above and _moves(module, call):
                return True
        elif not (isinstance(above, ast.Call) and above.func is inner):
            return False
        inner = above
    return False


def _moves(module: PythonModule, call: ast.Call) -> bool:
    name = getattr(call.func, "attr", "")
    if name in ("cuda", "type_as"):
        return True
    given = call.args[0] if call.args else argument(call, "device")
    if name != "to" or given is None:
        return False
    is_host = isinstance(given, ast.Constant) and given.value == "cpu"
    return not is_host and not module.name_of(given).startswith("torch.")


def _copy_behind(module: PythonModule, made: ast.Call) -> ast.Call | None:
    """Return the ``x.cpu().numpy()`` of which *made* was computed, also by names of its function."""
    looked = list(made.args[:1])
    seen: set[ast.expr] = set()
    for _ in range(5):  # names behind names
        further: list[ast.expr] = []
        for top in looked:
            for part in module.walk(top):
                if isinstance(part, ast.Call) and _is_copy(part):
                    return part
                if isinstance(part, ast.Name) and (value := last_value(module, part)):
                    further.append(value)
        looked = [value for value in dict.fromkeys(further) if value not in seen]
        seen.update(looked)
    return None


def _is_copy(call: ast.Call) -> bool:
    """Whether *call* is ``x.cpu().numpy()``."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "numpy":
        return False
    before = call.func.value
    while isinstance(before, ast.Call) and isinstance(before.func, ast.Attribute):
        if before.func.attr == "cpu":
            return True
        before = before.func.value
    return False


def _is_repeated(module: PythonModule, made: ast.Call) -> bool:
    steps = steps_of(module)
    return (
        steps.training_loop(made) is not None
        or steps.evaluation_loop(made) is not None
        or steps.is_repeated(made)
        or forward_of(module, made) is not None
        or repeated_call_of(module, made) is not None
    )


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


def flip(x):
    mirrored = x.detach().cpu().numpy()[..., ::-1].copy()
    return torch.from_numpy(mirrored).to(x.device)""",
        """\
import torch


def flip(x):
    return torch.flip(x.detach(), dims=[-1])""",
    ),
)
RULE = source_rule(
    id="numpy-round-trips",
    title="Stay on the GPU",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    why="The first copy waits for all that was queued, NumPy works on one core, and the second copy comes from pageable memory.",
    when="A function or loop copies a tensor to NumPy, computes with it and moves the result back.",
    citations=pytorch_tuning_guide(),
    seen="torch.from_numpy(x.cpu().numpy()[::-1].copy()).to(device)",
    file="train.py",
    action=_ACTION,
)
