"""Convolutions that train with whatever algorithm cuDNN's heuristic names."""

from __future__ import annotations

import ast
import re
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

_ACTION = "Set torch.backends.cudnn.benchmark = True where the shapes of batches stay the same; leave it where they change often, or runs must repeat bit for bit."
# What a step of training takes from its loader, going by its name.
_IMAGES = re.compile(r"\b(?:images?|imgs?)\b")
_TRANSFORMERS = re.compile(rb"vit|transformer|bert|gpt|mlp", re.IGNORECASE)
# Settings of cuDNN that decide how it picks; that it is to be used at all says nothing.
_CHOSEN = re.compile(rb"cudnn(?!\.enabled = True\b)[._ ]|benchmark_limit|cudnn\.flags")
_CONVOLUTIONS = re.compile(r"torch\.nn\.Conv(?:Transpose)?[123]d$")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Find a program that trains convolutions of its own and never mentions cuDNN; once in a file."""
    words = module.text.content
    if b".backward(" not in words or _CHOSEN.search(words) or b"determin" in words:
        return
    if is_test(module) or not works_on_gpu(module) or not steps_of(module).training:
        return
    convolutions = module.calls_like(_CONVOLUTIONS.match)
    if convolutions:
        yield module.diagnostic(
            "unsearched-convolutions", convolutions[0],
            "cuDNN picks algorithms by a heuristic unless it may time them once for each shape.",
            _ACTION,
        )  # fmt: skip
        return
    if _TRANSFORMERS.search(module.text.content):
        return
    for loop in steps_of(module).training:
        if isinstance(loop, ast.For) and _IMAGES.search(ast.unparse(loop.target)):
            yield module.diagnostic(
                "unsearched-convolutions", loop.iter,
                "Where the model convolves these images, cuDNN picks algorithms by a heuristic unless it may time them once "
                "for each shape.",
                _ACTION,
            )  # fmt: skip
            return


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

model = torch.nn.Conv2d(64, 64, 3).cuda()
for images in loader:
    model(images.cuda(non_blocking=True)).mean().backward()
    optimizer.step()""",
        """\
import torch

torch.backends.cudnn.benchmark = True
model = torch.nn.Conv2d(64, 64, 3).cuda()
for images in loader:
    model(images.cuda(non_blocking=True)).mean().backward()
    optimizer.step()""",
    ),
)


RULE = source_rule(
    id="unsearched-convolutions",
    title="Let cuDNN time its convolutions",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="The fastest algorithm differs from shape to shape; timing each once finds it.",
    when="A program trains convolutions on a GPU and never sets torch.backends.cudnn.",
    citations=pytorch_tuning_guide(),
    seen="torch.nn.Conv2d(64, 64, 3)",
    file="train.py",
    action=_ACTION,
)
