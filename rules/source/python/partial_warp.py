"""Blocks that are no whole warps in launches from Python: CuPy, Numba, Triton."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.memory.word_size import WARP_SIZE
from gpuadvise.advisor.prose import plural
from gpuadvise.advisor.source.python.steps import is_test
from gpuadvise.advisor.source.python.training import argument
from gpuadvise.advisor.thresholds import number
from gpuadvise.rules.source.model import BeforeAfter, PythonCheck
from gpuadvise.rules.thresholds import BLOCK_THREADS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.diagnostic import Diagnostic
    from gpuadvise.advisor.source.python.module import PythonModule

_MAKERS = ("cupy.RawKernel", "cupyx.jit.rawkernel")
_JIT = ("numba.cuda.jit", "cupyx.jit.rawkernel")
_DEEPEST = number(4, "names that lead to a number of threads, at most", "", "our judgement")
_TRITON = ("triton.jit", "triton.autotune", "triton.heuristics")


def faults(module: PythonModule) -> Iterator[Diagnostic]:
    """Find launches of CuPy and Numba kernels whose block is not a multiple of 32 threads."""
    tests = is_test(module)  # which give a block as many threads as the few numbers that they check
    raw, jitted, triton = _kernels(module)
    for call in module.calls:
        block: ast.expr | None = None
        grid: ast.expr | None = None
        if isinstance(call.func, ast.Name) and call.func.id in raw and len(call.args) >= 2:
            grid, block = call.args[:2]
        elif isinstance(call.func, ast.Subscript) and isinstance(call.func.value, ast.Name):
            name = call.func.value.id
            if (
                name in jitted
                and isinstance(call.func.slice, ast.Tuple)
                and len(call.func.slice.elts) >= 2
            ):
                grid, block = call.func.slice.elts[:2]
            elif name in triton:
                yield from _triton(module, call)
        threads = _threads(module, block) if block is not None else None
        # One block, of all the numbers that there are, has no others to idle beside.
        if tests or (grid is not None and _threads(module, grid) == 1):
            continue
        if threads is not None and threads > 1 and threads % WARP_SIZE and threads <= BLOCK_THREADS:
            yield module.diagnostic(
                "partial-warp", call, f"Blocks of {threads} threads leave {plural(-threads % WARP_SIZE, 'lane')} of the last warp idle.",
                f"Launch {-(-threads // WARP_SIZE) * WARP_SIZE} threads per block.",
            )  # fmt: skip


def _triton(module: PythonModule, call: ast.Call) -> Iterator[Diagnostic]:
    """Find numbers of warps that are no power of two; a Triton block has whole warps."""
    warps = argument(call, "num_warps")
    value = _number(module, warps) if warps is not None else None
    if value is not None and (value < 1 or value & (value - 1)):
        yield module.diagnostic(
            "partial-warp", call, f"num_warps={value} is not a power of two: Triton refuses it.",
            f"Write num_warps={1 << max(0, value.bit_length() - 1)} or {1 << max(0, value.bit_length())}.",
        )  # fmt: skip


def _kernels(module: PythonModule) -> tuple[set[str], set[str], set[str]]:
    """Return the names of CuPy raw kernels, of jitted kernels, and of Triton kernels."""
    raw: set[str] = set()
    jitted: set[str] = set()
    triton: set[str] = set()
    for made in module.of(ast.Assign):
        name = module.name_of(made.value.func) if isinstance(made.value, ast.Call) else ""
        if name in _MAKERS or (
            name.endswith(".get_function") and "cupy" in module.imports.values()
        ):
            raw |= {t.id for t in made.targets if isinstance(t, ast.Name)}
    for function in module.of(ast.FunctionDef):
        for decorator in function.decorator_list:
            inner = decorator.func if isinstance(decorator, ast.Call) else decorator
            name = module.name_of(inner)
            if name in _JIT:
                jitted.add(function.name)
            elif name in _TRITON:
                triton.add(function.name)
    return raw, jitted, triton


def _threads(module: PythonModule, block: ast.expr) -> int | None:
    if isinstance(block, ast.Tuple):
        threads = 1
        for side in block.elts:
            value = _number(module, side)
            if value is None:
                return None
            threads *= value
        return threads
    if isinstance(block, ast.Name):
        values = module.values_of(block.id)
        if len(values) == 1 and isinstance(values[0], ast.Tuple):
            return _threads(module, values[0])
    return _number(module, block)


def _number(module: PythonModule, node: ast.expr, depth: int = 0) -> int | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name) and depth < _DEEPEST:
        values = module.values_of(node.id)
        constant = len(values) == 1 and node.id not in module.changed
        return _number(module, values[0], depth + 1) if constant else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and depth < _DEEPEST:
        left, right = _number(module, node.left, depth + 1), _number(module, node.right, depth + 1)
        return left * right if left is not None and right is not None else None
    return None


CHECK = PythonCheck(
    faults=faults,
    code=BeforeAfter(
        "python",
        """\
import cupy

scale = cupy.RawKernel(source, "scale")
scale((n // 100,), (100,), (data,))  # 4 warps, the last with 4 lanes""",
        """\
import cupy

scale = cupy.RawKernel(source, "scale")
scale((n // 128,), (128,), (data,))""",
    ),
)
