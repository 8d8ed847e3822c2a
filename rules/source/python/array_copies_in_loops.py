"""Arrays of CuPy and Numba that a loop copies between host and GPU."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test, steps_of
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import cupy_performance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = (
    "Copy before the loop and keep the array on the GPU; read results once behind it. What has to cross in each round "
    "goes through pinned memory and a stream of its own."
)
_TO_GPU = frozenset(("cupy.asarray", "cupy.array", "numba.cuda.to_device"))
_TO_HOST = frozenset(("cupy.asnumpy",))


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``cupy.asnumpy``, ``.get()``, ``cuda.to_device`` and ``.copy_to_host()`` in every round of a loop."""
    words = module.text.content
    if (b"cupy" not in words and b"numba" not in words) or is_test(module):
        return
    steps = steps_of(module)
    for call in module.calls:
        name = module.name_of(call.func)
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if name in _TO_GPU and call.args and not isinstance(call.args[0], (ast.List, ast.Constant)):
            said = "Each round copies this array to the GPU while the host waits."
        elif name in _TO_HOST or method == "copy_to_host" or _is_get(module, call):
            said = "Each round waits for the GPU and copies this array to the host."
        else:
            continue
        if _crosses_once(module, call):
            continue
        if steps.is_repeated(call) and steps.runs_always(call):
            yield module.diagnostic("array-copies-in-loops", call, said, _ACTION)


def _crosses_once(module: PythonModule, call: ast.Call) -> bool:
    """Whether each round copies another array, or to another GPU, or at most makes an array of what is one."""
    loop = module.loop_around(call)
    copied = call.func.value if isinstance(call.func, ast.Attribute) and not call.args else None
    copied = call.args[0] if call.args else copied
    above = module.parents.get(call)
    if copied is None or loop is None:
        return False
    if isinstance(above, ast.Attribute) and above.attr in ("ndim", "shape", "dtype"):
        return True  # of an argument that is checked
    if isinstance(above, ast.Assign) and ast.unparse(copied) in map(ast.unparse, above.targets):
        return True  # x = asarray(x), also kept in a list or dictionary
    words = ast.unparse(loop)
    if "Device(" in words or ".use()" in words:
        return True
    if module.name_of(call.func) in _TO_GPU:
        return False
    root = copied
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    targets = ast.walk(loop.target) if isinstance(loop, (ast.For, ast.AsyncFor)) else ()
    return isinstance(root, ast.Name) and any(
        isinstance(part, ast.Name) and part.id == root.id for part in targets
    )


def _is_get(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* is ``x.get()`` of something that CuPy made."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "get" or call.args:
        return False
    owner = call.func.value
    made = module.assigned.get(owner.id, []) if isinstance(owner, ast.Name) else [owner]
    return any(
        isinstance(part, ast.Call) and module.name_of(part.func).startswith("cupy.")
        for value in made
        for part in module.walk(value)
    )


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import cupy

x = cupy.zeros(1000)
for step in range(100):
    x = cupy.sin(x)
    history.append(cupy.asnumpy(x))""",
        """\
import cupy

x = cupy.zeros(1000)
history = cupy.empty((100, 1000))
for step in range(100):
    x = cupy.sin(x)
    history[step] = x
history = cupy.asnumpy(history)""",
    ),
)


RULE = source_rule(
    id="array-copies-in-loops",
    title="Keep arrays on the GPU from round to round",
    topic=Topic.TRANSFERS,
    priority=Priority.LOW,
    why="Each copy waits for the kernels before it and leaves the GPU idle.",
    when="A loop copies an array of CuPy or Numba between host and GPU in every round.",
    citations=cupy_performance(),
    seen="cupy.asnumpy(x)",
    file="train.py",
    action=_ACTION,
)
