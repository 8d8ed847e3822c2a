"""From where the functions of a Python file are called: once, again and again, or only to check other code."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpuadvise.advisor.source.python.module import PythonModule

_LONGEST_CHAIN = 4  # functions that call one another
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Functions that compare what other code gives, by their names and by what they call.
_CHECKING = re.compile(
    r"_?(?:tests?\d*|check|compare|verify|bench(?:mark)?)(?:_|$)|.*_(?:test|check|benchmark)$"
)
# What they compare with.
_REFERENCES = re.compile(
    r"(?:^|_)(?:torch|pytorch|ref|reference|naive|standard|golden|eager|baseline|native|numpy|np)(?:_|$)"
)
_COMPARES = frozenset(
    ("allclose", "isclose", "assert_close", "assert_allclose", "assert_almost_equal", "assert_array_equal",
     "assert_array_almost_equal", "assert_equal", "do_bench", "perf_report", "gradcheck")
)  # fmt: skip


class CallSites:
    """The places of one file that name its own functions."""

    def __init__(self, module: PythonModule) -> None:
        self.module = module
        self._uses: dict[str, list[ast.expr]] = {}
        for name in module.of(ast.Name):
            if name.id in module.functions and isinstance(name.ctx, ast.Load):
                self._uses.setdefault(name.id, []).append(name)
        for attribute in module.of(ast.Attribute):
            if attribute.attr in module.functions and isinstance(attribute.ctx, ast.Load):
                self._uses.setdefault(attribute.attr, []).append(attribute)
        # What others name may be called by them in each of their steps.
        self._named: frozenset[str] = module.use.named if module.use is not None else frozenset()
        alone = module.use is not None and not self._named
        self.is_program = alone or b"__main__" in module.text.content
        self._once: dict[ast.AST, bool] = {}

    def runs_once(self, function: ast.AST, depth: int = 0) -> bool:
        """Whether the program that the file is calls *function* in one place that is reached once, as far as it shows.

        What a class does when it is made counts as once. A file that is no program may be imported by others.
        """
        if not self.is_program or depth > _LONGEST_CHAIN or not isinstance(function, _DEFINITIONS):
            return False
        if function not in self._once:
            self._once[function] = False  # of itself it says nothing
            uses = self._uses.get(function.name, [])
            if function.name in self._named or (
                function.name.startswith("__") or function.name == "forward"
            ):
                uses = []
            self._once[function] = len(uses) == 1 and self._is_reached_once(uses[0], depth)
        return self._once[function]

    def _is_reached_once(self, use: ast.expr, depth: int) -> bool:
        call = self.module.parents.get(use)
        if not isinstance(call, ast.Call) or call.func is not use:
            return False
        if self.module.loop_around(call) is not None:
            return False
        for above in self.module.ancestors(call):
            if isinstance(above, (ast.Lambda, *_COMPREHENSIONS)):
                return False
            if isinstance(above, _DEFINITIONS):
                return above.name == "__init__" or self.runs_once(above, depth + 1)
        return True

    def checking(self) -> set[ast.AST]:
        """Return the functions that compare or measure other code, and those that nothing but these calls."""
        found: set[ast.AST] = {
            function
            for function in self._functions()
            if _CHECKING.match(function.name) and self._compares(function)
        }
        for _ in range(_LONGEST_CHAIN) if found else ():
            more = {
                function
                for function in self._functions()
                if function not in found and self._is_used_only_in(function, found)
            }
            if not more:
                break
            found |= more
        return found

    def unused(self) -> set[ast.AST]:
        """Return the functions of a notebook that no cell names: nothing else can."""
        if not self.module.text.file.endswith(".ipynb"):
            return set()
        return {f for f in self._functions() if f.name not in self._uses and not f.decorator_list}

    def _functions(self) -> Iterator[ast.FunctionDef]:
        return (
            f
            for f in self.module.of(ast.FunctionDef)
            if self.module.parents.get(f) is self.module.tree
        )

    def _compares(self, function: ast.FunctionDef) -> bool:
        return any(
            isinstance(part, ast.Call)
            and getattr(part.func, "attr", getattr(part.func, "id", "")) in _COMPARES
            for part in self.module.walk(function)
        )

    def _is_used_only_in(self, function: ast.FunctionDef, users: set[ast.AST]) -> bool:
        """Whether nothing but *users* name *function*; where other files may, it has to be named as what is compared."""
        may_be_named = self.module.use is None or function.name in self._named
        if function.decorator_list or (may_be_named and not _REFERENCES.search(function.name)):
            return False
        uses = self._uses.get(function.name, [])
        return bool(uses) and all(
            any(above in users for above in self.module.ancestors(use)) for use in uses
        )


def call_sites(module: PythonModule) -> CallSites:
    """Return the call sites of *module*, found once for all that ask."""
    return module.found_once(CallSites)


def lines_beside(module: PythonModule) -> list[tuple[int, int]]:
    """Return the first and last lines of functions that only check or measure other code, or that no cell calls."""
    is_notebook = module.text.file.endswith(".ipynb")
    if not is_notebook and not any(word in module.text.content for word in _WORDS):
        return []
    sites = call_sites(module)
    return [
        (function.lineno, function.end_lineno or function.lineno)
        for function in (*sites.checking(), *sites.unused())
        if isinstance(function, ast.FunctionDef)
    ]


_WORDS = tuple(word.encode() for word in sorted(_COMPARES))
