"""Places where the host reads a value of the GPU, and so waits for all that was queued before it."""

from __future__ import annotations

import ast
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.source.python.steps import steps_of
from gpuadvise.advisor.source.python.tensors import Kind, Place, tensors_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuadvise.advisor.source.python.module import PythonModule
    from gpuadvise.advisor.source.python.tensors import Value


class How(StrEnum):
    """How a value is read."""

    NUMBER = "number"  # .item(), float()
    SUM = "sum"  # total += loss.item()
    APPENDED = "appended"
    COPY = "copy"  # .cpu(), .tolist()
    PRINTED = "printed"
    TESTED = "tested"


class Read(NamedTuple):
    """One place: *sure* where the value is surely a tensor of the GPU, else it is only likely one."""

    node: ast.expr
    how: How
    sure: bool


_COPIES = ("cpu", "tolist", "numpy")
_CONVERSIONS = ("float", "int", "bool", "math.isnan", "math.isfinite", "math.isinf", "math.exp")
_SHOWN_BY = ("print", "write", "set_postfix", "set_description", "info", "add_scalar")


def reads_of(module: PythonModule) -> Sequence[Read]:
    """Return the places where a tensor of the GPU, or a loss that goes backward, is read by the host.

    Actions that a simulator of the host is to carry out have to be read, and are left out.
    """
    if module.reads is None:
        reads = [read for read in _reads_of(module) if not _is_action(module, read.node)]
        module.reads = sorted(reads, key=lambda read: (read.node.lineno, read.node.col_offset))
    return module.reads


def _is_action(module: PythonModule, node: ast.expr) -> bool:
    for above in module.ancestors(node):
        if isinstance(above, ast.Call) and getattr(above.func, "attr", "") in (
            "step",
            "act",
            "send",
        ):
            return True
        if isinstance(above, ast.Assign):
            return any("action" in ast.unparse(target).lower() for target in above.targets)
        if isinstance(above, (ast.stmt, ast.ExceptHandler)):
            return False
    return False


def _reads_of(module: PythonModule) -> Iterator[Read]:
    for call in module.calls:
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if isinstance(call.func, ast.Attribute) and name == "item" and not call.args:
            if (sure := _on_gpu(module, call.func.value, call)) is not None:
                yield Read(call, _use(module, call), sure)
        elif isinstance(call.func, ast.Attribute) and name in _COPIES:
            if (sure := _on_gpu(module, call.func.value, call)) is not None:
                yield Read(call, How.COPY, sure)
        elif module.name_of(call.func) in _CONVERSIONS and call.args:
            if _on_gpu(module, call.args[0], call):
                yield Read(call, _use(module, call), True)
        elif name in _SHOWN_BY and any(_on_gpu(module, part, call) for part in _shown(call)):
            yield Read(call, How.PRINTED, True)
    for node in module.nodes:
        if isinstance(node, (ast.If, ast.While, ast.Assert, ast.IfExp)):
            for test in _tests(node.test):
                value = tensors_of(module)[test]
                if value is not None and value.sure and _is_on_gpu(value):
                    yield Read(test, How.TESTED, True)


def _tests(test: ast.expr) -> Iterator[ast.expr]:
    """Yield the parts of a condition that compute something of a tensor."""
    if isinstance(test, ast.BoolOp):
        for part in test.values:
            yield from _tests(part)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _tests(test.operand)
    elif isinstance(test, ast.Compare) or (
        isinstance(test, ast.Call)
        and getattr(test.func, "attr", "")
        in ("any", "all", "isnan", "isinf", "isfinite", "equal", "allclose")
    ):
        yield test


def _shown(call: ast.Call) -> Iterator[ast.expr]:
    """Yield what a call that prints turns into text."""
    for part in (*call.args, *(k.value for k in call.keywords if k.arg)):
        if isinstance(part, ast.JoinedStr):
            yield from (v.value for v in part.values if isinstance(v, ast.FormattedValue))
        elif isinstance(part, ast.Call) and getattr(part.func, "attr", "") == "format":
            yield from part.args
        elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod):
            yield from part.right.elts if isinstance(part.right, ast.Tuple) else (part.right,)
        else:
            yield part


def _use(module: PythonModule, node: ast.expr) -> How:
    """Return what becomes of a number that was read."""
    for above in module.ancestors(node):
        if isinstance(above, ast.AugAssign):
            return How.APPENDED if isinstance(above.value, ast.List) else How.SUM
        if isinstance(above, ast.Call):
            name = getattr(above.func, "attr", getattr(above.func, "id", ""))
            if name == "append":
                return How.APPENDED
            if name in _SHOWN_BY:
                return How.PRINTED
        if isinstance(above, (ast.If, ast.While, ast.Assert)):
            return How.TESTED
        if isinstance(above, ast.stmt):
            break
    return How.NUMBER


def _is_on_gpu(value: Value) -> bool:
    return value.kind is Kind.TENSOR and value.place is Place.GPU


def _on_gpu(module: PythonModule, node: ast.expr, reader: ast.Call) -> bool | None:
    """Return whether *node* is surely a tensor of the GPU, or only likely; None where neither."""
    value = tensors_of(module)[node]
    if value is not None and _is_on_gpu(value):
        return value.sure or bool(_is_loss(module, node, reader))
    if value is not None and (value.kind is not Kind.TENSOR or value.place is not None):
        return None
    return _is_loss(module, node, reader) or None


def _is_loss(module: PythonModule, node: ast.expr, reader: ast.Call) -> bool:
    """Whether *node* is what the training loop around it sends backward, or computed from it."""
    root: ast.expr = node
    while isinstance(root, ast.Call) and isinstance(root.func, ast.Attribute):
        if root.func.attr in _COPIES:
            return False  # the copy is what waits
        root = root.func.value
    if not isinstance(root, ast.Name) or (isinstance(reader.func, ast.Name) and root is not node):
        return False
    loop = steps_of(module).training_loop(reader)
    if loop is None or root.id not in steps_of(module).losses(loop):
        return False
    return _is_never_number(module, root.id)


def _is_never_number(module: PythonModule, name: str) -> bool:
    """Whether no statement gives *name* a number that was read: ``loss = loss.item()``."""
    return not any(
        isinstance(value, ast.Call)
        and getattr(value.func, "attr", getattr(value.func, "id", "")) in ("item", "float")
        for value in module.assigned.get(name, ())
    )
