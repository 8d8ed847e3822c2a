"""Waiting for the GPU in every iteration."""

from __future__ import annotations

import ast
import re
from itertools import takewhile
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    is_test,
    steps_of,
    works_on_gpu,
)
from gpuadvise.advisor.source.python.training import CLOCKS, conditional_in
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_cuda_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

# Words of a file that measures time somewhere; a wait may belong to that.
_TIMERS = (
    b"perf_counter",
    b"time.time()",
    b"time()",
    b"timer",
    b"elapsed",
    b"profiler",
    b"benchmark",
)


CLOSE = number(2, "lines between a wait and the clock that it is for, at most", "", "our judgement")
_SELDOM = re.compile(r"^__|epoch|setup|start$|^on_(?:fit|train_(?:start|end))")
_MEASURES = re.compile(r"Timer|Profil|Meter|Bench|Clock|Stopwatch|Monitor")
_ACTION_CLOCK = "Wait behind a switch, or time by torch.cuda.Event(enable_timing=True) and read the events a step later."
_ACTION = "Leave it out: work in one stream runs in order, and reading a value waits by itself."


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``torch.cuda.synchronize()`` in every iteration, other than to measure time."""
    waits = module.calls_of("torch.cuda.synchronize")
    if not waits:
        return
    yield from _for_clocks(module, waits)
    steps = steps_of(module)
    # A step of training does not measure what another function of the file does.
    measures = _names_a_timer(module)
    timed = _timed_functions(module)
    for call in waits:
        loop = module.loop_around(call)
        if loop is None or conditional_in(module, call, loop):
            continue
        if measures and not (steps.training_loop(call) and works_on_gpu(module)):
            continue
        function = module.function_of(call)
        if function in timed or _is_named_for_measuring(function):
            continue
        yield module.diagnostic(
            "synchronizations-in-loops", call,
            "The host waits for the GPU in every iteration, and the GPU then waits for the host.",
            _ACTION,
        )  # fmt: skip


def _for_clocks(module: PythonModule, waits: list[ast.Call]) -> Iterator[Diagnostic]:
    """Find methods that wait in each call only to read a clock behind it; once in a method."""
    if is_test(module):
        return
    readings = module.calls_of(*CLOCKS)
    told: set[ast.AST] = set()
    for call in waits:
        method = module.function_of(call)
        around = module.parents.get(method)
        if method in told or not isinstance(around, ast.ClassDef) or _is_asked_for(module, call):
            continue
        if _is_named_for_measuring(method) or _MEASURES.search(around.name):
            continue
        if any(
            0 < reading.lineno - call.lineno <= CLOSE and module.function_of(reading) is method
            for reading in readings
        ):
            told.add(method)
            yield module.diagnostic(
                "synchronizations-in-loops", call,
                "Each call waits for the GPU only to read a clock, and queues nothing meanwhile.",
                _ACTION_CLOCK,
                minor=True,
            )  # fmt: skip


def _is_asked_for(module: PythonModule, call: ast.Call) -> bool:
    """Whether a condition of its method decides that *call* runs, or the method runs seldom."""
    function = module.function_of(call)
    within = takewhile(lambda above: above is not function, module.ancestors(call))
    return _SELDOM.search(getattr(function, "name", "")) is not None or any(
        isinstance(above, (ast.If, ast.IfExp, ast.ExceptHandler)) for above in within
    )


def _timed_functions(module: PythonModule) -> set[ast.AST]:
    """Return the functions that read clocks or events."""
    functions = set()
    for call in module.calls:
        called = module.name_of(call.func)
        if called in CLOCKS or "Event" in called or "profil" in called.lower():
            functions.add(module.function_of(call))
    return functions


def _is_named_for_measuring(function: ast.AST) -> bool:
    name = getattr(function, "name", "").lower()
    return any(word in name for word in ("bench", "time", "profile", "test", "warm", "measure"))


def _names_a_timer(module: PythonModule) -> bool:
    """Whether a timer in a helper of this file may be what a loop waits for."""
    words = module.text.content.lower().replace(b"cudnn.benchmark", b"")
    return any(mark in words for mark in _TIMERS) or any(
        word in module.text.file.lower() for word in ("bench", "test")
    )


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
for batch in loader:
    step(batch)
    torch.cuda.synchronize()""",
        """\
for batch in loader:
    step(batch)
torch.cuda.synchronize()""",
    ),
)


RULE = source_rule(
    id="synchronizations-in-loops",
    title="Do not wait in every iteration",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    why="While the host waits nothing new is queued, and the GPU idles afterwards.",
    when="A loop that measures nothing calls torch.cuda.synchronize() in every iteration, or a method in every call for a clock.",
    citations=pytorch_cuda_notes(),
    seen="torch.cuda.synchronize()",
    file="train.py",
    action=_ACTION,
)
