"""Optimisers of the Adam family that run as many small kernels."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    is_of_old_pytorch,
    is_test,
    works_on_gpu,
)
from gpuadvise.advisor.source.python.training import argument, has_unknown_arguments
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_optimizers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = "Write fused=True: one kernel updates all parameters. It needs floating-point parameters on the GPU; results differ in the last digits."
_FUSED = frozenset(("torch.optim.Adam", "torch.optim.AdamW"))

# A step of narrower layers is bound by launches elsewhere, and too short to matter.
NARROW = number(256, "layers of a small model, at most", "features", "our judgement")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``torch.optim.AdamW(...)`` without a word on its form; the first in a file that trains."""
    if b"TrainingArguments" in module.text.content:
        yield from _arguments_of_trainers(module)
    if b"optim.Adam" not in module.text.content and b"import Adam" not in module.text.content:
        return
    if is_test(module) or not works_on_gpu(module) or is_of_old_pytorch(module):
        return
    for call in module.calls_of(*_FUSED):
        if has_unknown_arguments(call):
            continue
        if (
            _is_of_few(call)
            or _is_of_small_model(module, call)
            or _is_fallback(module, call)
            or _ACCUMULATES.search(module.text.content)
            or any(
                argument(call, name) is not None
                for name in ("fused", "foreach", "capturable", "differentiable")
            )
        ):
            continue
        yield module.diagnostic(
            "unfused-optimizers", call,
            "The default form updates the parameters by several kernels for each operation.",
            _ACTION,
        )  # fmt: skip
        return


def _arguments_of_trainers(module: PythonModule) -> Iterator[Diagnostic]:
    """Find trainers of Transformers that are told to update parameter by parameter."""
    for call in module.calls_like(lambda name: name.endswith("TrainingArguments")):
        said = argument(call, "optim")
        if isinstance(said, ast.Constant) and said.value in ("adamw_torch", "adamw_hf"):
            yield module.diagnostic(
                "unfused-optimizers", said,
                "This form updates the parameters by several kernels for each operation.",
                'Write optim="adamw_torch_fused".',
            )  # fmt: skip


# One update for many batches is little of what they take.
_ACCUMULATES = re.compile(
    rb"accum\w*_(?:steps?|grad\w*|iter\w*|freq\w*|batch\w*)|grad\w*_accum", re.IGNORECASE
)


def _is_fallback(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* makes the optimizer of those who give none: ``if optimizer is None``."""
    return any(
        isinstance(above, ast.If) and re.search(r"\w*optim\w* is None", ast.unparse(above.test))
        for above in module.ancestors(call)
    )


def _is_of_small_model(module: PythonModule, call: ast.Call) -> bool:
    """Whether the model is a class of this file of which all layers are linear and narrow."""
    given = call.args[0] if call.args else None
    owner = (
        given.func.value
        if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute)
        else None
    )
    if not isinstance(owner, ast.Name):
        return False
    made = [
        value
        for value in module.values_of(owner.id)
        if value.lineno < call.lineno and _class_called(value)
    ]
    model = max(made, key=lambda value: value.lineno, default=None)
    around = next(
        (n for n in module.of(ast.ClassDef) if n.name == _class_called(model)),
        None,
    )
    layers = [
        part
        for part in (module.walk(around) if around is not None else ())
        if isinstance(part, ast.Call)
        and getattr(part.func, "attr", getattr(part.func, "id", "")) in _LAYERS
    ]
    return bool(layers) and all(map(_is_narrow, layers))


def _class_called(node: ast.expr | None) -> str:
    """Return the class of ``Model(...)``, also behind ``.cuda()`` and the like."""
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Call)
    ):
        node = node.func.value
    return getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""


def _is_narrow(layer: ast.Call) -> bool:
    widths = [
        a.value for a in layer.args[:2] if isinstance(a, ast.Constant) and isinstance(a.value, int)
    ]
    name = getattr(layer.func, "attr", getattr(layer.func, "id", ""))
    return name.endswith("Linear") and bool(widths) and max(widths) <= NARROW


_LAYERS = frozenset(
    ("Linear", "NoisyLinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d", "Embedding", "LSTM", "GRU", "RNN",
     "Transformer", "TransformerEncoder", "TransformerEncoderLayer", "MultiheadAttention", "LSTMCell", "GRUCell")
)  # fmt: skip


def _is_of_few(call: ast.Call) -> bool:
    """Whether the parameters are written out one by one: ``Adam([log_alpha])``."""
    given = call.args[0] if call.args else None
    return isinstance(given, (ast.List, ast.Tuple)) and not any(
        isinstance(part, (ast.Call, ast.Dict, ast.Starred)) for part in ast.walk(given)
    )


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

model = torch.nn.Linear(4096, 4096).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for batch in loader:
    model(batch.cuda(non_blocking=True)).mean().backward()
    optimizer.step()""",
        """\
import torch

model = torch.nn.Linear(4096, 4096).cuda()
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
for batch in loader:
    model(batch.cuda(non_blocking=True)).mean().backward()
    optimizer.step()""",
    ),
)


RULE = source_rule(
    id="unfused-optimizers",
    title="Let one kernel update all parameters",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="An update is bound by memory and launches: one pass over the parameters is enough.",
    when="A program that uses a GPU makes Adam or AdamW without fused=True. It is said only when the rule is named.",
    citations=pytorch_optimizers(),
    seen="torch.optim.AdamW(model.parameters())",
    file="train.py",
    action=_ACTION,
)
