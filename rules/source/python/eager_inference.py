"""Programs that run a model over data in eager mode, in FP32, without a word on either."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    is_test,
    loader_of,
    steps_of,
    without_gradients,
    works_on_gpu,
)
from gpuadvise.advisor.source.python.tensors import ValueKind, tensors_of
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    'Run it in reduced precision, with torch.autocast("cuda", dtype=torch.bfloat16) or model.half(), and try '
    "torch.compile(model); compare the results."
)
_CHOSEN = re.compile(
    rb"\bamp\b|_amp\b|matmul_precision|mixed_precision|precision ?=|autocast|float16|\.half\(|fp16|bf16|bfloat16|jit\.script|jit\.trace|CUDAGraph|\.compile\("
    rb"|deepspeed|lightning|Accelerator\(|channels_last|\.double\(|float64|tensorrt|onnx|load_in_|quantiz|tf32|dtype ?= ?torch\.(?:b?float16|half)"
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Find a script that only evaluates on a GPU and chooses neither a precision nor a compiler; once in a file."""
    words = module.text.content
    if is_test(module) or b".backward(" in words:
        return
    tensors, steps = tensors_of(module), steps_of(module)
    if not steps.evaluation or _CHOSEN.search(words) or not works_on_gpu(module):
        return
    for loop in module.of(ast.For):
        if loop not in steps.evaluation or loader_of(module, loop) is None:
            continue
        for statement in loop.body:
            for part in module.walk(statement):
                model = tensors[part.func] if isinstance(part, ast.Call) else None
                if (
                    isinstance(part, ast.Call)
                    and model is not None
                    and model.kind is ValueKind.MODEL
                    and without_gradients(module, part)
                ):
                    yield module.diagnostic(
                        "eager-inference", part,
                        "The model runs kernel by kernel in FP32: neither tensor cores for reduced precision nor fusion is asked for in this file.",
                        _ACTION,
                    )  # fmt: skip
                    return


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

model = Model().cuda().eval()
with torch.inference_mode():
    for images in loader:
        features.append(model(images.cuda(non_blocking=True)))""",
        """\
import torch

model = torch.compile(Model().cuda().eval())
with torch.inference_mode(), torch.autocast("cuda", dtype=torch.bfloat16):
    for images in loader:
        features.append(model(images.cuda(non_blocking=True)))""",
    ),
)


RULE = source_rule(
    id="eager-inference",
    title="Try compiled and reduced-precision inference",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="Tensor cores multiply several times faster in reduced precision, and fused kernels move less memory.",
    when="A script runs a model over a loader on a GPU without gradients, and names neither torch.compile nor a precision.",
    citations=pytorch_tuning_guide(),
    seen="features = model(images)",
    file="evaluate.py",
    action=_ACTION,
)
