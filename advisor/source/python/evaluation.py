"""What a model runs for behind ``eval()``: results alone, or gradients of something."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.module import FUNCTIONS
from gpuadvise.advisor.source.python.steps import without_gradients
from gpuadvise.advisor.source.python.tensors import ValueKind, tensors_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.python.module import PythonModule

# What says that gradients are meant after all, or that the model is only being exported.
_GOES_BACKWARD = frozenset(
    ("backward", "grad", "requires_grad_", "step", "train", "enable_grad", "retain_grad", "jacobian", "trace",
     "register_hook", "register_full_backward_hook", "set_grad_enabled")
)  # fmt: skip


def run_behind(module: PythonModule, switch: ast.Expr | ast.Assign, model: str) -> ast.Call | None:
    """Return the first call of *model* behind *switch* in its block, None where gradients may be meant."""
    around = module.parents.get(switch)
    block: list[ast.stmt] = next(
        (
            b
            for b in (getattr(around, name, None) for name in ("body", "orelse"))
            if b and switch in b
        ),
        [],
    )
    run: ast.Call | None = None
    for statement in block[block.index(switch) + 1 :] if block else ():
        for part in module.walk(statement):
            if not isinstance(part, ast.Call):
                continue
            name = getattr(part.func, "attr", getattr(part.func, "id", ""))
            if name in _GOES_BACKWARD or any(k.arg == "requires_grad" for k in part.keywords):
                return None
            is_run = run is None and isinstance(statement, (ast.Assign, ast.Expr, ast.Return))
            if is_run and ast.unparse(part.func) == model and part.args:
                run = part
    return run


# What leaves the graph; data is what detach() was before.
_LEAVES_GRAPH = ("detach", "data")
# Of these a result needs no graph either.
_ASKS = frozenset(("shape", "size", "device", "dtype", "dim", "ndim"))


def runs_detached(module: PythonModule) -> Iterator[ast.Call]:
    """Yield the calls of a model whose every use is ``.detach()`` or ``.data``, and which record a graph all the same."""
    if not any(word in module.text.content for word in (b".detach()", b".data")):
        return
    tensors, frozen = tensors_of(module), _frozen(module)
    for call in module.calls:
        model = tensors[call.func]
        if model is None or model.kind is not ValueKind.MODEL or not call.args:
            continue
        if ast.unparse(call.func) in frozen:
            continue
        result = tensors[call]
        if result is None or result.kind is not ValueKind.TENSOR or without_gradients(module, call):
            continue
        above = module.parents.get(call)
        if isinstance(above, ast.Attribute):
            if _leaves_graph(module, call):
                yield call
        elif (
            isinstance(above, ast.Assign)
            and len(above.targets) == 1
            and isinstance(above.targets[0], ast.Name)
            and _is_only_detached(module, above, above.targets[0].id)
        ):
            yield call


def _frozen(module: PythonModule) -> set[str]:
    """Return the networks, as they are written, whose parameters the file takes out of the graph."""
    frozen: set[str] = set()
    if b"requires_grad" not in module.text.content:
        return frozen
    for node in module.nodes:
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "requires_grad_":
            if node.args and getattr(node.args[0], "value", None) is False:
                frozen.add(ast.unparse(getattr(node.func, "value", node)))
        elif isinstance(node, ast.For):
            over = ast.unparse(node.iter)
            if "parameters()" in over and any(
                "requires_grad" in ast.unparse(part) and "False" in ast.unparse(part)
                for part in node.body
            ):
                frozen.add(over.partition(".parameters()")[0].partition(".named_parameters()")[0])
    return frozen


def _leaves_graph(module: PythonModule, node: ast.expr) -> bool:
    """Whether a chain of attributes and calls on *node* detaches: ``model(x).cpu().data.numpy()``."""
    inner: ast.AST = node
    for above in module.ancestors(node):
        if isinstance(above, ast.Attribute) and above.value is inner:
            if above.attr in _LEAVES_GRAPH:
                return True
        elif not (isinstance(above, ast.Call) and above.func is inner):
            return False
        inner = above
    return False


def _is_only_detached(module: PythonModule, made: ast.Assign, name: str) -> bool:
    """Whether all that is read of *name*, from *made* until it is bound anew, detaches it."""
    function = module.function_of(made)
    if not isinstance(function, FUNCTIONS):
        return False
    named = [n for n in module.walk(function) if isinstance(n, ast.Name) and n.id == name]
    anew = [n.lineno for n in named if not isinstance(n.ctx, ast.Load) and n.lineno > made.lineno]
    end = min(anew, default=(getattr(function, "end_lineno", 0) or 0) + 1)
    # A branch that binds it leaves what was before for the other one.
    uses = [n for n in named if isinstance(n.ctx, ast.Load) and made.lineno < n.lineno <= end]
    if any(
        isinstance(n.ctx, ast.Load) and n.lineno <= made.lineno for n in named
    ) or _is_in_branch_alone(module, anew, end, function, made):
        return False
    detached = False
    for use in uses:
        above = module.parents.get(use)
        if not isinstance(above, ast.Attribute) or above.attr not in (*_LEAVES_GRAPH, *_ASKS):
            return False
        detached = detached or above.attr in _LEAVES_GRAPH
    return detached


def _is_in_branch_alone(
    module: PythonModule, anew: list[int], end: int, function: ast.AST, made: ast.Assign
) -> bool:
    """Whether *name* is bound anew under a condition only, behind which it is read again."""
    if not anew:
        return False
    around = [a for a in module.ancestors(made) if isinstance(a, (ast.If, ast.For, ast.While))]
    for part in module.walk(function):
        if (
            isinstance(part, (ast.If, ast.For, ast.While, ast.Try))
            and part not in around
            and part.lineno < end <= (part.end_lineno or 0)
        ):
            names = {n.id for t in made.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            return any(
                isinstance(n, ast.Name)
                and n.id in names
                and isinstance(n.ctx, ast.Load)
                and n.lineno > (part.end_lineno or 0)
                for n in module.walk(function)
            )
    return False
