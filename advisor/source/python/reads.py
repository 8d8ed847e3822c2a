"""Places where the host reads a value of the GPU, and so waits for all that was queued before it."""

from __future__ import annotations

import ast
import re
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from gpuadvise.advisor.source.python.steps import (
    forward_of,
    is_called_by_others,
    repeated_call_of,
    simulates,
    steps_of,
    works_on_gpu,
)
from gpuadvise.advisor.source.python.tensors import (
    TensorMemory,
    ValueKind,
    looks_like_model,
    tensors_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpuadvise.advisor.source.python.module import PythonModule
    from gpuadvise.advisor.source.python.tensors import Value


class How(StrEnum):
    """How a value is read."""

    NUMBER = "number"  # .item(), float()
    SUM = "sum"  # total += loss.item()
    APPENDED = "appended"
    COPY = "copy"  # .cpu(), .tolist()
    PRINTED = "printed"
    TESTED = "tested"
    ELEMENT = "element"  # [int(i) for i in tensor]
    GRADIENT = "gradient"  # for p in parameters: total += p.grad.norm().item() ** 2
    SIZED = "sized"  # x[mask], nonzero: how much comes out has to be known


class Read(NamedTuple):
    """One place: *sure* where the value is surely a tensor of the GPU, else it is only likely one."""

    node: ast.expr
    how: How
    sure: bool


_ACTIONS = re.compile(r"(?:\b|_)actions?(?:\b|_)", re.IGNORECASE)
# Functions that answer what a simulator of the host is to do.
_ACTING = re.compile(r"_?(?:act|(?:select|choose|get|take|sample|best|greedy)_?actions?)$")
_KERNEL_MAKERS = re.compile(r"\bjit\b|rawkernel|fuse\b|\bvectorize\b|reduce\b")
_COPIES = ("cpu", "tolist", "numpy")
_CONVERSIONS = ("float", "int", "bool", "math.isnan", "math.isfinite", "math.isinf", "math.exp", "math.sqrt", "math.log",
                "math.pow", "math.floor", "math.ceil", "math.log10", "math.log2", "numpy.isnan", "numpy.isinf", "numpy.isfinite")  # fmt: skip
_SHOWN_BY = ("print", "write", "set_postfix", "set_description", "info", "add_scalar")


def value_read(node: ast.expr) -> str:
    """Return the name of what *node* reads: "loss" of ``loss.detach().item()``, itself where it has none."""
    root: ast.expr = node
    while isinstance(root, (ast.Call, ast.Attribute)):
        if isinstance(root, ast.Attribute):
            root = root.value
        elif isinstance(root.func, ast.Name) and len(root.args) == 1:
            root = root.args[0]
        else:
            root = root.func
    return root.id if isinstance(root, ast.Name) else ast.unparse(node)


def reads_of(module: PythonModule) -> Sequence[Read]:
    """Return the places where a tensor of the GPU, or a loss that goes backward, is read by the host.

    Actions that a simulator of the host is to carry out have to be read, and are left out.
    """
    return module.found_once(_reads_in_order)


def _reads_in_order(module: PythonModule) -> Sequence[Read]:
    reads = [
        read
        for read in _reads_of(module)
        if not _is_action(module, read.node)
        and not _is_in_kernel(module, read.node)
        and not _is_for_another_runtime(module, read.node)
    ]
    return sorted(reads, key=lambda read: (read.node.lineno, read.node.col_offset))


def _is_for_another_runtime(module: PythonModule, node: ast.expr) -> bool:
    """Whether *node* stands where a model of another runtime is run, which takes arrays of the host."""
    if not module.found_once(_names_runtime):
        return False
    return any(
        isinstance(above, ast.If) and _is_of_runtime(ast.unparse(above.test).encode())
        for above in module.ancestors(node)
    )


def _names_runtime(module: PythonModule) -> bool:
    return _is_of_runtime(module.text.content)


def _is_of_runtime(words: bytes) -> bool:
    lower = words.lower()
    return any(name in lower for name in _RUNTIMES)


_RUNTIMES = (
    b"onnx",
    b"coreml",
    b"tflite",
    b"openvino",
    b"edgetpu",
    b"saved_model",
    b"paddle",
    b"ncnn",
)


def _is_in_kernel(module: PythonModule, node: ast.expr) -> bool:
    """Whether *node* is compiled for the GPU: by Numba, CuPy or Triton."""
    return any(
        isinstance(above, ast.FunctionDef)
        and any(_KERNEL_MAKERS.search(ast.unparse(made)) for made in above.decorator_list)
        for above in module.ancestors(node)
    )


def is_acting(module: PythonModule, node: ast.expr) -> bool:
    """Whether *node* runs for each action of a simulator: in a function named for it, or in a loop that steps one."""
    name = getattr(module.function_of(node), "name", "")
    return _ACTING.match(name) is not None or simulates(module, node)


def _is_action(module: PythonModule, node: ast.expr) -> bool:
    if _ACTING.match(getattr(module.function_of(node), "name", "")):
        return True
    for above in module.ancestors(node):
        if isinstance(above, ast.Call) and getattr(above.func, "attr", "") in (
            "step",
            "act",
            "send",
            # Tokens have to be read to become text.
            "decode",
            "batch_decode",
            "convert_ids_to_tokens",
        ):
            return True
        if isinstance(above, ast.JoinedStr) or (
            isinstance(above, ast.Call)
            and getattr(above.func, "attr", "") == "format"
            and isinstance(module.parents.get(above), ast.Return)
        ):
            return isinstance(module.parents.get(above), ast.Return)
        if isinstance(above, ast.Assign):
            return any(_ACTIONS.search(ast.unparse(target)) for target in above.targets)
        if isinstance(above, (ast.stmt, ast.ExceptHandler)):
            return False
    return False


def _reads_of(module: PythonModule) -> Iterator[Read]:
    only_arrays = not _uses_torch(module)
    by_gradient = b".grad" in module.text.content
    for call in () if only_arrays else module.calls:
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        if by_gradient and name in _READS_ONE and _is_of_each_gradient(module, call, name):
            yield Read(call, How.GRADIENT, False)
        elif name == "item" and _is_item_of_each(module, call):
            yield Read(call, How.ELEMENT, False)
        elif isinstance(call.func, ast.Attribute) and name == "item" and not call.args:
            if (sure := _on_gpu(module, call.func.value, call)) is not None:
                yield Read(call, _use(module, call), sure)
        elif isinstance(call.func, ast.Attribute) and name in _COPIES:
            sure = _on_gpu(module, call.func.value, call)
            # numpy() takes no tensor of a GPU: what is only likely to be one is not.
            if sure or (sure is False and name != "numpy"):
                yield Read(call, How.COPY, sure)
        elif _is_of_element(module, call) or _is_reduced_by_host(module, call):
            yield Read(call, How.ELEMENT, True)
        elif _is_copy_by_helper(module, call):
            yield Read(call, How.COPY, False)
        elif module.name_of(call.func) in _CONVERSIONS and call.args:
            sure = _on_gpu(module, call.args[0], call)
            likely = module.name_of(call.func).startswith("math.") and (
                # Sizes are rounded everywhere.
                module.name_of(call.func) not in ("math.ceil", "math.floor")
                or _is_of_tensor(module, call.args[0])
            )
            if sure or (sure is False and likely):
                yield Read(call, _use(module, call), sure)
        elif (sized := _size_of_gpu(module, call)) is not None:
            yield sized
        elif module.name_of(call.func) == "torch.full" and len(call.args) > 1:
            # The number to fill in is read.
            if _on_gpu(module, call.args[1], call):
                yield Read(call, How.NUMBER, True)
        elif name in _SHOWN_BY and any(_on_gpu(module, part, call) for part in _shown(call)):
            yield Read(call, How.PRINTED, True)
        elif _asks_for_size(module, call, name):
            given = call.func.value if isinstance(call.func, ast.Attribute) else call
            value = tensors_of(module)[call.args[0] if call.args else given]
            if value is not None and _is_on_gpu(value):
                yield Read(call, How.SIZED, value.sure)
            elif _is_somewhere(value) and _counts_only_tensors(call, name):
                yield Read(call, How.SIZED, False)
    branches: list[ast.If | ast.While | ast.Assert | ast.IfExp] = module.of_any(
        ast.If, ast.While, ast.Assert, ast.IfExp
    )
    for branch in branches:
        if only_arrays and not _ends_loop(branch):
            continue
        for test in _tests(branch.test):
            value = tensors_of(module)[test]
            if (value is None and _looks_for_nan(module, test)) or (
                not only_arrays and _is_somewhere(value) and _is_of_reduced(module, test)
            ):
                yield Read(test, How.TESTED, False)
            if value is None or not _is_on_gpu(value):
                continue
            if value.sure or (_is_of_tensor(module, test) and not only_arrays):
                yield Read(test, How.TESTED, value.sure)
    for node in () if only_arrays else module.of(ast.Subscript):
        read = _chosen_by_mask(module, node)
        if read is not None:
            yield read
        elif _is_old_item(module, node) or _is_cut_by_tensor(module, node):
            yield Read(node, _use(module, node), True)


_TAKES_SIZES = frozenset(
    (
        "range",
        "torch.arange",
        "torch.zeros",
        "torch.ones",
        "torch.empty",
        "torch.rand",
        "torch.randn",
    )
)
_REDUCES = frozenset(("max", "min", "sum", "amax", "amin"))


def _size_of_gpu(module: PythonModule, call: ast.Call) -> Read | None:
    """Return the read in ``torch.arange(lengths.max())``: how many elements there are the host has to know."""
    if module.name_of(call.func) not in _TAKES_SIZES:
        return None
    for given in call.args:
        looked: list[ast.expr] = [given]
        if isinstance(given, ast.Name):
            function = module.function_of(call)
            looked = [v for v in module.values_of(given.id) if module.function_of(v) is function]
        for value in looked:
            if isinstance(value, ast.BinOp):
                value = value.left
            reduced = (
                isinstance(value, ast.Call)
                and isinstance(value.func, ast.Attribute)
                and value.func.attr in _REDUCES
            )
            known = tensors_of(module)[value] if reduced else None
            if known is not None and _is_on_gpu(known):
                return Read(call, How.NUMBER, known.sure)
    return None


def _is_cut_by_tensor(module: PythonModule, node: ast.Subscript) -> bool:
    """Whether *node* is ``x[start:end]`` with a bound that is an element of a tensor of the GPU."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for part in parts:
        for bound in (part.lower, part.upper) if isinstance(part, ast.Slice) else ():
            value = tensors_of(module)[bound] if bound is not None else None
            if value is not None and _is_on_gpu(value) and value.sure:
                return True
    return False


def _is_old_item(module: PythonModule, node: ast.Subscript) -> bool:
    """Whether *node* is ``loss.data[0]``, as ``loss.item()`` was written first."""
    data, index = node.value, node.slice
    if not (isinstance(data, ast.Attribute) and data.attr == "data"):
        return False
    is_first = isinstance(index, ast.Constant) and index.value == 0
    in_evaluation = steps_of(module).evaluation_loop(node) is not None
    return is_first and (in_evaluation or _is_loss(module, data.value, node))


def _looks_for_nan(module: PythonModule, test: ast.expr) -> bool:
    """Whether *test* is ``torch.isnan(x).any()``, whatever x is."""
    return isinstance(test, ast.Call) and any(
        isinstance(part, ast.Call)
        and module.name_of(part.func) in ("torch.isnan", "torch.isinf", "torch.isfinite")
        for part in (test, getattr(test.func, "value", test), *test.args)
    )


def _is_of_reduced(module: PythonModule, test: ast.expr) -> bool:
    """Whether *test* compares the one value that a tensor is reduced to: ``mask.float().sum() == 0``."""
    if not isinstance(test, ast.Compare):
        return False
    function = module.function_of(test)
    for side in (test.left, *test.comparators):
        values = [side]
        if isinstance(side, ast.Name):
            values = [v for v in module.values_of(side.id) if module.function_of(v) is function]
        if values and all(_reduces_tensor(module, value) for value in values):
            return True
    return False


def _reduces_tensor(module: PythonModule, value: ast.expr) -> bool:
    """Whether *value* is a reduction over all of what only a tensor can be, by the methods called of it."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    name = value.func.attr
    if module.name_of(value.func).startswith("torch."):
        return name in _REDUCES_ALL and len(value.args) == 1 and not value.keywords
    if name not in _REDUCES_ALL or value.args or value.keywords:
        return False
    chain: ast.expr = value.func.value
    while isinstance(chain, ast.Call) and isinstance(chain.func, ast.Attribute):
        if module.name_of(chain.func).startswith("torch."):
            return True
        if chain.func.attr in _ONLY_METHODS:
            return True
        chain = chain.func.value
    if not isinstance(chain, ast.Name):
        return False
    function = module.function_of(value)
    made = [v for v in module.values_of(chain.id) if module.function_of(v) is function]
    return bool(made) and all(
        isinstance(v, ast.Call)
        and isinstance(v.func, ast.Attribute)
        and (v.func.attr in _ONLY_METHODS or module.name_of(v.func).startswith("torch."))
        for v in made
    )


_REDUCES_ALL = frozenset(("sum", "max", "min", "mean", "any", "all", "amax", "amin"))
# Methods that tensors of PyTorch have and arrays of NumPy and pandas' frames have not.
_ONLY_METHODS = frozenset(
    ("float", "long", "bool", "int", "double", "half", "detach", "masked_fill", "masked_select", "unsqueeze", "eq_",
     "log_softmax", "softmax", "sigmoid", "type_as")
)  # fmt: skip


def _is_somewhere(value: Value | None) -> bool:
    """Whether *value* may be a tensor of which the file does not say where it is."""
    return value is None or (value.kind is ValueKind.TENSOR and value.place is None)


def _counts_only_tensors(call: ast.Call, name: str) -> bool:
    """Whether only a tensor has what *call* counts by: ``masked_select``, ``nonzero`` with its own keyword."""
    return name == "masked_select" or (
        name == "nonzero" and any(k.arg == "as_tuple" for k in call.keywords)
    )


def _uses_torch(module: PythonModule) -> bool:
    return any(name.split(".")[0] == "torch" for name in module.imports.values())


def _ends_loop(node: ast.If | ast.While | ast.Assert | ast.IfExp) -> bool:
    """Whether a condition decides when a loop is over."""
    if isinstance(node, ast.If):
        return any(isinstance(part, (ast.Break, ast.Return)) for part in node.body)
    return isinstance(node, ast.While)


_TENSOR_ONLY = (
    "any",
    "all",
    "isnan",
    "isinf",
    "isfinite",
    "sum",
    "max",
    "min",
    "mean",
    "norm",
    "abs",
)


def _is_of_element(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* is ``int(i)`` for each i of a tensor of the GPU, in a list that is written in one line."""
    if getattr(call.func, "id", "") not in ("int", "float", "bool") or not call.args:
        return False
    element = call.args[0]
    for above in module.ancestors(call):
        if isinstance(above, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            each = above.generators[0]
            value = tensors_of(module)[each.iter]
            is_target = isinstance(each.target, ast.Name) and isinstance(element, ast.Name)
            return (
                is_target
                and getattr(each.target, "id", "") == getattr(element, "id", "-")
                and value is not None
                and _is_on_gpu(value)
            )
        if isinstance(above, ast.stmt):
            return False
    return False


def _is_item_of_each(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* is ``x.item()`` for each x of a row of tensors, in what each step or call of a helper runs."""
    read = call.func.value if isinstance(call.func, ast.Attribute) else None
    if not isinstance(read, ast.Name) or call.args:
        return False
    for above in module.ancestors(call):
        if isinstance(above, (ast.ListComp, ast.GeneratorExp)):
            bound = {
                part.id
                for each in above.generators
                for part in ast.walk(each.target)
                if isinstance(part, ast.Name)
            }
            steps = steps_of(module)
            return read.id in bound and (
                steps.training_loop(above) is not None
                or steps.evaluation_loop(above) is not None
                or is_called_often(module, above)
            )
        if isinstance(above, ast.stmt):
            return False
    return False


_READS_ONE = frozenset(("item", "float", "any", "all"))


def _is_of_each_gradient(module: PythonModule, call: ast.Call, name: str) -> bool:
    """Whether *call* reads one value of the gradient of each parameter that a loop, or a row of them, runs over."""
    if name in ("any", "all"):
        # any(not torch.isfinite(p.grad).all() for p in parameters)
        given = call.args[0] if call.args else None
        return (
            isinstance(call.func, ast.Name)
            and isinstance(given, ast.GeneratorExp)
            and _reads_gradient(given.elt, _bound_by(given.generators[0].target))
            and any(isinstance(part, ast.Call) for part in ast.walk(given.elt))
        )
    loop = module.loop_around(call)
    if not isinstance(loop, ast.For) or module.function_of(call) is module.tree:
        return False
    read = call.func.value if isinstance(call.func, ast.Attribute) else next(iter(call.args), call)
    elements = _bound_by(loop.target)
    if _reads_gradient(read, elements):
        return True
    names = _bound_by(read)
    return any(
        isinstance(part, ast.Assign)
        and names.intersection(*map(_bound_by, part.targets))
        and _reads_gradient(part.value, elements)
        for part in module.walk(loop)
    )


def _bound_by(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _reads_gradient(node: ast.expr, elements: set[str]) -> bool:
    """Whether *node* computes something of the gradient of one of *elements*."""
    return isinstance(node, (ast.Call, ast.Name, ast.UnaryOp, ast.BinOp, ast.Compare)) and any(
        isinstance(part, ast.Attribute)
        and part.attr == "grad"
        and isinstance(part.value, ast.Name)
        and part.value.id in elements
        for part in ast.walk(node)
    )


def _is_reduced_by_host(module: PythonModule, call: ast.Call) -> bool:
    """Whether *call* is Python's own ``all(x)``, ``any(x)``, ``sum(x)`` of a tensor, which reads each element."""
    if (
        getattr(call.func, "id", "") not in ("all", "any", "sum", "max", "min")
        or len(call.args) != 1
    ):
        return False
    value = tensors_of(module)[call.args[0]]
    given = call.args[0]
    if isinstance(given, ast.Name):
        # A list of tensors is another thing.
        function = module.function_of(call)
        values = [v for v in module.values_of(given.id) if module.function_of(v) is function]
        if not values or any(isinstance(v, (ast.List, ast.ListComp)) for v in values):
            return False
    elif not isinstance(given, ast.Compare):
        return False
    return value is not None and _is_on_gpu(value) and value.sure


def _is_copy_by_helper(module: PythonModule, call: ast.Call) -> bool:
    """Whether a helper with a telling name copies a tensor, in a function that each step calls: ``to_cpu(x)``."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if isinstance(call.func, ast.Attribute) and name == "to":
        is_copy = tensors_of(module).target_place(call) is TensorMemory.PAGEABLE
        value = tensors_of(module)[call.func.value]
        if looks_like_model(call.func.value) or (
            value is not None and value.kind is ValueKind.MODEL
        ):
            return False
    else:
        is_copy = _TO_HOST.match(name) is not None and len(call.args) == 1
        value = tensors_of(module)[call.args[0]] if is_copy else None
    if not is_copy or (value is not None and not _is_on_gpu(value)):
        return False
    steps = steps_of(module)
    in_step = steps.training_loop(call) is not None or steps.evaluation_loop(call) is not None
    return in_step or is_called_often(module, call)


_TO_HOST = re.compile(
    r"(?:to_(?:cpu|numpy|np)|tensor_?2_?(?:np|numpy|cpu)|tensor_to_(?:np|numpy)|t2n|to_list)$"
)


def _is_of_tensor(module: PythonModule, test: ast.expr) -> bool:
    """Whether *test* calls what only tensors have, so that no number or list is tested."""
    return any(
        isinstance(part, ast.Call)
        and (
            module.name_of(part.func).startswith("torch.")
            or (isinstance(part.func, ast.Attribute) and part.func.attr in _TENSOR_ONLY)
        )
        for part in module.walk(test)
    )


_SIZED = frozenset(("torch.nonzero", "torch.masked_select", "torch.unique", "torch.argwhere"))


def _asks_for_size(module: PythonModule, call: ast.Call, name: str) -> bool:
    """Whether the size of what *call* gives depends on data of the GPU."""
    if name == "where":
        return (
            module.name_of(call.func) == "torch.where" and len(call.args) == 1 and not call.keywords
        )
    if name in ("nonzero", "masked_select"):
        return isinstance(call.func, ast.Attribute)
    return name in ("unique", "argwhere") and module.name_of(call.func) in _SIZED


def _chosen_by_mask(module: PythonModule, node: ast.Subscript) -> Read | None:
    """Return the read in ``x[mask]``, and in ``x[mask] = y`` of a tensor; a number is filled in without."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    masks = [
        part
        for part in parts
        if isinstance(part, (ast.Name, ast.Compare, ast.BinOp, ast.UnaryOp))
        and _is_mask(module, part)
    ]
    if not masks:
        return None
    values = [tensors_of(module)[masks[0]]]
    if values[0] is None:
        values = [tensors_of(module)[node.value]]
    value = values[0]
    if value is None or not _is_on_gpu(value):
        return None
    if not isinstance(node.ctx, ast.Load):
        above = module.parents.get(node)
        if isinstance(above, ast.AugAssign):
            return Read(node, How.SIZED, value.sure)  # x[mask] -= 1 reads them first
        given = tensors_of(module)[above.value] if isinstance(above, ast.Assign) else None
        if given is None or not _is_on_gpu(given) or isinstance(node.ctx, ast.Del):
            return None
    elif isinstance(module.parents.get(node), ast.AugAssign):
        return None
    return Read(node, How.SIZED, value.sure)


def _is_mask(module: PythonModule, mask: ast.expr, depth: int = 0) -> bool:
    """Whether *mask* is what a comparison of tensors gave."""
    if depth > _LONGEST_CHAIN:
        return False
    if isinstance(mask, ast.Compare):
        return not any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in mask.ops)
    if isinstance(mask, ast.UnaryOp):
        return isinstance(mask.op, ast.Invert) and _is_mask(module, mask.operand, depth + 1)
    if isinstance(mask, ast.BinOp):
        if isinstance(mask.op, ast.Mult):  # (a > 0) * (b == c)
            return isinstance(mask.left, ast.Compare) and isinstance(mask.right, ast.Compare)
        bitwise = isinstance(mask.op, (ast.BitAnd, ast.BitOr))
        return bitwise and _is_mask(module, mask.left, depth + 1)
    if isinstance(mask, ast.Call):
        name = getattr(mask.func, "attr", getattr(mask.func, "id", ""))
        of = getattr(mask.func, "value", None) if isinstance(mask.func, ast.Attribute) else None
        shaped = mask.args[:1] if name in _SHAPED and mask.args else []
        if of is not None and name in _SHAPED and not isinstance(of, ast.Name):
            shaped = [of]
        return any(_is_mask(module, part, depth + 1) for part in shaped)
    if isinstance(mask, ast.Name):
        function = module.function_of(mask)
        values = [
            v
            for v in module.values_of(mask.id)
            if module.function_of(v) is function and not _gives_shape_to(v, mask.id)
        ]
        named = _MASKS.match(mask.id) is not None
        if not values:
            return named and depth == 0
        return all(
            _is_mask(module, v, depth + 1)
            or (named and isinstance(v, ast.Call) and _may_be_mask(v))
            for v in values
        )
    return False


def _gives_shape_to(value: ast.expr, name: str) -> bool:
    """Whether *value* only gives *name* another shape: ``mask = mask.view(-1)``."""
    if not isinstance(value, ast.Call):
        return False
    called = getattr(value.func, "attr", getattr(value.func, "id", ""))
    return called in _SHAPED and any(
        isinstance(n, ast.Name) and n.id == name for n in ast.walk(value)
    )


def _may_be_mask(call: ast.Call) -> bool:
    """Whether *call* may give a mask, and no indices, going by its name."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return _INDICES.search(name) is None


# What only gives a mask another shape.
_SHAPED = frozenset(("rearrange", "view", "reshape", "squeeze", "unsqueeze", "expand", "flatten", "repeat", "logical_and",
                     "logical_or", "logical_not", "bool"))  # fmt: skip
_INDICES = re.compile(
    r"arg|topk|sort|nonzero|range|randperm|where|unique|array|multinomial|randint|index|nms|tensor|load|get"
)
_MASKS = re.compile(r"(?:.*_)?masks?$")
_LONGEST_CHAIN = 4  # names behind names


def _tests(test: ast.expr) -> Iterator[ast.expr]:
    """Yield the parts of a condition that compute something of a tensor."""
    if isinstance(test, ast.BoolOp):
        for part in test.values:
            yield from _tests(part)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _tests(test.operand)
    elif isinstance(test, ast.Compare) or (
        isinstance(test, ast.Call)
        and getattr(test.func, "attr", "")
        in ("any", "all", "isnan", "isinf", "isfinite", "equal", "allclose")
    ):
        yield test


def _shown(call: ast.Call) -> Iterator[ast.expr]:
    """Yield what a call that prints turns into text."""
    for part in (*call.args, *(k.value for k in call.keywords if k.arg)):
        if isinstance(part, ast.JoinedStr):
            yield from (v.value for v in part.values if isinstance(v, ast.FormattedValue))
        elif isinstance(part, ast.Call) and getattr(part.func, "attr", "") == "format":
            yield from part.args
        elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod):
            yield from part.right.elts if isinstance(part.right, ast.Tuple) else (part.right,)
        else:
            yield part


def _use(module: PythonModule, node: ast.expr) -> How:
    """Return what becomes of a number that was read."""
    for above in module.ancestors(node):
        if isinstance(above, ast.AugAssign):
            return How.APPENDED if isinstance(above.value, ast.List) else How.SUM
        if isinstance(above, ast.Call):
            name = getattr(above.func, "attr", getattr(above.func, "id", ""))
            if name == "append":
                return How.APPENDED
            if name in _SHOWN_BY:
                return How.PRINTED
        if isinstance(above, (ast.If, ast.While, ast.Assert)):
            return How.TESTED
        if isinstance(above, ast.stmt):
            break
    return How.NUMBER


def _is_on_gpu(value: Value) -> bool:
    return value.kind is ValueKind.TENSOR and value.place is TensorMemory.GPU


def _on_gpu(module: PythonModule, node: ast.expr, reader: ast.Call) -> bool | None:
    """Return whether *node* is surely a tensor of the GPU, or only likely; None where neither."""
    value = tensors_of(module)[node]
    if value is not None and _is_on_gpu(value):
        return value.sure or bool(_is_loss(module, node, reader))
    unknown = value is None or (value.kind is ValueKind.TENSOR and value.place is None)
    if unknown and _is_read_in_step(module, node, reader):
        return False
    if value is not None and (value.kind is not ValueKind.TENSOR or value.place is not None):
        return None
    return _is_loss(module, node, reader) or None


def _is_read_in_step(module: PythonModule, node: ast.expr, reader: ast.Call) -> bool:
    """Whether a step of training or evaluation reads *node* by ``.item()`` or ``.cpu()``: hosts' tensors are rare there."""
    if getattr(reader.func, "attr", "") not in ("item", "cpu") or not _uses_torch(module):
        return False
    steps = steps_of(module)
    if steps.training_loop(reader) is None and steps.evaluation_loop(reader) is None:
        copies = getattr(reader.func, "attr", "") == "cpu" or _is_of_tensor(module, node)
        if not copies and isinstance(node, ast.Name):
            function = module.function_of(reader)
            values = [v for v in module.values_of(node.id) if module.function_of(v) is function]
            copies = bool(values) and all(_is_of_tensor(module, v) for v in values)
        if not copies or not is_called_often(module, reader):
            return False
    root: ast.expr = node
    while isinstance(root, (ast.Attribute, ast.Subscript, ast.Call)):
        root = root.func if isinstance(root, ast.Call) else root.value
    if not isinstance(root, ast.Name) or module.imports.get(root.id, "").startswith("numpy"):
        return False
    if looks_like_model(node):
        return False
    return not any(
        module.name_of(part.func).startswith("numpy.")
        or getattr(part.func, "attr", "") in ("cpu", "numpy", "item", "tolist")
        for value in module.values_of(root.id)
        if value.lineno < reader.lineno and module.function_of(value) is module.function_of(reader)
        for part in module.walk(value)
        if isinstance(part, ast.Call)
    )


def came_from_host(module: PythonModule, copy: ast.expr) -> bool:
    """Whether *copy* brings back what its loop or function moved to the GPU itself: ``y = y.to(gpu); y.cpu()``."""
    node = copy
    while isinstance(node, (ast.Call, ast.Attribute)):
        node = node.func if isinstance(node, ast.Call) else node.value
    if not isinstance(node, ast.Name):
        return False
    around = module.loop_around(copy) or module.function_of(copy)
    moved = False
    for part in module.walk(around):
        if not isinstance(part, ast.Assign) or part.lineno > copy.lineno:
            continue
        targets = {n.id for t in part.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        if node.id not in targets:
            continue
        named = [n for n in module.walk(part.value) if isinstance(n, ast.Name) and n.id == node.id]
        above = module.parents.get(named[0]) if named else None
        moved = isinstance(above, ast.Attribute) and above.attr in ("to", "cuda")
    return moved


def is_repeated_gradient(module: PythonModule, node: ast.expr) -> bool:
    """Whether a step, or a function that is called again and again, reads of each gradient."""
    loop = module.loop_around(node)
    in_step = steps_of(module).training_loop(loop or node) is not None
    function = module.function_of(node)
    shown = _SHOWN.search(getattr(function, "name", "")) is not None
    return in_step or (not shown and isinstance(function, ast.FunctionDef))


_SHOWN = re.compile(r"print|plot|show|debug|check|test|hist|visual")


def is_computed_test(module: PythonModule, read: Read) -> bool:
    """Whether *read* tests what a function of PyTorch computes of a tensor: ``if torch.min(x) < -1``."""
    return read.how is How.TESTED and any(
        isinstance(part, ast.Call) and module.name_of(part.func).startswith("torch.")
        for part in module.walk(read.node)
    )


def may_be_of_host(module: PythonModule, read: Read) -> bool:
    """Whether a helper copies, in a file that names no GPU, what only likely is there; its caller may need it at once."""
    if read.how is not How.COPY or read.sure or works_on_gpu(module):
        return False
    steps = steps_of(module)
    in_step = steps.evaluation_loop(read.node) or steps.training_loop(read.node)
    called = forward_of(module, read.node) or is_called_by_others(
        module, module.function_of(read.node)
    )
    return in_step is None and not called


def is_joined(node: ast.expr) -> bool:
    """Whether *node* copies at once what a loop before it has collected."""
    return any(
        isinstance(part, ast.Call)
        and getattr(part.func, "attr", "") in ("cat", "stack", "concat")
        and bool(part.args)
        and isinstance(part.args[0], (ast.Name, ast.Attribute))
        for part in ast.walk(node)
    )


def is_helper(function: ast.FunctionDef) -> bool:
    """Whether the name of a function is one of those that a step calls."""
    return _HELPERS.search(function.name) is not None


def is_in_helper(module: PythonModule, node: ast.expr) -> bool:
    """Whether *node* moves to the GPU and reads back at once, in a function that others call."""
    function = module.function_of(node)
    if getattr(function, "name", "main") == "main" or module.loop_around(node) is not None:
        return False
    return any(
        isinstance(part, ast.Attribute) and part.attr == "cuda" for part in module.walk(node)
    )


def is_called_often(module: PythonModule, reader: ast.expr) -> bool:
    """Whether a model, a helper of steps or a loop that always copies runs *reader*."""
    if forward_of(module, reader) is not None:
        return True
    function = repeated_call_of(module, reader)
    if function is not None and (
        is_helper(function)
        or _is_of_meter(module, function)
        or is_called_by_others(module, function)
    ):
        return True
    steps, loop = steps_of(module), module.loop_around(reader)
    if loop is None or not steps.is_repeated(reader) or not steps.runs_always(reader):
        return False
    around = module.function_of(reader)
    loops = module.loops_around(reader)
    once = _ONCE.search(getattr(around, "name", "")) or any(
        _WEIGHTS.search(ast.unparse(each.iter)) for each in loops if isinstance(each, ast.For)
    )
    return not once and works_on_gpu(module)


def _is_of_meter(module: PythonModule, function: ast.FunctionDef) -> bool:
    """Whether *function* is a method of a class named for what it measures of each batch."""
    around = module.parents.get(function)
    return (
        isinstance(around, ast.ClassDef)
        and _METERS.search(around.name) is not None
        and _MEASURING.match(function.name) is not None
    )


_METERS = re.compile(r"Meter|Metric|Evaluator|Accuracy|Score|Recorder|Recall|IoU")
_MEASURING = re.compile(r"__call__$|_?(?:update|add|prepare|process|record|accumulate)")
# Functions that a step calls, going by their names.
_HELPERS = re.compile(
    r"(?:^|_)(?:masks?|loss|losses|clip|accuracy|norm|length|lengths|pad|add|push|store|insert|observe|act|predict|collect"
    r"|update|step|targets?|assign\w*|suppression|nms|decode|post_?process)(?:_|$)"
)
_ONCE = re.compile(
    r"save|load|convert|export|dump|init|merge|quant|prun|state|plot|log|vis|show|display",
    re.IGNORECASE,
)
_WEIGHTS = re.compile(
    r"items\(\)|state|param|layers|modules|children|weights|keys\(\)|ckpt|checkpoint|blocks"
)


def _is_loss(module: PythonModule, node: ast.expr, reader: ast.expr) -> bool:
    """Whether *node* is what the training loop around it sends backward, or computed from it."""
    root: ast.expr = node
    while isinstance(root, ast.Call) and isinstance(root.func, ast.Attribute):
        if root.func.attr in _COPIES:
            return False  # the copy is what waits
        root = root.func.value
    is_function = isinstance(reader, ast.Call) and isinstance(reader.func, ast.Name)
    if not isinstance(root, ast.Name) or (is_function and root is not node):
        return False
    loop = steps_of(module).training_loop(reader)
    if loop is None or root.id not in steps_of(module).losses(loop):
        return False
    return _is_never_number(module, root.id)


def _is_never_number(module: PythonModule, name: str) -> bool:
    """Whether no statement gives *name* a number that was read: ``loss = loss.item()``."""
    return not any(
        isinstance(value, ast.Call)
        and getattr(value.func, "attr", getattr(value.func, "id", "")) in ("item", "float")
        for value in module.assigned.get(name, ())
    )
