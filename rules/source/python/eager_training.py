"""Programs that train in eager mode, in FP32, without a word on either."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    is_of_old_pytorch,
    is_test,
    loader_of,
    steps_of,
    works_on_gpu,
)
from gpuadvise.advisor.source.python.training import argument, has_unknown_arguments
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
    "memory_format=torch.channels_last, Adam from fused=True. Compare the loss curves."
)
# What a program that trains names.
_TRAINING = (b".backward(", b"TrainingArguments", b"lightning")
_PRECISION = re.compile(rb"\b(?:use_)?amp\b|_amp\b|\bprecision ?=|mixed_precision|matmul_precision")
_TRAINER_ACTION = 'Try Trainer(precision="bf16-mixed", ...), precision=16 in old versions, and compare the loss curves.'
_TRAINS = re.compile(r"_?(?:train|fit|run|main)(?:_\w+)?$")
_CHOSEN = (b"torch.compile", b".compile(", b"autocast", b"float16", b".half()", b"fp16", b"bf16", b"jit.script",
           b"jit.trace", b"CUDAGraph", b"make_graphed", b"deepspeed", b"lightning", b"Accelerator(",
           b"channels_last", b"double()", b"float64", b"tensorrt")  # fmt: skip


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Find a script that trains on a GPU and chooses neither a precision nor a compiler; once in a file."""
    words = module.text.content
    if not any(word in words for word in _TRAINING):
        return
    if _PRECISION.search(words) or is_test(module):
        return
    yield from _trainers(module)
    if b".backward(" not in words or any(word in words for word in _CHOSEN):
        return
    if not works_on_gpu(module) or is_of_old_pytorch(module):
        return
    steps = steps_of(module)
    for call in module.calls_named("backward"):
        if (
            isinstance(call.func, ast.Attribute)
            and (loop := steps.training_loop(call))
            and (b"__main__" in words or loop in steps.functions or _is_trainer(module, call))
        ):
            yield module.diagnostic(
                "eager-training", call,
                "The step runs kernel by kernel in FP32: neither tensor cores for reduced precision nor fusion is asked for in this file.",
                _ACTION,
            )  # fmt: skip
            return


def _is_trainer(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* stands in the loop of a function that trains, by its name, over batches."""
    loop = module.loop_around(call)
    is_over_batches = isinstance(loop, ast.While) or (
        isinstance(loop, ast.For)
        and (loader_of(module, loop) is not None or _draws_batches(module, loop))
    )
    name = getattr(module.function_of(call), "name", "")
    return is_over_batches and _TRAINS.match(name) is not None


def _draws_batches(module: PythonModule, loop: ast.For) -> bool:
    """Whether each round of *loop* takes a batch by ``next(batches)``."""
    return any(
        isinstance(part, ast.Call) and getattr(part.func, "id", "") == "next"
        for statement in loop.body
        for part in module.walk(statement)
    )


def _trainers(module: PythonModule) -> Iterator[Diagnostic]:
    """Trainers of Lightning that are given GPUs and no precision."""
    yield from _arguments_of_trainers(module)
    if b"lightning" not in module.text.content or b"autocast" in module.text.content:
        return
    for call in module.calls_like(lambda name: name.endswith(".Trainer")):
        if not module.name_of(call.func).startswith(("pytorch_lightning.", "lightning.")):
            continue
        on_gpu = any(
            argument(call, word) is not None for word in ("gpus", "devices", "accelerator")
        )
        if on_gpu and not has_unknown_arguments(call):
            yield module.diagnostic(
                "eager-training", call,
                "The trainer runs each step in FP32: no precision is given, so tensor cores for reduced precision idle.",
                _TRAINER_ACTION,
            )  # fmt: skip


def _arguments_of_trainers(module: PythonModule) -> Iterator[Diagnostic]:
    """Trainers of Transformers that are given no precision."""
    chosen = ("fp16", "bf16", "tf32", "torch_compile", "use_cpu", "no_cuda")
    for call in module.calls_like(lambda name: name.endswith("TrainingArguments")):
        if (
            not call.keywords
            or has_unknown_arguments(call)
            or any(argument(call, name) is not None for name in chosen)
        ):
            continue
        yield module.diagnostic(
            "eager-training", call,
            "The trainer runs each step in FP32: neither bf16 nor fp16 is given, so tensor cores for reduced precision idle.",
            "Try TrainingArguments(..., bf16=True), or fp16=True before Ampere, tf32=True and torch_compile=True; compare the loss curves.",
        )  # fmt: skip


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
    when="A script or trainer works on a GPU and names neither torch.compile nor a precision.",
    citations=pytorch_tuning_guide(),
    seen="loss.backward()",
    file="train.py",
    action=_ACTION,
)
