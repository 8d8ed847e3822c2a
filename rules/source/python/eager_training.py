"""Programs that train in eager mode, in FP32, without a word on either."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test, steps_of, works_on_gpu
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    'Try torch.compile(model), with mode="reduce-overhead" for CUDA graphs where kernels are short, and '
    'torch.autocast("cuda", dtype=torch.bfloat16) around forward and loss; convolutions then gain from '
    "memory_format=torch.channels_last. Compare the loss curves."
)
_CHOSEN = (b"torch.compile", b".compile(", b"autocast", b"float16", b".half()", b"fp16", b"bf16", b"amp", b"jit.script",
           b"jit.trace", b"CUDAGraph", b"make_graphed", b"deepspeed", b"lightning", b"Accelerator(", b"precision",
           b"channels_last", b"double()", b"float64", b"tensorrt")  # fmt: skip


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Find a script that trains on a GPU and chooses neither a precision nor a compiler; once in a file."""
    words = module.text.content
    if b".backward(" not in words or any(word in words for word in _CHOSEN) or is_test(module):
        return
    if b"__main__" not in words or not works_on_gpu(module):
        return
    steps = steps_of(module)
    for call in module.calls:
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr == "backward"
            and steps.training_loop(call)
        ):
            yield module.diagnostic(
                "eager-training", call,
                "The step runs kernel by kernel in FP32: neither tensor cores for reduced precision nor fusion is asked for.",
                _ACTION,
            )  # fmt: skip
            return


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

if __name__ == "__main__":
    model = torch.nn.Linear(4096, 4096).cuda()
    for batch in loader:
        model(batch.cuda(non_blocking=True)).mean().backward()
        optimizer.step()""",
        """\
import torch

if __name__ == "__main__":
    model = torch.compile(torch.nn.Linear(4096, 4096).cuda())
    for batch in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(batch.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()""",
    ),
)


RULE = source_rule(
    id="eager-training",
    title="Try compiled and mixed-precision training",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="Fused kernels move less memory, and tensor cores multiply several times faster than FP32 units.",
    when="A script trains on a GPU and names neither torch.compile nor a precision.",
    citations=pytorch_tuning_guide(),
    seen="loss.backward()",
    file="train.py",
    action=_ACTION,
)
