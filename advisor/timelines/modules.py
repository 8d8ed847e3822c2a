"""Modules of PyTorch in a trace: the GPU's time by the innermost ``nn.Module`` that launched it.

With ``with_stack=True`` a trace has an event for each call of a module; TorchScript, with
``with_modules=True``, writes the module of each operator into its arguments. An operator of the
backward pass carries the sequence number of the one whose gradient it computes, and counts to that one's module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from gpuadvise.advisor.timelines.activities import LATEST, MOST_SHAPES
from gpuadvise.advisor.timelines.scopes import (
    OUTSIDE,
    Questions,
    ScopeLog,
    ScopePaths,
    with_match,
)
from gpuadvise.advisor.timelines.sorted_runs import SortedRuns
from gpuadvise.advisor.timelines.traced_operator import TracedOperator

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gpuadvise.advisor.timelines.operator_work import OperatorCall, OperatorWork

_NS = 1e9
_CALL = "nn.Module: "
# `TOP(Net)::forward.block0(Block)::forward.SELF(Block)::inner.`
_HIERARCHY = re.compile(r"([^().:]{1,200})\(([^()]{0,200})\)::")
_LONGEST_HIERARCHY = 4_000
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedModule:
    """A module, as it stands in those around it; nanoseconds of the GPU."""

    path: tuple[str, ...]  # its name behind those of the modules around it
    kernels: int
    total_ns: int  # of kernels that no module inside of it launched
    backward_ns: int  # of those, in the backward pass
    with_inner_ns: int  # likewise with those of the modules inside of it
    operators: tuple[TracedOperator, ...]  # that it called itself, the longest first

    @property
    def flop_rate(self) -> float | None:
        """Operations per second, of the operators whose shapes tell them, over all its own time."""
        return self._rate(one.work.flops and one.work.flops * one.calls for one in self.operators)

    @property
    def byte_rate(self) -> float | None:
        """Bytes per second, likewise."""
        return self._rate(one.work.bytes and one.work.bytes * one.calls for one in self.operators)

    @property
    def tensor_share(self) -> float:
        """The share (0 to 1) of its own time in kernels that use tensor cores."""
        tensor_ns = sum(one.tensor_ns for one in self.operators)
        return tensor_ns / self.total_ns if self.total_ns else 0.0

    def _rate(self, amounts: Iterable[float | None]) -> float | None:
        amount = sum(one for one in amounts if one)
        return amount / (self.total_ns / _NS) if amount and self.total_ns else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleTimes:
    """The GPU's time by module, the longest own time first."""

    modules: tuple[TracedModule, ...]
    total_ns: int  # of all kernels
    outside_ns: int  # of those that no module launched
    backward_joined: bool | None  # to the modules; None: there is no backward pass


class ModuleLog:
    """Calls of modules, and what joins operators with them."""

    def __init__(self) -> None:
        self._paths = ScopePaths()
        self._calls = ScopeLog(self._paths)
        self._numbered = Questions()  # operators that a gradient may be computed of
        self._gradients = SortedRuns(width=4)  # sequence number, thread, start, end
        self._unnumbered_gradients = False

    def add_frame(self, thread: int, interval: tuple[int, int], name: str) -> None:
        """Add a call of Python, where it is one of a module."""
        if name.startswith(_CALL):
            self._calls.open(thread, *interval, name[len(_CALL) :][:_LONGEST_NAME])

    def add_operator(
        self, thread: int, interval: tuple[int, int], name: str, args: dict[str, Any]
    ) -> None:
        """Add what an operator says of its module and of its gradient."""
        hierarchy = args.get("Module Hierarchy")
        if isinstance(hierarchy, str) and hierarchy:
            scope = OUTSIDE
            for part in _scripted(hierarchy[:_LONGEST_HIERARCHY]):
                scope = self._paths.inside(scope, part)
            if scope != OUTSIDE:
                self._calls.enter(thread, *interval, scope)
        number = args.get("Sequence number")
        if not _is_count(number):
            self._unnumbered_gradients |= name.startswith("autograd::engine::evaluate_function")
        elif args.get("Fwd thread id"):
            self._gradients.add(number, thread, *interval)
        else:
            self._numbered.add(thread, interval[0], number)

    def times(
        self,
        launches: Questions,
        kernels: SortedRuns,
        ids: SortedRuns,
        calls: Sequence[OperatorCall],
        works: Sequence[OperatorWork],
    ) -> ModuleTimes | None:
        """Return the time of *kernels* by module; None where the trace names no modules.

        Their rows are correlation, id of the operator (or -1), start, duration, stream, and whether
        tensor cores work; those of *ids* the id and the place in *calls* and *works*.
        """
        if not self._calls:
            return None
        gradients = self._placed_gradients()
        placed = SortedRuns(width=3)  # correlation, scope, whether it is of the backward pass
        for number, _, _, scope, marked in self._calls.innermost(launches, gradients):
            placed.add(number, scope, int(marked))
        sums = _Sums()
        in_modules = SortedRuns(width=5)  # id, scope, backward, duration, tensor cores
        for kernel, place in with_match(kernels, placed):
            _, number, _, duration, _, tensor = kernel
            scope, backward = (place[1], place[2]) if place else (OUTSIDE, 0)
            sums.add_kernel(scope, duration, backward)
            if scope != OUTSIDE:
                in_modules.add(number, scope, backward, duration, tensor)
        before: tuple[int, int] | None = None
        for (number, scope, _, duration, tensor), operator in with_match(in_modules, ids):
            if operator is not None:
                again = before == (number, scope)
                before = number, scope
                sums.add_operator(scope, operator[1], duration, tensor, again=again)
        told = bool(self._gradients) or self._unnumbered_gradients
        return sums.finish(self._paths, calls, works, bool(gradients) if told else None)

    def _placed_gradients(self) -> ScopeLog:
        """Return when the backward pass was in which module."""
        forward = SortedRuns(width=4)  # number, start, scope, thread
        for number, thread, start, scope, _ in self._calls.innermost(self._numbered):
            forward.add(number, start, scope, thread)
        gradients = ScopeLog(self._paths)
        for (_, thread, start, end), match in with_match(self._gradients, _last_of_each(forward)):
            if match is not None and match[1] != OUTSIDE:
                gradients.enter(thread, start, end, match[1], marked=True)
        return gradients


def _last_of_each(forward: Iterable[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """Yield each sequence number with the scope of the operator that it was given to.

    All that begin before it carry the number, too: it is the last one's. Each thread counts for
    itself, so that a number of several threads with different scopes says nothing.
    """
    number: int | None = None
    scopes: dict[int, int] = {}  # by thread
    for one, _, scope, thread in forward:
        if one != number:
            if number is not None and len(set(scopes.values())) == 1:
                yield number, next(iter(scopes.values()))
            number, scopes = one, {}
        scopes[thread] = scope
    if number is not None and len(set(scopes.values())) == 1:
        yield number, next(iter(scopes.values()))


class _Sums:
    """What kernels add up to, by module and by operator in it."""

    def __init__(self) -> None:
        self._modules: dict[int, list[int]] = {}  # kernels, time, of that backward
        self._operators: dict[tuple[int, int], list[int]] = {}  # calls, kernels, time, tensor
        self._total_ns = self._outside_ns = 0

    def add_kernel(self, scope: int, duration: int, backward: int) -> None:
        """Add a kernel of a module, or of none."""
        self._total_ns += duration
        if scope == OUTSIDE:
            self._outside_ns += duration
            return
        one = self._modules.setdefault(scope, [0, 0, 0])
        one[0] += 1
        one[1] += duration
        one[2] += duration * backward

    def add_operator(
        self, scope: int, place: int, duration: int, tensor: int, *, again: bool
    ) -> None:
        """Add a kernel of an operator in a module; *again*: one more of the same call."""
        key = scope, place
        if key not in self._operators and len(self._operators) >= MOST_SHAPES:
            return
        one = self._operators.setdefault(key, [0, 0, 0, 0])
        one[0] += not again
        one[1] += 1
        one[2] += duration
        one[3] += duration * tensor

    def finish(
        self,
        paths: ScopePaths,
        calls: Sequence[OperatorCall],
        works: Sequence[OperatorWork],
        backward_joined: bool | None,
    ) -> ModuleTimes:
        """Return all modules that launched kernels, or hold such."""
        operators: dict[int, list[TracedOperator]] = {}
        for (scope, place), (count, kernels, total_ns, tensor_ns) in self._operators.items():
            operators.setdefault(scope, []).append(
                TracedOperator(
                    call=calls[place],
                    work=works[place],
                    calls=count,
                    kernels=kernels,
                    total_ns=total_ns,
                    tensor_ns=tensor_ns,
                )
            )
        with_inner: dict[int, int] = {}
        for scope, (_, total_ns, _) in self._modules.items():
            for around in paths.around(scope):
                with_inner[around] = with_inner.get(around, 0) + total_ns
        modules = []
        for scope, inner_ns in with_inner.items():
            kernels, total_ns, backward_ns = self._modules.get(scope, (0, 0, 0))
            called = operators.get(scope, [])
            modules.append(
                TracedModule(
                    path=paths.names(scope),
                    kernels=kernels,
                    total_ns=total_ns,
                    backward_ns=backward_ns,
                    with_inner_ns=inner_ns,
                    operators=tuple(sorted(called, key=lambda one: -one.total_ns)),
                )
            )
        modules.sort(key=lambda one: (-one.total_ns, -one.with_inner_ns, one.path))
        return ModuleTimes(
            modules=tuple(modules),
            total_ns=self._total_ns,
            outside_ns=self._outside_ns,
            backward_joined=backward_joined,
        )


def _scripted(hierarchy: str) -> Iterator[str]:
    """Yield the modules that TorchScript writes down, the outermost first."""
    for name, kind in _HIERARCHY.findall(hierarchy):
        if name == "TOP":
            yield kind.rsplit(".", 1)[-1]
        elif name != "SELF":
            yield name


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < LATEST
