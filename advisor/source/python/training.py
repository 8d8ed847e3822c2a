"""What a training program names: factories, loaders, clocks, moves to a GPU."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuadvise.advisor.source.python.module import PythonModule

# Calls that make a tensor; with device= on the GPU, else in host memory.
FACTORIES = frozenset(
    f"torch.{name}"
    for name in [
        "tensor",
        "zeros",
        "ones",
        "empty",
        "full",
        "rand",
        "randn",
        "randint",
        "arange",
        "eye",
        "linspace",
        "from_numpy",
        "as_tensor",
    ]
)
LOADERS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
CLOCKS = frozenset(("time.time", "time.perf_counter", "time.monotonic", "timeit.default_timer"))


def names_loader(module: PythonModule) -> bool:
    """Whether the file names a DataLoader, or a class of its project that is one."""
    is_own = module.use is not None and bool(module.use.loaders)
    return is_own or b"DataLoader" in module.text.content


def conditional_in(module: PythonModule, node: ast.AST, loop: ast.AST) -> bool:
    """Whether *node* runs only under an ``if`` of *loop*, as reports every n steps do."""
    inner = node
    for above in module.ancestors(node):
        if above is loop:
            return False
        if isinstance(above, ast.If) and inner is not above.test:
            return True
        if isinstance(above, (ast.IfExp, ast.ExceptHandler)):
            return True
        inner = above
    return False


def uses_gpu(module: PythonModule) -> bool:
    """Whether the file itself moves something to a GPU."""
    return any(is_cuda_move(module, call) for call in module.calls) or any(
        map(is_cuda_text, module.of(ast.Constant))
    )


def is_cuda_text(node: ast.AST) -> bool:
    """Whether *node* is the text "cuda" or "cuda:0"."""
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.split(":")[0] == "cuda"
    )


def is_cuda_move(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* is ``x.cuda()`` or ``x.to(device)`` with a GPU that the file names."""
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "cuda":
        return not module.name_of(call.func).startswith("torch.")
    if call.func.attr != "to":
        return False
    target = call.args[0] if call.args else argument(call, "device")
    return target is not None and is_cuda_device(module, target)


def is_cuda_device(module: PythonModule, target: ast.expr, depth: int = 0) -> bool:
    """Whether *target* names a GPU: a text, ``torch.device("cuda")``, or a name that is one."""
    if depth > 4:
        return False
    if is_cuda_text(target):
        return True
    if isinstance(target, ast.IfExp):
        return is_cuda_device(module, target.body, depth + 1)
    if isinstance(target, ast.Call) and module.name_of(target.func) == "torch.device":
        return bool(target.args) and is_cuda_device(module, target.args[0], depth + 1)
    if isinstance(target, ast.JoinedStr):
        return any(
            isinstance(v, ast.Constant) and str(v.value).startswith("cuda") for v in target.values
        )
    if isinstance(target, ast.Name):
        asked = target.id, depth
        if asked not in module.gpu_names:
            module.gpu_names[asked] = any(
                is_cuda_device(module, value, depth + 1) for value in module.values_of(target.id)
            )
        return module.gpu_names[asked]
    return False


def argument(call: ast.Call, name: str) -> ast.expr | None:
    """Return the argument called *name*."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def has_unknown_arguments(call: ast.Call) -> bool:
    """Whether *call* passes ``**options`` that this file does not spell out."""
    return any(k.arg is None for k in call.keywords)


def is_written_out(node: ast.expr) -> bool:
    """Whether *node* is written out: ``[0.0, -1.0]``, also nested."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return bool(node.elts) and all(map(is_written_out, node.elts))
    if isinstance(node, ast.UnaryOp):
        return is_written_out(node.operand)
    return isinstance(node, ast.Constant)
