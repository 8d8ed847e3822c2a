"""Loops whose rounds need what the round before computed on the GPU: samples, iterations, steps of a decoder."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import (
    forward_of,
    is_counted,
    is_tiny,
    repeated_call_of,
    simulates,
    steps_of,
)
from gpuadvise.advisor.source.python.tensors import ValueKind, tensors_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuadvise.advisor.source.python.module import PythonModule

_FEWEST = 3  # operations of a round on tensors, of which a network is as many
# Functions that sample step by step, which programs call again and again.
_SAMPLES = re.compile(
    r"(?:^|_)(?:generate|sampl\w+|infer\w*|decode\w*|imagine|rollout|roll_out|unroll|synthesi[sz]e|translate)(?:_|$)"
)
# Networks that run long for each round.
_LONG_ROUNDS = re.compile(r"unet|diffusion|denois|ddim|ddpm|p_sample|dpm|scheduler", re.IGNORECASE)
_LAYERS = re.compile(
    r"\.nl\b|layer|block|stage|level|depth|scale|stack|hop|flow|conv|order|head|group|expert|cascade|branch|chunk"
)
# What gives numbers, or tensors out of nothing.
_MAKES = re.compile(
    r"torch\.(?:zeros|ones|empty|full|tensor|arange|linspace|eye|rand\w*|device|no_grad|from_numpy|as_tensor|is_\w+"
    r"|manual_seed|cuda\.\w+|save|load|utils\.\w+)(?:_like)?$"
)
# What a round does for the host: its kernels are not what takes the time.
_FOR_HOST = frozenset(
    ("backward", "zero_grad", "numpy", "save", "imwrite", "savefig", "write", "render", "state_dict", "load_state_dict",
     "item", "tolist")
)  # fmt: skip


def is_recurrence(module: PythonModule, loop: ast.For | ast.While) -> bool:
    """Whether each round of *loop* queues several operations on tensors that the round before gave."""
    if not _runs_often(module, loop) or is_tiny(module, loop) or _is_over_layers(module, loop):
        return False
    around = getattr(module.function_of(loop), "name", "")
    if _LONG_ROUNDS.search(around) or _LONG_ROUNDS.search(module.text.file.rpartition("/")[2]):
        return False
    if simulates(module, loop.body[0]) or _works_for_host(module, loop):
        return False
    carried = _carried(module, loop)
    if any(_grows(module, loop, name) for name in carried):
        return False  # no two rounds are of the same shapes
    return bool(carried) and _operations(module, loop, carried) >= _FEWEST


def _runs_often(module: PythonModule, loop: ast.For | ast.While) -> bool:
    """Whether a model, or a function that is called again and again, runs *loop*, which is no step itself."""
    steps = steps_of(module)
    if loop in steps.training or loop in steps.evaluation or steps.is_outer(loop):
        return False
    if isinstance(loop, ast.For) and not is_counted(loop.iter):
        return False
    if forward_of(module, loop) is not None or repeated_call_of(module, loop) is not None:
        return True
    return _SAMPLES.search(getattr(module.function_of(loop), "name", "")) is not None


def _is_over_layers(module: PythonModule, loop: ast.For | ast.While) -> bool:
    """Whether *loop* runs through layers, each of which has weights of its own."""
    if not isinstance(loop, ast.For):
        return False
    if _LAYERS.search(ast.unparse(loop.iter)):
        return True
    counters = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    for part in _parts(module, loop):
        if isinstance(part, ast.Call):
            called = part.func
            picked = isinstance(called, ast.Subscript) and counters.intersection(
                n.id for n in ast.walk(called.slice) if isinstance(n, ast.Name)
            )
            if picked or getattr(called, "id", "") == "getattr":
                return True
    return False


def _works_for_host(module: PythonModule, loop: ast.For | ast.While) -> bool:
    return any(
        isinstance(part, ast.Call)
        and (
            getattr(part.func, "attr", "") in _FOR_HOST
            or _LONG_ROUNDS.search(getattr(part.func, "attr", getattr(part.func, "id", "")))
        )
        for part in _parts(module, loop)
    )


def _carried(module: PythonModule, loop: ast.For | ast.While) -> set[str]:
    """Return the names of what a round computes, and reads before it binds, or fills, them."""
    read: set[tuple[str, str]] = set()
    carried: set[str] = set()
    bound: set[str] = set()
    for statement in loop.body:
        stored: set[tuple[str, str]] = set()
        for part in module.walk(statement):
            if isinstance(part, ast.Name) and part.id not in bound:
                above = module.parents.get(part)
                of_element = isinstance(above, ast.Subscript) and above.value is part
                # Another element than the one that is filled may be of the round before.
                index = ast.unparse(above.slice) if isinstance(above, ast.Subscript) else ""
                if isinstance(part.ctx, ast.Load) and not (
                    of_element and isinstance(getattr(above, "ctx", None), ast.Store)
                ):
                    read.add((part.id, index if of_element else ""))
            if isinstance(part, (ast.Assign, ast.AugAssign)) and _computes(module, part.value):
                targets = part.targets if isinstance(part, ast.Assign) else [part.target]
                stored.update(_filled(targets))
        carried |= {
            name
            for name, index in stored
            if any(of == name and (not index or at != index) for of, at in read)
        }
        bound |= {name for name, index in stored if not index}
        if isinstance(statement, ast.Assign):  # what it binds is of this round, computed or not
            bound |= {name for name, index in _filled(statement.targets) if not index}
    return carried


def _filled(targets: Sequence[ast.expr]) -> Iterator[tuple[str, str]]:
    """Yield the names that *targets* bind, or of which they fill the element that is told beside it."""
    for target in targets:
        for part in ast.walk(target):
            if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name):
                yield part.value.id, ast.unparse(part.slice)
            elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id, ""


def _computes(module: PythonModule, value: ast.expr) -> bool:
    """Whether *value* is no number that counts on: something is called in it, or one tensor multiplied by another."""
    return any(
        isinstance(part, ast.Call)
        or (isinstance(part, ast.BinOp) and isinstance(part.op, ast.MatMult))
        for part in module.walk(value)
    ) or isinstance(value, ast.Name)


def _grows(module: PythonModule, loop: ast.For | ast.While, name: str) -> bool:
    """Whether each round ends with a longer tensor *name*: ``x = torch.cat((x, new), dim=1)``."""
    made = [
        part
        for part in _parts(module, loop)
        if isinstance(part, ast.Assign) and name in _names([*part.targets])
    ]
    last = max(made, key=lambda part: part.lineno).value if made else None
    return (
        isinstance(last, ast.Call)
        and module.name_of(last.func) in ("torch.cat", "torch.concat", "torch.hstack")
        and name in _names([*last.args])
    )


def _operations(module: PythonModule, loop: ast.For | ast.While, carried: set[str]) -> int:
    """Return how many operations a round queues of what was *carried* into it, and of what these give; 0 for none."""
    tensors = tensors_of(module)
    reached, count, feeds = set(carried), 0, False
    for statement in loop.body:
        for part in module.walk(statement):
            if not isinstance(part, ast.Call) or module.loop_around(part) is not loop:
                continue
            given = [*part.args, *(k.value for k in part.keywords)]
            if isinstance(part.func, ast.Attribute):
                given.append(part.func.value)
            names = {n.id for g in given for n in ast.walk(g) if isinstance(n, ast.Name)}
            if not names & reached:
                continue
            name = module.name_of(part.func)
            if name.startswith("torch.") and not _MAKES.match(name):
                count, feeds = count + 1, True
            elif (model := tensors[part.func]) is not None and model.kind is ValueKind.MODEL:
                count, feeds = count + _FEWEST, True
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            used = {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
            if used & reached:
                targets = (
                    statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                )
                reached.update(_names(targets))
                count += sum(
                    isinstance(part, ast.BinOp) and not isinstance(part.op, (ast.Mod, ast.FloorDiv))
                    for part in ast.walk(statement.value)
                )
    return count if feeds else 0


def _names(nodes: Sequence[ast.expr]) -> Iterator[str]:
    return (part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name))


def _parts(module: PythonModule, loop: ast.For | ast.While) -> Iterator[ast.AST]:
    for statement in loop.body:
        yield from module.walk(statement)
