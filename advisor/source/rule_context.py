"""What every source rule works with: the file, one function, and how to say what was seen."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gpuadvise.advisor.source.diagnostic import Diagnostic, TextEdit
from gpuadvise.advisor.source.kernel_purpose import is_of_output, is_of_set_up
from gpuadvise.advisor.source.tree import LOOPS, bare
from gpuadvise.advisor.source.variance import LaneStride, Variances

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from gpuadvise.advisor.source.cuda_file import CudaFile
    from gpuadvise.advisor.source.launches import Launches
    from gpuadvise.advisor.source.scopes import SourceFunction, Variable
    from gpuadvise.advisor.source.tree import Node

    SourceCheck: TypeAlias = Callable[["RuleContext"], Iterator[Diagnostic]]

_REACHING = frozenset(
    (
        "subscript_expression",
        "field_expression",
        "pointer_expression",
        "parenthesized_expression",
        "binary_expression",
        "array_declarator",
    )
)
# What an edit must not take away.
_MORE = re.compile(rb"//|/\*|\\\r?\n|\n[ \t]*#")
_MOST_LOOPS = 1000  # whose assignments are remembered
_MOST_NAMES = 4  # that lead to each other
# Of speed alone: where a kernel runs once, nobody asks for them.
OF_SPEED = frozenset(
    ("accumulators-in-memory", "general-math-functions", "implicit-double", "integer-division", "interleaved-records",
     "invariant-divisors", "repeated-loads", "slow-math", "tiny-blocks", "uncoalesced-access", "unsigned-loop-counters")
)  # fmt: skip
# Longest piece of source that a diagnostic repeats.
_SHOWN = 160


@dataclass(slots=True)
class RuleContext:
    """One function of one file."""

    file: CudaFile
    function: SourceFunction
    launches: Launches
    lane_strides: dict[tuple[str, int], LaneStride | None] = field(default_factory=dict)
    _variances: Variances | None = field(default=None)
    _calls: dict[str, list[Node]] | None = field(default=None)
    _assigned: dict[tuple[int, bool], set[str]] = field(default_factory=dict)
    _changes: dict[str, list[Node]] | None = field(default=None)
    _handed_out: set[str] | None = field(default=None)
    asked_about: set[tuple[str, int]] = field(default_factory=set)
    differing: dict[int, bool] = field(default_factory=dict)
    questions: int = 0
    compared: dict[str, set[str]] | None = None
    _answers: dict[Callable[..., object], dict[Any, Any]] = field(default_factory=dict)

    @property
    def variances(self) -> Variances:
        """What the values of this function depend on."""
        if self._variances is None:
            self._variances = Variances(self.file, self.function)
        return self._variances

    def answers_of(self, question: Callable[..., object]) -> dict[Any, Any]:
        """Return what *question* has answered of this function so far, by what it was asked of."""
        return self._answers.setdefault(question, {})

    def at(self, node: Node) -> str:
        """Return the characters of *node*."""
        return self.file.at(node)

    def names_type(self, kinds: frozenset[str], words: re.Pattern[bytes]) -> bool:
        """Whether head or body name a type of *kinds*, by *words* or by an alias of the file."""
        function = self.function
        content, start, end = self.file.text.content, function.node.start, function.body.end
        return words.search(content, start, end) is not None or any(
            content.find(alias, start, end) >= 0 for alias in self.file.aliases_of(kinds)
        )

    def type_of(self, node: Node) -> str:
        """Return the type of an expression."""
        return self.file.type_of(node, self.function)

    def constant(self, node: Node) -> int | None:
        """Return the integer that *node* is known to be."""
        return self.file.constant(node, self.function)

    def calls(self, *names: str) -> list[Node]:
        """Return the calls of functions called *names*, name by name; all calls without them."""
        if not names:
            return self.function.nodes("call_expression")
        if self._calls is None:
            self._calls = {}
            for call in self.function.nodes("call_expression"):
                self._calls.setdefault(self.file.callee(call), []).append(call)
        return [call for name in names for call in self._calls.get(name, ())]

    def loop_around(self, node: Node) -> Node | None:
        """Return the innermost loop around *node* in this function."""
        body = self.function.body
        above = node.parent
        while above is not None and above is not body:  # asked so often that a generator shows
            if above.kind in LOOPS:
                return above
            above = above.parent
        return None

    def loops_around(self, node: Node) -> int:
        """Return how many loops of this function stand around *node*."""
        above = [n for n in node.ancestors() if n.kind in LOOPS]
        return sum(self.function.body.holds(loop) for loop in above)

    def is_beside_deeper_loop(self, loop: Node) -> bool:
        """Whether another loop of this function stands in more loops than *loop*, and takes the time."""
        deepest = max(map(self.loops_around, self.function.nodes(*LOOPS)), default=0)
        return self.loops_around(loop) < deepest

    def assigned_below(self, node: Node, *, declared: bool = True) -> set[str]:
        """Return the names that are assigned somewhere below *node*; with what is *declared* there."""
        known = self._assigned.get((node.index, declared))
        if known is not None:
            return known
        names: set[str] = set()
        kinds = ("assignment_expression", "update_expression", "init_declarator")
        for kind in kinds if declared else kinds[:2]:
            for changed in self.file.tree.inside(node, kind):
                if changed.children:
                    names.add(self.root_name(changed.children[0]))
        names.update(self._given_by_reference(node))
        if len(self._assigned) < _MOST_LOOPS:
            self._assigned[node.index, declared] = names
        return names

    def _given_by_reference(self, node: Node) -> Iterator[str]:
        """Yield the names below *node* that a function of this file takes by reference."""
        for call in self.file.tree.inside(node, "call_expression"):
            arguments = self.file.arguments(call)
            for called in self.file.called(self.file.callee(call)):
                if "&" not in called.header:
                    continue
                for parameter, argument in zip(called.parameters, arguments, strict=False):
                    words = self.at(parameter.node)
                    if "&" in words and "const" not in words and argument.kind == "identifier":
                        yield self.at(argument)

    def root_name(self, node: Node) -> str:
        """Return the name that an expression like ``a[i].x``, ``*p`` or ``(p + 1)->x`` begins with."""
        while node.children and node.kind in _REACHING:
            node = node.children[0]
        return self.at(node)

    def changes(self, variable: Variable) -> list[Node]:
        """Return the assignments and steps that change *variable* after its declaration."""
        if self._changes is None:
            self._changes = {}
            for change in self.function.nodes("assignment_expression", "update_expression"):
                target = change.children[0] if change.children else change
                self._changes.setdefault(self.at(target), []).append(change)
        changes = self._changes.get(variable.name, [])
        return [change for change in changes if variable.start <= change.start < variable.end]

    @property
    def handed_out(self) -> set[str]:
        """The names whose address is taken, or that a function of this file may take by reference."""
        if self._handed_out is None:
            file = self.file
            self._handed_out = {
                self.at(node.children[0])
                for node in self.function.nodes("pointer_expression")
                if node.children and file.operator(node) == "&"
            }
            for call in self.calls():
                if any("&" in called.header for called in file.called(file.callee(call))):
                    self._handed_out.update(map(self.at, file.arguments(call)))
        return self._handed_out

    def settled(self, node: Node) -> Node:
        """Return what the variable *node* starts with where nothing changes it; others as they are."""
        node = bare(node)
        for _ in range(_MOST_NAMES):
            variable = self.file.variable(self.at(node), node, self.function)
            if node.kind != "identifier" or variable is None or variable.value is None:
                break
            if self.changes(variable) or variable.name in self.handed_out:
                break
            node = bare(variable.value)
        return node

    def under_version_guard(self, node: Node) -> bool:
        """Whether *node* is compiled only for some compiler, version or architecture."""
        marks = ("CUDA_VERSION", "CUDART_VERSION", "CUDA_ARCH", "HIP", "ROCM", "CUDACC_VER")
        return any(
            g.start <= node.start < g.end and any(mark in g.condition for mark in marks)
            for g in self.file.preprocessed.guarded
        )

    def branch_of(self, node: Node) -> int:
        """Return where the innermost branch of the preprocessor around *node* begins, -1 where none is around it."""
        starts = (g.start for g in self.file.preprocessed.guarded if g.start <= node.start < g.end)
        return max(starts, default=-1)

    def are_exclusive(self, node: Node, other: Node) -> bool:
        """Whether *node* and *other* stand in different branches of the preprocessor: one of them is compiled, perhaps."""
        first, second = self.branch_of(node), self.branch_of(other)
        return first != second and -1 not in (first, second)

    def diagnostic(
        self,
        rule: str,
        node: Node,
        message: str,
        action: str,
        *,
        edits: tuple[TextEdit, ...] = (),
        end: int | None = None,
        minor: bool = False,
        **detail: str,
    ) -> Diagnostic:
        """Return a diagnostic at *node*."""
        text = self.file.text
        end = node.end if end is None else end
        seen = " ".join(text[node.start : min(end, node.start + _SHOWN)].split())
        return Diagnostic(
            rule=rule,
            file=text.file,
            where=text.where(node.start, end),
            seen=seen,
            # Generated files repeat a fault by the thousand.
            message=sys.intern(message),
            action=sys.intern(action),
            kernel=self.function.name,
            edits=() if any(self._holds_more(edit) for edit in edits) else edits,
            detail=detail,
            minor=minor or (rule in OF_SPEED and self.is_in_file_of_set_up),
        )

    @property
    def is_of_set_up(self) -> bool:
        """Whether names say that this code sets something up, or prints it, which programs do seldom."""
        name = self.function.name
        return self.function.on_device and (is_of_set_up(name) or is_of_output(name))

    @property
    def is_in_file_of_set_up(self) -> bool:
        """Whether the name of the file says that its device code sets something up."""
        name = self.file.text.file.rpartition("/")[2].rpartition(".")[0]
        return self.function.on_device and is_of_set_up(name)

    def _holds_more(self, edit: TextEdit) -> bool:
        """Whether *edit* would take away more than code: a comment, a directive, a joined line."""
        return _MORE.search(self.file.text.content, edit.start, edit.end) is not None


def replaced(node: Node, text: str) -> tuple[TextEdit, ...]:
    """Return the edit that puts *text* in the place of *node*."""
    return (TextEdit(start=node.start, end=node.end, text=text),)
