"""Uploads of numbers that the host made four times as wide first."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    forward_of,
    is_test,
    may_work_on_gpu,
    repeated_call_of,
    steps_of,
    where_on_gpu,
)
from gpuadvise.advisor.source.python.tensors import (
    TensorMemory,
    ValueKind,
    moves_to_gpu,
    tensors_of,
    uploads_of,
)
from gpuadvise.advisor.source.python.training import argument
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = "Move the bytes as they are and convert them on the GPU: x.to(device, non_blocking=True).float()."
_IMAGES = re.compile(
    r"(?:.*_)?(?:obs|observations?|frames?|states?|images?|imgs?|pixels?|video|clips?|pictures?|screens?)(?:_\w+)?$",
    re.IGNORECASE,
)
_SURELY = re.compile(
    r"(?:.*_)?(?:frames?|images?|imgs?|pixels?|video|clips?|pictures?|screens?)(?:_\w+)?$"
)
_BYTES = re.compile(rb"uint8|Atari|[Tt]ransposeImage|/ ?255|NoFrameskip")
_WIDENS = ("float", "double")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``torch.from_numpy(frames).float().to(device)``: four bytes cross the bus for each byte of the frame."""
    if is_test(module) or not may_work_on_gpu(module):
        return
    yield from _doubles(module)
    steps = steps_of(module)
    made = [call for call in uploads_of(module) if tensors_of(module)[call] is not None]
    for call in dict.fromkeys((*(call for call, _ in moves_to_gpu(module)), *made)):
        is_move = isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "cuda", "type")
        moved = call.func.value if isinstance(call.func, ast.Attribute) and is_move else call
        widening = _widening(module, moved)
        if widening is None or not _may_be_bytes(module, widening):
            continue
        if (
            steps.training_loop(call)
            or steps.evaluation_loop(call)
            or forward_of(module, call)
            or repeated_call_of(module, call)
            or (steps.is_repeated(call) and steps.runs_always(call))
        ):
            yield module.diagnostic(
                "widened-uploads", call,
                where_on_gpu(
                    module,
                    "The host turns the values into float before they are copied: of bytes, four times as much crosses the bus.",
                ),
                _ACTION,
            )  # fmt: skip


def _doubles(module: PythonModule) -> Iterator[Diagnostic]:
    """Find ``torch.FloatTensor(self.states[i])`` where ``self.states = np.zeros((n, d))`` holds doubles; once in a class."""
    told: set[ast.AST | None] = set()
    doubles = {
        (module.parents.get(module.function_of(node)), node.targets[0].attr)
        for node in module.of(ast.Assign)
        if isinstance(node.targets[0], ast.Attribute)
        and isinstance(node.value, ast.Call)
        and module.name_of(node.value.func) in ("numpy.zeros", "numpy.empty", "numpy.ones")
        and len(node.value.args) == 1
        and argument(node.value, "dtype") is None
    }
    for call in module.calls_of("torch.FloatTensor", "torch.Tensor") if doubles else ():
        taken = call.args[0] if call.args else None
        kept = taken.value if isinstance(taken, ast.Subscript) else None
        around = module.parents.get(module.function_of(call))
        if (
            isinstance(kept, ast.Attribute)
            and (around, kept.attr) in doubles
            and around not in told
            and repeated_call_of(module, call) is not None
        ):
            told.add(around)
            yield module.diagnostic(
                "widened-uploads", call,
                where_on_gpu(module, "The array holds double precision: each sample gathers twice the bytes and is converted on the host."),
                "Make the arrays with dtype=np.float32, and take samples by torch.from_numpy.",
                minor=True,
            )  # fmt: skip


def _widening(module: PythonModule, node: ast.expr) -> ast.expr | None:
    """Return what is turned into float on the host, of the chain of calls that ends in *node*."""
    widened = False
    while isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Attribute):
            return None
        name = module.name_of(node.func)
        if name in ("torch.FloatTensor", "torch.Tensor"):
            return node.args[0] if node.args else None
        if name in ("torch.from_numpy", "torch.as_tensor", "torch.tensor"):
            typed = any(k.arg == "dtype" and "float" in ast.unparse(k.value) for k in node.keywords)
            return node.args[0] if (widened or typed) and node.args else None
        if name.startswith(("torch.", "numpy.")):
            return None
        if node.func.attr in _WIDENS:
            value = tensors_of(module)[node.func.value]
            if value is not None and value.place is TensorMemory.GPU:
                return None
            widened = True
        elif node.func.attr not in (
            "unsqueeze",
            "permute",
            "transpose",
            "view",
            "squeeze",
            "contiguous",
        ):
            return None
        node = node.func.value
    value = tensors_of(module)[node]
    is_batch = value is not None and value.kind in (ValueKind.BATCH, ValueKind.TENSOR)
    return node if widened and is_batch else None


def _may_be_bytes(module: PythonModule, node: ast.expr) -> bool:
    """Whether *node* is called like a picture, which has a byte for each value."""
    names = _IMAGES if _BYTES.search(module.text.content) else _SURELY
    while isinstance(node, (ast.Call, ast.Subscript, ast.Attribute)):
        if isinstance(node, ast.Attribute):
            if names.match(node.attr):
                return True
            node = node.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            if module.name_of(node.func) not in (
                "numpy.array",
                "numpy.asarray",
                "numpy.stack",
                "numpy.expand_dims",
            ):
                return False
            if not node.args:
                return False
            node = node.args[0]
    return isinstance(node, ast.Name) and names.match(node.id) is not None


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch


def step(frames, device):
    return model(torch.from_numpy(frames).float().to(device) / 255)""",
        """\
import torch


def step(frames, device):
    return model(torch.from_numpy(frames).to(device).float() / 255)""",
    ),
)


RULE = source_rule(
    id="widened-uploads",
    title="Upload bytes, and convert them on the GPU",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    why="A copy over the bus takes as long as it has bytes, and the conversion takes the GPU next to nothing.",
    when="A step, a loop or a function that is called again and again turns pictures into float and then moves them to the GPU.",
    citations=pytorch_tuning_guide(),
    seen="torch.from_numpy(frames).float().to(device)",
    file="train.py",
    action=_ACTION,
)
