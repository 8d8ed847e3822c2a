"""Work that a program queues as one short kernel after another: heads, positions, functions, steps of a cell."""

from __future__ import annotations

import ast
import re
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.steps import forward_of, repeated_call_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.python.module import PythonModule


class Series(StrEnum):
    """What is computed one by one."""

    HEADS = "heads"
    FUNCTIONS = "functions"
    POSITIONS = "positions"
    STEPS_OF_CELL = "steps of a cell"


_FEWEST = 3  # operations of a round on tensors: one or two may be meant
_PARALLEL = re.compile(r"(?:.*_)?(?:heads?|att|attns?|attentions?|experts?)$", re.IGNORECASE)
_FUNCTIONS = re.compile(
    r"(?:.*_)?(?:fns?|funcs?|freqs?|freq_bands|bands|frequencies|embeds?|embed_fns?)$",
    re.IGNORECASE,
)
_CELLS = re.compile(
    r"(?:.*_)?(?:rnn|gru|lstm|cell|rnn_?cell|gru_?cell|lstm_?cell|decode|decode_step)(?:_?\d+)?$",
    re.IGNORECASE,
)
_JOINS = frozenset(("torch.cat", "torch.stack", "torch.concat"))


def series_in_loop(module: PythonModule, loop: ast.For | ast.While) -> Series | None:
    """Return what a loop of a model, or of a function that is called again and again, computes one by one."""
    series = _steps_of_cell(module, loop)
    if series is None and isinstance(loop, ast.For):
        series = _series_in_loop(module, loop)
    return series


def series_in_list(module: PythonModule, node: ast.ListComp) -> Series | None:
    """Return what runs in ``torch.cat([head(x) for head in self.heads])``."""
    above = module.parents.get(node)
    joined = isinstance(above, ast.Call) and module.name_of(above.func) in _JOINS
    generator = node.generators[0]
    name = _last_name(generator.iter)
    if (
        not joined
        or len(node.generators) > 1
        or not isinstance(node.elt, ast.Call)
        or not isinstance(generator.target, ast.Name)
    ):
        return None
    if getattr(node.elt.func, "id", "") != generator.target.id or not node.elt.args:
        return None
    if any(
        isinstance(p, ast.Name) and p.id == generator.target.id
        for a in node.elt.args
        for p in ast.walk(a)
    ):
        return None
    if _PARALLEL.match(name):
        return Series.HEADS
    if _FUNCTIONS.match(name):
        return Series.FUNCTIONS
    return None


def _series_in_loop(module: PythonModule, loop: ast.For) -> Series | None:
    """Return what runs in a loop over positions of a tensor, or over frequencies."""
    if forward_of(module, loop) is None and repeated_call_of(module, loop) is None:
        return None
    if isinstance(loop.target, ast.Name) and _is_over_positions(loop.iter):
        if _operations(module, loop, loop.target.id) >= _FEWEST:
            return Series.POSITIONS
        return None
    if _FUNCTIONS.match(_last_name(loop.iter)) and _collects(module, loop):
        return Series.FUNCTIONS
    return None


def _steps_of_cell(module: PythonModule, loop: ast.For | ast.While) -> Series | None:
    """Return what runs in a loop that runs a recurrent cell and collects what it gives."""
    if forward_of(module, loop) is None:
        return None
    runs = collects = False
    for statement in loop.body:
        for part in module.walk(statement):
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
                is_own = isinstance(part.func.value, ast.Name) and part.func.value.id == "self"
                runs = runs or (is_own and _CELLS.match(part.func.attr) is not None)
                collects = collects or part.func.attr == "append"
            elif isinstance(part, ast.AugAssign) and isinstance(part.value, ast.List):
                collects = True
    if runs and collects:
        return Series.STEPS_OF_CELL
    return None


def _last_name(node: ast.expr) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))


def _is_over_positions(rounds: ast.expr) -> bool:
    """Whether a loop counts through an axis of a tensor: ``range(x.size(1))``, also reversed."""
    if (
        isinstance(rounds, ast.Call)
        and getattr(rounds.func, "id", "") in ("reversed", "tqdm")
        and rounds.args
    ):
        rounds = rounds.args[0]
    if not isinstance(rounds, ast.Call) or getattr(rounds.func, "id", "") != "range":
        return False
    # x.shape[k] may be an array's.
    return any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Attribute)
        and part.func.attr == "size"
        and len(part.args) == 1
        for bound in rounds.args
        for part in ast.walk(bound)
    )


def _operations(module: PythonModule, loop: ast.For, name: str) -> int:
    """Return how many operations a round takes on elements that *name* picks and on what they give."""
    tensors = {
        target.id
        for part in module.walk(loop)
        if isinstance(part, ast.Assign)
        for target in part.targets
        if isinstance(target, ast.Name)
    }
    picks = 0
    count = 0
    for statement in loop.body:
        for part in module.walk(statement):
            if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Load):
                picks += any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(part.slice))
            elif (isinstance(part, ast.BinOp) and not _is_of_indices(part, name)) or (
                isinstance(part, ast.Call)
                and (
                    module.name_of(part.func).startswith("torch.")
                    or getattr(getattr(part.func, "value", None), "id", "") == "self"
                )
            ):
                count += 1
            elif isinstance(part, ast.Call) and getattr(part.func, "attr", "") in (
                "item",
                "cpu",
                "numpy",
                "tolist",
            ):
                return 0
    return count if picks and tensors else 0


def _is_of_indices(node: ast.BinOp, name: str) -> bool:
    """Whether *node* counts: ``step + 1``."""
    return all(
        isinstance(part, (ast.Constant, ast.Name, ast.BinOp, ast.operator, ast.expr_context))
        and (not isinstance(part, ast.Name) or part.id == name)
        for part in ast.walk(node)
    )


def _collects(module: PythonModule, loop: ast.For) -> bool:
    """Whether each round adds to a list what a function gives for the same tensor."""
    names = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    for part in module.walk(loop):
        given: ast.expr | None = None
        if isinstance(part, ast.AugAssign) and isinstance(part.value, ast.List) and part.value.elts:
            given = part.value.elts[0]
        elif (
            isinstance(part, ast.Call) and getattr(part.func, "attr", "") == "append" and part.args
        ):
            given = part.args[0]
        if isinstance(given, ast.Call) and given.args and (names & set(_names(given))):
            return not any(isinstance(n, (ast.Lambda, ast.Constant)) for n in ast.walk(given))
    return False


def _names(node: ast.expr) -> Iterator[str]:
    return (part.id for part in ast.walk(node) if isinstance(part, ast.Name))
