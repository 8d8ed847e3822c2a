"""Loops that update each parameter by kernels of its own."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test, may_work_on_gpu, where_on_gpu
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_optimizers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Gather the tensors in lists and update all of them at once: torch._foreach_lerp_(averages, parameters, 1 - decay), "
    "torch._foreach_mul_, torch._foreach_add_. For moving averages torch.optim.swa_utils.AveragedModel does it, given "
    "multi_avg_fn=get_ema_multi_avg_fn(decay)."
)
_UPDATES = frozenset(("mul_", "add_", "sub_", "div_", "lerp_", "addcmul_", "addcdiv_"))
# What runs once: weights that are made, read, written or shown.
_ONCE = re.compile(
    r"init|reset|load|save|convert|merge|prun|quant|perturb|copy|freeze|count|print|test|mutate|state_dict|fuse|tie_|scale_|zero_|average_checkpoint",
    re.IGNORECASE,
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``for p, q in zip(model.parameters(), average.parameters()): q.mul_(decay).add_(p)``, in what runs each step."""
    words = module.text.content
    if (
        not any(word in words for word in (b"parameters()", b"params", b"state_dict().items"))
        or is_test(module)
        or not may_work_on_gpu(module)
    ):
        return
    for loop in module.of(ast.For):
        if not _is_over_parameters(module, loop):
            continue
        function = module.function_of(loop)
        if not isinstance(function, ast.FunctionDef) or _ONCE.search(function.name):
            continue
        if _updates(module, loop) and not _is_sparse_or_shown(module, loop):
            yield module.diagnostic(
                "per-parameter-updates", loop.iter,
                where_on_gpu(module, "Each parameter is updated by short kernels of its own, hundreds of launches in each step."),
                _ACTION,
            )  # fmt: skip


def _is_over_parameters(module: PythonModule, loop: ast.For) -> bool:
    """Whether *loop* runs over the parameters of a model or of an optimiser's group."""
    looked = [loop.iter]
    for _ in range(3):  # names behind names
        further: list[ast.expr] = []
        for top in looked:
            for part in module.walk(top):
                if isinstance(part, ast.Call) and getattr(part.func, "attr", "") in (
                    "parameters",
                    "named_parameters",
                ):
                    return True
                if (
                    isinstance(part, ast.Call)
                    and ast.unparse(part.func).endswith("state_dict().items")
                    and _AVERAGES.search(ast.unparse(module.function_of(loop)))
                ):
                    return True
                if (
                    isinstance(part, ast.Subscript)
                    and isinstance(part.slice, ast.Constant)
                    and part.slice.value == "params"
                ):
                    return True
                if isinstance(part, ast.Name):
                    if _PARAMETERS.match(part.id) and part.id in _given_to(module, loop):
                        return True
                    function = module.function_of(loop)
                    further += [
                        value
                        for value in module.values_of(part.id)
                        if module.function_of(value) is function
                    ]
        looked = further
    return False


def _given_to(module: PythonModule, loop: ast.For) -> set[str]:
    """Return the arguments of the function around *loop*."""
    function = module.function_of(loop)
    return {a.arg for a in function.args.args} if isinstance(function, ast.FunctionDef) else set()


# An average of weights is kept beside them, under the names that state_dict() gives.
_AVERAGES = re.compile(r"\bema\b|_ema\b|ema_|decay|momentum|average")
_PARAMETERS = re.compile(r"(?:.*_)?param(?:eter)?s$")


def _updates(module: PythonModule, loop: ast.For) -> bool:
    """Whether the body computes what it writes into a parameter, not only copies."""
    targets = {part.id for part in module.walk(loop.target) if isinstance(part, ast.Name)}
    for statement in loop.body:
        for part in module.walk(statement):
            if isinstance(part, (ast.For, ast.While)):
                return False
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
                computed = any(isinstance(given, ast.BinOp) for given in part.args)
                if part.func.attr in _UPDATES or (part.func.attr == "copy_" and computed):
                    root: ast.expr = part.func
                    while isinstance(root, (ast.Attribute, ast.Call, ast.Subscript)):
                        root = root.func if isinstance(root, ast.Call) else root.value
                    if isinstance(root, ast.Name) and (root.id in targets or _is_state(part)):
                        return True
            if _updates_average(part, targets):
                return True
            if (
                isinstance(part, ast.AugAssign)
                and isinstance(part.target, ast.Name)
                and part.target.id in targets
                and isinstance(part.op, (ast.Mult, ast.Add, ast.Sub))
            ):
                return True
            if (
                isinstance(part, ast.Assign)
                and isinstance(part.value, (ast.BinOp, ast.Call))
                and (isinstance(part.value, ast.BinOp) or _AVERAGES.search(ast.unparse(part.value)))
                and isinstance(part.targets[0], ast.Attribute)
                and part.targets[0].attr == "data"
                and not ast.unparse(part.value).endswith(".clone()")
            ):
                return True
    return False


def _updates_average(part: ast.AST, targets: set[str]) -> bool:
    """Whether *part* hands a parameter to what keeps its average: ``ema.update(name, param.data)``."""
    return (
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr in ("update", "update_average", "update_parameter")
        and _AVERAGES.search(ast.unparse(part.func.value)) is not None
        and any(isinstance(n, ast.Name) and n.id in targets for a in part.args for n in ast.walk(a))
    )


def _is_state(call: ast.Call) -> bool:
    """Whether *call* writes what is kept beside a parameter: ``shadow[name].sub_(...)``, ``state["mu"].mul_(...)``."""
    return any(isinstance(part, ast.Subscript) for part in ast.walk(call.func))


def _is_sparse_or_shown(module: PythonModule, loop: ast.For) -> bool:
    """Whether the loop sums up in text, or each round may be another kind of work."""
    return any(
        isinstance(part, ast.Call) and getattr(part.func, "id", "") == "print"
        for statement in loop.body
        for part in module.walk(statement)
    )


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


def update_average(model, average, decay=0.999):
    for p, q in zip(model.parameters(), average.parameters()):
        q.data.mul_(decay).add_(p.data, alpha=1 - decay)""",
        """\
import torch


def update_average(model, average, decay=0.999):
    torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 1 - decay)""",
    ),
)


RULE = source_rule(
    id="per-parameter-updates",
    title="Update all parameters at once",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="A model has hundreds of parameters, and launching a kernel takes longer than most of them need.",
    when="A loop over parameters updates them, or averages of them, in place.",
    citations=pytorch_optimizers(),
    seen="q.data.mul_(decay)",
    file="train.py",
    action=_ACTION,
)
