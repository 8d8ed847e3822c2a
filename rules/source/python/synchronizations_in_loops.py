"""Waiting for the GPU in every iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.training import CLOCKS, conditional_in
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import pytorch_cuda_notes

if TYPE_CHECKING:
    import ast
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


_ACTION = "Leave it out: work in one stream runs in order, and reading a value waits by itself."


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``torch.cuda.synchronize()`` in every iteration, other than to measure time."""
    for call in module.calls:
        if module.name_of(call.func) != "torch.cuda.synchronize":
            continue
        loop = module.loop_around(call)
        if loop is None or conditional_in(module, call, loop) or _is_measuring(module, call):
            continue
        yield module.diagnostic(
            "synchronizations-in-loops", call,
            "The host waits for the GPU in every iteration, and the GPU then waits for the host.",
            _ACTION,
        )  # fmt: skip


def _is_measuring(module: PythonModule, call: ast.Call) -> bool:
    """Whether the function around *call* reads clocks or events, or its name says so."""
    function = module.function_of(call)
    name = getattr(function, "name", "").lower()
    if any(word in name for word in ("bench", "time", "profile", "test", "warm", "measure")):
        return True
    for neighbour in module.calls:
        called = module.name_of(neighbour.func)
        measures = called in CLOCKS or "Event" in called or "profil" in called.lower()
        if measures and module.function_of(neighbour) is function:
            return True
    # A timer in a helper of this file may be what the loop waits for.
    words = module.text.content.lower()
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
    when="A loop that measures nothing calls torch.cuda.synchronize() in every iteration.",
    citations=pytorch_cuda_notes(),
    seen="torch.cuda.synchronize()",
    file="train.py",
    action=_ACTION,
)
