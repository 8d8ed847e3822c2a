"""Programs that train in FP32 and never choose a precision."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test, steps_of, works_on_gpu
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_cuda_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_PRECISION = ("set_float32_matmul_precision", "allow_tf32", "fp32_precision")
# What trains in another precision than FP32, by PyTorch itself, Apex, Accelerate, Lightning or DeepSpeed.
_MIXED = ("autocast", "bfloat16", "float16", ".half()", "apex", "amp.initialize", "mixed_precision", "fp16", "bf16",
          "GradScaler", "loss_scaler", "NativeScaler", "deepspeed", "Accelerator(")  # fmt: skip
# Products of narrower matrices are not worth the loss of digits: the sides of a layer that are written out.
SMALL = number(128, "narrow layer, at most", "features", "our judgement")
_MATMULS = ("torch.nn.Linear", "torch.matmul", "torch.mm", "torch.bmm", "torch.nn.Transformer",
            "torch.nn.TransformerEncoderLayer", "torch.nn.MultiheadAttention")  # fmt: skip


_ACTION = (
    'Call torch.set_float32_matmul_precision("high") at the start: TF32 keeps 10 bits of the mantissa, so compare results; '
    "GPUs from compute capability 8.0 have it."
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Find a program that trains in FP32 and never chooses the precision of its matrix products."""
    if is_test(module) or not steps_of(module).training:
        return
    words = module.text.content
    if any(mark.encode() in words for mark in (*_PRECISION, *_MIXED)):
        return
    if (
        b"deterministic" in words
        or b"precision=" in words
        or not _is_program(module)
        or not works_on_gpu(module)
    ):
        return
    uses = [call for call in module.calls_of(*_MATMULS) if not _is_small(call)]
    if uses:
        yield module.diagnostic(
            "full-precision-matmuls", uses[0],
            "Matrix products run in FP32 without tensor cores, which is the default.",
            _ACTION,
        )  # fmt: skip


def _is_small(call: ast.Call) -> bool:
    """Whether *call* makes a layer of which what is written out is narrow, and nothing wide."""
    sides = [a.value for a in call.args[:2] if isinstance(a, ast.Constant)]
    return bool(sides) and all(isinstance(n, int) and n <= SMALL for n in sides)


def _is_program(module: PythonModule) -> bool:
    return any(
        isinstance(node.left, ast.Name) and node.left.id == "__name__"
        for node in module.of(ast.Compare)
    ) or any(module.function_of(loop) is module.tree for loop in steps_of(module).training)


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

model = torch.nn.Linear(4096, 4096).cuda()
optimizer = torch.optim.SGD(model.parameters())
for batch in loader:
    optimizer.zero_grad()
    model(batch.cuda(non_blocking=True)).square().mean().backward()
    optimizer.step()""",
        """\
import torch

torch.set_float32_matmul_precision("high")  # TF32
model = torch.nn.Linear(4096, 4096).cuda()
optimizer = torch.optim.SGD(model.parameters())
for batch in loader:
    optimizer.zero_grad()
    model(batch.cuda(non_blocking=True)).square().mean().backward()
    optimizer.step()""",
    ),
)


RULE = source_rule(
    id="full-precision-matmuls",
    title="Let matrix products use TF32",
    topic=Topic.INSTRUCTIONS,
    priority=Priority.LOW,
    why="FP32 products leave the tensor cores idle, which is the default.",
    when="A program trains on a GPU in FP32 and never chooses the precision of matrix products.",
    citations=pytorch_cuda_notes(),
    seen="torch.nn.Linear(1024, 1024)",
    file="train.py",
    action=_ACTION,
)
