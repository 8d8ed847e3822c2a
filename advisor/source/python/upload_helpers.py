"""Functions that upload host data by calls of a helper of their file."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import is_cached, repeated_call_of, steps_of
from gpuadvise.advisor.source.python.tensors import tensors_of
from gpuadvise.advisor.source.python.training import is_written_out

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.source.python.module import PythonModule

_MANY = 3  # what a helper that is mapped over a sequence counts for


def uploads_by_helpers(module: PythonModule, uploads: list[ast.Call]) -> Iterable[list[ast.Call]]:
    """Return, for each function, its calls of the functions in which *uploads* stand."""
    helpers = {module.function_of(call) for call in uploads}
    names = {f.name: f for f in helpers if isinstance(f, ast.FunctionDef) and f.args.args}
    counts: dict[ast.AST, list[ast.Call]] = {}
    for node in module.nodes if names else ():
        name = getattr(node, "attr", getattr(node, "id", ""))
        if name not in names or not isinstance(node, (ast.Attribute, ast.Name)):
            continue
        above = module.parents.get(node)
        function = module.function_of(node)
        if not isinstance(above, ast.Call) or function is names[name] or function is module.tree:
            continue
        mapped = above.func is not node and getattr(above.func, "id", "") == "map"
        if (above.func is node or mapped) and repeated_call_of(module, above) is function:
            counts.setdefault(function, []).extend([above] * (_MANY if mapped else 1))
    return counts.values()


_EACH_STEP = re.compile(
    r"(?:^|_)(?:step|prepare_(?:inputs?|batch|step|decode|prefill|data)|execute|forward|schedule|decode|prefill|sample|compute_logits|to_torch|to_tensor|predict"
    r"|(?:to|on)_(?:device|gpu|cuda)|act|(?:select|choose|get)_actions?)(?:_|$)"
)


def is_of_each_step(module: PythonModule, call: ast.expr) -> bool:
    """Whether a function that a server or trainer calls in each step uploads what it is given, by its name."""
    function, steps = module.function_of(call), steps_of(module)
    name = getattr(function, "name", "")
    if isinstance(function, ast.FunctionDef) and is_cached(function):
        return False
    for above in module.ancestors(call):
        if isinstance(above, ast.If) and not steps.is_chosen_once(above):
            return False
    if not isinstance(call, ast.Call):
        return False
    moved = call.func.value if isinstance(call.func, ast.Attribute) else call
    values = (tensors_of(module)[moved], tensors_of(module)[call])
    maker = next((v.maker for v in values if v is not None and v.maker is not None), call)
    constant = not maker.args or isinstance(maker.args[0], ast.Constant)
    if (
        maker.args
        and isinstance(maker.args[0], (ast.List, ast.Tuple))
        and is_written_out(maker.args[0])
    ):
        return repeated_call_of(module, call) is not None and module.loop_around(call) is None
    return bool(_EACH_STEP.search(name)) and not constant and module.loop_around(call) is None
