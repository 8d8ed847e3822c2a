"""What runs in every step of training or evaluation: the loops over batches, and helpers that they call."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, TypeAlias

from gpuadvise.advisor.source.observations import is_test_name
from gpuadvise.advisor.source.python.call_sites import call_sites
from gpuadvise.advisor.source.python.module import FUNCTIONS, LOOPS
from gpuadvise.advisor.source.python.tensors import ValueKind, moves_to_gpu, tensors_of
from gpuadvise.advisor.source.python.training import argument, is_cuda_move, is_cuda_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.python.module import PythonModule

Loop: TypeAlias = ast.For | ast.AsyncFor | ast.While

_STEPPERS = ("opt", "scaler", "sgd", "adam", "engine", "accelerator", "fabric", "solver")
_BACKWARDS = ("backward", "manual_backward")
# A loop of so few rounds, all written out, is not one that is worth a finding, and one of these trains nothing.
_TINY = 8
_FEW_STEPS = 2
# Also within names of a project's own: @smart_inference_mode().
_GRADIENTS_OFF = re.compile(r"no_?grad|inference_?mode|grad_enabled|evaluating", re.IGNORECASE)


class StepLoops:
    """The loops of one file that train or evaluate, and the functions that run in each of their steps.

    *training* has the innermost loops that step an optimiser after a loss went backward, with the names
    of these losses; *evaluation* those over a loader's batches in which nothing goes backward.
    """

    def __init__(self, module: PythonModule) -> None:
        self.module = module
        self.training: dict[ast.AST, set[str]] = {}
        self.evaluation: set[ast.AST] = set()
        self.functions: dict[ast.AST, set[str]] = {}
        self.evaluation_functions: set[ast.AST] = set()
        self._chosen: dict[ast.AST, bool] = {}
        self._outer: set[ast.AST] = set()
        self._parts: dict[ast.AST, set[str]] = {}
        # The bodies of conditions in which a loss goes backward and an optimiser steps: if step % 5 == 0.
        self._step_bodies: set[tuple[ast.AST, bool]] = set()
        self.on_gpu: bool | None = None
        self._find_training()
        self._find_hooks()
        self._find_evaluation()

    def training_loop(self, node: ast.AST) -> ast.AST | None:
        """Return the training loop, or function of its step, in every step of which *node* runs."""
        return self._every_step(node, (self.training, self.functions))

    def evaluation_loop(self, node: ast.AST) -> ast.AST | None:
        """Return the evaluation loop in every step of which *node* runs."""
        return self._every_step(node, (self.evaluation, self.evaluation_functions))

    def parts_of_forward(self, around: ast.AST | None) -> set[str]:
        """Return the methods that ``forward`` of a class calls, by itself or by others of them."""
        if not isinstance(around, ast.ClassDef):
            return set()
        if around not in self._parts:
            methods = {m.name: m for m in around.body if isinstance(m, ast.FunctionDef)}
            found: set[str] = set()
            looked = [methods[name] for name in ("forward", "__call__") if name in methods]
            while looked:
                for part in self.module.walk(looked.pop()):
                    if (
                        isinstance(part, ast.Attribute)
                        and isinstance(part.value, ast.Name)
                        and part.value.id == "self"
                        and part.attr in methods
                        and part.attr not in found
                    ):
                        found.add(part.attr)
                        looked.append(methods[part.attr])
            self._parts[around] = found
        return self._parts[around]

    def calls(self, name: str) -> list[ast.Call]:
        """Return the calls of a function or a method by its last name."""
        return self.module.calls_named(name)

    def is_called_each_round(self, node: ast.AST) -> bool:
        """Whether *node* runs in each call of a function of this file that a loop calls in every round."""
        function = repeated_call_of(self.module, node)
        if function is None or self.module.loop_around(node) is not None:
            return False
        if is_called_by_others(self.module, function):
            return True
        tensors = tensors_of(self.module)
        return any(
            tensors.called(call) is function and self.is_repeated(call) and self.runs_always(call)
            for call in self.calls(function.name)
        )

    def losses(self, loop: ast.AST) -> set[str]:
        """Return the names of what goes backward in a training loop or in a function of its step."""
        return self.training.get(loop) or self.functions.get(loop) or set()

    def is_repeated(self, node: ast.AST) -> bool:
        """Whether *node* runs in every round of a loop that is neither tiny nor one of epochs."""
        loop = self.module.loop_around(node)
        if loop is None or is_tiny(self.module, loop) or self.is_outer(loop):
            return False
        # A few named values, or weights, once.
        return not (isinstance(loop, ast.For) and self._is_over_names(loop))

    def _is_over_names(self, loop: ast.For) -> bool:
        """Whether *loop* runs through a dictionary: ``for key in batch: batch[key] = ...``."""
        if ".items()" in ast.unparse(loop.iter):
            return True
        each, given = loop.target, loop.iter
        if not isinstance(each, ast.Name) or not isinstance(given, (ast.Name, ast.Attribute)):
            return False
        picked = f"{ast.unparse(given)}[{each.id}]"
        return any(
            isinstance(part, ast.Subscript)
            and isinstance(part.ctx, ast.Store)
            and ast.unparse(part) == picked
            for statement in loop.body
            for part in self.module.walk(statement)
        )

    def runs_always(self, node: ast.AST) -> bool:
        """Whether each round of the loop around *node* reaches it, by no condition."""
        loop = self.module.loop_around(node)
        if loop is None or self._every_step(node, ({loop},)) is not loop:
            return False
        # for ...: if step % 10: continue
        return not any(
            isinstance(statement, ast.If)
            and isinstance(statement.body[-1], ast.Continue)
            and (statement.end_lineno or 0) < getattr(node, "lineno", 0)
            for statement in loop.body
        )

    def is_outer(self, loop: ast.AST) -> bool:
        """Whether *loop* is one of epochs: a loop over batches is within it."""
        return loop in self._outer

    def _every_step(
        self, node: ast.AST, steps: tuple[dict[ast.AST, set[str]] | set[ast.AST], ...]
    ) -> ast.AST | None:
        inner = node
        for above in self.module.ancestors(node):
            if isinstance(above, (ast.IfExp, ast.If)) and not (
                inner is above.test
                or self.is_chosen_once(above)
                or _asks_for_gpu(above.test)
                or (self._step_bodies and (above, _is_in_body(above, inner)) in self._step_bodies)
            ):
                return None
            if isinstance(above, (ast.ExceptHandler, ast.Lambda)):
                return None
            if any(above in kind for kind in steps):
                if isinstance(above, LOOPS) and inner in above.orelse:
                    return None
                evaluated_once = isinstance(above, (ast.For, ast.AsyncFor)) and inner is above.iter
                return None if evaluated_once else above
            if isinstance(above, (*FUNCTIONS, ast.ClassDef)):
                return None
            inner = above
        return None

    def is_chosen_once(self, branch: ast.If | ast.IfExp) -> bool:
        """Whether a condition stays what it is from round to round: settings, names that no round binds."""
        known = self._chosen.get(branch)
        if known is None:
            known = self._chosen[branch] = self._is_chosen_once(branch)
        return known

    def _is_chosen_once(self, branch: ast.If | ast.IfExp) -> bool:
        test = branch.test
        if isinstance(branch, ast.If) and _fills_in(branch):
            return self._is_default(branch)
        if _is_setting(test):
            return True
        if any(_may_change(part) for part in self.module.walk(test)):
            return self._is_always(test)
        around = self.module.loop_around(branch) or self.module.function_of(branch)
        bound = self.module.bound_in(around) if isinstance(around, ast.stmt) else set()
        names = {
            name
            for name in _names_that_decide(test)
            if not self._is_size(branch, name) and not self._is_mode(branch, name)
        }
        if not names:
            return any(isinstance(part, ast.Name) for part in self.module.walk(test))
        if not names or names & bound or _COUNTERS.search(ast.unparse(test)):
            return False
        parts = test.values if isinstance(test, ast.BoolOp) else [test]
        return all(_asks_for_none(part) or not _RARE.search(ast.unparse(part)) for part in parts)

    def _is_size(self, branch: ast.AST, name: str) -> bool:
        """Whether the function around *branch* gives *name* nothing but sizes of tensors: ``n = x.shape[0]``."""
        function = self.module.function_of(branch)
        values = [v for v in self.module.values_of(name) if self.module.function_of(v) is function]
        return bool(values) and all(
            (isinstance(v, ast.Subscript) and getattr(v.value, "attr", "") == "shape")
            or (isinstance(v, ast.Call) and getattr(v.func, "attr", "") in ("size", "numel"))
            for v in values
        )

    def _is_mode(self, branch: ast.AST, name: str) -> bool:
        """Whether *name* is a setting, or says which of several things is done: ``train = phase == "train"``."""
        function = self.module.function_of(branch)
        values = [v for v in self.module.values_of(name) if self.module.function_of(v) is function]
        return bool(values) and all(
            _is_setting(v)
            or (
                isinstance(v, ast.Compare)
                and isinstance(v.left, (ast.Name, ast.Attribute))
                and isinstance(v.comparators[0], ast.Constant)
                and isinstance(v.comparators[0].value, str)
            )
            for v in values
        )

    def _is_default(self, branch: ast.If) -> bool:
        """Whether *branch* makes what no caller gave, in each call: ``if weight is None: weight = ...``."""
        test, function = branch.test, self.module.function_of(branch)
        if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name):
            return False
        default = default_of(function, test.left.id)
        is_none = isinstance(default, ast.Constant) and default.value is None
        return is_none and isinstance(test.ops[0], ast.Is)

    def _is_always(self, test: ast.expr) -> bool:
        """Whether *test* is ``step % interval == 0`` and the file sets the interval to 1."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            return any(map(self._is_always, test.values))
        if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.BinOp):
            return False
        if not isinstance(test.left.op, ast.Mod) or not isinstance(test.left.right, ast.Name):
            return False
        values = self.module.values_of(test.left.right.id)
        return bool(values) and all(isinstance(v, ast.Constant) and v.value == 1 for v in values)

    def _find_hooks(self) -> None:
        """Find the methods that a trainer of Lightning, or a program around this file, calls in each step."""
        for node in self.module.of(ast.FunctionDef):
            if not isinstance(self.module.parents.get(node), ast.ClassDef):
                continue
            if node.name == "training_step" and node not in self.functions:
                returned = [
                    s.value for s in self.module.walk(node) if isinstance(s, ast.Return) and s.value
                ]
                self.functions[node] = set(names_in(returned)) - {"self"}
            elif node.name in ("validation_step", "test_step") or self._evaluates_beside(node):
                self.evaluation_functions.add(node)

    def _evaluates_beside(self, method: ast.FunctionDef) -> bool:
        """Whether *method*, of a class that has a method for one step of training, is that of one batch of evaluation."""
        if not _EVALUATES.match(method.name) or len(method.args.args) <= 1:
            return False
        around = self.module.parents[method]
        beside = any(
            self.module.parents.get(f) is around and self._is_one_step(f)
            for f in self.functions
            if isinstance(f, ast.FunctionDef)
        )
        return beside and not any(isinstance(part, LOOPS) for part in self.module.walk(method))

    def _find_training(self) -> None:
        steps: set[ast.AST] = set()
        backward: list[tuple[ast.Call, set[str]]] = []
        holders: dict[ast.AST, set[str]] = {}
        stepping: set[ast.AST] = set()
        sent: set[tuple[ast.AST, bool]] = set()
        stepped: set[tuple[ast.AST, bool]] = set()
        optimizers = self._optimizers()
        for call in self.module.calls:
            losses = _losses(self.module, call)
            if losses is not None:
                backward.append((call, losses))
                sent.update(self._bodies_around(call))
            if (
                _is_step(self.module, call)
                or _scales_loss(call)
                or (optimizers and _owner_of(call, "step") in optimizers)
            ):
                stepped.update(self._bodies_around(call))
                around = list(self.module.loops_around(call))
                steps.update(around)
                if not around:
                    stepping.add(self.module.function_of(call))
        self._step_bodies = sent & stepped
        for call, losses in backward:
            loop = next((a for a in self.module.loops_around(call) if a in steps), None)
            holder = self.module.function_of(call)
            if loop is not None:
                self._add_training(loop, losses)
            elif holder in stepping or not any(self.module.loops_around(call)):
                holders.setdefault(holder, set()).update(losses)
        self._find_helpers(holders, steps, stepping)

    def _find_helpers(
        self, holders: dict[ast.AST, set[str]], steps: set[ast.AST], stepping: set[ast.AST]
    ) -> None:
        """Find loops that train by a helper: *holders* are functions that go backward.

        *steps* are loops and *stepping* functions in which an optimiser takes a step.
        """
        tensors = tensors_of(self.module)
        for _ in range(2):  # a helper's helper
            for call in self.module.calls if holders else ():
                helper = tensors.called(call)
                if helper is None or helper not in holders:
                    continue
                loop = self.module.loop_around(call)
                if loop is not None and (loop in steps or helper in stepping):
                    self._add_training(loop, holders[helper])
                elif loop is None and helper in stepping:
                    outer = self.module.function_of(call)
                    if outer is not self.module.tree and outer is not helper:
                        holders.setdefault(outer, set())
                        stepping.add(outer)
        for call in self.module.calls if self.training else ():
            helper = tensors.called(call)
            if helper is not None and self.training_loop(call) is not None:
                self.functions.setdefault(helper, set()).update(holders.get(helper, ()))
        for holder in holders:
            # One step as a method or function, which a loop of another file calls.
            if (
                holder in stepping
                and isinstance(holder, ast.FunctionDef)
                and holder not in self.functions
                and self._is_one_step(holder)
            ):
                self.functions[holder] = set(holders[holder])
        for _ in range(2):
            for call in self.module.calls:
                helper = tensors.called(call)
                if helper in holders and helper not in self.functions and self.training_loop(call):
                    self.functions[helper] = set(holders[helper])

    def _is_one_step(self, holder: ast.FunctionDef) -> bool:
        """Whether *holder*, which goes backward and steps outside of any loop, is what each step calls."""
        is_method = isinstance(self.module.parents.get(holder), ast.ClassDef)
        given = len(holder.args.args) + len(holder.args.kwonlyargs) - is_method
        if holder.name in ("main", "run", "demo", "closure") or (
            holder.name in ("train", "fit") and not given
        ):
            return False
        return not any(tensors_of(self.module).called(c) is holder for c in self.calls(holder.name))

    def _optimizers(self) -> set[str]:
        """Return what the file writes of objects that clear gradients or send a loss backward themselves.

        Whatever such an object is called, its ``step()`` is one of training.
        """
        found = {
            _owner_of(call, name)
            for name in ("zero_grad", *_BACKWARDS)
            for call in self.calls(name)
            if name == "zero_grad" or call.args
        }
        return found - {""}

    def _bodies_around(self, call: ast.Call) -> Iterator[tuple[ast.AST, bool]]:
        """Yield the conditions around *call* in its function, and whether it stands in their bodies."""
        inner: ast.AST = call
        for above in self.module.ancestors(call):
            if isinstance(above, ast.If) and inner is not above.test:
                yield above, _is_in_body(above, inner)
            elif isinstance(above, FUNCTIONS):
                return
            inner = above

    def _add_training(self, loop: ast.AST, losses: set[str]) -> None:
        if (rounds := rounds_of(self.module, loop)) is not None and rounds <= _FEW_STEPS:
            return  # one batch of many, or a warm-up
        self.training.setdefault(loop, set()).update(losses)
        for around in self.module.loops_around(loop):
            self._outer.add(around)

    def _find_evaluation(self) -> None:
        tensors = tensors_of(self.module)
        loops: list[ast.For | ast.AsyncFor] = self.module.of_any(ast.For, ast.AsyncFor)
        if not loops:
            return
        moving = {self.module.loop_around(call) for call, _ in moves_to_gpu(self.module)}
        for node in loops:
            if node in self._outer:
                continue
            if node in self.training or self._trains(node):
                continue
            if (
                loader_of(self.module, node) is None
                and not _is_over_batches(node.iter)
                and not self._draws_batches(node)
            ):
                continue
            for around in self.module.loops_around(node):
                if around not in self.training:
                    self._outer.add(around)
            calls = (call for s in node.body for call in self.module.within(s, ast.Call))
            if node in moving or any(
                (value := tensors[call.func]) is not None and value.kind is ValueKind.MODEL
                for call in calls
            ):
                self.evaluation.add(node)

    def _draws_batches(self, loop: ast.For | ast.AsyncFor) -> bool:
        """Whether each round of *loop* takes a batch by ``next(batches)`` and records no graph."""
        return without_gradients(self.module, loop) and any(
            isinstance(statement, ast.Assign)
            and isinstance(statement.value, ast.Call)
            and getattr(statement.value.func, "attr", getattr(statement.value.func, "id", ""))
            in ("next", "get_batch")
            for statement in loop.body
        )

    def _trains(self, loop: ast.For | ast.AsyncFor) -> bool:
        """Whether *loop* is a part of a step: a loop of training is within it, or it runs in each round of one."""
        kinds = (ast.For, ast.AsyncFor, ast.While)
        return any(
            part in self.training for kind in kinds for part in self.module.within(loop, kind)
        ) or (self._every_step(loop, (self.training,)) is not None)


def steps_of(module: PythonModule) -> StepLoops:
    """Return the steps of *module*, found once for all that ask."""
    return module.found_once(StepLoops)


def loader_of(module: PythonModule, loop: ast.For | ast.AsyncFor) -> ast.expr | None:
    """Return the loader over whose batches *loop* runs."""
    tensors = tensors_of(module)
    looked = [loop.iter]
    while looked:
        node = looked.pop()
        value = tensors[node]
        if value is not None and value.kind is ValueKind.LOADER and not isinstance(node, ast.Call):
            return node
        if isinstance(node, ast.Call):
            if value is not None and value.kind is ValueKind.LOADER and value.maker is node:
                return node
            looked.extend(reversed(node.args))
    return None


def _is_over_batches(iterable: ast.expr) -> bool:
    """Whether a generator that is named for it hands out batches: ``minibatches(users, size)``."""
    while isinstance(iterable, ast.Call):
        name = getattr(iterable.func, "attr", getattr(iterable.func, "id", ""))
        if _BATCHES.match(name):
            return True
        if not iterable.args or name not in ("enumerate", "tqdm", "track", "iter"):
            return False
        iterable = iterable.args[0]
    return False


_BATCHES = re.compile(
    r"(?:get_|iter(?:ate)?_|make_)?(?:mini_?)?batch(?:es|_iter(?:ator)?|_gen(?:erator)?|ify)$|mini_?batch$"
)


def is_of_round(module: PythonModule, move: ast.Call) -> bool:
    """Whether *move* takes a part of what a loop of training runs over, or draws by ``next`` in each round."""
    if module.loop_around(move) is None:
        return False
    root: ast.expr = move.func
    while isinstance(root, (ast.Attribute, ast.Subscript, ast.Call)):
        root = root.func if isinstance(root, ast.Call) else root.value
    loop = steps_of(module).training_loop(move)
    if not isinstance(root, ast.Name) or not isinstance(loop, LOOPS):
        return False
    if isinstance(loop, (ast.For, ast.AsyncFor)):
        called = getattr(loop.iter, "func", None)
        counted = getattr(called, "attr", getattr(called, "id", "")) in _COUNTED
        if not counted and root.id in names_in([loop.target]):
            return True
    drawn = [v for v in module.values_of(root.id) if module.loop_around(v) is loop]
    return bool(drawn) and all(
        isinstance(v, ast.Call) and getattr(v.func, "attr", getattr(v.func, "id", "")) == "next"
        for v in drawn
    )


# What a loop counts by, or runs over without any data.
_COUNTED = frozenset(
    ("range", "trange", "parameters", "named_parameters", "items", "keys", "modules")
)


def loaders_to_gpu(module: PythonModule) -> set[ast.Call]:
    """Return the loaders of a file that works on a GPU whose batches it moves there, trains or evaluates on."""
    steps, tensors = steps_of(module), tensors_of(module)
    moves = moves_to_gpu(module)
    loaders = {v.maker for _, v in moves if v is not None and v.kind is ValueKind.BATCH}
    moving = {module.loop_around(call) for call, _ in moves}
    if works_on_gpu(module):
        # What a loop moves itself is known; the others leave it to a helper.
        for loop in (*_with_outer(module, steps), *steps.evaluation.difference(moving)):
            for part in module.walk(loop.iter if isinstance(loop, ast.For) else loop):
                value = tensors[part]
                if value is not None and value.kind is ValueKind.LOADER:
                    loaders.add(value.maker)
        for call in module.calls:
            if not runs_over_loader(call):
                continue
            for part in _given_alone(module, call):
                value = tensors[part]
                if value is not None and value.kind is ValueKind.LOADER:
                    loaders.add(value.maker)
    slow = {
        value.maker
        for loop in steps.evaluation
        if isinstance(loop, ast.For) and generates(module, loop)
        for part in module.walk(loop.iter)
        if (value := tensors[part]) is not None and value.kind is ValueKind.LOADER
    }
    return {call for call in loaders if call is not None and call not in slow} - _taken_once(module)


def _taken_once(module: PythonModule) -> set[ast.Call]:
    """Return the loaders of which nothing but ``next(iter(loader))`` takes one batch, outside of any loop."""
    tensors = tensors_of(module)
    once: set[ast.Call] = set()
    again: set[ast.Call] = set()
    for call in steps_of(module).calls("next"):
        for part in module.walk(call):
            value = tensors[part]
            if value is not None and value.kind is ValueKind.LOADER and value.maker is not None:
                (once if module.loop_around(call) is None else again).add(value.maker)
    for loop in module.nodes if once else ():
        for part in module.walk(loop.iter) if isinstance(loop, ast.For) else ():
            value = tensors[part]
            if value is not None and value.kind is ValueKind.LOADER and value.maker is not None:
                again.add(value.maker)
    return once - again


def _with_outer(module: PythonModule, steps: StepLoops) -> Iterator[ast.AST]:
    """Yield the loops that train, and those over a loader around them: a batch may be split once more."""
    for loop in steps.training:
        yield loop
        for around in module.loops_around(loop):
            if isinstance(around, ast.For):
                yield around


def loaders_to_train(module: PythonModule) -> set[ast.Call]:
    """Return the loaders over whose batches a loop of this file trains."""
    tensors = tensors_of(module)
    return {
        value.maker
        for loop in _with_outer(module, steps_of(module))
        for part in module.walk(loop.iter if isinstance(loop, ast.For) else loop)
        if (value := tensors[part]) is not None
        and value.kind is ValueKind.LOADER
        and value.maker is not None
    }


def _given_alone(module: PythonModule, call: ast.Call) -> Iterator[ast.expr]:
    """Yield what *call* is given, of a dictionary or a list that the file writes out its parts."""
    for part in (*call.args, *(k.value for k in call.keywords)):
        values = module.values_of(part.id) if isinstance(part, ast.Name) else [part]
        written = [v for v in values if isinstance(v, (ast.Dict, ast.List, ast.Tuple))]
        for value in written:
            yield from value.values if isinstance(value, ast.Dict) else value.elts
        if not written:
            yield part


# Functions of other files that run over the loader that they are given, and classes whose objects do.
_RUNNERS = re.compile(
    r"(?:^|[a-z])(?:Trainer|Solver|Runner|Learner|Engine|Experiment|Estimator)$|^(?:trainer|solver)$"
)
_TAKES_LOADERS = re.compile(
    r"(?:^|_)(?:train\w*|fit|eval\w*|valid\w*|test\w*|update|epoch|infer\w*|extract\w*|predict\w*)(?:_|$)"
)


def runs_over_loader(call: ast.Call) -> bool:
    """Whether *call* is of a function that is named for what runs over a loader: training, evaluation."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return _TAKES_LOADERS.search(name) is not None or _RUNNERS.search(name) is not None


def collates_on_gpu(module: PythonModule, loader: ast.Call) -> bool:
    """Whether the function that makes batches moves them already, by its name or its lines in this file."""
    given = argument(loader, "collate_fn")
    name = getattr(given, "attr", getattr(given, "id", ""))
    if re.search(r"device|cuda|gpu", name, re.IGNORECASE):
        return True
    functions = {module.function_of(call) for call, _ in moves_to_gpu(module)}
    return bool(name) and any(getattr(function, "name", "") == name for function in functions)


def is_handed_out(module: PythonModule, loader: ast.Call) -> bool:
    """Whether a function named for loaders returns this one: to a trainer of Lightning, or one elsewhere."""
    function = module.function_of(loader)
    name = getattr(function, "name", "").lower()
    if "loader" in name and tensors_of(module).returns(function, loader):
        return True
    # def load_data(...): while True: yield from loader
    return _HANDS_OUT.search(name) is not None and any(
        isinstance(part, ast.YieldFrom)
        and isinstance(part.value, ast.Name)
        and loader in module.values_of(part.value.id)
        for part in module.walk(function)
    )


_HANDS_OUT = re.compile(r"load|data|batch")


def generates(module: PythonModule, loop: ast.AST | None) -> bool:
    """Whether each round of *loop* generates a text or a picture, beside which one copy is nothing."""
    if loop is None:
        return False
    if any(
        part is not loop and _runs_network(module, part) for part in module.within(loop, ast.While)
    ):
        return True
    return any(
        isinstance(part.func, ast.Attribute)
        and (
            _GENERATES.match(part.func.attr) is not None
            or (
                getattr(part.func.value, "id", "").lower().endswith("sampler")
                and part.func.attr != "set_epoch"
            )
        )
        for part in module.within(loop, ast.Call)
    )


def _runs_network(module: PythonModule, loop: ast.While) -> bool:
    """Whether each round of *loop* runs a network, or a part of it: a decoder that goes on until it is done."""
    tensors = tensors_of(module)
    for part in module.within(loop, ast.Call):
        owner = part.func.value if isinstance(part.func, ast.Attribute) else part.func
        value = tensors[part.func] or tensors[owner]
        if value is not None and value.kind is ValueKind.MODEL:
            return True
    return False


# Methods of models that run them many times: for each token, or for each step of a diffusion.
_GENERATES = re.compile(
    r"(?:p_|ddim_|plms_|beam_)?(?:sample_loop|search)$|generate(?:_(?:text|images?|samples?|tokens?))?$"
    r"|translate(?:_\w+)?$|decode_n_tokens$"
)


def is_counted(rounds: ast.expr) -> bool:
    """Whether a loop counts: ``range(n)``, also within a bar that shows how far it is."""
    while isinstance(rounds, ast.Call):
        name = getattr(rounds.func, "attr", getattr(rounds.func, "id", ""))
        if name in ("range", "trange"):
            return True
        if name not in ("tqdm", "reversed", "enumerate", "progress_bar") or not rounds.args:
            return False
        rounds = rounds.args[0]
    return False


def is_tiny(module: PythonModule, loop: ast.AST) -> bool:
    """Whether *loop* has few rounds, all written out: ``for size in (3, 5)``."""
    rounds = rounds_of(module, loop)
    return rounds is not None and rounds <= _TINY


def rounds_of(module: PythonModule, loop: ast.AST) -> int | None:
    """Return how many rounds *loop* has where the file writes it: a list, a number, or a parameter's default."""
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return None
    rounds = loop.iter
    if isinstance(rounds, (ast.List, ast.Tuple)):
        return len(rounds.elts)
    if not isinstance(rounds, ast.Call) or getattr(rounds.func, "id", "") != "range":
        return None
    last = rounds.args[1 if len(rounds.args) > 1 else 0] if rounds.args else None
    if isinstance(last, ast.Name):
        last = default_of(module.function_of(loop), last.id)
    if isinstance(last, ast.Constant) and isinstance(last.value, int):
        return last.value
    return None


def default_of(function: ast.AST, parameter: str) -> ast.expr | None:
    """Return what a *parameter* is that no caller gives."""
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    given = function.args
    names = [p.arg for p in (*given.posonlyargs, *given.args)]
    defaults = dict(zip(reversed(names), reversed(given.defaults), strict=False))
    return defaults.get(parameter)


def simulates(module: PythonModule, node: ast.AST) -> bool:
    """Whether a loop around *node* steps a simulator on the host, and so waits for its actions in each round."""
    return any(
        isinstance(part.func, ast.Attribute)
        and part.func.attr == "step"
        and _SIMULATORS.search(ast.unparse(part.func.value)) is not None
        for loop in module.loops_around(node)
        for part in module.within(loop, ast.Call)
    )


def is_beside_more(module: PythonModule, call: ast.expr) -> bool:
    """Whether *call* prepares a text to generate, or evaluates in a simulator of the host: both take far longer."""
    function = module.function_of(call)
    name = getattr(function, "name", "")
    if _GENERATING.search(name) and module.loop_around(call) is not None:
        return True
    if speaks(module, call) or _samples_in_round(module, call):
        return True
    return _EVALUATING.search(name) is not None and simulates(module, call)


def _samples_in_round(module: PythonModule, call: ast.expr) -> bool:
    """Whether each round around *call* runs a step of a diffusion, and so a whole network."""
    loop = module.loop_around(call)
    return loop is not None and any(
        isinstance(part, ast.Call)
        and _DIFFUSES.match(getattr(part.func, "attr", getattr(part.func, "id", "")))
        for part in module.walk(loop)
    )


def speaks(module: PythonModule, node: ast.expr) -> bool:
    """Whether the function around *node* speaks or translates one text, by the many steps of a decoder."""
    return _SYNTHESISING.search(getattr(module.function_of(node), "name", "")) is not None


def saves_files(module: PythonModule, node: ast.expr) -> bool:
    """Whether each round of the loop around *node*, or its function without one, writes a file of what it computes."""
    loop = module.loop_around(node)
    around = loop or module.function_of(node)
    steps = steps_of(module)
    return around is not module.tree and any(
        _saves(part)
        and module.loop_around(part) is loop
        and (loop is None or steps.runs_always(part))
        for part in module.within(around, ast.Call)
    )


def _saves(call: ast.Call) -> bool:
    """Whether *call* writes a file, going by its name: also ``write(path, rate, sound)``."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name == "save" and isinstance(call.func, ast.Attribute):
        return "fromarray" in ast.unparse(call.func.value)  # Image.fromarray(x).save(path)
    return _SAVES.search(name) is not None or (name == "write" and len(call.args) >= 3)


def is_for_file(module: PythonModule, node: ast.expr) -> bool:
    """Whether *node* copies what a file or a sound is made of, which takes longer; not of a loader's batches."""
    in_evaluation = steps_of(module).evaluation_loop(node) is not None
    if _is_given_to_file(module, node):
        return True
    return speaks(module, node) or (not in_evaluation and saves_files(module, node))


def _is_given_to_file(module: PythonModule, node: ast.expr) -> bool:
    """Whether *node* stands in the call of a function that writes or draws it, where a condition asks for that."""
    for above in module.ancestors(node):
        if isinstance(above, ast.Call) and _WRITES.match(
            getattr(above.func, "attr", getattr(above.func, "id", ""))
        ):
            return any(isinstance(around, ast.If) for around in module.ancestors(above))
        if isinstance(above, ast.stmt):
            return False
    return False


_WRITES = re.compile(r"(?:write|save|plot|draw|show|dump|export)_\w+$")
_SAVES = re.compile(
    r"^(?:imwrite|imsave|savefig|save_image|save_images|save_wav|write_wav|savemat|write_pfm|write_depth|save_img|savetxt|savez|append_data)$"
    r"|^write_(?:video|png|jpeg|ply|image)$"
)
_DIFFUSES = re.compile(
    r"(?:p|ddim|plms|q|dpm)_(?:mean_variance|sample(?!_loop)\w*|step)$|denoise_step$"
)
_SYNTHESISING = re.compile(
    r"^_?(?:tts|synthesi[sz]e(?:_\w+)?|translate(?:_\w+)?|text_?to_?speech)$"
)
_GENERATING = re.compile(r"(?:^|_)generate(?:_|$)")
_EVALUATING = re.compile(r"(?:^|_)(?:eval\w*|test|play|enjoy)(?:_|$)")
_SIMULATORS = re.compile(r"(?:^|[._])(?:envs?|simulator|game)$", re.IGNORECASE)


def is_test(module: PythonModule) -> bool:
    """Whether the file's name says that it tests or measures other code."""
    return is_test_name(module.text.file)


def is_compiled(module: PythonModule, node: ast.AST) -> bool:
    """Whether torch.compile takes the function around *node*: what it makes of constants becomes one of the graph."""
    return any(
        isinstance(above, ast.FunctionDef)
        and any("torch.compile" in ast.unparse(made) for made in above.decorator_list)
        for above in (node, *module.ancestors(node))
    )


def is_of_old_pytorch(module: PythonModule) -> bool:
    """Whether the file is written for a PyTorch before 0.4, which has nothing of what came later."""
    return b"volatile=" in module.text.content or b".data[0]" in module.text.content


def prepares(module: PythonModule) -> bool:
    """Whether the file's path says that it prepares data or weights: on the host, or once."""
    return _PREPARES.search(module.text.file) is not None


_PREPARES = re.compile(
    r"(?:^|/)(?:data|datasets?|data_?loaders?|loaders?)/|(?:^|[/_])(?:data_?(?:sets?|loaders?|utils)?|dataset_\w+|preprocess\w*"
    r"|quanti[sz]e\w*|convert\w*|export\w*)\.\w+$",
    re.IGNORECASE,
)


def is_demo(module: PythonModule) -> bool:
    """Whether the file's name says that it shows what others computed: people look on, and nothing is in a hurry."""
    return (
        re.search(
            r"(?:^|/)(?:show|demo|vis|plot|draw|diagnose|analy[sz]e|inspect|sanity)[^/]*$|demo\.\w+$|sanity",
            module.text.file,
        )
        is not None
    )


def works_on_gpu(module: PythonModule) -> bool:
    """Whether the file uses a GPU: it names CUDA, or trains or evaluates on a device that is not the host."""
    steps = steps_of(module)
    if steps.on_gpu is None:
        steps.on_gpu = _works_on_gpu(module, steps)
    return steps.on_gpu


def may_work_on_gpu(module: PythonModule) -> bool:
    """Whether a GPU may be where the file's tensors are: it uses one, or PyTorch on no device that it names."""
    if works_on_gpu(module):
        return True
    if _trains_on_host(module):
        return False
    uses_torch = any(name.split(".")[0] == "torch" for name in module.imports.values())
    return uses_torch and not tensors_of(module).cpu_only


def is_part_on_gpu(module: PythonModule) -> bool:
    """Whether steps of a project that names a GPU run functions of this file."""
    return module.use is not None and module.use.on_gpu and bool(module.use.each_step)


def is_called_by_others(module: PythonModule, function: ast.AST) -> bool:
    """Whether steps of other files, or what they call, call *function*, as far as its project is known."""
    return module.use is not None and getattr(function, "name", "") in module.use.each_step


def _trains_on_host(module: PythonModule) -> bool:
    """Whether a whole program makes an optimiser and trains, and names neither a device nor a move: all is on the host."""
    if b"__main__" not in module.text.content and not module.text.file.endswith(".ipynb"):
        return False
    steps = steps_of(module)
    if not (steps.training or steps.functions):
        return False
    if not module.calls_like(lambda name: name.startswith("torch.optim.")):
        return False
    if any(_OF_TRAINERS.search(name) for name in module.imports.values()):
        return False
    named = (
        *(name.id for name in module.of(ast.Name)),
        *(name.attr for name in module.of(ast.Attribute)),
        *(given.arg or "" for given in module.of(ast.keyword)),
    )
    return not any(map(_NAMES_PLACES.search, named)) and not any(
        map(is_cuda_text, module.of(ast.Constant))
    )


# What moves models and batches for the program.
_OF_TRAINERS = re.compile(r"accelerate|lightning|ignite|fastai|deepspeed|fabric", re.IGNORECASE)
_NAMES_PLACES = re.compile(r"^(?:cuda|dev)$|device|gpu|accelerat|prefetch", re.IGNORECASE)


def where_on_gpu(module: PythonModule, sentence: str) -> str:
    """Return *sentence*, with the condition before it that the file leaves open."""
    if works_on_gpu(module) or is_part_on_gpu(module):
        return sentence
    return f"Where this runs on a GPU, {sentence[:1].lower()}{sentence[1:]}"


def _works_on_gpu(module: PythonModule, steps: StepLoops) -> bool:
    if b"cuda" in module.text.content and (
        any(is_cuda_move(module, call) for call in module.calls)
        or any(map(is_cuda_text, module.of(ast.Constant)))
    ):
        return True
    if any(name.split(".")[0] == "cupy" for name in module.imports.values()):
        return True
    if not (steps.training or steps.evaluation or steps.functions or steps.evaluation_functions):
        return False
    return bool(moves_to_gpu(module)) or b"accelerator" in module.text.content


def without_gradients(module: PythonModule, node: ast.AST) -> bool:
    """Whether *node* stands where no graph is recorded, by a block or a decorator around it."""
    for above in module.ancestors(node):
        if isinstance(above, (ast.With, ast.AsyncWith)):
            if any(_switches_off(item.context_expr) for item in above.items):
                return True
        elif isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and any(
            map(_switches_off, above.decorator_list)
        ):
            return True
    return False


def _switches_off(node: ast.expr) -> bool:
    return any(
        _GRADIENTS_OFF.search(getattr(part, "attr", getattr(part, "id", "")))
        for part in ast.walk(node)
    )


def repeated_call_of(module: PythonModule, node: ast.AST) -> ast.FunctionDef | None:
    """Return the function in every call of which *node* runs, where such functions are called again and again.

    None for what sets up, loads, saves, reports or is a program itself.
    """
    inner = node
    steps = steps_of(module)
    for above in module.ancestors(node):
        if (
            isinstance(above, (ast.IfExp, ast.If))
            and inner is not above.test
            and not (steps.is_chosen_once(above) or _asks_for_gpu(above.test))
        ):
            return None
        if isinstance(above, (ast.ExceptHandler, ast.Lambda, ast.AsyncFunctionDef, ast.ClassDef)):
            return None
        if isinstance(above, ast.FunctionDef):
            seldom = _ONCE.search(above.name) or is_cached(above)
            return None if seldom or call_sites(module).runs_once(above) else above
        inner = above
    return None


def _asks_for_gpu(test: ast.expr) -> bool:
    """Whether a condition asks where tensors are: ``x.is_cuda``."""
    return any(
        getattr(part, "attr", getattr(part, "id", ""))
        in ("is_cuda", "is_available", "use_cuda", "cuda")
        for part in ast.walk(test)
    )


def is_cached(function: ast.FunctionDef) -> bool:
    """Whether *function* returns what it kept of an earlier call, before it does anything else."""
    if any("cache" in ast.unparse(made) for made in function.decorator_list):
        return True
    return any(
        isinstance(statement, ast.If)
        and isinstance(statement.body[-1], ast.Return)
        and re.search(r"hasattr\(|cached?\b|_cache\b|is not None", ast.unparse(statement.test))
        and "self." in ast.unparse(statement.body[-1])
        for statement in function.body[:3]
    )


def forward_of(module: PythonModule, node: ast.AST) -> ast.FunctionDef | None:
    """Return the method of a model, ``forward`` or one that works beside it, in every call of which *node* runs."""
    inner = node
    steps, tensors = steps_of(module), tensors_of(module)
    for above in module.ancestors(node):
        if (
            isinstance(above, (ast.IfExp, ast.If))
            and inner is not above.test
            and not (steps.is_chosen_once(above) or _asks_for_gpu(above.test))
        ):
            return None
        if isinstance(above, (ast.ExceptHandler, ast.Lambda)):
            return None
        if isinstance(above, ast.FunctionDef):
            around = module.parents.get(above)
            if above.name == "step" and isinstance(around, ast.ClassDef):
                bases = map(module.name_of, around.bases)
                return above if any(base.endswith("Optimizer") for base in bases) else None
            seldom = _ONCE.search(above.name) and not above.name.endswith("batch")
            beside = _BESIDE_STEPS.match(above.name) or seldom or is_cached(above)
            if beside and above.name in steps.parts_of_forward(around):
                beside = is_cached(above)
            return above if not beside and tensors.is_model(around) else None
        inner = above
    return None


# Functions that run once, or seldom: a program, what sets up, what loads, saves or shows.
_ONCE = re.compile(
    r"^_*(?:main|run|demo|train|test|eval|evaluate|validate|fit|setup|set_up|init|build(?!_targets)|create|make|load|save|export|convert"
    r"|restore|register|reset(?!_noise)|prepare|get_(?:model|data|loader|args|parser|config|dataset|cfg)|read|parse|plot|show|visuali[sz]e"
    r"|display|draw|set_(?!input|state|data|batch)|_?compute_(?:\w+_)?parameters$|log(?!_?(?:prob|soft|sum|sinkhorn|optimal|mel|det|norm|lik|pdf|var))|report|summar|profile|bench|example|from_|to_pretrained|post_init|precompute|cache|warm)"
    r"|^__(?!call__)\w+__$|_init$|setup|precompute|benchmark|_test$|_demo$|cache|export|onnx|checkpoint|schedule",
    re.IGNORECASE,
)
# Methods of a model that no step calls: they set up, describe or change it.
_BESIDE_STEPS = re.compile(
    r"^_?(?:get|set|count|num|print|extra|is|has|configure|on|state|named|parameters|freeze|unfreeze|enable|disable|add"
    r"|remove|replace|resize|crop|fuse|merge|train|eval|half|to|cuda|cpu|mark|sanity|check|validate|describe|info|repr|version"
    r"|group|optimi[sz]er|find|pack|grow|shrink|upsample_volume|update_stepsize|mesh|extract|reset|clear|tie|prune)(?:_|$)"
)


def _fills_in(branch: ast.If) -> bool:
    """Whether *branch* makes what is missing once: ``if self.table is None: self.table = ...``."""
    tested = ast.unparse(branch.test)
    if "hasattr(" in tested:
        return True
    if "None" not in tested and not re.search(r"self\.[\w.]*(?:shape|size)", tested):
        return False
    missing = {
        ast.unparse(p) for p in ast.walk(branch.test) if isinstance(p, (ast.Name, ast.Attribute))
    }
    return any(
        isinstance(statement, ast.Assign)
        and any(
            ast.unparse(target) in missing
            and ("None" in tested or isinstance(target, ast.Attribute))
            for target in statement.targets
        )
        for statement in branch.body
    )


def _names_that_decide(test: ast.expr) -> Iterator[str]:
    """Yield the names of a condition, without those of which only the shape or the type is asked."""
    looked: list[ast.AST] = [test]
    while looked:
        part = looked.pop()
        if isinstance(part, ast.Call) and not _may_change(part):
            yield "size"  # of something: as steady as a setting
        elif isinstance(part, ast.Attribute) and part.attr in (
            "shape",
            "ndim",
            "dtype",
            "device",
            "training",
        ):
            yield part.attr
        elif isinstance(part, ast.Name):
            yield part.id
        else:
            looked.extend(ast.iter_child_nodes(part))


# Asked of the one process of many that reports: is_main_process(), dist.get_rank() == 0.
_FIRST_PROCESS = re.compile(r"(?:main|master|primary)(?:_process|_proc)?$|rank(?:_zero|_0)?$")


def _may_change(part: ast.AST) -> bool:
    """Whether a part of a condition may differ from round to round; shapes and types seldom do."""
    if isinstance(part, ast.Call):
        called = getattr(part.func, "attr", getattr(part.func, "id", ""))
        return _FIRST_PROCESS.search(called) is None and called not in (
            "size",
            "dim",
            "numel",
            "len",
            "isinstance",
            "is_tensor",
            "callable",
            "exists",
        )
    if isinstance(part, ast.Subscript):
        return getattr(part.value, "attr", "") != "shape"
    if isinstance(part, ast.BinOp):
        return isinstance(part.op, (ast.Mod, ast.FloorDiv))  # of a counter
    return isinstance(part, ast.NamedExpr)


def _asks_for_none(test: ast.expr) -> bool:
    is_asked = isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Is, ast.IsNot))
    return is_asked and "debug" not in ast.unparse(test).lower()


# What counts steps: a condition on it holds in some of them.
_COUNTERS = re.compile(
    r"\b(?:\w+_)?(?:batch_?(?:nb|idx|id|i|num|index)|step|steps|iteration|iter|it|epoch|idx|index|num_updates|frame)\b"
)


_SETTINGS = re.compile(
    r"(?:.*_)?(?:args|arguments|config|configs|conf|cfg|opts?|hparams|flags|settings)$",
    re.IGNORECASE,
)
_RARE = re.compile(r"debug|verbose|profil|log|print|vis|plot|save|test|eval|check", re.IGNORECASE)


def _is_setting(test: ast.expr) -> bool:
    """Whether a condition asks for settings alone, which no step changes: ``if args.add_noise``.

    Settings that switch reports on are asked for by those who want them.
    """
    if isinstance(test, ast.BoolOp):
        return all(map(_is_setting, test.values))
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_setting(test.operand)
    if isinstance(test, ast.Compare):
        constant = all(
            isinstance(side, (ast.Constant, ast.List, ast.Tuple)) for side in test.comparators
        )
        return constant and _is_setting(test.left)
    root: ast.expr = test
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(test, ast.Attribute) or not isinstance(root, ast.Name):
        return False
    names = ast.unparse(test).split(".")
    return any(map(_SETTINGS.match, names[:-1])) and not _RARE.search(names[-1])


def _losses(module: PythonModule, call: ast.Call) -> set[str] | None:
    """Return the names of what *call* sends backward, None where it sends nothing."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _BACKWARDS:
        # loss.backward(), scaler.scale(loss).backward(), accelerator.backward(loss)
        sent: list[ast.AST] = [call.func.value, *call.args]
    elif _scales_loss(call):
        sent = [*call.args[:1]]
    else:
        return None
    names = {n.id for part in sent for n in module.walk(part) if isinstance(n, ast.Name)}
    return names - {"self", "scaler", "accelerator", "fabric", "amp", "torch"}


def _scales_loss(call: ast.Call) -> bool:
    """Whether *call* is ``loss_scaler(loss, optimizer)``, which sends backward and steps."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return name.endswith("loss_scaler") and len(call.args) >= 2


def _is_step(module: PythonModule, call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr != "step":
        return _STEPS.match(call.func.attr) is not None
    name = module.name_of(call.func.value).lower()
    if not name and isinstance(call.func.value, ast.Subscript):
        name = module.name_of(call.func.value.value).lower()
    return any(word in name for word in _STEPPERS) and "sched" not in name


# What wrappers of an optimiser call a step: Noam's step_and_update_lr, Lightning's optimizer_step.
_STEPS = re.compile(
    r"(?:optim(?:izer|ize)?_step|step_(?:optim(?:izer)?s?|and_\w+)|optimize_parameters)$"
)


# One batch of evaluation, as a method.
_EVALUATES = re.compile(
    r"(?:eval|evaluate|valid|validate|validation|test)(?:_(?:step|batch|one_batch))?$"
)


def _owner_of(call: ast.Call, name: str) -> str:
    """Return what *call* calls the method *name* of, as it is written; "" for another call."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != name:
        return ""
    return ast.unparse(call.func.value) if _is_dotted(call.func.value) else ""


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _is_in_body(branch: ast.If | ast.IfExp, part: ast.AST) -> bool:
    return isinstance(branch, ast.If) and part in branch.body


def names_in(nodes: list[ast.expr]) -> Iterator[str]:
    """Yield the names that stand in *nodes*."""
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                yield part.id
