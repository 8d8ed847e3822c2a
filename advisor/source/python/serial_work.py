"""Work that a program queues as one short kernel after another: heads, positions, functions, steps of a cell."""

from __future__ import annotations

import ast
import re
from enum import StrEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.python.recurrences import is_recurrence
from gpuadvise.advisor.source.python.steps import forward_of, repeated_call_of, steps_of
from gpuadvise.advisor.source.python.tensors import TensorMemory, ValueKind, tensors_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.python.module import PythonModule


class Series(StrEnum):
    """What is computed one by one."""

    HEADS = "heads"
    FUNCTIONS = "functions"
    POSITIONS = "positions"
    SAMPLES = "samples"
    STEPS_OF_CELL = "steps of a cell"
    MATRICES = "matrices"
    ROUNDS = "rounds"


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
# Methods that compute one position of what a forward pass computes at once.
_ONE_STEP = re.compile(r"(?:incremental_forward|(?:forward|decode)_(?:one_)?step|one_step)$")
_JOINS = frozenset(("torch.cat", "torch.stack", "torch.concat"))


def series_in_loop(module: PythonModule, loop: ast.For | ast.While) -> Series | None:
    """Return what a loop of a model, or of a function that is called again and again, computes one by one."""
    series = _steps_of_cell(module, loop)
    if series is None and isinstance(loop, ast.For):
        series = _series_in_loop(module, loop)
    if series is None and is_recurrence(module, loop):
        series = Series.ROUNDS
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
    if isinstance(loop.target, ast.Name) and _fills_one_by_one(module, loop):
        return Series.SAMPLES
    if _decomposes_each(module, loop):
        return Series.MATRICES
    if not _runs_often(module, loop):
        return None
    element = _element_of_tensor(module, loop)
    if element and _work_on_picks(module, loop, element) >= _FEWEST_OF_SAMPLE:
        return Series.SAMPLES
    if isinstance(loop.target, ast.Name):
        if _is_over_samples(module, loop) and _work_on_picks(module, loop) >= _FEWEST_OF_SAMPLE:
            return Series.SAMPLES
        if _is_over_positions(loop.iter):
            enough = _operations(module, loop, loop.target.id) >= _FEWEST
            return Series.POSITIONS if enough else None
    if _FUNCTIONS.match(_last_name(loop.iter)) and _collects(module, loop):
        return Series.FUNCTIONS
    return None


# What PyTorch computes of a batch of matrices as of one.
_OF_MATRICES = re.compile(
    r"torch\.(?:linalg\.)?(?:svd|svdvals|eigh|eigvalsh|eig|qr|inv|inverse|pinv|solve|cholesky|det|lstsq)$"
)


def _decomposes_each(module: PythonModule, loop: ast.For) -> bool:
    """Whether each round of a loop that counts through an axis decomposes one matrix, also by a function of the file."""
    if not _counts_axis(loop.iter) or not steps_of(module).is_repeated(loop.body[0]):
        return False
    tensors = tensors_of(module)
    for statement in loop.body:
        for part in module.walk(statement):
            if not isinstance(part, ast.Call) or module.loop_around(part) is not loop:
                continue
            if _OF_MATRICES.match(module.name_of(part.func)):
                return _is_of_counter(module, loop, part)
            function = tensors.called(part)
            if function is not None and len(function.body) <= _SHORT:
                return any(
                    isinstance(inner, ast.Call) and _OF_MATRICES.match(module.name_of(inner.func))
                    for inner in module.walk(function)
                ) and _is_of_counter(module, loop, part)
    return False


_SHORT = 6  # statements of a function that does little else


def _counts_axis(rounds: ast.expr) -> bool:
    """Whether a loop counts to a size: ``range(x.shape[0])``, ``range(len(x))``."""
    if not isinstance(rounds, ast.Call) or getattr(rounds.func, "id", "") != "range":
        return False
    if len(rounds.args) != 1:
        return False
    bound = rounds.args[0]
    return (
        (isinstance(bound, ast.Subscript) and getattr(bound.value, "attr", "") == "shape")
        or (isinstance(bound, ast.Call) and getattr(bound.func, "attr", "") == "size")
        or (isinstance(bound, ast.Call) and getattr(bound.func, "id", "") == "len")
    )


def _is_of_counter(module: PythonModule, loop: ast.For, call: ast.Call) -> bool:
    """Whether *call* is given what the counter of *loop* picks, by itself or by names that the round binds."""
    names = {part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)}
    for statement in loop.body:
        if statement.lineno >= call.lineno:
            break
        if isinstance(statement, ast.Assign) and names.intersection(_names(statement.value)):
            names.update(
                part.id
                for target in statement.targets
                for part in ast.walk(target)
                if isinstance(part, ast.Name)
            )
    return any(names.intersection(_names(given)) for given in call.args)


def _steps_of_cell(module: PythonModule, loop: ast.For | ast.While) -> Series | None:
    """Return what runs in a loop that runs a recurrent cell and collects what it gives."""
    if forward_of(module, loop) is None:
        return None
    runs = collects = False
    for statement in loop.body:
        for part in module.walk(statement):
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
                is_own = isinstance(part.func.value, ast.Name) and part.func.value.id == "self"
                is_step = _ONE_STEP.match(part.func.attr) is not None
                runs = runs or is_step or (is_own and _CELLS.match(part.func.attr) is not None)
                collects = collects or part.func.attr == "append"
            elif isinstance(part, ast.AugAssign) and isinstance(part.value, ast.List):
                collects = True
    # A loop over layers is within the one over positions.
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


def _runs_often(module: PythonModule, loop: ast.For) -> bool:
    steps = steps_of(module)
    return (
        forward_of(module, loop) is not None
        or repeated_call_of(module, loop) is not None
        or steps.training_loop(loop) is not None
        or steps.evaluation_loop(loop) is not None
    )


def _fills_one_by_one(module: PythonModule, loop: ast.For) -> bool:
    """Whether each round is ``out[i] = model(x[i], y[i])``, in a loop that is repeated itself."""
    if len(loop.body) != 1 or not isinstance(loop.body[0], ast.Assign):
        return False
    counter = getattr(loop.target, "id", "")
    target, call = loop.body[0].targets[0], loop.body[0].value
    if not isinstance(target, ast.Subscript) or not isinstance(call, ast.Call):
        return False
    if not (_runs_often(module, loop) or module.loop_around(loop) is not None):
        return False
    tensors = tensors_of(module)
    model = tensors[call.func]
    picks = [
        part
        for part in call.args
        if isinstance(part, ast.Subscript)
        and [getattr(index, "id", "") for index in _first_index(part)] == [counter]
    ]
    if [getattr(index, "id", "") for index in _first_index(target)] != [counter] or not picks:
        return False
    is_model = model is not None and model.kind is ValueKind.MODEL
    of_tensors = any(
        (value := tensors[part.value]) is None or value.kind is ValueKind.TENSOR for part in picks
    )
    return is_model or (of_tensors and len(picks) > 1)


def _is_over_samples(module: PythonModule, loop: ast.For) -> bool:
    """Whether a loop counts through the first axis of a tensor, which is the batch: ``range(batch_size)``."""
    rounds = loop.iter
    if not isinstance(rounds, ast.Call) or getattr(rounds.func, "id", "") != "range":
        return False
    if len(rounds.args) != 1:
        return False
    bound = rounds.args[0]
    if not isinstance(bound, ast.Name):
        return _is_batch_axis(module, bound)
    function = module.function_of(loop)
    for part in module.walk(function):
        if not isinstance(part, ast.Assign):
            continue
        for target in part.targets:
            if isinstance(target, ast.Name) and target.id == bound.id:
                if _is_batch_axis(module, part.value):
                    return True
            elif isinstance(target, ast.Tuple) and target.elts:
                first = target.elts[0]
                if isinstance(first, ast.Name) and first.id == bound.id:
                    return _is_shape(module, part.value)
    return False


def _is_batch_axis(module: PythonModule, node: ast.expr) -> bool:
    """Whether *node* is ``x.size(0)`` or ``x.shape[0]`` of a tensor."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        is_first = len(node.args) == 1 and getattr(node.args[0], "value", None) == 0
        return node.func.attr == "size" and is_first
    if isinstance(node, ast.Subscript):
        return getattr(node.slice, "value", None) == 0 and _is_shape(module, node.value)
    return False


def _is_shape(module: PythonModule, node: ast.expr) -> bool:
    """Whether *node* is ``x.size()`` or ``x.shape`` of a tensor."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr == "size" and not node.args
    if not isinstance(node, ast.Attribute) or node.attr != "shape":
        return False
    value = tensors_of(module)[node.value]
    if value is not None:
        return value.kind in (ValueKind.TENSOR, ValueKind.BATCH)
    return forward_of(module, node) is not None


def _element_of_tensor(module: PythonModule, loop: ast.For) -> str:
    """Return the name that *loop* gives each row of a tensor of the GPU: ``for i, x in enumerate(boxes)``."""
    over, target = loop.iter, loop.target
    if isinstance(over, ast.Call) and getattr(over.func, "id", "") == "enumerate" and over.args:
        over = over.args[0]
        target = (
            target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) > 1 else target
        )
    if (
        isinstance(over, ast.Call)
        and getattr(over.func, "id", "") == "zip"
        and isinstance(target, ast.Tuple)
    ):
        # Rows of several tensors side by side: the first stands for all.
        over, target = over.args[0] if over.args else over, target.elts[0]
    if not isinstance(over, (ast.Name, ast.Attribute)) or not isinstance(target, ast.Name):
        return ""
    value = tensors_of(module)[over]
    if _is_key_or_layer(module, loop, target.id):
        return ""
    is_tensor = (
        value is not None and value.kind is ValueKind.TENSOR and value.place is TensorMemory.GPU
    )
    # A list that tensors were added to has few of them.
    made = module.values_of(over.id) if isinstance(over, ast.Name) else []
    few = any(
        isinstance(v, (ast.List, ast.ListComp)) or _CHUNKED.search(ast.unparse(v)) for v in made
    )
    # Parts that a grid is cut into are many.
    nested = module.loop_around(loop) is not None or any(
        isinstance(part, ast.For) and part is not loop for part in module.walk(loop)
    )
    few = few or (not nested and any(_PARTED.search(ast.unparse(v)) for v in made))
    few = few or any(_LAYERS.search(name) for name in _names(loop.target))
    return target.id if is_tensor and not few else ""


# A few parts of one tensor, and what each of a network's layers gives.
_CHUNKED = re.compile(r"\.(?:chunk|unbind)\(")
_PARTED = re.compile(r"\.(?:split|tensor_split)\(")
_LAYERS = re.compile(r"(?:^|_)(?:layer|level|scale|stage|block|head|branch)s?(?:_|$)")


def _is_key_or_layer(module: PythonModule, loop: ast.For, element: str) -> bool:
    """Whether *loop* looks something up by what it runs over, calls it, or sets its attributes."""
    for statement in loop.body:
        for part in module.walk(statement):
            is_key = (
                isinstance(part, ast.Subscript)
                and isinstance(part.ctx, ast.Load)
                and getattr(part.slice, "id", "") == element
            )
            is_set = (
                isinstance(part, ast.Attribute)
                and not isinstance(part.ctx, ast.Load)
                and getattr(part.value, "id", "") == element
            )
            called = isinstance(part, ast.Call) and getattr(part.func, "id", "") == element
            if is_key or called or is_set:
                return True
    return False


def _work_on_picks(module: PythonModule, loop: ast.For, element: str = "") -> int:
    """Return how many operations a round takes on samples that its counter picks and on what they give.

    *element* is the name of the sample itself, where the loop hands it out. 0 where the round works for the host: it copies, saves or prints.
    """
    picked: set[str] = {element} if element else set()
    counter = getattr(loop.target, "id", "-")
    count = picks = 0

    def is_picked(node: ast.expr) -> bool:
        return any(
            (isinstance(part, ast.Name) and part.id in picked)
            or (
                isinstance(part, ast.Subscript)
                and isinstance(part.ctx, ast.Load)
                and counter in (getattr(first, "id", "") for first in _first_index(part))
                and _may_be_tensor(module, part.value)
            )
            for part in ast.walk(node)
        )

    for statement in loop.body:
        for part in module.walk(statement):
            if isinstance(part, ast.Call) and _works_for_host(module, loop, part):
                return 0
            if (
                isinstance(part, ast.Subscript)
                and isinstance(part.ctx, ast.Store)
                and isinstance(part.slice, ast.Name)
                and part.slice.id == element
            ):
                count += _FEWEST_OF_SAMPLE  # a place that the host has to know first
            if isinstance(part, ast.Assign) and is_picked(part.value):
                picks += 1
                if _copies_sample(module, part, counter):
                    count += _FEWEST_OF_SAMPLE
                picked.update(
                    name.id
                    for target in part.targets
                    for name in ast.walk(target)
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
                )
            if isinstance(part, ast.Call):
                called = part.func
                given = [*part.args, *(k.value for k in part.keywords)]
                if isinstance(called, ast.Attribute) and called.attr not in _NO_KERNELS:
                    given.append(called.value)
                name = _last_name(called)
                own = isinstance(called, ast.Attribute) and (
                    tensors_of(module).called(part) is not None
                    and ast.unparse(called.value) == "self"
                )
                is_helper = own or (isinstance(called, ast.Name) and name not in _BUILTINS)
                if (
                    (own or name not in _NO_KERNELS)
                    and name not in _BUILTINS
                    and any(map(is_picked, given))
                ):
                    count += _FEWEST_OF_SAMPLE if is_helper else 1
            elif isinstance(part, (ast.BinOp, ast.Compare)):
                count += is_picked(part)
    return count if picks or count else 0


def _copies_sample(module: PythonModule, part: ast.Assign, counter: str) -> bool:
    """Whether *part* is ``out[i] = x[i, start:end]`` of a tensor of the GPU, whose bounds another tensor may hold."""
    target = part.targets[0]
    if not isinstance(target, ast.Subscript) or not isinstance(part.value, ast.Subscript):
        return False
    whole = tensors_of(module)[target.value]
    bounds = [
        bound
        for index in (
            part.value.slice.elts if isinstance(part.value.slice, ast.Tuple) else [part.value.slice]
        )
        if isinstance(index, ast.Slice)
        for bound in (index.lower, index.upper)
        if bound is not None
    ]
    return (
        [getattr(index, "id", "") for index in _first_index(target)] == [counter]
        and whole is not None
        and whole.kind is ValueKind.TENSOR
        and whole.place is TensorMemory.GPU
        and any(isinstance(bound, ast.Name) for bound in bounds)
    )


def _works_for_host(module: PythonModule, loop: ast.For, call: ast.Call) -> bool:
    """Whether *call* copies, saves or prints; a warning, below a condition, is no work."""
    name = _last_name(call.func)
    is_warning = name == "print" and module.parents.get(call) not in loop.body
    return _FOR_HOST.search(name) is not None and not is_warning


def _first_index(node: ast.Subscript) -> list[ast.expr]:
    """Return what a subscript says of the first axis."""
    if isinstance(node.slice, ast.Tuple):
        return node.slice.elts[:1]
    return [node.slice]


def _may_be_tensor(module: PythonModule, node: ast.expr) -> bool:
    value = tensors_of(module)[node]
    # A list of a tensor for each sample is as good.
    return value is None or value.kind in (ValueKind.TENSOR, ValueKind.BATCH)


# What a round does for the host: its kernels are not what takes the time.
_FOR_HOST = re.compile(
    r"^(?:item|cpu|numpy|tolist|imwrite|imsave|imshow|save|savefig|save_image|write|print|add_image|plot|step|tensor2im|batch_decode|putText|rectangle|astype|asarray|array)$"
)
# What queues no kernel.
_NO_KERNELS = frozenset(
    ("append", "size", "view", "unsqueeze", "squeeze", "detach", "dim", "numel", "extend", "reshape", "item",
     "expand", "transpose", "permute", "t")
)  # fmt: skip
_BUILTINS = frozenset(
    ("range", "len", "zip", "enumerate", "int", "float", "str", "list", "tuple", "dict", "isinstance", "set", "type",
     "min", "max", "sorted")
)  # fmt: skip
_FEWEST_OF_SAMPLE = 3  # operations of a round


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
