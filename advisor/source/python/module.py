"""A Python file as facts: functions, loops, and what names stand for. Nothing is imported or run.

What rules look at is counted, and a file that keeps them busy far longer than code does is refused.
"""

from __future__ import annotations

import ast
import re
import time
from bisect import bisect_left
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from gpuadvise.advisor.errors import BadInput
from gpuadvise.advisor.prose import quoted_path
from gpuadvise.advisor.source.diagnostic import Diagnostic
from gpuadvise.advisor.source.language import MOST_PARTS, syntax_tree
from gpuadvise.advisor.source.text import most_seconds, too_costly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gpuadvise.advisor.source.diagnostic import TextEdit
    from gpuadvise.advisor.source.python.project import ModuleUse
    from gpuadvise.advisor.source.text import SourceText

Found = TypeVar("Found")
Node = TypeVar("Node", bound=ast.AST)
Placed = TypeVar("Placed", bound="ast.stmt | ast.expr")

# Files beyond this are generated; the standard parser takes a hundred times their size.
LARGEST = 4 << 20
_SHOWN = 160
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
_LOADER = "torch.utils.data.DataLoader"
# A file that nests deeper is an attack on the parser.
_DEEPEST = 200
_LOOKED_AT = 20_000  # nodes between two looks at the clock
# An argument of old PyTorch that became a keyword of Python; the name beside it is as long, so that every
# place stays where it is.
_OLD_KEYWORD, _AS_LONG = re.compile(rb"\basync(?=\s*=[^=])"), "asyn_"
_OPENING = frozenset(b"([{")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[](){}")


@dataclass(slots=True, eq=False)
class PythonModule:
    """One parsed file: *nodes* in the order of a walk, those of each kind, and the node around each.

    What it takes a walk to find out is `found_once`, by the first rule that asks.
    """

    text: SourceText
    tree: ast.Module
    nodes: list[ast.AST] = field(default_factory=list)
    by_kind: dict[type[ast.AST], list[Any]] = field(default_factory=dict)
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    assigned: dict[str, list[ast.expr]] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    stored: list[tuple[int, str]] = field(default_factory=list)
    names: dict[ast.AST, str] = field(default_factory=dict)
    # Names that are parameters, counted on, or counted through: not only what is assigned to them.
    changed: set[str] = field(default_factory=set)
    # Whether a name stands for a GPU, followed through so many names before.
    gpu_names: dict[tuple[str, int], bool] = field(default_factory=dict)
    use: ModuleUse | None = None  # what other files of its project say of it, where those are known
    deadline: float = float("inf")  # of the processor's time
    _until_look: int = _LOOKED_AT
    _found: dict[Callable[[PythonModule], Any], Any] = field(default_factory=dict)
    _named: tuple[dict[str, list[ast.Call]], dict[str, list[ast.Call]]] | None = None
    # Nodes of a kind in the order of the text, and where they begin.
    _in_text: dict[type[ast.AST], tuple[list[Any], list[tuple[int, int]]]] = field(
        default_factory=dict
    )
    _loops: dict[ast.AST, ast.For | ast.AsyncFor | ast.While | None] = field(default_factory=dict)

    def found_once(self, find: Callable[[PythonModule], Found]) -> Found:
        """Return what *find* finds in this file; the first who asks looks."""
        if find not in self._found:
            self._found[find] = find(self)
        found: Found = self._found[find]
        return found

    def release(self) -> None:
        """Let go of what was found, which holds this module, so that its nodes go as soon as nobody holds it."""
        self._found.clear()

    def bound_in(self, statement: ast.stmt) -> set[str]:
        """Return the names that the lines of *statement* bind."""
        first = bisect_left(self.stored, (statement.lineno, ""))
        last = bisect_left(self.stored, ((statement.end_lineno or statement.lineno) + 1, ""))
        return {name for _, name in self.stored[first:last]}

    def is_bound_between(self, name: str, first: int, last: int) -> bool:
        """Whether a line behind *first*, up to *last*, binds *name*."""
        return any(
            bound == name
            for _, bound in self.stored[
                bisect_left(self.stored, (first + 1, "")) : bisect_left(self.stored, (last + 1, ""))
            ]
        )

    def count_work(self, nodes: int) -> None:
        """Count *nodes* that a rule looks at; raises TooCostly when they take far too long."""
        self._until_look -= nodes
        if self._until_look < 0:
            self._until_look = _LOOKED_AT
            if time.process_time() > self.deadline:
                raise too_costly(self.text.file)

    @property
    def calls(self) -> list[ast.Call]:
        """The calls of the file."""
        return self.of(ast.Call)

    def of(self, kind: type[Node]) -> list[Node]:
        """Return the nodes of *kind*, in the order of a walk."""
        found: list[Node] = self.by_kind.get(kind, [])
        return found

    def calls_of(self, *names: str) -> list[ast.Call]:
        """Return the calls of functions with one of these dotted names, in the order of a walk."""
        return self._in_order([self._calls_by_name()[0].get(name, []) for name in names])

    def calls_like(self, is_meant: Callable[[str], object]) -> list[ast.Call]:
        """Return the calls of functions whose dotted name *is_meant*, in the order of a walk."""
        found = self._calls_by_name()[0].items()
        return self._in_order([calls for name, calls in found if is_meant(name)])

    def calls_named(self, *names: str) -> list[ast.Call]:
        """Return the calls of functions and methods by their last names, in the order of a walk."""
        return self._in_order([self._calls_by_name()[1].get(name, []) for name in names])

    def _in_order(self, found: list[list[ast.Call]]) -> list[ast.Call]:
        found = [calls for calls in found if calls]
        if len(found) < 2:
            return found[0] if found else []
        chosen = {call for calls in found for call in calls}
        return [call for call in self.calls if call in chosen]

    def _calls_by_name(self) -> tuple[dict[str, list[ast.Call]], dict[str, list[ast.Call]]]:
        """Return the calls by their dotted names, and by their last names as they are written."""
        if self._named is None:
            dotted: dict[str, list[ast.Call]] = {}
            last: dict[str, list[ast.Call]] = {}
            for call in self.calls:
                dotted.setdefault(self.name_of(call.func), []).append(call)
                last.setdefault(last_name(call), []).append(call)
            self._named = dotted, last
        return self._named

    def of_any(self, *kinds: type[Placed]) -> list[Placed]:
        """Return the nodes of one of *kinds*, in the order of the text."""
        found = [node for kind in kinds for node in self.of(kind)]
        return sorted(found, key=lambda node: (node.lineno, node.col_offset))

    def within(self, around: ast.AST, kind: type[Placed]) -> list[Placed]:
        """Return the nodes of *kind* below *around*, a statement or the module, in the order of the text."""
        if kind not in self._in_text:
            placed = self.of_any(kind)
            self._in_text[kind] = placed, [(node.lineno, node.col_offset) for node in placed]
        nodes, places = self._in_text[kind]
        if isinstance(around, (ast.stmt, ast.expr)):
            first = bisect_left(places, (around.lineno, around.col_offset))
            end = around.end_lineno or around.lineno, around.end_col_offset or 0
            nodes = nodes[first : bisect_left(places, end)]
        self.count_work(len(nodes))
        found: list[Placed] = nodes
        return found

    def walk(self, top: ast.AST) -> Iterator[ast.AST]:
        """Yield *top* and the nodes below it; what stands in nested ones is walked again and again."""
        reached = [top]
        for node in reached:  # which grows meanwhile
            self._until_look -= 1
            if self._until_look < 0:
                self.count_work(0)
            yield node
            kind = type(node)
            if kind is ast.Name or kind is ast.Constant:
                continue
            children = _CHILDREN.get(kind) or _children_of(kind)
            for child in children(node):
                if type(child) is list:
                    reached += filter(None, child)
                elif child is not None:
                    reached.append(child)

    def values_of(self, name: str) -> list[ast.expr]:
        """Return what the file assigns to *name*."""
        values = self.assigned.get(name, [])
        self.count_work(len(values))
        return values

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around *node*, from the inside out."""
        above = self.parents.get(node)
        while above is not None:
            self.count_work(1)
            yield above
            above = self.parents.get(above)

    def function_of(self, node: ast.AST) -> ast.AST:
        """Return the function around *node*, or the module."""
        return next((a for a in self.ancestors(node) if isinstance(a, FUNCTIONS)), self.tree)

    def loop_around(self, node: ast.AST) -> ast.For | ast.AsyncFor | ast.While | None:
        """Return the innermost loop that repeats *node* in its own function."""
        inner, found = node, None
        passed = [node]  # all of them have the same loop: a chain of calls is walked once
        for above in self.ancestors(node):
            if inner in self._loops:
                found = self._loops[inner]
                break
            if isinstance(above, FUNCTIONS):
                break
            if isinstance(above, LOOPS) and inner not in above.orelse:
                evaluated_once = isinstance(above, (ast.For, ast.AsyncFor)) and inner is above.iter
                if not evaluated_once:
                    found = above
                    break
            inner = above
            passed.append(inner)
        self._loops.update(dict.fromkeys(passed, found))
        return found

    def loops_around(self, node: ast.AST) -> Iterator[ast.For | ast.AsyncFor | ast.While]:
        """Yield the loops around *node* in its function, from the inside out."""
        loop = self.loop_around(node)
        while loop is not None:
            yield loop
            loop = self.loop_around(loop)

    def name_of(self, node: ast.AST) -> str:
        """Return the dotted name of *node* with imports resolved: "torch.cuda.synchronize"."""
        known = self.names.get(node)
        if known is None:
            known = self.names[node] = self._dotted(node)
        return known

    def _dotted(self, node: ast.AST) -> str:
        self.count_work(1)
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        parts.append(self.imports.get(node.id, node.id))
        return ".".join(reversed(parts))

    def diagnostic(
        self,
        rule: str,
        node: ast.expr | ast.stmt,
        message: str,
        action: str,
        edits: tuple[TextEdit, ...] = (),
        *,
        minor: bool = False,
    ) -> Diagnostic:
        """Return a diagnostic at *node*, *minor* where little is won by it."""
        start = self.offset(node.lineno, node.col_offset)
        end = self.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        name = getattr(self.function_of(node), "name", None)
        return Diagnostic(
            rule=rule,
            file=self.text.file,
            where=self.text.where(start, end),
            seen=" ".join(self.text[start : min(end, start + _SHOWN)].split()),
            message=message,
            action=action,
            kernel=name,
            edits=edits,
            minor=minor,
        )

    def offset(self, line: int, column: int) -> int:
        """Return the byte offset of a position as the standard parser gives it."""
        return self.text.start_of(line) + column


def last_value(module: PythonModule, name: ast.Name) -> ast.expr | None:
    """Return what a line before *name*, in the same function, assigned to it last; None where none did."""
    function = module.function_of(name)
    return next(
        (
            value
            for value in reversed(module.values_of(name.id))
            if value.lineno < name.lineno and module.function_of(value) is function
        ),
        None,
    )


def last_name(call: ast.Call) -> str:
    """Return the name that *call* calls, without what stands before it: "item" of ``loss.item()``."""
    name: str = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return name


def read_python(text: SourceText, use: ModuleUse | None = None) -> PythonModule:
    """Return the facts of a Python file, of which other files of its project say *use*.

    Raises BadInput when it is no Python, too large or too deeply nested, and TooCostly when it takes
    far longer than code does; rules that ask it on may find the same.
    """
    deadline = time.process_time() + most_seconds(len(text.content))
    if len(text.content) > LARGEST:
        raise BadInput(
            f"{quoted_path(text.file)} has {len(text.content):,} bytes of Python; lint reads up to {LARGEST:,}.",
            hint="Leave generated files out.",
        )
    if _depth(text.content) > _DEEPEST:
        raise BadInput(f"{quoted_path(text.file)} nests brackets more than {_DEEPEST} deep.")
    try:
        tree = _parsed(text.content)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        place = f", line {line}" if line else ""
        raise BadInput(f"{quoted_path(text.file)}{place}: this is not Python 3.") from None
    except (RecursionError, MemoryError):
        raise BadInput(
            f"{quoted_path(text.file)} is nested too deeply to read.",
            hint=f"Brackets may be {_DEEPEST} deep, and a dotted name may have {MOST_PARTS} parts.",
        ) from None
    module = _walked(PythonModule(text, tree, use=use, deadline=deadline))
    if use is not None:
        module.imports.update(dict.fromkeys(use.loaders, _LOADER))
    return module


def _parsed(content: bytes) -> ast.Module:
    """Parse a file; ``x.cuda(async=True)``, Python up to 3.6, is read as the non_blocking that it became."""
    try:
        return syntax_tree(content)
    except SyntaxError:
        renamed = _OLD_KEYWORD.sub(_AS_LONG.encode(), content)
        if renamed == content:
            raise
    tree = syntax_tree(renamed)
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == _AS_LONG:
            node.arg = "non_blocking"
    return tree


def _depth(content: bytes) -> int:
    """Return how deep brackets nest at most; those in strings count too."""
    depth = deepest = 0
    for bracket in content.translate(None, _NO_BRACKETS):
        if bracket in _OPENING:
            depth += 1
            if depth > deepest:
                deepest = depth
        elif depth:
            depth -= 1
    return deepest


def _walked(module: PythonModule) -> PythonModule:
    nodes, parents, by_kind = module.nodes, module.parents, module.by_kind
    stack: list[Any] = [module.tree]
    while stack:
        node = stack.pop()
        nodes.append(node)
        kind = type(node)
        if kind in by_kind:
            by_kind[kind].append(node)
        else:
            by_kind[kind] = [node]
        if kind is ast.Name or kind is ast.Constant:
            continue  # half of all nodes, without any below them
        if kind is ast.Attribute:
            parents[node.value] = node
            stack.append(node.value)
            continue
        found: list[ast.AST] = []
        for child in (_CHILDREN.get(kind) or _children_of(kind))(node):
            if type(child) is list:
                found += filter(None, child)
            elif child is not None:
                found.append(child)
        for child in found:
            parents[child] = node
        found.reverse()
        stack += found
    _note_names(module)
    module.count_work(len(nodes))
    return module


def _note_names(module: PythonModule) -> None:
    """Note what names are bound to, imported as and changed by."""
    assignments: list[ast.Assign | ast.AnnAssign] = module.of_any(ast.Assign, ast.AnnAssign)
    for node in assignments:
        for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
            if isinstance(target, ast.Name) and node.value is not None:
                module.assigned.setdefault(target.id, []).append(node.value)
    for name in module.of(ast.Name):
        if isinstance(name.ctx, ast.Store):
            module.stored.append((name.lineno, name.id))
    module.stored.sort()
    counted: list[ast.AugAssign | ast.For] = module.of_any(ast.AugAssign, ast.For)
    module.changed.update(node.arg for node in module.of(ast.arg))
    module.changed.update(n.target.id for n in counted if isinstance(n.target, ast.Name))
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = module.of_any(
        ast.FunctionDef, ast.AsyncFunctionDef
    )
    module.functions.update(function.name for function in functions)
    imports: list[ast.Import | ast.ImportFrom] = module.of_any(ast.Import, ast.ImportFrom)
    for statement in imports:
        if isinstance(statement, ast.Import):
            _note_import(module, statement)
        else:
            _note_import_from(module, statement)


# Fields that hold texts and numbers, and nodes without a place of their own: operators, contexts, aliases.
_NO_NODES = frozenset(
    ("id", "attr", "ctx", "op", "ops", "kind", "name", "names", "asname", "arg", "type_comment", "level", "module",
     "simple", "is_async", "conversion", "rest", "kwd_attrs", "type_ignores", "type_params", "lineno")
)  # fmt: skip
# What gives the values of the fields that hold nodes, by the kind of a node.
_CHILDREN: dict[type[ast.AST], Callable[[ast.AST], Iterable[Any]]] = {}


def _children_of(kind: type[ast.AST]) -> Callable[[ast.AST], Iterable[Any]]:
    """Return what gives the values of the fields of *kind* that hold nodes, and keep it."""
    names = [name for name in kind._fields if name not in _NO_NODES]
    if kind in (ast.Constant, ast.MatchSingleton) or not names:
        _CHILDREN[kind] = _no_children
    elif len(names) > 1:
        _CHILDREN[kind] = attrgetter(*names)
    else:
        _CHILDREN[kind] = _only(attrgetter(names[0]))
    return _CHILDREN[kind]


def _no_children(_: ast.AST) -> tuple[()]:
    return ()


def _only(get: Callable[[ast.AST], Any]) -> Callable[[ast.AST], tuple[Any]]:
    return lambda node: (get(node),)


def _note_import(module: PythonModule, node: ast.Import) -> None:
    for alias in node.names:
        name = alias.asname or alias.name.split(".")[0]
        module.imports[name] = alias.name if alias.asname else name


def _note_import_from(module: PythonModule, node: ast.ImportFrom) -> None:
    if node.module and not node.level:
        for alias in node.names:
            module.imports[alias.asname or alias.name] = f"{node.module}.{alias.name}"
