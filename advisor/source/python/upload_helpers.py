"""Functions that upload host data by calls of a helper of their file."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import repeated_call_of

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
