"""Non-maximum suppression box after box in Python."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test, may_work_on_gpu, where_on_gpu
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import torchvision_operators

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = "Call torchvision.ops.nms(boxes, scores, threshold), or batched_nms(boxes, scores, classes, threshold) for all classes at once."
_NAMES = re.compile(
    r"(?:^|_)(?:nms|non_?max(?:imum)?_?supp?ress?ion|nonmax)(?:_|$)|NMS|NonMax", re.IGNORECASE
)
_LIBRARY = re.compile(r"(?:^|\.)(?:batched_)?nms(?:_|$)|(?:nms|_C|ext|cuda)\.\w*nms")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Find functions named for it, with a loop over tensors and no call of an operator that does it."""
    if is_test(module) or not may_work_on_gpu(module) or b"torch" not in module.text.content:
        return
    for function in module.of(ast.FunctionDef):
        if not _NAMES.search(function.name):
            continue
        if "soft" in function.name.lower():
            continue  # which no operator of torchvision does
        if any(
            isinstance(p, ast.Call) and _is_operator(module, p, function)
            for p in module.walk(function)
        ):
            continue
        loop = next((p for p in module.walk(function) if _suppresses(module, p)), None)
        if isinstance(loop, (ast.While, ast.For)):
            place = loop.test if isinstance(loop, ast.While) else loop.iter
            yield module.diagnostic(
                "hand-written-nms", place,
                where_on_gpu(
                    module,
                    "Boxes are suppressed one after the other: each round queues short kernels, and the host waits to know what is left.",
                ),
                _ACTION,
            )  # fmt: skip


def _is_operator(module: PythonModule, call: ast.Call, function: ast.FunctionDef) -> bool:
    name = module.name_of(call.func)
    return name != function.name and bool(_LIBRARY.search(name)) and name not in module.functions


def _suppresses(module: PythonModule, loop: ast.AST) -> bool:
    """Whether *loop* compares overlaps of what it takes away from, by PyTorch."""
    if not isinstance(loop, (ast.While, ast.For)):
        return False
    words = " ".join(map(ast.unparse, loop.body))
    on_host = "np." in words or "cv2." in words
    overlaps = re.search(r"iou|overlap|inter|jaccard", words, re.IGNORECASE) is not None
    keeps = re.search(r"keep|append|\[1:\]|\[:-1\]|max_det|cat\(", words) is not None
    is_shrinking = (
        isinstance(loop, ast.While) or re.search(r"\[\w+ \+ 1:\]|break", words) is not None
    )
    return overlaps and keeps and is_shrinking and not on_host


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


def nms(boxes, scores, threshold):
    order, keep = scores.argsort(descending=True), []
    while order.numel() > 0:
        keep.append(order[0])
        overlaps = iou(boxes[order[:1]], boxes[order[1:]])
        order = order[1:][overlaps[0] <= threshold]
    return torch.stack(keep)""",
        """\
import torchvision


def nms(boxes, scores, threshold):
    return torchvision.ops.nms(boxes, scores, threshold)""",
    ),
)


RULE = source_rule(
    id="hand-written-nms",
    title="Call the operator for non-maximum suppression",
    topic=Topic.EXECUTION,
    priority=Priority.LOW,
    why="The operator does in one kernel what the loop does in several for each box, with a wait in each round.",
    when="A function named for non-maximum suppression loops over boxes and calls no operator that does it.",
    citations=torchvision_operators(),
    seen="while order.numel() > 0:",
    file="detection.py",
    action=_ACTION,
)
