"""Host data that a loop uploads piece by piece."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.module import last_name
from gpuadvise.advisor.source.python.reads import is_acting, is_helper
from gpuadvise.advisor.source.python.steps import (
    forward_of,
    generates,
    is_beside_more,
    is_compiled,
    is_test,
    may_work_on_gpu,
    repeated_call_of,
    steps_of,
    where_on_gpu,
)
from gpuadvise.advisor.source.python.tensors import stores_to_gpu, uploads_of
from gpuadvise.advisor.source.python.training import is_written_out
from gpuadvise.advisor.source.python.upload_helpers import is_of_each_step, uploads_by_helpers
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_tuning_guide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

# Fewer are a batch and its labels.
FEWEST = number(3, "arrays that a function uploads by a helper, at least", "", "our judgement")
_ACTION = (
    "Upload all of it once before the loop and index it on the GPU, or fill a pinned buffer and copy it with "
    "non_blocking=True."
)
_ACTION_OF_CALL = (
    "Make what does not change once, compute on the host what the host alone needs (lengths, maxima), and copy the rest "
    "in one pinned buffer with non_blocking=True."
)
_OF_COPY = (
    "Each round or call copies values from pageable host memory, and the host waits for the copy."
)
_OF_ACTING = "Each step of the environment copies what was observed to the GPU, runs a small network on it and waits for the action."
_ACTION_OF_ACTING = (
    "Step several environments at once, so that one call acts for all of them; for one at a time a small policy is faster on "
    "the host."
)


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``torch.tensor(values, device=gpu)`` and ``torch.tensor(values).to(gpu)`` in every round or call."""
    if is_test(module) or not may_work_on_gpu(module):
        return
    yield from _constants(module)
    steps = steps_of(module)
    uploads = uploads_of(module)
    yield from _by_helpers(module, [call for call in uploads if last_name(call) != "new_tensor"])
    stores = [
        node.value
        for node in stores_to_gpu(module)
        if (function := repeated_call_of(module, node)) is not None and is_helper(function)
    ]
    # Nothing but the tensor beside it says where this is, and no program that sets up asks for that.
    beside = {
        call for call in uploads if getattr(call.func, "attr", "") in ("new_tensor", "type_as")
    }
    shown: set[ast.AST] = set()
    for call in [*uploads, *stores]:
        around = module.loop_around(call) or module.function_of(call)
        if generates(module, around) or is_beside_more(module, call):
            continue
        in_step = steps.training_loop(call) is not None or (
            steps.is_repeated(call) and steps.runs_always(call)
        )
        often = (
            call in stores
            or (call in beside and repeated_call_of(module, call) is not None)
            or forward_of(module, call) is not None
            or steps.is_called_each_round(call)
        )
        named = not in_step and not often and is_of_each_step(module, call)
        if named:
            # One for all that the function uploads line by line.
            if module.function_of(call) in shown:
                continue
            shown.add(module.function_of(call))
        if in_step or often or named:
            acts = is_acting(module, call)
            yield module.diagnostic(
                "repeated-uploads", call,
                where_on_gpu(module, _OF_ACTING if acts else _OF_COPY),
                _ACTION_OF_ACTING if acts else _ACTION if in_step else _ACTION_OF_CALL,
            )  # fmt: skip


def _by_helpers(module: PythonModule, uploads: list[ast.Call]) -> Iterator[Diagnostic]:
    """Find functions that upload several arrays, each by a call of a helper of this file."""
    for calls in uploads_by_helpers(module, uploads):
        if len(calls) >= FEWEST and not is_compiled(module, calls[0]):
            yield module.diagnostic(
                "repeated-uploads", calls[0],
                where_on_gpu(
                    module,
                    "Each call uploads several arrays one by one from pageable memory, and the host waits for each.",
                ),
                "Keep the data on the GPU and index it there, or gather them in one pinned buffer and copy it with non_blocking=True.",
            )  # fmt: skip


def _constants(module: PythonModule) -> Iterator[Diagnostic]:
    """Find ``torch.log(torch.tensor(10.0))``: a number that a tensor and a kernel are made for."""
    for call in module.calls_of(*_FUNCTIONS):
        if len(call.args) != 1:
            continue
        made = call.args[0]
        if not isinstance(made, ast.Call) or len(made.args) != 1:
            continue
        if module.function_of(call) is module.tree:
            continue
        maker = module.name_of(made.func)
        written = isinstance(made.args[0], ast.Constant) and maker == "torch.tensor"
        if maker in ("torch.tensor", "torch.Tensor") and (written or _is_list(made.args[0])):
            yield module.diagnostic(
                "repeated-uploads", call,
                "Each call makes a tensor and runs a function of PyTorch to compute a number that does not change.",
                "Compute it once by math, and use the number: tensors take it as it is.",
                minor=True,
            )  # fmt: skip


_FUNCTIONS = frozenset(
    f"torch.{name}" for name in ("log", "sqrt", "exp", "sin", "cos", "tan", "log2", "log10")
)


def _is_list(node: ast.expr) -> bool:
    return isinstance(node, (ast.List, ast.Tuple)) and is_written_out(node)


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import torch

for step in range(1000):
    rate = torch.tensor([rates[step]], device="cuda")
    update(rate)""",
        """\
import torch

all_rates = torch.tensor(rates, device="cuda")
for step in range(1000):
    update(all_rates[step])""",
    ),
)


RULE = source_rule(
    id="repeated-uploads",
    title="Upload host data together",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    why="A small copy costs microseconds of latency, and from pageable memory the host waits for it.",
    when="A loop, a model or a function that is called again and again makes a tensor of the GPU from a list or an array.",
    citations=pytorch_tuning_guide(),
    seen="torch.tensor(values, device=device)",
    file="train.py",
    action=_ACTION,
)
