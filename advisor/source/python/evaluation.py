"""What a model runs for behind ``eval()``: results alone, or gradients of something."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
