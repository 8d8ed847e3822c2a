"""What a function computes of sizes alone: masks, grids and tables that are the same in each call."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.tensors import TensorMemory, ValueKind, tensors_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpuadvise.advisor.source.python.module import PythonModule

_FACTORIES = re.compile(
    r"torch\.(?:arange|linspace|logspace|eye|ones|full|zeros|hann_window|hamming_window|tril_indices|triu_indices)$"
)
_FUNCTIONS = re.compile(
    r"torch\.(?:sin|cos|exp|log|pow|sqrt|stack|cat|concat|meshgrid|triu|tril|outer|einsum|flip|cartesian_prod|complex|polar"
    r"|div|mul|floor_divide|square|fft\.\w+)$"
)
_PATTERNS = re.compile(r"arange|space|eye|window|indices|tri[ul]|meshgrid")
# Methods that queue no kernel.
_VIEWS = frozenset(
    ("view", "reshape", "unsqueeze", "squeeze", "expand", "expand_as", "t", "transpose", "permute", "flatten",
     "type_as", "to", "cuda", "detach", "contiguous", "chunk", "split", "unbind")
)  # fmt: skip
_KEPT = re.compile(r"float|logical_not|long|half|int|bool|repeat|repeat_interleave|sin|cos|exp|pow|mul|div|triu|tril|sqrt|log|neg|clone"
                   r"|masked_fill|bool|reciprocal|cumsum|type|tile")  # fmt: skip
_SIZES = re.compile(
    r"(?:n|h|w|t|b|c|d|bs|[hwtd]\d|seq|hw|wh)$|n_|num_|.*(?:size|len|length|dim|dims|height|width|batch|shape|count|steps|bands"
    r"|frames|points|res|resolution|stride|scale|theta|base|max_\w+|device|dtype|half\w*|heads?|tokens|patches|freqs?)s?$",
    re.IGNORECASE,
)


def makers_of_tables(module: PythonModule) -> set[ast.AST]:
    """Return what stands around calls that a table begins with; nothing else computes one."""
    return {
        above for call in module.calls_like(_FACTORIES.match) for above in module.ancestors(call)
    }


class ConstantTable:
    """What a function, or a loop, computes without its inputs: how many *kernels*, and the *first* of them.

    *runs_each_time* tells in each call, or round, of what a statement runs.
    """

    def __init__(
        self,
        module: PythonModule,
        around: ast.AST,
        runs_each_time: Callable[[PythonModule, ast.stmt], ast.AST | None],
    ) -> None:
        self.module = module
        self.kernels = 0
        self.first: ast.Call | None = None
        self.is_pattern = False  # not only zeros, which may be a start
        self._constant: set[str] = set()
        self._numbers: set[str] = set()  # computed of sizes: step = 1.0 / (height + 2)
        changed = _changed_in_place(module, around)
        statements = [
            s
            for s in module.walk(around)
            if isinstance(s, (ast.Assign, ast.Return, ast.Expr, ast.AugAssign))
        ]
        for statement in sorted(statements, key=lambda s: s.lineno):
            if (
                statement.value is None
                or runs_each_time(module, statement) is not around
                or _is_of_first_calls(module, statement)
            ):
                continue
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            names = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            if changed.intersection(names):
                continue
            kernels = self._count(statement.value)
            made: list[ast.Call] = []
            is_number = kernels is None and self._kernels(statement.value, made) == 0 and not made
            self._numbers = self._numbers | names if is_number else self._numbers - names
            self._constant = self._constant | names if kernels else self._constant - names

    def _count(self, node: ast.expr) -> int | None:
        """Count the kernels of what is computed of sizes alone in *node*; return those of all of it."""
        made: list[ast.Call] = []
        kernels = self._kernels(node, made)
        if kernels is None:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr) and not isinstance(
                    child, (ast.Lambda, ast.ListComp)
                ):
                    self._count(child)
        elif made or any(
            isinstance(n, ast.Name) and n.id in self._constant for n in ast.walk(node)
        ):
            self.kernels += kernels
            self.first = self.first or next(iter(made), None)
            return max(kernels, 1)
        return None

    def _kernels(self, node: ast.expr, made: list[ast.Call]) -> int | None:
        """Return how many kernels compute *node*: 0 for a number or a view, None where an input is in it."""
        match node:
            case ast.Constant():
                return 0
            case ast.Name():
                known = node.id in self._constant or node.id in self._numbers
                return 0 if known or self._is_size(node, node.id) else None
            case ast.Attribute():
                if node.attr in ("shape", "device", "dtype"):
                    return 0
                is_module = isinstance(node.value, ast.Name) and node.value.id in (
                    "math",
                    "np",
                    "torch",
                )
                return 0 if is_module or self._is_size(node, node.attr, of_self=True) else None
            case ast.Subscript():
                if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
                    return 0
                return self._kernels(node.value, made)
            case ast.BinOp():
                return self._all([node.left, node.right], made, own=1)
            case ast.UnaryOp():
                return self._all([node.operand], made, own=1)
            case ast.Tuple() | ast.List():
                return self._all(node.elts, made, own=0)
            case ast.Starred():
                return self._kernels(node.value, made)
            case ast.Call():
                return self._of_call(node, made)
            case _:
                return None

    def _of_call(self, call: ast.Call, made: list[ast.Call]) -> int | None:
        name = self.module.name_of(call.func)
        given = [
            *call.args,
            *(k.value for k in call.keywords if k.arg not in ("device", "dtype", "indexing")),
        ]
        if _FACTORIES.match(name):
            value = tensors_of(self.module)[call]
            if value is None or value.place is TensorMemory.PAGEABLE:
                return None  # what is built on the host is another fault
            made.append(call)
            self.is_pattern |= _PATTERNS.search(name) is not None
            return self._all(given, made, own=1, of_numbers=True)
        if _FUNCTIONS.match(name) or name.endswith("meshgrid"):
            self.is_pattern |= _PATTERNS.search(name) is not None
            return self._all(given, made, own=1)
        if name.startswith("math.") or name in ("len", "int", "max", "min", "range"):
            return 0
        if not isinstance(call.func, ast.Attribute):
            return None
        if call.func.attr in ("size", "dim", "numel"):
            return 0
        known = call.func.attr in _VIEWS or _KEPT.fullmatch(call.func.attr)
        if not known:
            return None
        given = [] if call.func.attr in _VIEWS else given
        return self._all([call.func.value, *given], made, own=call.func.attr not in _VIEWS)

    def _all(
        self, parts: list[ast.expr], made: list[ast.Call], *, own: int, of_numbers: bool = False
    ) -> int | None:
        before = len(made)
        total = 0
        of_tensors = of_numbers
        for part in parts:
            kernels = self._kernels(part, made)
            if kernels is None:
                return None
            total += kernels
            of_tensors |= any(
                isinstance(n, ast.Name) and n.id in self._constant for n in ast.walk(part)
            )
        return total + (own if of_tensors or len(made) > before else 0)

    def _is_size(self, node: ast.expr, name: str, *, of_self: bool = False) -> bool:
        value = tensors_of(self.module)[node]
        if value is not None and value.kind is not ValueKind.DEVICE:
            return value.kind is ValueKind.HOST
        # What __init__ was given, and no tensor.
        return _SIZES.match(name) is not None or (of_self and ast.unparse(node).startswith("self."))


def _is_of_first_calls(module: PythonModule, statement: ast.stmt) -> bool:
    """Whether a count of calls decides that *statement* runs: ``if self.iteration < 16``."""
    return any(
        isinstance(above, ast.If)
        and isinstance(above.test, ast.Compare)
        and isinstance(above.test.left, ast.Attribute)
        and isinstance(above.test.ops[0], (ast.Lt, ast.LtE))
        for above in module.ancestors(statement)
    )


def _changed_in_place(module: PythonModule, around: ast.AST) -> set[str]:
    """Return the names of which *around* writes elements, or changes the value."""
    changed = set()
    for part in module.walk(around):
        target: ast.expr | None = None
        if isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
            target = part.value
        elif isinstance(part, ast.AugAssign):
            target = part.target
        elif (
            isinstance(part, ast.Call)
            and isinstance(part.func, ast.Attribute)
            and part.func.attr.endswith("_")
        ):
            target = part.func.value
        if isinstance(target, ast.Name):
            changed.add(target.id)
    return changed
