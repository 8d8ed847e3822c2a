"""Functions that a file compiles by JAX, what they are given to keep, and where the host reads what they give."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.source.python.module import FUNCTIONS, LOOPS
from gpuadvise.advisor.source.python.steps import simulates, steps_of
from gpuadvise.advisor.source.python.training import argument, has_unknown_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuadvise.advisor.source.python.module import PythonModule

_COMPILERS = frozenset(("jax.jit", "jax.pmap", "jax.experimental.pjit.pjit", "pjit.pjit"))
# What a step of training calls: its own functions as well as those of optax and Flax.
_UPDATES = re.compile(
    r"value_and_\w*grad$|^grad$|apply_gradients?$|apply_updates$|(?:^|_)update(?:_|$)"
)
# Small ones: nothing is won by their memory.
_SMALL = re.compile(r"(?:^|_)(?:rng|rngs|key|keys|prng\w*|seed|step|count\w*|i|t)$")
_RENAMED = re.compile(r"(?:new|updated|next)_(\w+)$|(\w+)_(?:new|updated|next)$")
_READERS = frozenset(("float", "int", "bool", "jax.device_get", "numpy.asarray", "numpy.array"))


class JitFunction(NamedTuple):
    """A *function* that JAX compiles; *call* says how, where it is no bare decorator, and *place* stands there."""

    function: ast.FunctionDef
    place: ast.expr
    call: ast.Call | None


def uses_jax(module: PythonModule) -> bool:
    """Whether the file imports JAX."""
    return any(name.split(".")[0] == "jax" for name in module.imports.values())


def compiled_of(module: PythonModule) -> Sequence[JitFunction]:
    """Return the functions of the file that JAX compiles."""
    return module.found_once(_compiled_of)


def _compiled_of(module: PythonModule) -> Sequence[JitFunction]:
    found: list[JitFunction] = []
    functions: dict[str, list[ast.FunctionDef]] = {}
    for function in module.of(ast.FunctionDef):
        functions.setdefault(function.name, []).append(function)
        for made in function.decorator_list:
            call = made if isinstance(made, ast.Call) else None
            if module.name_of(made if call is None else call.func) in _COMPILERS or (
                call is not None and _is_partial(module, call)
            ):
                found.append(JitFunction(function, made, call))
    for call in module.calls_of(*_COMPILERS):
        given = call.args[0] if call.args else None
        named = functions.get(getattr(given, "attr", getattr(given, "id", "")), [])
        if len(named) == 1:
            found.append(JitFunction(named[0], call, call))
    return found


def _is_partial(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* is ``functools.partial(jax.jit, static_argnames=...)``."""
    return (
        module.name_of(call.func).rpartition(".")[2] == "partial"
        and bool(call.args)
        and module.name_of(call.args[0]) in _COMPILERS
    )


def kept_states(module: PythonModule, compiled: JitFunction) -> list[tuple[int, str]]:
    """Return the places and names of what a compiled step of training gets, gives back changed, and does not donate."""
    donated = _donated(compiled.call)
    if donated is None or not _updates(module, compiled.function):
        return []
    returned = _returned(module, compiled.function)
    replaced = _old_names(returned)
    names = [p.arg for p in (*compiled.function.args.posonlyargs, *compiled.function.args.args)]
    return [
        (place, name)
        for place, name in enumerate(names)
        if name != "self"
        and not _SMALL.search(name)
        and place not in donated
        and name not in donated
        and (name in replaced or (name in returned and _is_bound(module, compiled, name)))
    ]


def _is_bound(module: PythonModule, compiled: JitFunction, name: str) -> bool:
    """Whether the body of the function gives *name* another value."""
    return any(
        isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store)
        for part in module.walk(compiled.function)
    )


def _old_names(returned: set[str]) -> set[str]:
    """Return what the names of *returned* were called before: "actor" of "new_actor"."""
    found = (_RENAMED.match(name) for name in returned)
    return {match[1] or match[2] for match in found if match}


def _returned(module: PythonModule, function: ast.FunctionDef) -> set[str]:
    """Return the names that *function* returns, itself or among others."""
    names: set[str] = set()
    for part in module.walk(function):
        if isinstance(part, ast.Return) and module.function_of(part) is function:
            given = part.value.elts if isinstance(part.value, ast.Tuple) else [part.value]
            names.update(n.id for n in given if isinstance(n, ast.Name))
    return names


def _updates(module: PythonModule, function: ast.FunctionDef) -> bool:
    """Whether *function* computes gradients, or applies them."""
    return any(
        isinstance(part, ast.Call)
        and _UPDATES.search(getattr(part.func, "attr", getattr(part.func, "id", "")))
        for part in module.walk(function)
    )


def _donated(call: ast.Call | None) -> set[object] | None:
    """Return the places and names that *call* donates; None where the file does not say which."""
    if call is None:
        return set()
    if has_unknown_arguments(call):
        return None
    found: set[object] = set()
    for word in ("donate_argnums", "donate_argnames"):
        given = argument(call, word)
        if given is None:
            continue
        parts = given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given]
        if not all(isinstance(part, ast.Constant) for part in parts):
            return None
        found.update(part.value for part in parts if isinstance(part, ast.Constant))
    return found


def reads_of_compiled(module: PythonModule) -> Iterator[ast.Call]:
    """Yield where each round of a loop makes the host wait for what a compiled function has given in that round."""
    called = {compiled.function.name for compiled in compiled_of(module)}
    for call in module.calls_of(*_COMPILERS):
        above = module.parents.get(call)
        if isinstance(above, ast.Assign):
            called.update(getattr(t, "attr", getattr(t, "id", "")) for t in above.targets)
    steps = steps_of(module)
    for call in module.calls if called else ():
        loop = module.loop_around(call)
        name = module.name_of(call.func)
        is_item = (
            isinstance(call.func, ast.Attribute) and call.func.attr == "item" and not call.args
        )
        if loop is None or not (is_item or name in _READERS or name.startswith("numpy.")):
            continue
        read = (
            call.func.value
            if is_item and isinstance(call.func, ast.Attribute)
            else next(iter(call.args), None)
        )
        if read is None or not _was_given(module, loop, read, called):
            continue
        if steps.runs_always(call) and not simulates(module, call):
            yield call


def _was_given(module: PythonModule, loop: ast.AST, read: ast.expr, called: set[str]) -> bool:
    """Whether *read* is a part of what a compiled function gives in each round of *loop*."""
    root = read
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    return any(
        isinstance(part, ast.Assign)
        and isinstance(part.value, ast.Call)
        and getattr(part.value.func, "attr", getattr(part.value.func, "id", "")) in called
        and any(
            isinstance(n, ast.Name) and n.id == root.id for t in part.targets for n in ast.walk(t)
        )
        for statement in getattr(loop, "body", [])
        for part in module.walk(statement)
        if not isinstance(part, (*FUNCTIONS, *LOOPS))
    )
