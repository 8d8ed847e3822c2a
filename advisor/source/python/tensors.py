"""Where the tensors of a Python file are: a forward walk over its names, attributes, parameters and helpers.

Each expression gets a value where one can be told: a tensor in pageable, pinned or GPU memory, an array of
NumPy, a loader and what it hands out, a model. What is not known has none. Functions of the file are walked
with what its own calls give them; nothing is imported or run, and each statement is walked a fixed number
of times.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from gpuadvise.advisor.source.python.training import (
    FACTORIES,
    LOADERS,
    argument,
    has_unknown_arguments,
    is_cuda_device,
    is_written_out,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpuadvise.advisor.source.python.module import PythonModule


Found = TypeVar("Found")


class TensorMemory(StrEnum):
    """Where a tensor is."""

    PAGEABLE = "pageable"
    PINNED = "pinned"
    GPU = "gpu"


class ValueKind(StrEnum):
    """What a value is."""

    TENSOR = "tensor"
    BATCH = "batch"  # what a loader hands out, or a part of it
    LOADER = "loader"
    MODEL = "model"
    DEVICE = "device"
    ARRAY = "array"  # of NumPy
    HOST = "host"  # numbers, texts, lists


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One value: *place* is None where it is not known.

    *maker* is the call that made it out of nothing or out of host data, *data* whether that call was
    given data, *sure* whether it is surely of its kind, *random* whether NumPy's random numbers are in it.
    """

    kind: ValueKind
    place: TensorMemory | None = None
    maker: ast.Call | None = None
    data: bool = False
    sure: bool = True
    random: bool = False


_HOST_VALUE = Value(ValueKind.HOST)
_ON_GPU = Value(ValueKind.TENSOR, TensorMemory.GPU)
_LIKELY_ON_GPU = Value(ValueKind.TENSOR, TensorMemory.GPU, sure=False)
_LIKELY_MODEL = Value(ValueKind.MODEL, sure=False)
_SOMEWHERE = Value(ValueKind.TENSOR)
_GIVEN_BATCH = Value(ValueKind.BATCH, sure=False)
_ARRAY = Value(ValueKind.ARRAY)
_GPU_DEVICE = Value(ValueKind.DEVICE, TensorMemory.GPU)
_LIKELY_GPU = Value(ValueKind.DEVICE, TensorMemory.GPU, sure=False)
_HOST_DEVICE = Value(ValueKind.DEVICE, TensorMemory.PAGEABLE)

_OLD_CONSTRUCTORS = frozenset(
    f"torch.{name}"
    for name in (
        "Tensor", "FloatTensor", "LongTensor", "IntTensor", "DoubleTensor", "BoolTensor", "HalfTensor",
        "ByteTensor", "ShortTensor",
    )
)  # fmt: skip
_MAKERS = FACTORIES | _OLD_CONSTRUCTORS | {"torch.randperm", "torch.logspace", "torch.complex"}
# These take data that stand in host memory; the others make theirs from a shape.
DATA_FACTORIES = frozenset(("torch.tensor", "torch.as_tensor", "torch.from_numpy"))
_LIKE = re.compile(r"torch\.\w+_like$")
_DEVICE_NAMES = re.compile(
    r"(?:.*_)?(?:device|dev|gpu|device_id|gpu_id|local_rank|rank|cuda_device)$", re.IGNORECASE
)
_LOADER_NAMES = re.compile(
    r"(?!.*(?:model|config|cfg|image|weights?|file|checkpoint|json|yaml|template|module|class)_?loaders?$).*loaders?$|(?:.*_)?dl$"
    r"|(?:train|val|valid|test|eval|data)_?(?:iter|iterator|gen|generator|queue|batches)$|gen(?:_?(?:train|val))?$",
    re.IGNORECASE,
)
# Parameters that are given what a loader of another file hands out.
_BATCH_NAMES = re.compile(r"(?:mini_?|data_?)?batch(?:_data)?$")

_MODEL_NAMES = re.compile(
    r"(?!.*(?:loss|losses|grads?|out|outputs?|preds?|logits|values?|params|optimizer|optim|states?|dim|size|config|cfg|name"
    r"|path|args|lr|input|inputs|weights?|scores?|idx|ids|id|num|count|kwargs|type|features?|feats?|emb|embeddings?)$)"
    r"(?:.*_)?(?:model|net|network|encoder|decoder|generator|discriminator|ema|backbone|actor|critic"
    r"|agent|policy|teacher|student|vae|unet|transformer|net_?[gd]|layers?|blocks?|module)(?:_\w+)?$",
    re.IGNORECASE,
)
# Functions that make a model: get_model(), build_network().
_MODEL_MAKERS = re.compile(
    r"(?:get|build|create|make|load)_?(?:\w+_)?(?:model|net|network|backbone|encoder|decoder|generator|discriminator)$"
)
_WRAPPERS = frozenset(
    ("enumerate", "tqdm", "iter", "trange", "track", "cycle", "islice", "log_every", "list", "reversed",
     "auto", "TQDM", "chain", "progress_bar", "notebook_tqdm", "Prefetcher", "next")
)  # fmt: skip
# Methods of a tensor that give something that is not one.
_GIVES_HOST = frozenset(
    ("item", "tolist", "size", "dim", "numel", "stride", "element_size", "data_ptr", "ndimension",
     "get_device", "is_contiguous", "backward", "nelement", "type")
)  # fmt: skip
# What overwrites all that a tensor holds.
_FILLS = frozenset(("fill_", "zero_", "random_", "normal_", "uniform_", "bernoulli_"))
_HOST_ATTRIBUTES = frozenset(
    ("shape", "ndim", "dtype", "is_cuda", "requires_grad", "layout", "itemsize", "size", "nbytes", "is_leaf",
     "is_sparse", "names", "grad_fn", "training", "strides", "flags")
)  # fmt: skip
# Tensors that a tensor has as attributes.
_OF_TENSORS = frozenset(("data", "grad", "T", "mT", "H", "mH", "real", "imag"))
_NO_RESULT = frozenset(("print", "len", "isinstance", "str", "repr", "range", "int", "float", "bool",
                        "type", "id", "round", "hasattr", "format", "open"))  # fmt: skip
# Methods of so many classes that a name before them says nothing: optimizer.step(), model.train().
# Of a model: neither tensors nor what it computes.
_PARTS_OF_MODEL = frozenset(
    ("state_dict", "modules", "named_modules", "children", "named_children", "named_buffers", "register_buffer",
     "register_parameter", "load_state_dict", "save", "config", "save_pretrained", "add_module", "apply",
     "register_forward_hook", "zero_grad", "no_sync", "save_checkpoint", "share_memory")
)  # fmt: skip
# model.get_step()
_NUMBERS_OF_MODEL = re.compile(
    r"(?:get|num|count|is|has)_(?:\w+_)?(?:step|steps|epoch|iter|iteration|lr|size|dim|count|params|parameters|name|config|device|dtype)$"
)
# Functions of CuPy that give no array.
_ABOUT_ARRAYS = frozenset(
    ("show_config", "get_default_memory_pool", "get_default_pinned_memory_pool", "fuse", "is_available", "seed",
     "dtype", "issubdtype", "result_type", "can_cast", "ndim", "shape", "size", "may_share_memory", "isscalar",
     "broadcast_shapes", "finfo", "iinfo", "common_type", "promote_types", "set_allocator", "memoize", "save",
     "savez", "clear_memo", "geterr", "seterr", "errstate", "set_printoptions", "get_random_state")
)  # fmt: skip
_COMMON_METHODS = frozenset(
    ("step", "train", "eval", "forward", "backward", "update", "reset", "to", "get", "close")
)
# Functions of PyTorch that are given no tensor of the GPU, or nothing that says so.
_NO_TENSOR_FOR = ("torch.tensor", "torch.as_tensor", "torch.from_numpy", "torch.zeros", "torch.ones", "torch.arange", "torch.rand",
                  "torch.full", "torch.empty", "torch.eye", "torch.linspace", "torch.load", "torch.save", "torch.device", "torch.utils",
                  "torch.is_tensor", "torch.Tensor", "torch.LongTensor", "torch.FloatTensor", "torch.cuda", "torch.optim", "torch.nn.init",
                  "torch.distributed", "torch.Size", "torch.manual_seed", "torch.set_", "torch.nn.Parameter")  # fmt: skip
_ONLY_OF_TENSORS = frozenset(
    ("unsqueeze", "permute", "sigmoid", "softmax", "log_softmax", "detach", "new_zeros", "new_ones", "new_tensor", "type_as",
     "contiguous", "masked_fill", "masked_select", "expand_as", "index_select", "scatter_", "gather", "chunk", "unbind", "cuda")
)  # fmt: skip
# What functions that steps call ask of their tensors; arrays of the host are rare there.
_OF_STEPS = _ONLY_OF_TENSORS | {
    "shape",
    "size",
    "device",
    "view",
    "reshape",
    "sum",
    "mean",
    "max",
    "min",
    "norm",
    "transpose",
}
# Parameters that are what a network gave, in functions that call PyTorch.
_PREDICTIONS = re.compile(r"pred(?:iction)?s?$|logits$")
_PREPARES = re.compile(
    r"data|load|transform|augment|collate|preproc|prepare|parse|read|resize|crop|encod|plot|vis|show|draw|save|convert|setup|init"
    r"|config|main|train|test|eval",
    re.IGNORECASE,
)
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_DEFAULT_ON_GPU = re.compile(
    rb"set_default_tensor_type\(['\"]?torch\.cuda|set_default_device\(['\"]cuda"
)
_DEEPEST = 120
# Expressions of a statement, about: they are counted as so many.
_PARTS_OF_STATEMENT = 8
_MOST_BASES = 4  # one class of the file below the other
# Without one of these nothing of a file is known to be on a GPU, or to be on its way there.
_SAYS_SOMETHING = re.compile(
    rb"\.cuda\b|\.to\(|[\"']cuda|non_blocking|device ?=|DataLoader|\.backward\(|Tensor\b|Module\b|cupy"
)


class _Visit:
    """A walk of one function: its *values*, what it *asked* of others with the answer, and attributes that it *bound*."""

    __slots__ = ("asked", "bound", "values")

    def __init__(self) -> None:
        self.values: dict[ast.AST, Value] = {}
        self.asked: dict[tuple[Callable[..., object], ast.AST, str], object] = {}
        self.bound: dict[tuple[ast.AST, str], Value | None] = {}


class Tensors:
    """The values of the expressions of one file."""

    def __init__(self, module: PythonModule) -> None:
        self.module = module
        self.values: dict[ast.AST, Value] = {}
        self._named: dict[str, Value | None] = {}
        self.moves: list[tuple[ast.Call, Value | None]] | None = None
        self.cpu_only = b"cuda" not in module.text.content and _says_cpu(module)
        self._functions: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        self._classes: dict[str, ast.ClassDef] = {}
        self._given: dict[ast.AST, dict[str, Value | None]] = {}
        self._returned: dict[ast.AST, Value | None] = {}
        self._returned_parts: dict[ast.AST, list[Value | None]] = {}
        self._attributes: dict[ast.AST, dict[str, Value | None]] = {}
        # What the walk before this one found, for what stands above where it is found.
        self._given_before: dict[ast.AST, dict[str, Value | None]] = {}
        self._attributes_before: dict[ast.AST, dict[str, Value | None]] = {}
        self._globals: dict[str, Value | None] = {}
        self._class: ast.ClassDef | None = None
        self._function: ast.AST = module.tree
        self._visits: dict[ast.AST, _Visit] = {}
        self._visit = _Visit()
        self._depth = 0
        self._default_elsewhere = any(
            word in module.text.content
            for word in (b"set_default_device", b"set_default_tensor_type", b"with torch.device(")
        )
        self._prepares_data = b"__getitem__" in module.text.content or bool(
            _PREPARES.search(module.text.file.rpartition("/")[2])
        )
        # Whatever has parameters is a model.
        self._models = {
            getattr(call.func.value, "attr", getattr(call.func.value, "id", ""))
            for call in module.calls
            if isinstance(call.func, ast.Attribute)
            and call.func.attr in ("parameters", "named_parameters")
        } - {"self", "", "cls"}
        self._default_on_gpu = bool(_DEFAULT_ON_GPU.search(module.text.content))
        self._in_order: list[ast.FunctionDef | ast.AsyncFunctionDef] = module.of_any(
            ast.FunctionDef, ast.AsyncFunctionDef
        )
        for function in self._in_order:
            self._functions.setdefault(function.name, []).append(function)
        for made in module.of(ast.ClassDef):
            self._classes[made.name] = made
        self._parameters: dict[ast.AST, dict[str, Value | None]] = {}
        # Variable = lambda *args: autograd.Variable(*args).cuda()
        # Lengths, which are as often numbers, of which a function calls what only tensors have.
        self._surely_tensors: set[tuple[ast.AST, str]] = set()
        self._movers = {
            name
            for name, values in module.assigned.items()
            if any(isinstance(value, ast.Lambda) and _moves_to_gpu(value.body) for value in values)
        }
        if _SAYS_SOMETHING.search(module.text.content):
            self._walk()

    def __getitem__(self, node: ast.AST) -> Value | None:
        """Return the value of an expression, None where it is not known."""
        return self.values.get(node)

    def called(self, call: ast.Call) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """Return the function of this file that *call* surely means."""
        name = ""
        if isinstance(call.func, ast.Name):
            name = call.func.id
        elif isinstance(call.func, ast.Attribute):
            name = call.func.attr
            owner = call.func.value
            if name in _COMMON_METHODS and not (isinstance(owner, ast.Name) and owner.id == "self"):
                return None
        named = self._functions.get(name, ())
        if len(named) != 1:
            return None
        is_method = isinstance(self.module.parents.get(named[0]), ast.ClassDef)
        return named[0] if is_method == isinstance(call.func, ast.Attribute) else None

    def is_model(self, around: ast.AST | None, depth: int = 0) -> bool:
        """Whether a class is a model of PyTorch, by what it inherits in this file."""
        if not isinstance(around, ast.ClassDef) or depth > _MOST_BASES:
            return False
        # class Network(Renderer), whose base stands in another file
        if around.bases and any(
            isinstance(part, ast.FunctionDef) and part.name == "forward" and not part.decorator_list
            for part in around.body
        ):
            return True
        return any(
            base.endswith(("Module", "Model")) or self.is_model(self._classes.get(base), depth + 1)
            for base in map(self.module.name_of, around.bases)
        )

    def returns(self, function: ast.AST, maker: ast.Call) -> bool:
        """Whether *function* returns what *maker* makes."""
        parts = [self._returned.get(function), *self._returned_parts.get(function, ())]
        return any(part is not None and part.maker is maker for part in parts)

    def _walk(self) -> None:
        """Walk the module, then each function once for what calls give it and once with that.

        A function that would get the same answers is not walked again: it has the same values.
        """
        for again in (False, True):
            if again and not self._given and not self._attributes and not self._returned:
                break
            before, self._globals = self._globals, {}
            self._given_before, self._given = self._given, {}
            self._attributes_before, self._attributes = self._attributes, {}
            whole = self._visit = _Visit()
            self.values = whole.values
            self._block(self.module.tree.body, self._globals)
            steady = again and _are_alike(list(before.items()), list(self._globals.items()))
            for function in self._in_order:
                if steady and self._would_be_the_same(function):
                    for (around, name), value in self._visits[function].bound.items():
                        self._attributes.setdefault(around, {})[name] = value
                else:
                    self._walk_function(function)
        self.values = whole.values
        for visit in self._visits.values():
            self.values.update(visit.values)

    def _would_be_the_same(self, function: ast.AST) -> bool:
        """Whether a second walk of *function* would find what the first one found."""
        if any(value is not None for value in self._given_before.get(function, {}).values()):
            return False
        asked = self._visits[function].asked.items()
        return all(_are_alike(question(self, of, name), was) for (question, of, name), was in asked)

    def _ask(
        self, question: Callable[[Tensors, ast.AST, str], Found], of: ast.AST, name: str = ""
    ) -> Found:
        """Return the answer to *question*, which others give, and note it."""
        answer = question(self, of, name)
        self._visit.asked.setdefault((question, of, name), answer)
        return answer

    def _walk_function(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        around = self.module.parents.get(function)
        before = self._class, self._function
        self._class = around if isinstance(around, ast.ClassDef) else None
        if not isinstance(around, ast.ClassDef):
            self._class = next(
                (a for a in self.module.ancestors(function) if isinstance(a, ast.ClassDef)), None
            )
        self._function = function
        if function not in self._parameters:
            self._parameters[function] = self._likely_parameters(function)
        self._visit = self._visits[function] = _Visit()
        self.values = self._visit.values
        names = self._parameters[function].copy()
        for parameter, value in self._given_before.get(function, {}).items():
            if value is not None and parameter in names:
                names[parameter] = value
        self._returned[function] = None
        self._block(function.body, names)
        self._class, self._function = before

    def _likely_parameters(
        self, function: ast.FunctionDef | ast.AsyncFunctionDef
    ) -> dict[str, Value | None]:
        """Return what the parameters of *function* are by themselves, where no call of this file gives them anything."""
        names: dict[str, Value | None] = {}
        of_model = function.name != "__init__" and self.is_model(self._class)
        in_step = self.module.use is not None and function.name in self.module.use.each_step
        tensors = set() if of_model else self._used_as_tensors(function)
        arguments = function.args
        # def match(x, device=torch.device("cuda")): what it is given is there, too.
        defaults = (*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None))
        at_default = any(is_cuda_device(self.module, default) for default in defaults)
        if in_step and not of_model:
            tensors = tensors | (self._taken_apart(function) - _with_plain_defaults(arguments))
        for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            value: Value | None = None
            if of_model and _may_be_tensor(parameter):
                value = _LIKELY_ON_GPU
            elif _BATCH_NAMES.match(parameter.arg):
                value = _GIVEN_BATCH
            elif parameter.arg in tensors and (
                (function, parameter.arg) in self._surely_tensors or _may_be_tensor(parameter)
            ):
                value = _ON_GPU if at_default else _LIKELY_ON_GPU
            names[parameter.arg] = value
        return names

    def _taken_apart(self, function: ast.AST) -> set[str]:
        """Return the names of which *function* takes an element, or asks for a size or a result as of a tensor."""
        names: set[str] = set()
        for part in self.module.walk(function):
            if isinstance(part, (ast.Subscript, ast.Attribute)) and isinstance(
                part.value, ast.Name
            ):
                if isinstance(part, ast.Subscript) or part.attr in _OF_STEPS:
                    names.add(part.value.id)
            elif isinstance(part, ast.Call) and self.module.name_of(part.func).startswith("torch."):
                names.update(given.id for given in part.args if isinstance(given, ast.Name))
        return names

    def _used_as_tensors(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
        """Return the names that a function of no class gives to PyTorch, or of which it calls what only tensors have.

        Files and functions that prepare data work on the host, and have none.
        """
        if self._class is not None or self._prepares_data or _PREPARES.search(function.name):
            return set()
        used: set[str] = set()
        calls = self.module.within(function, ast.Call)
        for node in calls:
            name = self.module.name_of(node.func)
            if name.startswith("torch.") and (
                name.endswith("_like") or not name.startswith(_NO_TENSOR_FOR)
            ):
                whole = (n.value if isinstance(n, ast.Subscript) else n for n in node.args)
                used.update(part.id for part in whole if isinstance(part, ast.Name))
            elif (
                isinstance(node.func, ast.Attribute)
                and isinstance(node.func.value, ast.Name)
                and node.func.attr in _ONLY_OF_TENSORS
            ):
                used.add(node.func.value.id)
                self._surely_tensors.add((function, node.func.value.id))
        if used or any(self.module.name_of(call.func).startswith("torch.") for call in calls):
            used.update(p.arg for p in function.args.args if _PREDICTIONS.match(p.arg))
        return used

    # Statements ---------------------------------------------------------------------------------

    def _block(self, body: list[ast.stmt], names: dict[str, Value | None]) -> None:
        for statement in body:
            self._statement(statement, names)

    def _statement(self, statement: ast.stmt, names: dict[str, Value | None]) -> None:
        self.module.count_work(_PARTS_OF_STATEMENT)
        match statement:
            case ast.Assign():
                value = self._value(statement.value, names)
                for target in statement.targets:
                    self._bind(target, value, names, statement.value)
            case ast.AnnAssign():
                if statement.value is not None:
                    value = self._value(statement.value, names)
                    self._bind(statement.target, value, names, statement.value)
            case ast.AugAssign():
                added = self._value(statement.value, names)
                before = self._value(statement.target, names)
                self._bind(statement.target, _joined_operands([before, added]), names, None)
            case ast.Expr() | ast.Return():
                if statement.value is not None:
                    value = self._value(statement.value, names)
                    if isinstance(statement, ast.Return):
                        known = self._returned.get(self._function)
                        self._returned[self._function] = value if value is not None else known
                        if isinstance(statement.value, ast.Tuple):
                            parts = [self.values.get(part) for part in statement.value.elts]
                            self._returned_parts[self._function] = parts
            case ast.For() | ast.AsyncFor():
                self._forget(statement, names)
                self._bind_target(statement, names)
                self._block(statement.body, names)
                self._block(statement.orelse, names)
            case ast.While():
                self._forget(statement, names)
                self._value(statement.test, names)
                self._block(statement.body, names)
                self._block(statement.orelse, names)
            case ast.If():
                # Of a chain of elif each stands in the else of the one before: as deep as it is long.
                self._value(statement.test, names)
                bodies, rest = [statement.body], statement.orelse
                while len(rest) == 1 and isinstance(rest[0], ast.If):
                    self._value(rest[0].test, names)
                    bodies.append(rest[0].body)
                    rest = rest[0].orelse
                self._branches(statement, [*bodies, rest], names)
            case ast.With() | ast.AsyncWith():
                for item in statement.items:
                    self._value(item.context_expr, names)
                    if item.optional_vars is not None:
                        self._bind(item.optional_vars, None, names, None)
                self._block(statement.body, names)
            case ast.Try() | ast.TryStar():
                self._block(statement.body, names)
                self._branches(statement, [[], *(h.body for h in statement.handlers)], names)
                self._block(statement.orelse, names)
                self._block(statement.finalbody, names)
            case ast.Match():
                self._value(statement.subject, names)
                self._branches(statement, [case.body for case in statement.cases], names)
            case ast.ClassDef():
                self._block(
                    [s for s in statement.body if isinstance(s, (ast.Assign, ast.AnnAssign))], {}
                )
            case ast.Assert():
                self._value(statement.test, names)
            case ast.Raise():
                pass
            case _:
                pass

    def _forget(
        self, loop: ast.For | ast.AsyncFor | ast.While, names: dict[str, Value | None]
    ) -> None:
        """Forget what *loop* binds anew: its second pass finds another value there."""
        for name in self.module.bound_in(loop):
            if name in names:
                names[name] = None

    def _branches(
        self, around: ast.stmt, bodies: list[list[ast.stmt]], names: dict[str, Value | None]
    ) -> None:
        """Walk bodies of which one runs; names on which they differ keep what both can be."""
        bound = self.module.bound_in(around)
        before = {name: names[name] for name in bound if name in names}
        outcomes: list[dict[str, Value | None]] = []
        for body in bodies:
            self._block(body, names)
            # What leaves says nothing of what follows.
            if not (body and isinstance(body[-1], _LEAVES)):
                outcomes.append({name: names[name] for name in bound if name in names})
            for name in bound:
                names.pop(name, None)
            names.update(before)
        for name in bound:
            # Where a branch leaves a name without a value, nothing behind it can read it.
            values = [outcome[name] for outcome in outcomes if name in outcome]
            if not values:
                continue
            value = values[0]
            for other in values[1:]:
                if other is not value:
                    value = _either(value, other)
            names[name] = value

    def _bind(
        self,
        target: ast.expr,
        value: Value | None,
        names: dict[str, Value | None],
        source: ast.expr | None,
    ) -> None:
        if isinstance(target, ast.Name):
            names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts: list[Value | None]
            if isinstance(source, (ast.Tuple, ast.List)) and len(source.elts) == len(target.elts):
                parts = [self.values.get(part) for part in source.elts]
            elif (returned := self._parts_of_call(source)) and len(returned) == len(target.elts):
                parts = returned
            else:
                part = value if value is not None and value.kind is not ValueKind.HOST else None
                # predictions, lengths = model(x): what is not the first may be a list
                parts = [
                    None
                    if isinstance(element, ast.Name) and _LISTS.match(element.id) and i
                    else part
                    for i, element in enumerate(target.elts)
                ]
            for element, part in zip(target.elts, parts, strict=True):
                self._bind(element, part, names, None)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, value, names, None)
        elif isinstance(target, ast.Attribute):
            if isinstance(target.value, ast.Name) and target.value.id == "self" and self._class:
                before = self._ask(Tensors._bound_before, self._class, target.attr)
                if not isinstance(before, str) and before is not value:
                    value = _either(before, value)
                self._bind_attribute(self._class, target.attr, value)
            else:
                self._value(target.value, names)
        elif isinstance(target, ast.Subscript):
            self._value(target.value, names)
            self._value(target.slice, names)

    def _bind_attribute(self, around: ast.AST, name: str, value: Value | None) -> None:
        self._attributes.setdefault(around, {})[name] = value
        self._visit.bound[around, name] = value

    def _bound_before(self, around: ast.AST, name: str) -> Value | str | None:
        """Return what methods walked so far bound to an attribute."""
        return self._attributes.get(around, {}).get(name, "nothing")

    def _parts_of_call(self, source: ast.expr | None) -> list[Value | None]:
        """Return what a function of this file returns as a tuple."""
        function = self.called(source) if isinstance(source, ast.Call) else None
        return self._ask(Tensors._parts_returned, function) if function is not None else []

    def _parts_returned(self, function: ast.AST, _: str) -> list[Value | None]:
        return self._returned_parts.get(function, [])

    def _value_returned(self, function: ast.AST, _: str) -> Value | None:
        return self._returned.get(function)

    def _bind_target(self, loop: ast.For | ast.AsyncFor, names: dict[str, Value | None]) -> None:
        """Give the names of *loop* what its iterable hands out."""
        whole = self._value(loop.iter, names)
        self._bind_element(loop.target, loop.iter, whole, names)

    def _bind_element(
        self,
        target: ast.expr,
        iterable: ast.expr,
        value: Value | None,
        names: dict[str, Value | None],
    ) -> None:
        called = iterable.func if isinstance(iterable, ast.Call) else None
        last = getattr(called, "attr", getattr(called, "id", ""))
        if isinstance(iterable, ast.Call) and iterable.args:
            if last == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
                inner = self.values.get(iterable.args[0])
                self._bind(target.elts[0], _HOST_VALUE, names, None)
                self._bind_element(target.elts[1], iterable.args[0], inner, names)
                return
            if last == "zip" and isinstance(target, ast.Tuple):
                for element, source in zip(target.elts, iterable.args, strict=False):
                    self._bind_element(element, source, self.values.get(source), names)
                return
            if last in _WRAPPERS:
                first = iterable.args[0]
                self._bind_element(target, first, self.values.get(first), names)
                return
        self._bind(target, _element(value), names, None)

    # Expressions --------------------------------------------------------------------------------

    def _value(self, node: ast.expr, names: dict[str, Value | None]) -> Value | None:
        if self._depth > _DEEPEST:
            return None
        evaluate = _EVALUATED.get(type(node))
        if evaluate is None:
            return None
        self._depth += 1
        value = evaluate(self, node, names)
        self._depth -= 1
        if value is not None:
            self.values[node] = value
        return value

    def _of_name(self, node: ast.Name, names: dict[str, Value | None]) -> Value | None:
        return self._name(node.id, names)

    def _of_constant(self, node: ast.Constant, _: dict[str, Value | None]) -> Value:
        return _constant(node.value) if isinstance(node.value, str) else _HOST_VALUE

    def _of_subscript(self, node: ast.Subscript, names: dict[str, Value | None]) -> Value | None:
        whole = self._value(node.value, names)
        self._value(node.slice, names)
        # loaders["train"]
        is_loader = whole is not None and whole.kind is ValueKind.LOADER
        return whole if is_loader else _element(whole)

    def _of_binary(self, node: ast.BinOp, names: dict[str, Value | None]) -> Value | None:
        sides = [self._value(node.left, names), self._value(node.right, names)]
        if isinstance(node.op, ast.Mod) and _mentions_device_count(self.module, node.right):
            return _GPU_DEVICE
        return _joined_operands(sides)

    def _of_unary(self, node: ast.UnaryOp, names: dict[str, Value | None]) -> Value | None:
        return self._value(node.operand, names)

    def _of_comparison(self, node: ast.Compare, names: dict[str, Value | None]) -> Value | None:
        sides = [self._value(side, names) for side in (node.left, *node.comparators)]
        if any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
            return _HOST_VALUE
        return _joined_operands(sides)

    def _of_and_or(self, node: ast.BoolOp, names: dict[str, Value | None]) -> Value | None:
        values = [self._value(part, names) for part in node.values]
        return values[0] if len(set(values)) == 1 else None

    def _of_choice(self, node: ast.IfExp, names: dict[str, Value | None]) -> Value | None:
        self._value(node.test, names)
        first, second = self._value(node.body, names), self._value(node.orelse, names)
        return _either(first, second)

    def _of_sequence(
        self, node: ast.Tuple | ast.List, names: dict[str, Value | None]
    ) -> Value | None:
        return _joined_elements([self._value(part, names) for part in node.elts])

    def _of_walrus(self, node: ast.NamedExpr, names: dict[str, Value | None]) -> Value | None:
        value = self._value(node.value, names)
        self._bind(node.target, value, names, None)
        return value

    def _of_text(self, node: ast.JoinedStr, names: dict[str, Value | None]) -> Value:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self._value(part.value, names)
        starts = node.values[0] if node.values else None
        is_gpu = isinstance(starts, ast.Constant) and str(starts.value).startswith("cuda")
        return _GPU_DEVICE if is_gpu else _HOST_VALUE

    def _of_dict(self, node: ast.Dict, names: dict[str, Value | None]) -> Value | None:
        parts = [self._value(part, names) for part in node.values]
        for key in node.keys:
            if key is not None:
                self._value(key, names)
        return _joined_elements(parts)

    def _of_inner(
        self,
        node: ast.Starred | ast.Await | ast.Yield | ast.YieldFrom,
        names: dict[str, Value | None],
    ) -> Value | None:
        return self._value(node.value, names) if node.value is not None else None

    def _of_slice(self, node: ast.Slice, names: dict[str, Value | None]) -> None:
        for bound in (node.lower, node.upper, node.step):
            if bound is not None:
                self._value(bound, names)

    def _comprehension(
        self,
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        names: dict[str, Value | None],
    ) -> Value | None:
        bound = {
            part.id
            for generator in node.generators
            for part in self.module.walk(generator.target)
            if isinstance(part, ast.Name)
        }
        before = {name: names[name] for name in bound if name in names}
        for generator in node.generators:
            whole = self._value(generator.iter, names)
            self._bind_element(generator.target, generator.iter, whole, names)
            for test in generator.ifs:
                self._value(test, names)
        if isinstance(node, ast.DictComp):
            self._value(node.key, names)
        value = self._value(node.value if isinstance(node, ast.DictComp) else node.elt, names)
        for name in bound:
            names.pop(name, None)
        names.update(before)
        return value

    def _name(self, name: str, names: dict[str, Value | None]) -> Value | None:
        value = names[name] if name in names else self._globals.get(name)
        return value if value is not None else self._by_name(name)

    def _by_name(self, name: str) -> Value | None:
        """Return what a name says of its value where nothing else does."""
        if name not in self._named:
            self._named[name] = self._meant_by(name)
        return self._named[name]

    def _meant_by(self, name: str) -> Value | None:
        if name in self.module.imports or name in self._functions or name in self._classes:
            return None
        kind = _kind_named(name, self.cpu_only)
        if kind is ValueKind.LOADER:
            return Value(ValueKind.LOADER, sure=False)
        if kind is ValueKind.DEVICE:
            return _LIKELY_GPU
        return _LIKELY_MODEL if kind is ValueKind.MODEL or name in self._models else None

    def _attribute(self, node: ast.Attribute, names: dict[str, Value | None]) -> Value | None:
        if node.attr.endswith("Tensor"):
            name = self.module.name_of(node)
            if name.startswith("torch."):
                return _GPU_DEVICE if name.startswith("torch.cuda.") else _HOST_DEVICE
        return self._attribute_of(self._value(node.value, names), node)

    def _attribute_of(self, around: Value | None, node: ast.Attribute) -> Value | None:
        """Return the attribute *node* of what holds *around*."""
        if node.attr in _HOST_ATTRIBUTES:
            return _HOST_VALUE
        if node.attr == "device":
            if (
                around is not None
                and around.kind in (ValueKind.TENSOR, ValueKind.MODEL)
                and around.place
            ):
                return _GPU_DEVICE if around.place is TensorMemory.GPU else _HOST_DEVICE
            if self._class is not None and isinstance(node.value, ast.Name):
                known = self._of_self("device")
                if known is not None and node.value.id == "self":
                    return known
            return None if self.cpu_only else _LIKELY_GPU
        if isinstance(node.value, ast.Name) and node.value.id == "self" and self._class:
            known = self._of_self(node.attr)
            if known is not None:
                return known
        if around is not None and around.kind in (ValueKind.TENSOR, ValueKind.BATCH):
            # What a tensor does not have is one of an object that holds some, and need not lie beside them.
            of_holder = around.kind is ValueKind.TENSOR and node.attr not in _OF_TENSORS
            return replace(around, sure=False) if of_holder else around
        return self._by_name(node.attr)

    def _of_self(self, name: str) -> Value | None:
        """Return the attribute *name* of the object whose method is walked."""
        if self._class is None:
            return None
        if (self._class, name) in self._visit.bound:
            return self._visit.bound[self._class, name]
        return self._ask(Tensors._attribute_known, self._class, name)

    def _attribute_known(self, around: ast.AST, name: str) -> Value | None:
        for found in (self._attributes, self._attributes_before):
            if around in found and name in found[around]:
                return found[around][name]
        return None

    def _call(self, call: ast.Call, names: dict[str, Value | None]) -> Value | None:
        given = [self._value(part, names) for part in call.args]
        for keyword in call.keywords:
            value = self._value(keyword.value, names)
            if keyword.arg is not None:
                given.append(value)
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        owner = (
            self._value(call.func.value, names) if isinstance(call.func, ast.Attribute) else None
        )
        name = self.module.name_of(call.func)
        if name.startswith(("torch.", "numpy.", "cupy.")):
            return self._of_library(call, name, given)
        if name.startswith("xp.") and "cupy" in self.module.imports:
            return self._of_cupy(name)  # CuPy, or NumPy where there is no GPU
        if name == "self.register_buffer" and call.args and self._class is not None:
            buffer = call.args[0]
            if isinstance(buffer, ast.Constant) and isinstance(buffer.value, str):
                # A buffer moves with its model, and is surely a tensor where it is made here.
                made = len(call.args) > 1 and isinstance(call.args[1], (ast.Call, ast.IfExp))
                value = _ON_GPU if made else _LIKELY_ON_GPU
                self._bind_attribute(self._class, buffer.value, value)
            return None
        if owner is None and isinstance(call.func, ast.Name):
            owner_by_name = self._name(call.func.id, names)
            if owner_by_name is not None and owner_by_name.kind is ValueKind.MODEL:
                self.values[call.func] = owner_by_name
                return _output(owner_by_name, given)
            if owner_by_name is not None and owner_by_name.kind is ValueKind.TENSOR:
                return None
            if call.func.id in self._movers and given:
                first = given[0]
                data = first is not None and (first.data or first.kind is ValueKind.ARRAY)
                return Value(
                    ValueKind.TENSOR, TensorMemory.GPU, call, data=data, sure=first is not None
                )
            if owner_by_name is not None and owner_by_name.kind is ValueKind.DEVICE and given:
                # Tensor = torch.cuda.FloatTensor; Tensor(values)
                random = given[0] is not None and given[0].random
                data = not _is_shape(call, given)
                return Value(ValueKind.TENSOR, owner_by_name.place, call, data=data, random=random)
        if method == "append" and len(given) == 1 and isinstance(call.func, ast.Attribute):
            self._append(call.func.value, given[0], names)
            return None
        if method in _MOVES_OF_ITS_OWN and not call.args and owner is not None:
            return self._moved(call, "cuda", owner, given)
        if method in ("to", "cuda", "cpu", "numpy", "pin_memory") or method in _GIVES_HOST:
            moved = self._moved(call, method, owner, given)
            if moved is not None or method in ("to", "cuda"):
                return moved
        if owner is not None and owner.kind is ValueKind.TENSOR and method in _FILLS:
            return replace(owner, data=False)
        if owner is not None and owner.kind is ValueKind.TENSOR:
            return Value(ValueKind.TENSOR, owner.place, sure=owner.sure, maker=owner.maker,
                         data=owner.data, random=owner.random)  # fmt: skip
        if owner is not None and owner.kind is ValueKind.ARRAY:
            return owner
        if owner is not None and owner.kind is ValueKind.BATCH:
            return owner
        if owner is not None and owner.kind is ValueKind.MODEL:
            if method in ("parameters", "named_parameters", "buffers"):
                return _LIKELY_ON_GPU
            if method in _PARTS_OF_MODEL or _NUMBERS_OF_MODEL.match(method):
                return None
            if method in ("eval", "train", "half", "float", "requires_grad_"):
                return owner
            return _output(owner, given)
        if owner is None and isinstance(call.func, ast.Attribute):
            # Not _attribute(): to walk the owner a second time doubles the work at each call of a chain.
            called = self._attribute_of(owner, call.func)
            if called is not None and called.kind is ValueKind.MODEL:
                self.values[call.func] = called
                return _output(called, given)
        return self._of_file_or_unknown(call, name, given)

    def _append(
        self, filled: ast.expr, value: Value | None, names: dict[str, Value | None]
    ) -> None:
        """Note that the list *filled*, empty until now, is one of tensors."""
        name = filled.id if isinstance(filled, ast.Name) else ""
        if name in names and value is not None and value.kind is ValueKind.TENSOR:
            before = names[name]
            if before is None or before.kind is ValueKind.HOST:
                names[name] = value

    def _of_file_or_unknown(
        self, call: ast.Call, name: str, given: list[Value | None]
    ) -> Value | None:
        function = self.called(call)
        if function is not None:
            self._hand_over(call, function)
            return self._ask(Tensors._value_returned, function)
        last = name.rpartition(".")[2]
        if last in self._classes:
            is_model = self.is_model(self._classes[last])
            return Value(ValueKind.MODEL, TensorMemory.PAGEABLE) if is_model else None
        if last in _NO_RESULT:
            return _HOST_VALUE
        if name == "abs" and given:
            return given[0]
        if last in _WRAPPERS and given:
            first = given[0]
            return _element(first) if last == "next" else first
        if last in ("prepare", "setup_dataloaders") and given:
            # Accelerate and Fabric hand out batches that they have moved.
            return None
        if last == "DataParallel" and given:
            return given[0]
        # get_device(), dist_util.dev()
        named = "device" in last.lower() or (last == "dev" and not call.args)
        if named and not self.cpu_only and last[:1].islower():
            return _LIKELY_GPU
        if name.startswith("random."):
            return _HOST_VALUE
        if last[:1].isupper():
            return None
        if last in _MOVE_HELPERS and given and not self.cpu_only:
            moved = given[0]
            is_model = moved is not None and moved.kind is ValueKind.MODEL
            return None if is_model else _LIKELY_ON_GPU
        if any(
            v is not None and v.kind is ValueKind.TENSOR and v.place is TensorMemory.GPU
            for v in given
        ):
            return _LIKELY_ON_GPU
        return None

    def _hand_over(self, call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Note what *call* gives the parameters of *function*."""
        parameters = [p.arg for p in (*function.args.posonlyargs, *function.args.args)]
        if parameters and parameters[0] in ("self", "cls"):
            parameters = parameters[1:]
        noted = self._given.setdefault(function, {})
        pairs = [
            *zip(parameters, call.args, strict=False),
            *((k.arg, k.value) for k in call.keywords if k.arg),
        ]
        for parameter, expression in pairs:
            value = self.values.get(expression)
            if parameter in noted and noted[parameter] is not value:
                value = _either(noted[parameter], value)
            noted[parameter] = value

    def _moved(
        self, call: ast.Call, method: str, owner: Value | None, given: list[Value | None]
    ) -> Value | None:
        """Return what ``.to()``, ``.cuda()``, ``.cpu()`` and the like give."""
        if method in _GIVES_HOST:
            known = owner is not None and owner.kind in (
                ValueKind.TENSOR,
                ValueKind.BATCH,
                ValueKind.ARRAY,
            )
            if method == "type" and call.args:
                place = self.target_place(call)
                return Value(ValueKind.TENSOR, place, sure=place is not None) if known else None
            return _HOST_VALUE if known or method in ("item", "tolist") else None
        if method == "numpy":
            return _ARRAY
        if method == "cpu":
            return Value(ValueKind.TENSOR, TensorMemory.PAGEABLE)
        if method == "pin_memory":
            return Value(ValueKind.TENSOR, TensorMemory.PINNED)
        place = TensorMemory.GPU if method == "cuda" else self.target_place(call)
        if place is None:
            if owner is not None and owner.kind is ValueKind.TENSOR and _is_dtype(call):
                return owner
            return None
        if place is TensorMemory.GPU and method == "to" and self.cpu_only:
            return None
        base = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        is_model = (owner is not None and owner.kind is ValueKind.MODEL) or looks_like_model(base)
        return Value(
            ValueKind.MODEL if is_model else ValueKind.TENSOR,
            place,
            sure=owner is not None or is_model,
        )

    def target_place(self, call: ast.Call) -> TensorMemory | None:
        """Return where ``x.to(...)`` or ``x.cuda(...)`` moves x; None where it is no move or not known."""
        if isinstance(call.func, ast.Attribute) and call.func.attr == "cuda":
            return TensorMemory.GPU
        if isinstance(call.func, ast.Attribute) and call.func.attr in _MOVES_OF_ITS_OWN:
            return None if call.args else TensorMemory.GPU
        target = call.args[0] if call.args else argument(call, "device")
        if isinstance(target, ast.Call) and getattr(target.func, "attr", "") == "type":
            target = getattr(target.func, "value", None)  # x.type(y.type())
        value = self.values.get(target) if target is not None else None
        if value is None:
            return None
        if value.kind is ValueKind.DEVICE:
            return value.place
        return value.place if value.kind is ValueKind.TENSOR else None

    def _of_library(self, call: ast.Call, name: str, given: list[Value | None]) -> Value | None:
        """Return what a function of PyTorch or NumPy gives."""
        if name.startswith("numpy."):
            random = _draws(call, name) or any(v and v.random for v in given)
            return replace(_ARRAY, random=random, maker=call if random else None)
        if name.startswith("cupy."):
            return self._of_cupy(name)
        if name in LOADERS:
            return Value(ValueKind.LOADER, _pinning(call), maker=call)
        if name == "torch.device":
            return given[0] if given and given[0] and given[0].kind is ValueKind.DEVICE else (
                None if self.cpu_only else _LIKELY_GPU
            )  # fmt: skip
        if name in ("torch.cuda.current_device", "torch.accelerator.current_accelerator"):
            return _GPU_DEVICE
        if name.startswith("torch.cuda."):
            return _ON_GPU if name.endswith("Tensor") else None
        if name in _MAKERS:
            return self._made(call, name, given)
        if _LIKE.match(name):
            device = argument(call, "device")
            if device is not None:
                found = self.values.get(device)
                return Value(ValueKind.TENSOR, found.place if found else None)
            first = given[0] if given else None
            return Value(ValueKind.TENSOR, first.place if first else None)
        if name.startswith("torch.nn.functional."):
            return _joined_operands(given) or _SOMEWHERE
        if name in (
            "torch.nn.DataParallel",
            "torch.nn.parallel.DistributedDataParallel",
            "torch.compile",
        ):
            model = given[0] if given else None
            return model if model is not None else Value(ValueKind.MODEL, None)
        if name.startswith("torch.nn.utils.clip_grad_norm"):
            return _ON_GPU  # where the gradients are
        if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
            return _LIKELY_ON_GPU  # it moves with its model
        if name.startswith("torch.nn."):
            return Value(ValueKind.MODEL, TensorMemory.PAGEABLE) if name[9:10].isupper() else None
        if name.startswith(("torch.load", "torch.optim", "torch.utils", "torch.backends", "torch.distributed",
                            "torch.jit", "torch.hub", "torch.is_", "torch.autograd.grad",
                            "torch.amp", "torch.no_grad", "torch.profiler", "torch.save")):  # fmt: skip
            return None
        if name == "torch.autograd.Variable":
            return given[0] if given else None
        joined = _joined_operands(given)
        # A list of which nothing is known may be one of tensors.
        return joined if joined is None or joined.kind is not ValueKind.HOST else _SOMEWHERE

    def _of_cupy(self, name: str) -> Value | None:
        """Return what a function of CuPy gives."""
        last = name.rpartition(".")[2]
        if last in ("asnumpy", "get_array_module") or last[:1].isupper():
            return _ARRAY if last == "asnumpy" else None
        parts = name.split(".")
        is_function = len(parts) == 2 or parts[1] in ("linalg", "random", "fft")
        return _ON_GPU if is_function and last not in _ABOUT_ARRAYS else None

    def _made(self, call: ast.Call, name: str, given: list[Value | None]) -> Value | None:
        """Return the tensor that a factory makes."""
        first = given[0] if call.args else None
        data = name in DATA_FACTORIES or (name in _OLD_CONSTRUCTORS and not _is_shape(call, given))
        random = data and first is not None and first.random
        device = argument(call, "device")
        of_tensor = data and first is not None and first.kind in (ValueKind.TENSOR, ValueKind.BATCH)
        if first is not None and of_tensor and device is None:
            return replace(first, kind=ValueKind.TENSOR)
        if device is None and has_unknown_arguments(call):
            return _SOMEWHERE
        if device is not None:
            found = self.values.get(device)
            place = found.place if found is not None and found.kind is ValueKind.DEVICE else None
            return Value(ValueKind.TENSOR, place, maker=call, data=data, random=random)
        if name == "torch.as_tensor" and first is None:
            return _SOMEWHERE
        pinned = argument(call, "pin_memory")
        if pinned is not None:
            return Value(ValueKind.TENSOR, _pinning(call), maker=call, data=data, random=random)
        if self._default_on_gpu and name != "torch.from_numpy":
            return Value(ValueKind.TENSOR, TensorMemory.GPU, maker=call, data=data, random=random)
        if self._default_elsewhere:
            return _SOMEWHERE
        return Value(ValueKind.TENSOR, TensorMemory.PAGEABLE, maker=call, data=data, random=random)


def _are_alike(first: object, second: object) -> bool:
    """Whether two answers say the same of a value, or of several."""
    if first is second:
        return True
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        return len(first) == len(second) and all(map(_are_alike, first, second))
    if isinstance(first, Value) and isinstance(second, Value):
        return _SAYS(first) == _SAYS(second)
    return first == second


_SAYS = attrgetter("kind", "place", "maker", "data", "sure", "random")


@lru_cache(4096)  # most names stand in many files
def _kind_named(name: str, cpu_only: bool) -> ValueKind | None:
    """Return the kind of value that *name* is one of, by itself; no device of a file that has a host's only."""
    if _LOADER_NAMES.match(name):
        return ValueKind.LOADER
    if _DEVICE_NAMES.match(name) and not cpu_only:
        return ValueKind.DEVICE
    return ValueKind.MODEL if _MODEL_NAMES.match(name) else None


# What gives each kind of expression its value; the others have none.
_EVALUATED: dict[
    type[ast.expr], Callable[[Tensors, Any, dict[str, Value | None]], Value | None]
] = {
    ast.Name: Tensors._of_name,
    ast.Constant: Tensors._of_constant,
    ast.Attribute: Tensors._attribute,
    ast.Call: Tensors._call,
    ast.Subscript: Tensors._of_subscript,
    ast.BinOp: Tensors._of_binary,
    ast.UnaryOp: Tensors._of_unary,
    ast.Compare: Tensors._of_comparison,
    ast.BoolOp: Tensors._of_and_or,
    ast.IfExp: Tensors._of_choice,
    ast.Tuple: Tensors._of_sequence,
    ast.List: Tensors._of_sequence,
    ast.NamedExpr: Tensors._of_walrus,
    ast.JoinedStr: Tensors._of_text,
    ast.ListComp: Tensors._comprehension,
    ast.SetComp: Tensors._comprehension,
    ast.GeneratorExp: Tensors._comprehension,
    ast.DictComp: Tensors._comprehension,
    ast.Dict: Tensors._of_dict,
    ast.Starred: Tensors._of_inner,
    ast.Await: Tensors._of_inner,
    ast.Yield: Tensors._of_inner,
    ast.YieldFrom: Tensors._of_inner,
    ast.Slice: Tensors._of_slice,
}
_MOVES = ("to", "cuda", "type", "to_gpu", "move_to_gpu", "to_cuda", "move_to_cuda")
# Methods and functions of a project's own that say where they move: x.move_to_gpu(), to_gpu(x), to_device(x, device).
_MOVES_OF_ITS_OWN = frozenset(_MOVES[3:])
_MOVE_HELPERS = _MOVES_OF_ITS_OWN | {"to_device", "move_to_device"}


def _moves_to_gpu(body: ast.expr) -> bool:
    """Whether what a lambda gives was moved to a GPU by ``.cuda()``, at least where there is one."""
    given = body.body if isinstance(body, ast.IfExp) else body
    return isinstance(given, ast.Call) and getattr(given.func, "attr", "") == "cuda"


def tensors_of(module: PythonModule) -> Tensors:
    """Return the values of *module*, walked once for all that ask."""
    return module.found_once(Tensors)


def moves_to_gpu(module: PythonModule) -> Sequence[tuple[ast.Call, Value | None]]:
    """Return each ``x.to(gpu)`` and ``x.cuda()`` with the value of x."""
    tensors = tensors_of(module)
    if tensors.moves is None:
        tensors.moves = list(_moves(module, tensors))
    return tensors.moves


def moves_beside(module: PythonModule) -> Iterator[tuple[ast.Call, Value]]:
    """Yield each ``x.to(y)`` and ``x.type_as(y)`` of a tensor of the host, with its value, where y may be anywhere."""
    tensors = tensors_of(module)
    if tensors.cpu_only:
        return
    for call in module.calls_named("to", "type_as"):
        if not isinstance(call.func, ast.Attribute) or len(call.args) != 1 or call.keywords:
            continue
        beside, moved = call.args[0], tensors[call.func.value]
        if not isinstance(beside, (ast.Name, ast.Attribute)):
            continue
        value = tensors[beside]
        if value is not None and (
            value.kind is not ValueKind.TENSOR or value.place is TensorMemory.PAGEABLE
        ):
            continue
        if value is not None and value.place is not None and call.func.attr == "to":
            continue  # a move to the GPU like any other
        name = getattr(beside, "attr", getattr(beside, "id", ""))
        if _NO_TENSORS.search(name) or module.name_of(beside).startswith(("torch.", "numpy.")):
            continue
        if (
            moved is not None
            and moved.kind is ValueKind.TENSOR
            and moved.place is TensorMemory.PAGEABLE
            and moved.sure
        ):
            yield call, moved


def fills_of_host(module: PythonModule) -> Iterator[tuple[ast.Call, Value]]:
    """Yield each ``buffer.copy_(x)`` where the buffer moves with its model, and x was made on the host."""
    tensors = tensors_of(module)
    for call in module.calls_named("copy_"):
        filled = tensors[call.func.value] if isinstance(call.func, ast.Attribute) else None
        given = tensors[call.args[0]] if call.args else None
        if filled is None or filled.place is not TensorMemory.GPU or given is None:
            continue
        if given.kind is ValueKind.TENSOR and given.place is TensorMemory.PAGEABLE and given.sure:
            yield call, given


# What else .to() takes: a device or a type.
_NO_TENSORS = re.compile(
    r"dev(?:ice)?|gpu|cuda|cpu|rank|dtype|type|float|int\d*$|bool|where$|precision|place|args?$"
)


def uploads_of(module: PythonModule) -> list[ast.Call]:
    """Return the calls that copy data of pageable memory to the GPU, and let the host wait."""
    tensors = tensors_of(module)
    uploads = [call for call, moved in moves_beside(module) if moved.data and not moved.random]
    told: set[ast.AST] = set()
    for call in module.calls_named("new_tensor"):
        function = module.function_of(call)
        owner = tensors[call.func.value] if isinstance(call.func, ast.Attribute) else None
        known = owner is not None and owner.place is TensorMemory.PAGEABLE
        if call.args and not known and function not in told and is_written_out(call.args[0]):
            told.add(function)  # one for all the numbers of a function
            uploads.append(call)
    for call in module.calls:
        value = tensors[call]
        if (
            value is not None
            and value.maker is call
            and value.kind is ValueKind.TENSOR
            and (value.data and value.place is TensorMemory.GPU and not value.random)
        ):
            uploads.append(call)
    for call, moved in moves_to_gpu(module):
        if moved is None or moved.kind is not ValueKind.TENSOR:
            continue
        pageable = moved.place is TensorMemory.PAGEABLE and moved.data and not moved.random
        if pageable and argument(call, "non_blocking") is None:
            uploads.append(call)
    return uploads


def filled_by_host(module: PythonModule, call: ast.Call) -> bool:
    """Whether the host writes elements of what *call* moves: on the GPU each would be a kernel."""
    moved = call.func.value if isinstance(call.func, ast.Attribute) else call
    names = {part.id for part in module.walk(moved) if isinstance(part, ast.Name)}
    return any(
        isinstance(part, ast.Subscript)
        and isinstance(part.ctx, ast.Store)
        and isinstance(part.value, ast.Name)
        and part.value.id in names
        for part in module.walk(module.function_of(call))
    )


def indices_to_gpu(module: PythonModule) -> Iterator[ast.Subscript]:
    """Yield each ``x[indices]`` of a GPU tensor where the indices are a range or an array of the host, not random."""
    tensors = tensors_of(module)
    for node in module.of(ast.Subscript):
        whole = tensors[node.value]
        if (
            whole is None
            or whole.kind is not ValueKind.TENSOR
            or whole.place is not TensorMemory.GPU
        ):
            continue
        for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            if _is_of_host(module, part, tensors[part]):
                yield node
                break


def _is_of_host(module: PythonModule, index: ast.expr, value: Value | None) -> bool:
    """Whether *index* is a range, a list that is filled element by element, or an array or a tensor that the host made."""
    if isinstance(index, ast.Call) and getattr(index.func, "id", "") == "range":
        return True
    if value is not None and value.kind is ValueKind.TENSOR:
        made = value.place is TensorMemory.PAGEABLE and value.maker is not None
        return made and value.sure and not value.data
    if value is not None and value.kind is ValueKind.ARRAY:
        return not value.random and not _is_one_element(module, index)
    if not isinstance(index, ast.Name):
        return False
    function = module.function_of(index)
    values = [v for v in module.values_of(index.id) if module.function_of(v) is function]
    return bool(values) and all(isinstance(v, (ast.List, ast.ListComp)) for v in values)


def _is_one_element(module: PythonModule, index: ast.expr) -> bool:
    """Whether *index* is one number of an array: ``order[j]``, of which PyTorch makes a view."""
    function = module.function_of(index)
    looked = [index]
    if isinstance(index, ast.Name):
        looked = [v for v in module.values_of(index.id) if module.function_of(v) is function]
    counters = {
        part.id
        for loop in module.loops_around(index)
        if isinstance(loop, ast.For)
        for part in ast.walk(loop.target)
        if isinstance(part, ast.Name)
    }
    return bool(looked) and all(
        isinstance(value, ast.Subscript)
        and (
            isinstance(value.slice, ast.Constant)
            or (isinstance(value.slice, ast.Name) and value.slice.id in counters)
        )
        for value in looked
    )


def stores_to_gpu(module: PythonModule) -> Iterator[ast.Assign]:
    """Yield each ``x[a:b] = y`` where x is a tensor of the GPU and y one that the host was given or made."""
    tensors = tensors_of(module)
    for node in module.of(ast.Assign):
        if not isinstance(node.targets[0], ast.Subscript):
            continue
        whole, value = tensors[node.targets[0].value], tensors[node.value]
        if whole is None or whole.place is not TensorMemory.GPU or value is None:
            continue
        if value.kind is ValueKind.TENSOR and value.place is TensorMemory.PAGEABLE and value.sure:
            yield node


def _moves(module: PythonModule, tensors: Tensors) -> Iterator[tuple[ast.Call, Value | None]]:
    if tensors.cpu_only:
        return
    for call in module.calls_named(*_MOVES):
        if not isinstance(call.func, ast.Attribute):
            continue
        if module.name_of(call.func).startswith("torch."):
            continue
        if tensors.target_place(call) is TensorMemory.GPU:
            yield call, tensors[call.func.value]


def _says_cpu(module: PythonModule) -> bool:
    """Whether a file without the word "cuda" names the host as its device, not only where none is given."""
    return any(
        isinstance(value, ast.Constant) and value.value == "cpu"
        for name, values in module.assigned.items()
        if _DEVICE_NAMES.match(name)
        for assigned in values
        for value in (
            assigned,
            *(assigned.args if isinstance(assigned, ast.Call) else ()),
        )
        if not any(isinstance(above, ast.If) for above in module.ancestors(assigned))
    )


def _constant(text: str) -> Value:
    device = text.split(":")[0] if len(text) <= _LONGEST_DEVICE else ""
    if device == "cuda":
        return _GPU_DEVICE
    if device in ("cpu", "meta", "mps", "xpu", "hpu", "npu", "tpu", "xla"):
        return _HOST_DEVICE if device == "cpu" else Value(ValueKind.DEVICE)
    return _HOST_VALUE


_LONGEST_DEVICE = 8


def _draws(call: ast.Call, name: str) -> bool:
    """Whether NumPy draws random numbers that no seed of the caller fixes one by one."""
    seeded = name.endswith((".RandomState", ".default_rng", ".Generator")) and bool(call.args)
    return name.startswith("numpy.random.") and not seeded


def _pinning(maker: ast.Call) -> TensorMemory | None:
    """Return the memory in which a DataLoader hands out its batches, or a factory makes a tensor."""
    pinned = argument(maker, "pin_memory")
    if pinned is None:
        return None if has_unknown_arguments(maker) else TensorMemory.PAGEABLE
    if isinstance(pinned, ast.Constant):
        return TensorMemory.PINNED if pinned.value else TensorMemory.PAGEABLE
    return None


def _element(value: Value | None) -> Value | None:
    """Return what iterating over a value, or indexing it, gives."""
    if value is None or value.kind in (ValueKind.HOST, ValueKind.DEVICE, ValueKind.MODEL):
        return None
    if value.kind is ValueKind.LOADER:
        return Value(ValueKind.BATCH, value.place, maker=value.maker)
    return value


def _either(first: Value | None, second: Value | None) -> Value | None:
    """Return what a value is that is one of two."""
    if first is second or first is None or second is None:
        # One of the two has no value only where nothing is known: "cuda" if ... else None.
        known = first if first is not None else second
        is_gpu = (
            known is not None and known.kind is ValueKind.DEVICE and known.place is TensorMemory.GPU
        )
        # A loader that only some runs make is one where it is used, and so is its batch.
        is_loader = known is not None and known.kind in (ValueKind.LOADER, ValueKind.BATCH)
        return known if first is second or is_gpu or is_loader else None
    if first.kind is not second.kind:
        # device = 0 if ... else "cpu"
        return (
            _LIKELY_GPU if {first.kind, second.kind} == {ValueKind.DEVICE, ValueKind.HOST} else None
        )
    if first.kind is ValueKind.DEVICE:
        return first if first.place is TensorMemory.GPU else second
    place = first.place if first.place is second.place else None
    return replace(
        first,
        place=place,
        sure=first.sure and second.sure,
        maker=first.maker if first.maker is second.maker else None,
    )


def _joined_operands(values: list[Value | None]) -> Value | None:
    """Return what an operation on *values* gives: a tensor where one of them is."""
    tensors = [v for v in values if v is not None and v.kind in (ValueKind.TENSOR, ValueKind.BATCH)]
    if any(v.place is TensorMemory.GPU for v in tensors):
        return (
            _ON_GPU
            if any(v.sure and v.place is TensorMemory.GPU for v in tensors)
            else _LIKELY_ON_GPU
        )
    if tensors:
        # A tensor that the host made by its shape meets only others of the host, or numbers.
        made = any(v.place is TensorMemory.PAGEABLE and v.maker and not v.data for v in tensors)
        known = made or (all(v.place is not None for v in tensors) and None not in values)
        tensors = [v for v in tensors if v.place is not None] if made else tensors
        makers = [v.maker for v in tensors if v.kind is ValueKind.TENSOR]
        return Value(
            ValueKind.TENSOR,
            TensorMemory.PAGEABLE if known else None,
            # What is computed on the host of what was made there was made there, too.
            maker=makers[0]
            if known and None not in makers and len(makers) == len(tensors)
            else None,
            data=any(t.data for t in tensors),
            sure=all(t.sure for t in tensors),
            random=any(t.random for t in tensors),
        )
    arrays = [v for v in values if v is not None and v.kind is ValueKind.ARRAY]
    if arrays:
        return next((a for a in arrays if a.random), arrays[0])
    if values and all(v is not None and v.kind is ValueKind.HOST for v in values):
        return _HOST_VALUE
    return None


def _joined_elements(values: list[Value | None]) -> Value | None:
    """Return what a list of *values* is: like its elements where they are alike."""
    known = [v for v in values if v is not None]
    if not values or all(v.kind is ValueKind.HOST for v in known):
        return _HOST_VALUE if len(known) == len(values) else None
    first = known[0]
    if len(known) == len(values) and all(
        v.kind is first.kind and v.place is first.place for v in known
    ):
        return first
    return None


def _output(model: Value, given: list[Value | None]) -> Value | None:
    """Return what a model gives for *given*."""
    tensors = [v for v in given if v is not None and v.kind in (ValueKind.TENSOR, ValueKind.BATCH)]
    if model.place is TensorMemory.GPU or any(v.place is TensorMemory.GPU for v in tensors):
        return _ON_GPU if model.sure else _LIKELY_ON_GPU
    return Value(ValueKind.TENSOR, None)


def _with_plain_defaults(arguments: ast.arguments) -> set[str]:
    """Return the parameters that are numbers, texts, lists or settings where no caller gives them."""
    names = [p.arg for p in (*arguments.posonlyargs, *arguments.args)]
    pairs = (
        *zip(reversed(names), reversed(arguments.defaults), strict=False),
        *zip((p.arg for p in arguments.kwonlyargs), arguments.kw_defaults, strict=True),
    )
    return {
        name
        for name, default in pairs
        if default is not None and not (isinstance(default, ast.Constant) and default.value is None)
    }


def _may_be_tensor(parameter: ast.arg) -> bool:
    """Whether nothing that is written at a parameter says that it is no tensor."""
    if parameter.arg in ("self", "cls") or _SIZES.match(parameter.arg):
        return False
    if parameter.annotation is None:
        return not _OF_HOST.match(parameter.arg)
    return "Tensor" in ast.unparse(parameter.annotation)


def _is_dtype(call: ast.Call) -> bool:
    target = call.args[0] if call.args else argument(call, "dtype")
    name = target.attr if isinstance(target, ast.Attribute) else ""
    return bool(re.match(r"(?:b?float|int|uint|bool|half|long|double|dtype|complex)", name))


# Parameters that hold numbers, texts, lists or functions in the methods of a model.
_OF_HOST = re.compile(
    r"(?:is|has|use|do|return|with|no|num|n|max|min|top|output|apply)_|(?:keep|drop(?:out)?)_?(?:prob|p|rate)?$|.*(?:name|path|file|mode|type|idx|kwargs|config"
    r"|cfg|args|opts?|params|hparams|fn|func|function|loader|dataset|layer|module|device|dtype|list|dict|metas?"
    r"|prefix|suffix|flag|verbose|eps|axis|rate|ratio|scale_factor|temperature|epoch|strict|stage|batch|batch_idx"
    r"|inputs?|outputs|targets|data|samples?|ctx|callback|tokenizer|prompts?|texts?|steps?|level|seed|shape)s?$",
    re.IGNORECASE,
)
_SIZES = re.compile(
    r"n$|n_|num|.*(?:size|count|dim|length|width|height|batch|shape)s?$", re.IGNORECASE
)


_LISTS = re.compile(
    r".*(?:size|count|dim|length|width|height|map|feat|feature|level|stage|intermediate|hidden_state|layer)s$",
    re.IGNORECASE,
)


def _is_shape(call: ast.Call, given: list[Value | None]) -> bool:
    """Whether a constructor of the old kind is given sizes, not data."""
    if not call.args:
        return True
    if len(call.args) > 1:
        return True
    first = call.args[0]
    if isinstance(first, ast.Constant):
        return isinstance(first.value, int)
    if _SIZES.match(getattr(first, "attr", getattr(first, "id", ""))):
        return True
    value = given[0]
    return (
        isinstance(first, ast.Call)
        and value is not None
        and value.kind is ValueKind.HOST
        and (getattr(first.func, "attr", "") == "size")
    )


def looks_like_model(base: ast.expr) -> bool:
    """Whether the name of *base* is one that models have."""
    while isinstance(base, ast.Subscript):
        base = base.value
    if isinstance(base, ast.Call):
        last = getattr(base.func, "attr", getattr(base.func, "id", ""))
        if _MODEL_MAKERS.match(last):
            return True
        return last[:1].isupper() and not last.endswith(("Tensor", "Variable"))
    last = getattr(base, "attr", getattr(base, "id", ""))
    return bool(_MODEL_NAMES.match(last))


def _mentions_device_count(module: PythonModule, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and module.name_of(node.func) == "torch.cuda.device_count"
