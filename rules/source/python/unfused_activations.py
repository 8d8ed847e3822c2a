"""Activations that are written out operation by operation."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test, may_work_on_gpu
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Call torch.nn.functional.silu, gelu or mish: one kernel, and a backward pass of one kernel."
)
_COMPILERS = (b"torch.compile", b"jit.script", b"torch.fx", b"autograd.Function")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``x * torch.sigmoid(x)``, ``0.5 * x * (1 + torch.erf(x / 2**0.5))`` and GELU by ``torch.tanh``."""
    words = module.text.content
    if not any(word in words for word in (b"sigmoid", b"erf", b"tanh", b"rsqrt", b"softmax")):
        return
    if is_test(module) or not may_work_on_gpu(module) or any(word in words for word in _COMPILERS):
        return
    for node in module.of(ast.BinOp):
        if not isinstance(node.op, ast.Mult):
            continue
        above = module.parents.get(node)
        if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mult):
            continue  # the product around it is looked at
        fused = _fused(module, node)
        if fused is not None:
            yield module.diagnostic(
                "unfused-activations", node,
                "Each operation of this function is a kernel of its own, and autograd keeps what lies between them.",
                f"Call torch.nn.functional.{fused}: one kernel, and a backward pass of one kernel.",
            )  # fmt: skip
    for call in module.calls:
        if _is_log_of_softmax(module, call):
            yield module.diagnostic(
                "unfused-activations", call,
                "Softmax, then its logarithm: two passes over memory, and digits are lost where the softmax is near 0.",
                "Call torch.nn.functional.log_softmax(x, dim=...), or cross_entropy, which takes probabilities too.",
            )  # fmt: skip


def _fused(module: PythonModule, product: ast.BinOp) -> str | None:
    """Return the function of PyTorch that computes *product* in one kernel."""
    factors: list[ast.expr] = [product]
    at = 0
    while at < len(factors):
        factor = factors[at]
        if isinstance(factor, ast.BinOp) and isinstance(factor.op, ast.Mult):
            factors[at : at + 1] = [factor.left, factor.right]
        else:
            at += 1
    pair = factors if not factors[2:] else []
    texts = {ast.unparse(f) for f in pair if isinstance(f, (ast.Name, ast.Attribute))}
    for factor in factors:
        if isinstance(factor, ast.Call) and pair:
            given = _argument(module, factor, "sigmoid")
            if given is not None and ast.unparse(given) in texts:
                return "silu(x)"
            given = _argument(module, factor, "rsqrt")
            if given is not None and _is_mean_of_squares(given):
                return "rms_norm(x, x.shape[-1:], weight, eps)"
            given = _argument(module, factor, "tanh")
            inner = _argument(module, given, "softplus") if given is not None else None
            if inner is not None and ast.unparse(inner) in texts:
                return "mish(x)"
        if not isinstance(factor, ast.BinOp) or not isinstance(factor.op, ast.Add):
            continue
        # Without x as a factor it is the distribution function of the normal.
        if factors[2:] and not factors[3:] and "0.5" in map(ast.unparse, factors):
            for side in (factor.left, factor.right):
                if _argument(module, side, "erf") is not None:
                    return "gelu(x)"
                given = _argument(module, side, "tanh")
                if given is not None and "0.044715" in ast.unparse(given):
                    return 'gelu(x, approximate="tanh")'
    return None


def _is_mean_of_squares(node: ast.expr) -> bool:
    """Whether *node* is ``x.pow(2).mean(-1, keepdim=True) + eps``."""
    text = ast.unparse(node)
    return "mean(" in text and any(
        square in text for square in ("pow(2)", "** 2", "square(", "pow(x, 2)")
    )


def _is_log_of_softmax(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* is ``torch.log(softmax(x) + eps)``, also by a name of its function."""
    given = _argument(module, call, "log")
    while isinstance(given, ast.BinOp) and isinstance(given.op, ast.Add):
        given = given.left
    if isinstance(given, ast.Name):
        function = module.function_of(call)
        before = [
            value
            for value in module.values_of(given.id)
            if module.function_of(value) is function and value.lineno < call.lineno
        ]
        given = before[0] if len(before) == 1 else None
    if not isinstance(given, ast.Call):
        return False
    return (
        getattr(given.func, "attr", "") == "softmax"
        and module.name_of(given.func) != "scipy.special.softmax"
    )


def _argument(module: PythonModule, node: ast.expr, name: str) -> ast.expr | None:
    """Return x of ``torch.name(x)``, ``torch.nn.functional.name(x)`` and ``x.name()``."""
    if not isinstance(node, ast.Call):
        return None
    called = module.name_of(node.func)
    if called in (f"torch.{name}", f"torch.nn.functional.{name}"):
        return node.args[0] if len(node.args) == 1 else None
    is_method = isinstance(node.func, ast.Attribute) and node.func.attr == name and not node.args
    if isinstance(node.func, ast.Attribute) and is_method:
        return node.func.value
    return None


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


def swish(x):
    return x * torch.sigmoid(x)""",
        """\
import torch


def swish(x):
    return torch.nn.functional.silu(x)""",
    ),
)


RULE = source_rule(
    id="unfused-activations",
    title="Call the fused activation",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="Each operation reads and writes the whole tensor once more.",
    when="SiLU, GELU or Mish is written out in a program that compiles nothing.",
    citations=pytorch_tuning_guide(),
    seen="x * torch.sigmoid(x)",
    file="train.py",
    action=_ACTION,
)
