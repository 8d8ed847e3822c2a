"""Queries, keys and values that three products make of one input, and networks of one shape side by side."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.parallel_layers import layers_side_by_side
from gpuadvise.advisor.source.python.steps import is_test, may_work_on_gpu, where_on_gpu
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Make one layer of the {count}, nn.Linear(width, widths of all {count}), and split what it gives: one larger product, "
    "and the input is read once. Weights of a trained model are joined by torch.cat when they are loaded."
)
_ACTION_SIDE_BY_SIDE = (
    "Make one layer with twice the columns or channels and split what it gives; run networks at once by torch.func.vmap over "
    "stack_module_state, or torch.bmm with stacked weights."
)
_NAMES = re.compile(
    r"(?:.*_)?(?:w_?(?P<w>[qkv])s?|(?P<p>[qkv])(?:_?(?:proj|linear|lin|fc|layer|map|net))?|to_?(?P<t>[qkv])"
    r"|(?:proj|linear|lin|fc)_?(?P<l>[qkv])|(?P<n>query|queries|keys?|values?)(?:_?(?:proj|linear|layer|net))?)$",
    re.IGNORECASE,
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``q, k, v = self.q(x), self.k(x), self.v(x)`` of linear layers; the first in a file."""
    if is_test(module) or not may_work_on_gpu(module):
        return
    for call in layers_side_by_side(module) if b"torch" in module.text.content else ():
        yield module.diagnostic(
            "separate-projections", call,
            where_on_gpu(module, "This and another of the same shape run one after the other on the same input, each by kernels of its own."),
            _ACTION_SIDE_BY_SIDE,
        )  # fmt: skip
    if b"Linear(" not in module.text.content:
        return
    yield from _gated(module)
    projections: dict[tuple[ast.AST, str], dict[str, ast.Call]] = {}
    for call in module.calls:
        role = _role(call)
        if (
            role is None
            or len(call.args) != 1
            or call.keywords
            or not isinstance(call.args[0], ast.Name)
        ):
            continue
        function = module.function_of(call)
        if isinstance(function, ast.FunctionDef) and _is_linear(module, call):
            of_input = projections.setdefault((function, call.args[0].id), {})
            of_input.setdefault(role, call)
            if set(of_input) == {"q", "k", "v"} or (
                set(of_input) == {"k", "v"} and _projects_queries(projections, function)
            ):
                yield module.diagnostic(
                    "separate-projections", min(of_input.values(), key=lambda c: (c.lineno, c.col_offset)),
                    f"{'Three' if 'q' in of_input else 'Two'} products read the same input, where one of all their columns would.",
                    _ACTION.format(count="three" if "q" in of_input else "two"),
                )  # fmt: skip
                return


def _gated(module: PythonModule) -> Iterator[Diagnostic]:
    """Find ``silu(self.w1(x)) * self.w3(x)`` of linear layers; once in a file."""
    for node in module.of(ast.BinOp):
        if not isinstance(node.op, ast.Mult):
            continue
        left = node.left.args[0] if isinstance(node.left, ast.Call) and node.left.args else None
        sides = (left, node.right)
        if not all(isinstance(s, ast.Call) and len(s.args) == 1 for s in sides):
            continue
        layers = [
            s for s in sides if isinstance(s, ast.Call) and ast.unparse(s.func).startswith("self.")
        ]
        if len(layers) == 2 and all(_is_linear(module, s) for s in layers):
            first, second = layers
            if ast.unparse(first.args[0]) == ast.unparse(second.args[0]):
                yield module.diagnostic(
                    "separate-projections", node,
                    "Two products read the same input, where one of all their columns would.",
                    _ACTION.format(count="two"),
                )  # fmt: skip
                return


def _projects_queries(
    projections: dict[tuple[ast.AST, str], dict[str, ast.Call]], function: ast.AST
) -> bool:
    """Whether *function* projects queries of another input."""
    return any(
        around is function and set(roles) == {"q"} for (around, _), roles in projections.items()
    )


def _role(call: ast.Call) -> str | None:
    """Return q, k or v for the call of a layer with such a name."""
    if not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Name):
        return None
    match = _NAMES.match(call.func.attr) if call.func.value.id == "self" else None
    if match is None:
        return None
    return next(word for word in match.groups() if word)[0].lower()


def _is_linear(module: PythonModule, call: ast.Call) -> bool:
    """Whether the class of *call* makes the layer as nn.Linear."""
    around = next((a for a in module.ancestors(call) if isinstance(a, ast.ClassDef)), None)
    if around is None:
        return False
    layer = ast.unparse(call.func)
    return any(
        isinstance(part, ast.Assign)
        and isinstance(part.value, ast.Call)
        and module.name_of(part.value.func).endswith(("nn.Linear", "ParallelLinear"))
        and any(ast.unparse(target) == layer for target in part.targets)
        for part in module.walk(around)
    )


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


class Attention(torch.nn.Module):
    def __init__(self, width):
        self.q = torch.nn.Linear(width, width)
        self.k = torch.nn.Linear(width, width)
        self.v = torch.nn.Linear(width, width)

    def forward(self, x):
        return attend(self.q(x), self.k(x), self.v(x))""",
        """\
import torch


class Attention(torch.nn.Module):
    def __init__(self, width):
        self.qkv = torch.nn.Linear(width, 3 * width)

    def forward(self, x):
        return attend(*self.qkv(x).chunk(3, dim=-1))""",
    ),
)


RULE = source_rule(
    id="separate-projections",
    title="Project queries, keys and values together",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="One wide product fills the GPU better than three narrow ones, and reads its input once.",
    when="A class makes query, key and value by linear layers of one input, or runs two layers or networks of one shape on it.",
    citations=pytorch_tuning_guide(),
    seen="self.q(x), self.k(x), self.v(x)",
    file="train.py",
    action=_ACTION.format(count="three"),
)
