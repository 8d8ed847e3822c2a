"""Arrays of NumPy that are given to kernels of Numba, which copies them there and back."""

from __future__ import annotations

import ast
from math import prod
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_test
from gpuadvise.advisor.source.python.training import argument
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.model import Priority, Topic
from gpuadvise.rules.observed import source_rule
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.sources import numba_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_ACTION = "Copy once with numba.cuda.to_device(...) before the launch, and read results with copy_to_host() where they are needed."
FEW = number(
    4096, "elements of arrays whose copies are short beside a launch, at most", "", "our judgement"
)
_KEEPS = ("asarray", "to_device", "device_array")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """``kernel[blocks, threads](x)``, or a universal function of the GPU, where x is an array of NumPy."""
    if b"numba" not in module.text.content or is_test(module):
        return
    kernels = {
        node.name
        for node in module.of(ast.FunctionDef)
        if any(map(_is_jit(module), node.decorator_list))
    }
    ufuncs = {
        node.name
        for node in module.of(ast.FunctionDef)
        if any(_is_ufunc(module, decorator) for decorator in node.decorator_list)
    }
    for call in module.calls:
        launched = call.func.value if isinstance(call.func, ast.Subscript) else call.func
        named = ufuncs if launched is call.func else kernels
        if not isinstance(launched, ast.Name) or launched.id not in named:
            continue
        names = [
            a.id
            for a in call.args
            if isinstance(a, ast.Name) and _is_array(module, a) and not _has_few(module, a)
        ]
        if names:
            yield module.diagnostic(
                "implicit-kernel-copies", call,
                f"{' and '.join(names[:2])}{' and others' if len(names) > 2 else ''} of NumPy: each launch copies to the "
                "GPU and, when the kernel is done, back.",
                _ACTION,
                # A single launch copies what any program has to, but for what it only writes.
                minor=_is_one_block(call)
                or (module.loop_around(call) is None and module.function_of(call) is module.tree),
            )  # fmt: skip


def _is_jit(module: PythonModule) -> Callable[[ast.expr], bool]:
    def decides(decorator: ast.expr) -> bool:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        return module.name_of(called) == "numba.cuda.jit"

    return decides


def _is_one_block(call: ast.Call) -> bool:
    """Whether a single block is launched, ``kernel[1, 32](x)``, which has little to copy."""
    grid = call.func.slice if isinstance(call.func, ast.Subscript) else None
    blocks = grid.elts[0] if isinstance(grid, ast.Tuple) and grid.elts else None
    return isinstance(blocks, ast.Constant) and blocks.value == 1


def _is_ufunc(module: PythonModule, decorator: ast.expr) -> bool:
    """Whether *decorator* is ``vectorize([...], target="cuda")``, or ``guvectorize``."""
    if not isinstance(decorator, ast.Call):
        return False
    target = argument(decorator, "target")
    is_cuda = isinstance(target, ast.Constant) and target.value == "cuda"
    return is_cuda and module.name_of(decorator.func) in ("numba.vectorize", "numba.guvectorize")


def _is_array(module: PythonModule, name: ast.Name) -> bool:
    """Whether what the function around *name* assigned to it last is made by NumPy."""
    function = module.function_of(name)
    values = [
        value
        for value in module.assigned.get(name.id, ())
        if module.function_of(value) is function and value.lineno < name.lineno
    ]
    values = [max(values, key=lambda value: value.lineno)] if values else []
    return bool(values) and all(
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and _of_numpy(module, value)
        for value in values
    )


def _has_few(module: PythonModule, name: ast.Name) -> bool:
    """Whether all arrays of that name are made with so few elements, all written out, that the launch takes longer."""
    sizes = []
    for value in module.values_of(name.id):
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if module.name_of(value.func).startswith("numpy."):
                break
            value = value.func.value  # numpy.zeros(9).astype(...)
        if not isinstance(value, ast.Call):
            return False
        shape = argument(value, "size") or argument(value, "shape")
        sizes.append(_elements(shape or next(iter(value.args), value)))
    return bool(sizes) and all(size is not None and size <= FEW for size in sizes)


def _elements(shape: ast.expr) -> int | None:
    """Return how many elements *shape*, or a list that is written out, has; None where the file does not say."""
    if isinstance(shape, ast.Constant) and isinstance(shape.value, int):
        return shape.value
    if isinstance(shape, ast.List) and all(isinstance(e, ast.Constant) for e in shape.elts):
        return len(shape.elts)
    if isinstance(shape, ast.Tuple):
        sides = [_elements(side) for side in shape.elts]
        return None if None in sides else prod(side for side in sides if side is not None)
    return None


def _of_numpy(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* is one of NumPy, or of a method behind one: ``numpy.zeros(9).astype(...)``."""
    while isinstance(call.func, ast.Attribute):
        if module.name_of(call.func).startswith("numpy."):
            return True
        if not isinstance(call.func.value, ast.Call):
            return False
        call = call.func.value
    return False


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import numpy
from numba import cuda


@cuda.jit
def scale(x):
    x[cuda.grid(1)] *= 2


x = numpy.ones(1 << 20)
scale[4096, 256](x)""",
        """\
import numpy
from numba import cuda


@cuda.jit
def scale(x):
    x[cuda.grid(1)] *= 2


x = cuda.to_device(numpy.ones(1 << 20))
scale[4096, 256](x)""",
    ),
)


RULE = source_rule(
    id="implicit-kernel-copies",
    title="Copy arrays to the GPU before kernels",
    topic=Topic.TRANSFERS,
    priority=Priority.MEDIUM,
    why="Numba copies an array of the host to the GPU before each launch, and back behind it.",
    when="A kernel or a universal function of Numba for the GPU is given an array of NumPy.",
    citations=numba_memory(),
    seen="scale[4096, 256](x)",
    file="train.py",
    action=_ACTION,
)
