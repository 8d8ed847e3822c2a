"""Layers and networks of one shape that run one after the other on the same input."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import forward_of, steps_of
from gpuadvise.advisor.source.python.training import argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.python.module import PythonModule

_CONVOLUTION = re.compile(r"nn\.Conv[123]d\Z")
_LINEAR = re.compile(r"nn\.Linear\Z")
# A stack of several layers with weights.
_WEIGHTS = re.compile(r"\b(?:Linear|Conv[123]d)\(")
_FEWEST_LAYERS = 2
_FEW_CHANNELS = 8
# Classes of which two on one input are no networks side by side.
_NO_NETWORK = re.compile(
    r"Norm|Drop|ReLU|Act|Loss|Embed|Pool|Encod|Env|Buffer|Optim|Sampler|Schedul|Meter|Metric|Identity|Param|List|Dict"
)


def layers_side_by_side(module: PythonModule) -> Iterator[ast.Call]:
    """Yield the first of two calls, in a model or a step, of layers or networks that are made alike and get the same.

    Two linear layers count where each goes on to another one: two heads of a few columns are cheap.
    """
    made = _made(module)
    seen: dict[ast.AST, list[tuple[ast.Call, str, str]]] = {}
    pairs: dict[ast.AST, list[tuple[ast.Call, str]]] = {}
    for call in sorted(module.calls, key=lambda call: (call.lineno, call.col_offset)):
        name = _written(call.func)
        if not name or not call.args or call.keywords or not all(map(_is_plain, call.args)):
            continue
        maker = _maker(module, call, name, made)
        if maker is None:
            continue
        function = module.function_of(call)
        given = ", ".join(map(ast.unparse, call.args))
        kind = _kind(module, maker)
        for other, other_name, other_given in seen.setdefault(function, []):
            if _is_follower(name) or _is_follower(other_name):
                continue
            if other_name == name or (other_given != given and kind != "linear"):
                continue
            if not _alike(module, maker, _maker(module, other, other_name, made)):
                continue
            if other_given != given:
                pairs.setdefault(function, []).append((other, "next"))
            elif not _is_rebound(module, call, other) and _runs_together(module, call, other):
                pairs.setdefault(function, []).append((other, kind))
        seen[function].append((call, name, given))
    for found in pairs.values():
        kinds = {kind for _, kind in found}
        for call, kind in found:
            counts = kind == "network" or (kind == "linear" and "next" in kinds)
            if counts and (forward_of(module, call) or steps_of(module).training_loop(call)):
                yield call
                break


def _made(module: PythonModule) -> dict[tuple[ast.AST | None, str], list[ast.Call]]:
    """Return the calls that make what ``self.a``, an element of ``self.layers`` or a name is, by class."""
    made: dict[tuple[ast.AST | None, str], list[ast.Call]] = {}
    for call in module.calls:
        above = module.parents.get(call)
        names: list[str] = []
        if isinstance(above, ast.Assign):
            names = [_written(target) for target in above.targets]
        elif isinstance(above, ast.Call) and getattr(above.func, "attr", "") == "append":
            names = [_written(getattr(above.func, "value", above)) + "[]"]
        for name in names:
            if name:
                made.setdefault((_class_of(module, call, name), name), []).append(call)
    return made


def _maker(
    module: PythonModule,
    call: ast.Call,
    name: str,
    made: dict[tuple[ast.AST | None, str], list[ast.Call]],
) -> ast.Call | None:
    """Return the one call that makes what *call* runs; None where there are several, or it makes no layer."""
    makers = made.get((_class_of(module, call, name), name), [])
    if len(makers) != 1:
        return None
    maker = makers[0]
    while isinstance(maker.func, ast.Attribute) and isinstance(maker.func.value, ast.Call):
        maker = maker.func.value  # Critic().to(device)
    return maker if _kind(module, maker) else None


def _kind(module: PythonModule, maker: ast.Call) -> str:
    """Return whether *maker* makes a "linear" layer or a "network"; convolutions are as much work as one."""
    name = module.name_of(maker.func)
    if _LINEAR.search(name):
        return "linear"
    if _CONVOLUTION.search(name):
        return "" if _gives_few(maker) else "network"
    last = name.rpartition(".")[2]
    if last == "Sequential":
        layers = len(_WEIGHTS.findall(ast.unparse(maker)))
        return "network" if layers >= _FEWEST_LAYERS else ""
    if name.startswith("torch.") or not last[:1].isupper() or _NO_NETWORK.search(last):
        return ""
    return "network" if last[1:2].islower() or last[1:2].isupper() else ""


def _gives_few(maker: ast.Call) -> bool:
    """Whether a convolution gives a value for each class, or a few channels: little work beside those before it."""
    given = maker.args[1] if len(maker.args) > 1 else argument(maker, "out_channels")
    if isinstance(given, ast.Constant) and isinstance(given.value, int):
        return given.value <= _FEW_CHANNELS
    return given is not None and "class" in ast.unparse(given).lower()


def _is_follower(name: str) -> bool:
    """Whether a network follows another one: its weights are others in each step, and stacking them is no gain."""
    return _FOLLOWS.search(name) is not None


_FOLLOWS = re.compile(r"target|teacher|momentum|(?:^|[._])ema(?:_|$)", re.IGNORECASE)


def _alike(module: PythonModule, first: ast.Call, second: ast.Call | None) -> bool:
    """Whether two calls make the same thing, by the same arguments."""
    if second is None or first is second:
        return False
    kinds = [module.name_of(maker.func) for maker in (first, second)]
    same = kinds[0] == kinds[1] or all(map(_CONVOLUTION.search, kinds))
    return bool(same) and _arguments(first) == _arguments(second)


def _arguments(call: ast.Call) -> str:
    return ", ".join([*map(ast.unparse, call.args), *map(ast.unparse, call.keywords)])


def _written(node: ast.expr) -> str:
    """Return ``self.a``, ``a`` or, for an element that a counter picks, ``self.a[]``."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Name, ast.Constant)):
        inner = _written(node.value)
        return f"{inner}[]" if inner else ""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self":
        return f"self.{node.attr}"
    return ""


def _is_plain(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) or (
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    )


def _class_of(module: PythonModule, node: ast.AST, name: str) -> ast.AST | None:
    if not name.startswith("self."):
        return None
    return next((a for a in module.ancestors(node) if isinstance(a, ast.ClassDef)), None)


def _is_rebound(module: PythonModule, call: ast.Call, before: ast.Call) -> bool:
    return any(
        isinstance(part, ast.Name)
        and call.lineno > before.lineno
        and module.is_bound_between(part.id, before.lineno - 1, call.lineno - 1)
        for given in call.args
        for part in ast.walk(given)
    )


def _runs_together(module: PythonModule, call: ast.Call, other: ast.Call) -> bool:
    """Whether no condition or loop holds for one of the two alone."""

    def around(node: ast.AST) -> list[tuple[ast.AST, bool]]:
        found: list[tuple[ast.AST, bool]] = []
        inner = node
        for above in module.ancestors(node):
            if isinstance(above, (ast.If, ast.IfExp, ast.For, ast.While, ast.Try)):
                found.append(
                    (
                        above,
                        inner in getattr(above, "orelse", ())
                        or inner is getattr(above, "orelse", None),
                    )
                )
            inner = above
        return found

    return around(call) == around(other)
