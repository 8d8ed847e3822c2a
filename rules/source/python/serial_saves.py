"""Results that the host encodes and writes while the GPU waits."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test, steps_of, without_gradients, works_on_gpu
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
    "Hand the copy on the host to a thread (concurrent.futures.ThreadPoolExecutor().submit(imwrite, path, image)) and go "
    "on with the next round; encoders release the interpreter lock."
)
_WRITERS = frozenset(("imwrite", "imsave", "save_image", "savefig", "write_png", "write_jpeg"))
_SOUND = frozenset(("scipy.io.wavfile.write", "soundfile.write", "torchaudio.save"))


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Find writers of pictures and sound in loops that run a model without gradients; once in a loop."""
    if is_test(module) or not works_on_gpu(module):
        return
    steps = steps_of(module)
    reported: set[ast.AST] = set()
    for call in module.calls:
        if not _writes(module, call):
            continue
        loop = next((each for each in module.loops_around(call) if _runs_model(module, each)), None)
        if loop is None or reported.intersection(module.loops_around(call)):
            continue
        if not steps.is_repeated(call) or not steps.runs_always(call) or _is_of_epochs(loop):
            continue
        if steps.training_loop(call) is not None or not without_gradients(module, call):
            continue
        reported.update(module.loops_around(call))
        yield module.diagnostic(
            "serial-saves", call,
            "The GPU waits in each round while the host encodes and writes this file.",
            _ACTION,
        )  # fmt: skip


def _writes(module: PythonModule, call: ast.Call) -> bool:
    name = module.name_of(call.func)
    last = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if last in _WRITERS or name in _SOUND:
        return True
    if last != "save" or not isinstance(call.func, ast.Attribute):
        return False
    # Image.fromarray(...).save(...), also through a name
    made = call.func.value
    values = [made, *(module.values_of(made.id) if isinstance(made, ast.Name) else ())]
    return any(
        isinstance(part, ast.Call)
        and module.name_of(part.func).endswith(("Image.fromarray", "to_pil_image"))
        for value in values
        for part in ast.walk(value)
    )


def _is_of_epochs(loop: ast.stmt) -> bool:
    return isinstance(loop, ast.For) and "epoch" in ast.unparse(loop.target)


def _runs_model(module: PythonModule, loop: ast.stmt) -> bool:
    tensors = tensors_of(module)
    return any(
        isinstance(part, ast.Call)
        and (
            (value := tensors[part.func]) is not None
            or _SAMPLES.search(getattr(part.func, "attr", ""))
        )
        and (value is None or value.kind is ValueKind.MODEL)
        for part in module.walk(loop)
    )


_SAMPLES = re.compile(r"^(?:sample|generate|decode|infer|render|test|forward|predict)(?:_\w+)?$")


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import cv2
import torch

model = Model().cuda()
with torch.inference_mode():
    for path, image in pictures:
        result = model(image.cuda())
        cv2.imwrite(path, result.byte().cpu().numpy())""",
        """\
from concurrent.futures import ThreadPoolExecutor

import cv2
import torch

model = Model().cuda()
with torch.inference_mode(), ThreadPoolExecutor() as writers:
    for path, image in pictures:
        result = model(image.cuda())
        writers.submit(cv2.imwrite, path, result.byte().cpu().numpy())""",
    ),
)


RULE = source_rule(
    id="serial-saves",
    title="Write results beside the GPU's work",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    why="A picture takes the host tens of milliseconds to encode, in which nothing is queued for the GPU.",
    when="A loop that runs a model without gradients writes pictures or sound in each round.",
    citations=pytorch_tuning_guide(),
    seen="cv2.imwrite(path, result.cpu().numpy())",
    file="sample.py",
    action=_ACTION,
)
