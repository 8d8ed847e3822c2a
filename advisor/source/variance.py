"""What a value depends on: the same in the whole block, in each warp, or different per lane."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from gpuadvise.advisor.source.scopes import ExecutionSpace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpuadvise.advisor.source.cuda_file import CudaFile
    from gpuadvise.advisor.source.scopes import SourceFunction, Variable
    from gpuadvise.advisor.source.tree import Node

_DEEPEST = 40
_WARP = 32
_BLOCK_VOTES = frozenset(("__syncthreads_or", "__syncthreads_and", "__syncthreads_count"))
_WARP_VOTES = frozenset(
    [
        "__any_sync",
        "__all_sync",
        "__ballot_sync",
        "__any",
        "__all",
        "__ballot",
        "__match_all_sync",
        "__activemask",
    ]
)
_SIZES = frozenset(("size", "stride", "numel", "dim"))
_PURE = frozenset(
    ["min", "max", "abs", "fminf", "fmaxf", "fabsf", "int", "float", "unsigned", "bool"]
)
# Assignments through one another settle in a few rounds; what has not settled stays as it is.
_ROUNDS = 3


class Variance(IntEnum):
    """From the least to the most that is to be reckoned with."""

    UNIFORM = 0  # one value for the block
    WARP = 1  # differs between warps, or between rows of threads
    LANE = 2  # differs between the lanes of one warp
    UNKNOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneStride:
    """The distance of the values of two neighbouring lanes: *number* times all *factors*.

    *factors* are values of the whole block, as they are written without spaces. *rest* are the
    names in what is added, which all lanes share.
    """

    number: int
    factors: tuple[str, ...] = ()
    rest: frozenset[str] = field(default=frozenset())

    @property
    def is_zero(self) -> bool:
        """Whether all lanes have the same value."""
        return self.number == 0


class Variances:
    """The variance of every value in one function of device code."""

    def __init__(self, file: CudaFile, function: SourceFunction) -> None:
        self._file = file
        self._function = function
        # Of each variable, by its name and the place where it begins to be visible.
        self._known: dict[tuple[str, int], Variance] = {}
        self._read: set[tuple[str, int]] = set()  # the variables that the value in hand depends on
        uniform = function.place is ExecutionSpace.KERNEL
        for parameter in function.parameters:
            start = Variance.UNIFORM if uniform else Variance.UNKNOWN
            self._known[parameter.name, parameter.start] = start
        self._settle()

    def _settle(self) -> None:
        """Find what variables depend on; a value is asked again where one that it reads has changed."""
        assignments = list(self._assignments())
        reads: list[set[tuple[str, int]] | None] = [None] * len(assignments)
        asked = [0] * len(assignments)  # the change after which a value was asked last
        changed: dict[tuple[str, int], int] = {}
        changes = 0
        for _ in range(_ROUNDS):
            before = changes
            for at, (key, value) in enumerate(assignments):
                read = reads[at]
                if read is not None and all(changed.get(name, 0) <= asked[at] for name in read):
                    continue
                asked[at] = changes
                reads[at] = self._read = set()
                variance = Variance.UNKNOWN if value is None else self.of(value)
                known = self._known.get(key)
                if known is None or variance > known:
                    self._known[key] = variance
                    changes += 1
                    changed[key] = changes
            if before == changes:
                return

    def _variable(self, name: Node) -> tuple[tuple[str, int], Variable | None]:
        """Return the variable that *name* names, and what tells it from others of that name."""
        words = self._file.at(name)
        variable = self._file.variable(words, name, self._function)
        return (words, -1 if variable is None else variable.start), variable

    def _assignments(self) -> Iterable[tuple[tuple[str, int], Node | None]]:
        file, function = self._file, self._function
        for variables in function.variables.values():
            for variable in variables:
                key = (variable.name, variable.start)
                if variable.numbers_threads:
                    self._known[key] = Variance.LANE
                if variable.node.kind == "init_declarator" and variable.value is not None:
                    yield key, None if variable.type.endswith("*") else variable.value
                elif variable.type.endswith("*") and not variable.parameter:
                    yield key, None
        for node in function.nodes("assignment_expression"):
            if len(node.children) == 2 and node.children[0].kind == "identifier":
                yield self._variable(node.children[0])[0], node.children[1]
        for node in function.nodes("pointer_expression"):
            # What a pointer reaches may be written elsewhere.
            if (
                node.children
                and node.children[0].kind == "identifier"
                and file.operator(node) == "&"
            ):
                yield self._variable(node.children[0])[0], None
        for node in function.nodes("for_range_loop"):
            yield from (
                ((v.name, v.start), None)
                for vs in function.variables.values()
                for v in vs
                if v.node.parent is node
            )

    def of(self, node: Node, depth: int = 0) -> Variance:
        """Return what the value of *node* depends on."""
        if depth > _DEEPEST:
            return Variance.UNKNOWN
        kind = node.kind
        if kind in ("number_literal", "true", "false", "char_literal", "sizeof_expression"):
            return Variance.UNIFORM
        if kind == "identifier":
            return self._of_name(node)
        if kind == "field_expression":
            return self._of_field(node)
        if kind == "binary_expression" and len(node.children) == 2:
            return self._of_binary(node, depth)
        if kind == "call_expression":
            return self._of_call(node, depth)
        if kind == "cast_expression":
            return self.of(node.children[-1], depth + 1)
        if kind in ("type_descriptor", "qualified_identifier"):
            return Variance.UNIFORM
        if kind in (
            "parenthesized_expression", "unary_expression", "conditional_expression",
            "condition_clause", "comma_expression", "argument_list", "initializer_list",
        ):  # fmt: skip
            return max((self.of(c, depth + 1) for c in node.children), default=Variance.UNIFORM)
        if kind in ("assignment_expression", "update_expression") and node.children:
            return self.of(node.children[0], depth + 1)
        return Variance.UNKNOWN

    def _of_name(self, node: Node) -> Variance:
        key, variable = self._variable(node)
        self._read.add(key)
        if key in self._known:
            return self._known[key]
        name = key[0]
        if self._file.is_constant(node, self._function):
            body = self._file.preprocessed.macros.get(name) or ""
            return Variance.UNKNOWN if "hread" in body or "(" in body else Variance.UNIFORM
        if variable is None or variable not in self._function.variables.get(name, ()):
            return Variance.UNKNOWN
        return Variance.UNIFORM if not variable.shared else Variance.UNKNOWN

    def _of_field(self, node: Node) -> Variance:
        words = self._file.at(node)
        if words.startswith("threadIdx."):
            return Variance.LANE if words == "threadIdx.x" else Variance.WARP
        if words.startswith(("blockIdx.", "blockDim.", "gridDim.")):
            return Variance.UNIFORM
        base = node.children[0]
        if base.kind == "identifier":
            return max(self._of_name(base), Variance.UNIFORM)
        return Variance.UNKNOWN

    def _of_binary(self, node: Node, depth: int) -> Variance:
        left, right = (self.of(c, depth + 1) for c in node.children)
        operator = self._file.operator(node)
        if operator in ("&&", "||"):
            sure = [v for v in (left, right) if v is not Variance.UNKNOWN]
            both_known = len(sure) == 2
            highest = max(sure, default=Variance.UNKNOWN)
            return (
                highest
                if both_known or highest in (Variance.LANE, Variance.WARP)
                else Variance.UNKNOWN
            )
        if left is Variance.LANE and right is Variance.UNIFORM and operator in ("/", ">>", "&"):
            return self._reduced(operator, node.children[1])
        return max(left, right)

    def _reduced(self, operator: str, divisor: Node) -> Variance:
        """Return what a lane's number depends on after its lowest bits are gone."""
        value = self._file.constant(divisor, self._function)
        if operator == "&":
            whole = value is not None and value % _WARP == 0
            return Variance.WARP if whole else Variance.LANE
        if value is None:
            return Variance.UNKNOWN
        step = value if operator == "/" else 1 << min(max(value, 0), 64)
        return Variance.WARP if step and step % _WARP == 0 else Variance.LANE

    def _of_call(self, node: Node, depth: int) -> Variance:
        name = self._file.callee(node)
        if name in _BLOCK_VOTES:
            return Variance.UNIFORM
        if name in _WARP_VOTES:
            return Variance.WARP
        if name in _SIZES and self._is_of_parameter(node):
            return Variance.UNIFORM
        if name == "thread_rank" and self._on_block(node):
            return Variance.LANE
        first = node.children[0].kind if node.children else ""
        if name in _PURE or name in ("static_cast", "__float2int_rd") or first == "primitive_type":
            arguments = self._file.arguments(node)
            return max((self.of(a, depth + 1) for a in arguments), default=Variance.UNIFORM)
        return Variance.UNKNOWN

    def _is_of_parameter(self, call: Node) -> bool:
        """Whether *call* is like ``tensor.size(1)``, of a tensor that the kernel is given."""
        called = call.children[0]
        if called.kind != "field_expression" or called.children[0].kind != "identifier":
            return False
        arguments = self._file.arguments(call)
        return self._of_name(called.children[0]) is Variance.UNIFORM and all(
            argument.kind == "number_literal" for argument in arguments
        )

    def _on_block(self, call: Node) -> bool:
        base = call.children[0].children[0] if call.children and call.children[0].children else None
        return base is not None and is_block_group(self._file, self._function, base)


def is_block_group(file: CudaFile, function: SourceFunction, node: Node) -> bool:
    """Whether *node* names the cooperative group of all threads of a block."""
    if node.kind != "identifier":
        return False
    variable = file.variable(file.at(node), node, function)
    if variable is None:
        return False
    holder = variable.node.parent if variable.node.kind == "init_declarator" else variable.node
    words = file.at(holder) if holder is not None else ""
    return ("this_thread_block" in words or "thread_block " in words) and "tiled" not in words
